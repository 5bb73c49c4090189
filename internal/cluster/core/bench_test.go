package core_test

import (
	"fmt"
	"testing"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// big is a member of a cluster of n nodes, half of them primaries, with a link to every other.
func big(b *testing.B, n int) (*core.Core, []core.LinkID, *wire.Conf) {
	conf := &wire.Conf{CurrentEpoch: wire.Epoch(n)}
	for i := range n {
		line := wire.NodeLine{TCPPort: 7000, BusPort: 17000, PongReceivedMillis: 1}
		copy(line.ID[:], fmt.Sprintf("%040x", i+1))
		line.IP = host(fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255))
		line.ShardID = line.ID
		if line.Flags = wire.FlagPrimary; i < n/2 {
			share := slot.Count / (n / 2)
			line.Slots.AddRange(slot.ID(i*share), slot.ID(i*share+share-1))
			line.ConfigEpoch = wire.Epoch(i + 1)
		} else {
			line.Flags = wire.FlagReplica
			line.Primary = conf.Nodes[i-n/2].ID
			line.ShardID = line.Primary
		}
		conf.Nodes = append(conf.Nodes, line)
	}
	conf.Nodes[0].Flags |= wire.FlagMyself
	cfg := core.DefaultConfig()
	cfg.RequireFullCoverage = false
	c, err := core.New(core.Options{Config: cfg, Seed: [4]uint64{1}, Conf: conf})
	if err != nil {
		b.Fatal(err)
	}
	var links []core.LinkID
	for _, e := range append([]core.Effect(nil), c.Step(startTime, core.Tick{})...) {
		if x, ok := e.(core.Connect); ok {
			links = append(links, x.Link)
			c.Step(startTime, core.Connected{Link: x.Link, Remote: x.Host})
		}
	}
	return c, links, conf
}

// A tick of a node in a cluster of a thousand.
func BenchmarkTick1000(b *testing.B) {
	c, _, _ := big(b, 1000)
	now := startTime
	b.ReportAllocs()
	for b.Loop() {
		c.Step(now, core.Tick{})
	}
}

// A ping of a member in a cluster of a thousand, with a hundred entries of gossip, and the pong.
func BenchmarkPing1000(b *testing.B) {
	c, _, conf := big(b, 1000)
	from := &conf.Nodes[1]
	p := &wire.Packet{Header: wire.Header{Type: wire.TypePing, Sender: from.ID, Port: 7000, BusPort: 17000, Flags: wire.FlagPrimary,
		ConfigEpoch: from.ConfigEpoch, Slots: from.Slots, MsgFlags: wire.MsgExtData}}
	p.Ext.ShardID = from.ShardID
	for i := range 100 {
		n := &conf.Nodes[2+i*9]
		p.Gossip = append(p.Gossip, wire.Gossip{ID: n.ID, IP: n.IP, Port: 7000, BusPort: 17000, Flags: n.Flags,
			PongReceived: uint32(startTime / 1000)})
	}
	l := core.LinkAccepted + 1
	c.Step(startTime, core.Accepted{Link: l, Remote: from.IP, Local: host("10.0.0.0")})
	b.ReportAllocs()
	for b.Loop() {
		c.Step(startTime, core.Received{Link: l, Packet: p})
	}
}

func BenchmarkView1000(b *testing.B) {
	c, _, _ := big(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		c.View()
	}
}

func BenchmarkConf1000(b *testing.B) {
	c, _, _ := big(b, 1000)
	var text []byte
	b.ReportAllocs()
	for b.Loop() {
		text = c.AppendConf(text[:0])
	}
	b.SetBytes(int64(len(text)))
}
