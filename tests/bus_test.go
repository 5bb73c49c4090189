package tests

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/testkit"
)

// Sizes and places of the bus protocol, version 1. All integers are big endian.
//
//	0 "RCmb"  4 length(4)  8 version(2)  10 port(2)  12 type(2)  14 count(2)  16 current epoch(8)  24 config epoch(8)
//	32 offset(8)  40 sender(40)  80 slots(2048)  2128 primary(40)  2168 ip(46)  2214 extensions(2)  2216 unused(30)
//	2246 other port(2)  2248 bus port(2)  2250 flags(2)  2252 state(1)  2253 message flags(3)  2256 body
const (
	busHeadBytes   = 2256
	busGossipBytes = 104
	busNameBytes   = 40
	flagMaster     = 1
	flagExtData    = 4 // first message flag: extensions follow
)

// The packet types.
const (
	busPing = iota
	busPong
	busMeet
	busFail
	busPublish
	busVoteRequest
	busVote
	busUpdate
	busManualFailover
	busModule
	busPublishSharded
)

// busPacket is what a test sends to a bus port. Zero Length is computed from the body.
type busPacket struct {
	Kind, Count, Extensions uint16
	Length                  uint32
	From                    busSender
	ExtFlag                 bool
	Body                    []byte
}

// busSender is who a packet claims to come from.
type busSender struct {
	ID           string
	Port, Bus    int
	Epoch        uint64
	FirstSlot    int
	LastSlot     int // below FirstSlot: no slots
	CurrentEpoch uint64
}

// stranger is no member of any cluster; nothing listens at its address.
func stranger(port int) busSender {
	return busSender{ID: strings.Repeat("5", busNameBytes), Port: port, Bus: port + 10000, FirstSlot: 1, LastSlot: 0}
}

// member claims to be node i of three primaries.
func member(t testing.TB, top *testkit.Topology, i int) busSender {
	t.Helper()
	line, err := top.Nodes[i].Line(top.IDs[i])
	must(t, err)
	first, last := testkit.SlotShare(i, 3)
	return busSender{
		ID: top.IDs[i], Port: top.Nodes[i].Port, Bus: top.Nodes[i].BusPort,
		Epoch: uint64(line.Epoch), CurrentEpoch: uint64(len(top.Nodes)), FirstSlot: first, LastSlot: last,
	}
}

func (p busPacket) bytes() []byte {
	b := make([]byte, busHeadBytes, busHeadBytes+len(p.Body))
	b = append(b, p.Body...)
	be := binary.BigEndian
	copy(b, "RCmb")
	length := p.Length
	if length == 0 {
		length = uint32(len(b))
	}
	be.PutUint32(b[4:], length)
	be.PutUint16(b[8:], 1)
	be.PutUint16(b[10:], uint16(p.From.Port))
	be.PutUint16(b[12:], p.Kind)
	be.PutUint16(b[14:], p.Count)
	be.PutUint64(b[16:], p.From.CurrentEpoch)
	be.PutUint64(b[24:], p.From.Epoch)
	copy(b[40:], p.From.ID)
	var slots slot.Set
	if p.From.FirstSlot <= p.From.LastSlot {
		slots.AddRange(slot.ID(p.From.FirstSlot), slot.ID(p.From.LastSlot))
	}
	copy(b[80:], slots.AppendBitmap(nil))
	be.PutUint16(b[2214:], p.Extensions)
	be.PutUint16(b[2248:], uint16(p.From.Bus))
	be.PutUint16(b[2250:], flagMaster)
	if p.ExtFlag {
		b[2253] = flagExtData
	}
	return b
}

// busGossip is one entry about another node.
func busGossip(name string, port int) []byte {
	b := make([]byte, busGossipBytes)
	copy(b, name)
	copy(b[48:], "127.0.0.1")
	binary.BigEndian.PutUint16(b[94:], uint16(port))
	binary.BigEndian.PutUint16(b[96:], uint16(port+10000))
	binary.BigEndian.PutUint16(b[98:], flagMaster)
	return b
}

// sendBus sends bytes to a bus port on a connection of their own and leaves it open until the test ends.
func sendBus(t testing.TB, s *testkit.Server, b []byte) *testkit.Client {
	t.Helper()
	c := testkit.Dial(t, s.BusAddr())
	_ = c.SendRaw(b) // the node may close before it has everything
	return c
}

// readBus reads one packet.
func readBus(t testing.TB, c *testkit.Client) []byte {
	t.Helper()
	head, err := c.ReadBytes(8)
	must(t, err)
	length := binary.BigEndian.Uint32(head[4:])
	if string(head[:4]) != "RCmb" || length < busHeadBytes || length > 1<<20 {
		t.Fatalf("no packet starts with % x", head)
	}
	rest, err := c.ReadBytes(int(length) - 8)
	must(t, err)
	return append(head, rest...)
}

// membership is what must not change: who is there, in which role, with which slots, and the state of every node.
func membership(top *testkit.Topology) (string, error) {
	var all []string
	for i, node := range top.Nodes {
		lines, err := node.ClusterNodes()
		if err != nil {
			return "", err
		}
		info, err := node.ClusterInfo()
		if err != nil {
			return "", err
		}
		all = append(all, fmt.Sprintf("node %d: %s", i, info["cluster_state"]))
		for _, line := range lines {
			flags := slices.DeleteFunc(line.Flags, func(f string) bool { return f == "myself" })
			all = append(all, fmt.Sprint(line.ID, line.Address, flags, line.Primary, line.Epoch, line.Slots))
		}
	}
	return strings.Join(all, "\n"), nil
}

// unmoved runs disturb and checks for a while that the membership of the cluster stays what it was.
func unmoved(t testing.TB, top *testkit.Topology, disturb func()) {
	t.Helper()
	before, err := membership(top)
	must(t, err)
	disturb()
	steadily(t, 500*time.Millisecond, func() error {
		after, err := membership(top)
		if err == nil && after != before {
			err = fmt.Errorf("membership was\n%s\nand is\n%s", before, after)
		}
		return err
	})
}
