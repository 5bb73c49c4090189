package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// members is the table without what changes all the time.
func (s *subject) members() string {
	var b strings.Builder
	v := s.core.View()
	for i := range v.Nodes {
		n := &v.Nodes[i]
		fmt.Fprintln(&b, n.ID, n.IP, n.TCPPort, n.BusPort, n.Flags, n.Primary, n.Slots, n.ConfigEpoch)
	}
	return b.String()
}

// Whatever strangers and liars send, the table stays as it is.
func TestHostilePackets(t *testing.T) {
	s := start(t, three('1'))
	s.run(3000, '2', '3', '4', '5', '6')
	before := s.members()
	ping := func(change func(*wire.Packet)) *wire.Packet {
		p := s.heartbeat('9', wire.TypePing)
		p.Flags = wire.FlagPrimary
		change(p)
		return p
	}
	stranger := map[string]*wire.Packet{
		"ping":               ping(func(*wire.Packet) {}),
		"claim":              ping(func(p *wire.Packet) { p.ConfigEpoch = 99; p.Slots.AddRange(0, 16383) }),
		"meet without port":  ping(func(p *wire.Packet) { p.Type = wire.TypeMeet; p.Port = 0 }),
		"meet without bus":   ping(func(p *wire.Packet) { p.Type = wire.TypeMeet; p.BusPort = 0 }),
		"fail":               ping(func(p *wire.Packet) { p.Type = wire.TypeFail; p.Fail = id('2') }),
		"vote request":       ping(func(p *wire.Packet) { p.Type = wire.TypeVoteRequest; p.CurrentEpoch = 99 }),
		"update":             ping(func(p *wire.Packet) { p.Type = wire.TypeUpdate; p.Update.ID = id('2'); p.Update.ConfigEpoch = 99 }),
		"mfstart":            ping(func(p *wire.Packet) { p.Type = wire.TypeFailoverMe }),
		"own name":           ping(func(p *wire.Packet) { p.Sender = id('1'); p.ConfigEpoch = 99 }),
		"unknown type":       ping(func(p *wire.Packet) { p.Type = wire.TypeCount }),
		"publish":            ping(func(p *wire.Packet) { p.Type = wire.TypePublish }),
		"gossip of stranger": ping(func(p *wire.Packet) { p.Gossip = []wire.Gossip{entry('8', wire.FlagPrimary)} }),
	}
	for name, p := range stranger {
		s.receive(s.inbound("10.9.9.9"), p)
		if _, ok := find[core.Deliver](s.effects); ok {
			t.Errorf("%s: a stranger's message is delivered", name)
		}
		if after := s.members(); after != before {
			t.Fatalf("%s changes the table:\n%s", name, after)
		}
	}
	member := s.heartbeat('2', wire.TypePing)
	bad := entry('x', wire.FlagPrimary)
	noAddress := entry('8', wire.FlagPrimary|wire.FlagNoAddr)
	me := entry('1', wire.FlagFail)
	member.Gossip = []wire.Gossip{bad, noAddress, me}
	s.receive(s.links[id('2')], member)
	if after := s.members(); after != before {
		t.Fatalf("bad gossip changes the table:\n%s", after)
	}
}

func entry(digit byte, flags wire.NodeFlags) wire.Gossip {
	return wire.Gossip{ID: id(digit), IP: host("10.0.0.88"), Port: 7000, BusPort: 17000, Flags: flags}
}

// A node that is met leaves no trace when it never answers.
func TestMeetThatLeadsNowhere(t *testing.T) {
	s := start(t, three('1'))
	s.run(3000, '2', '3', '4', '5', '6')
	before := s.members()
	p := s.heartbeat('9', wire.TypeMeet)
	for range 3 {
		s.receive(s.inbound("10.9.9.9"), p)
	}
	if n := s.core.Stats().KnownNodes; n != 7 {
		t.Errorf("%d nodes, want one in handshake", n)
	}
	s.run(2500, '2', '3', '4', '5', '6')
	if after := s.members(); after != before {
		t.Errorf("the table has changed:\n%s", after)
	}
}

// A link that leads back to the node itself is dropped, and nothing is learned from it.
func TestMeetingOneself(t *testing.T) {
	s := start(t, nil)
	s.cluster("MEET 10.0.0.9 7000")
	s.now += core.TickPeriod
	c, _ := find[core.Connect](s.step(core.Tick{}))
	s.step(core.Connected{Link: c.Link, Remote: c.Host})
	own := &wire.Packet{Header: wire.Header{Type: wire.TypePong, Sender: s.core.MyID(), Port: 1, BusPort: 2}}
	s.receive(c.Link, own)
	if n := s.core.Stats().KnownNodes; n != 1 {
		t.Errorf("%d nodes are known:\n%s", n, s.nodes())
	}
}

// Another node at a member's address: the member is without address, the other one is believed nothing.
func TestStrangerAtKnownAddress(t *testing.T) {
	s := start(t, three('1'))
	s.run(1000, '2', '3')
	p := s.heartbeat('9', wire.TypePong)
	p.ConfigEpoch, p.Flags = 99, wire.FlagPrimary
	p.Slots.AddRange(0, 16383)
	p.Gossip = []wire.Gossip{entry('8', wire.FlagPrimary)}
	s.receive(s.links[id('2')], p)
	if text := s.nodes(); !strings.Contains(text, id('2').String()+" :0@0 master,noaddr") || s.core.Stats().KnownNodes != 6 {
		t.Errorf("the table:\n%s", text)
	}
	if s.core.Owner(0) != id('1') || s.core.Stats().CurrentEpoch != 3 {
		t.Error("the stranger was believed")
	}
	// Its silence counts: it can be failed over although it has no address.
	s.run(2500, '3')
	if text := s.nodes(); !strings.Contains(text, "fail?,noaddr") && !strings.Contains(text, "fail,noaddr") {
		t.Errorf("the node without address is not suspected:\n%s", text)
	}
	// Its own word brings it back.
	s.receive(s.inbound("10.0.0.22"), s.heartbeat('2', wire.TypePing))
	if text := s.nodes(); !strings.Contains(text, id('2').String()+" 10.0.0.22:7000@17000") {
		t.Errorf("the table:\n%s", text)
	}
}

// Extensions go only to those who show that they know them.
func TestExtensionsOnlyForThoseWhoKnow(t *testing.T) {
	s := start(t, three('1'))
	for _, knows := range []bool{false, true} {
		p := s.heartbeat('9', wire.TypePing)
		if !knows {
			p.MsgFlags = 0
		}
		s.receive(s.inbound("10.9.9.9"), p)
		pong, ok := find[core.Send](s.effects)
		if !ok || pong.Packet.Type != wire.TypePong || pong.Packet.Ext.ShardID.IsZero() == knows {
			t.Errorf("knows %v: %v", knows, pong.Packet)
		}
	}
}

func TestHostnames(t *testing.T) {
	s := start(t, three('1'))
	s.run(500, '2', '3')
	tell := func(name string) string {
		p := s.heartbeat('2', wire.TypePing)
		p.Ext.Hostname = []byte(name)
		s.receive(s.links[id('2')], p)
		return s.nodes()
	}
	if text := tell("two.example"); !strings.Contains(text, "10.0.0.2:7000@17000,two.example ") {
		t.Errorf("host name is not shown:\n%s", text)
	}
	if text := tell(""); strings.Contains(text, "two.example") {
		t.Errorf("host name stays:\n%s", text)
	}
	tell("again.example")
	bare := s.heartbeat('2', wire.TypePing)
	bare.Ext = wire.Extensions{} // only shows that it knows extensions
	s.receive(s.links[id('2')], bare)
	if text := s.nodes(); !strings.Contains(text, "again.example") {
		t.Error("a packet without extensions has taken the name away")
	}
}

// An epoch in a packet that is no heartbeat, or of a replica, does not lift claims it never ranked.
func TestEpochOnlyWithSlots(t *testing.T) {
	s := start(t, three('1'))
	s.run(500, '2', '3')
	p := s.heartbeat('2', wire.TypePublish)
	p.ConfigEpoch = 50
	s.receive(s.links[id('2')], p)
	p = s.heartbeat('5', wire.TypePing)
	p.ConfigEpoch = 50
	s.receive(s.inbound("10.0.0.5"), p)
	v := s.core.View()
	for i := range v.Nodes {
		if v.Nodes[i].ConfigEpoch == 50 {
			t.Errorf("node %s has got the epoch", v.Nodes[i].ID)
		}
	}
}

// A claim with a higher epoch takes slots; one with a lower is answered with an Update about each owner.
func TestClaims(t *testing.T) {
	s := start(t, three('1'))
	s.run(3000, '2', '3', '4', '5', '6')
	p := s.heartbeat('3', wire.TypePing)
	p.ConfigEpoch = 9
	p.Slots.AddRange(0, 9)
	p.Slots.AddRange(6000, 6009)
	s.receive(s.links[id('3')], p)
	purge, _ := find[core.Purge](s.effects)
	var want slot.Set
	want.AddRange(0, 9)
	if s.core.Owner(5) != id('3') || s.core.Owner(6005) != id('3') || purge.Slots == nil || !purge.Slots.Equal(&want) {
		t.Fatalf("effects: %s", order(s.effects))
	}
	if got := order(s.effects); !strings.HasPrefix(got, "Persist Routes Purge") {
		t.Errorf("effects: %s", got)
	}
	old := s.heartbeat('2', wire.TypePing)
	old.Slots.AddRange(0, 20)
	old.Slots.AddRange(6000, 6009)
	s.receive(s.links[id('2')], old)
	if got := fmt.Sprint(sent(s.effects)); got != "[update pong]" && got != "[update update pong]" {
		t.Errorf("sent: %s", got)
	}
}

// Forgetting spreads, for a bounded time, and never to oneself or one's primary.
func TestForgottenSpreads(t *testing.T) {
	s := start(t, three('4'))
	s.run(500, '1', '2')
	p := s.heartbeat('2', wire.TypePing)
	for _, digit := range []byte{'6', '1', '4', '2', '9'} {
		p.Ext.Forgotten = append(p.Ext.Forgotten, wire.Forgotten{ID: id(digit), TTLSeconds: 1 << 60})
	}
	s.receive(s.links[id('2')], p)
	if n := s.core.Stats().KnownNodes; n != 5 || strings.Contains(s.nodes(), id('6').String()) {
		t.Fatalf("the table:\n%s", s.nodes())
	}
	gossip := s.heartbeat('2', wire.TypePing)
	gossip.Gossip = []wire.Gossip{entry('6', wire.FlagReplica)}
	s.receive(s.links[id('2')], gossip)
	if s.core.Stats().KnownNodes != 5 {
		t.Error("gossip brings the forgotten node back at once")
	}
	pong, _ := find[core.Send](s.effects)
	if n := len(pong.Packet.Ext.Forgotten); n != 1 {
		t.Errorf("%d forgotten nodes are passed on", n)
	}
	s.run(61_000, '1', '2')
	s.receive(s.links[id('2')], gossip)
	if s.core.Stats().KnownNodes != 6 {
		t.Error("the node stays forgotten for ever")
	}
}

// Who is believed about the address of the node itself.
func TestOwnAddress(t *testing.T) {
	s := start(t, three('1'))
	s.run(500, '2', '3')
	reach := func(at string, kind wire.Type, from byte) string {
		s.local = host(at)
		p := s.heartbeat(from, kind)
		if from == '9' {
			p.Port = 0 // a stranger's Meet shall not begin a handshake
		}
		s.receive(s.inbound("10.0.0."+string(from)), p)
		return s.core.View().Me().IP.String()
	}
	for _, c := range []struct {
		at   string
		kind wire.Type
		from byte
		want string
	}{
		{"10.1.1.1", wire.TypePing, '9', "10.0.0.1"}, // a stranger
		{"10.1.1.2", wire.TypePing, '2', "10.1.1.2"}, // nobody has reached the node at its old address
		{"10.1.1.2", wire.TypePing, '2', "10.1.1.2"},
		{"10.1.1.3", wire.TypePing, '3', "10.1.1.2"}, // one has at this
		{"10.1.1.3", wire.TypeMeet, '9', "10.1.1.2"},
		{"10.1.1.4", wire.TypeMeet, '3', "10.1.1.4"}, // the operator says so
	} {
		if got := reach(c.at, c.kind, c.from); got != c.want {
			t.Errorf("%s from %c at %s: own address is %s, want %s", c.kind, c.from, c.at, got, c.want)
		}
	}
	cfg := testConfig()
	cfg.AnnounceIP = host("node-1.example")
	s.step(core.Configure{Config: cfg})
	if got := reach("10.1.1.5", wire.TypeMeet, '3'); got != "node-1.example" {
		t.Errorf("announced address is replaced by %s", got)
	}
	cfg.AnnounceIP = wire.Host{}
	s.step(core.Configure{Config: cfg})
	if got := reach("10.1.1.6", wire.TypePing, '9'); got != "10.1.1.6" {
		t.Errorf("address is not learned again: %s", got)
	}
}
