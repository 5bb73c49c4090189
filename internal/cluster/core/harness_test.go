package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// subject is a core under test with its time and its data.
type subject struct {
	t    *testing.T
	core *core.Core
	now  clock.Millis
	keys map[slot.ID]int
	// effects are those of the last step, except logs.
	effects []core.Effect
	logs    []core.Log
	links   map[wire.NodeID]core.LinkID // links to the members, by name
	local   wire.Host                   // where peers reach the node
	nextIn  core.LinkID
}

const startTime clock.Millis = 1_700_000_000_000

// id makes a name that is easy to read: the digit 40 times.
func id(digit byte) (n wire.NodeID) {
	for i := range n {
		n[i] = digit
	}
	return n
}

func host(text string) wire.Host {
	h, ok := wire.ParseHost(text)
	if !ok {
		panic(text)
	}
	return h
}

// line makes a line of nodes.conf: primary "" for a primary.
func line(digit byte, primary byte, epoch wire.Epoch, first, last int) wire.NodeLine {
	n := wire.NodeLine{ID: id(digit), IP: host("10.0.0." + string(digit)), TCPPort: 7000, BusPort: 17000, ShardID: id(digit),
		Flags: wire.FlagPrimary, ConfigEpoch: epoch, PongReceivedMillis: 1}
	if primary != 0 {
		n.Flags, n.Primary, n.ShardID = wire.FlagReplica, id(primary), id(primary)
	}
	if last >= first {
		n.Slots.AddRange(slot.ID(first), slot.ID(last))
	}
	return n
}

// three is a cluster of primaries 1, 2, 3 with replicas 4, 5, 6, seen from the node with the digit.
func three(me byte) *wire.Conf {
	conf := &wire.Conf{CurrentEpoch: 3, Nodes: []wire.NodeLine{
		line('1', 0, 1, 0, 5460), line('2', 0, 2, 5461, 10922), line('3', 0, 3, 10923, 16383),
		line('4', '1', 1, 1, 0), line('5', '2', 2, 1, 0), line('6', '3', 3, 1, 0),
	}}
	conf.Nodes[me-'1'].Flags |= wire.FlagMyself
	return conf
}

func testConfig() core.Config {
	cfg := core.DefaultConfig()
	cfg.NodeTimeout, cfg.TCPPort, cfg.BusPort = 2000, 7000, 17000
	return cfg
}

// start makes a core; conf is nil for a new node.
func start(t *testing.T, conf *wire.Conf) *subject {
	t.Helper()
	c, err := core.New(core.Options{Config: testConfig(), Seed: [4]uint64{1, 2, 3, 4}, Conf: conf})
	if err != nil {
		t.Fatal(err)
	}
	local := host("10.0.0.9")
	if conf != nil {
		local = conf.Myself().IP
	}
	return &subject{t: t, local: local, core: c, now: startTime, keys: map[slot.ID]int{}, links: map[wire.NodeID]core.LinkID{}, nextIn: core.LinkAccepted}
}

// Keys and KeysIn make the subject a core.KeyCounts.
func (s *subject) Keys() (n int) {
	for _, count := range s.keys {
		n += count
	}
	return n
}

func (s *subject) KeysIn(at slot.ID) int { return s.keys[at] }

// step gives an event and keeps the effects.
func (s *subject) step(ev core.Event) []core.Effect {
	s.effects = nil
	for _, e := range s.core.Step(s.now, ev) {
		if l, ok := e.(core.Log); ok {
			s.logs = append(s.logs, l)
			continue
		}
		s.effects = append(s.effects, e)
	}
	return s.effects
}

// run lets ticks pass; every link that is asked for comes up, every ping of a member in answering is answered.
func (s *subject) run(span clock.Millis, answering ...byte) {
	for end := s.now + span; s.now < end; {
		s.now += core.TickPeriod
		s.settle(s.step(core.Tick{}), answering)
	}
}

// settle brings up the links that effects ask for and answers pings.
func (s *subject) settle(effects []core.Effect, answering []byte) {
	for _, e := range effects {
		switch e := e.(type) {
		case core.Connect:
			for _, digit := range answering {
				if e.Host == host("10.0.0."+string(digit)) {
					s.links[id(digit)] = e.Link
					s.settle(append([]core.Effect(nil), s.step(core.Connected{Link: e.Link, Remote: e.Host})...), answering)
				}
			}
		case core.Send:
			for _, to := range append([]core.LinkID(nil), e.To...) {
				for _, digit := range answering {
					if s.links[id(digit)] == to && e.Packet.Type != wire.TypePong {
						s.receive(to, s.heartbeat(digit, wire.TypePong))
					}
				}
			}
		}
	}
}

// heartbeat makes a heartbeat of a member as the view of the subject has it.
func (s *subject) heartbeat(digit byte, kind wire.Type) *wire.Packet {
	v := s.core.View()
	p := &wire.Packet{Header: wire.Header{Type: kind, Sender: id(digit), Port: 7000, BusPort: 17000, CurrentEpoch: v.CurrentEpoch,
		MsgFlags: wire.MsgExtData}}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.ID != id(digit) {
			continue
		}
		p.Flags = n.Flags & (wire.FlagPrimary | wire.FlagReplica)
		p.ConfigEpoch = n.ConfigEpoch
		p.Ext.ShardID = n.Shard
		leader := i
		if n.Primary >= 0 && n.Flags.Has(wire.FlagReplica) {
			leader = n.Primary
			p.Primary, p.ConfigEpoch = v.Nodes[leader].ID, v.Nodes[leader].ConfigEpoch
		}
		for at, owner := range &v.Owner {
			if int(owner) == leader+1 {
				p.Slots.Add(slot.ID(at))
			}
		}
	}
	return p
}

func (s *subject) receive(l core.LinkID, p *wire.Packet) []core.Effect {
	return s.step(core.Received{Link: l, Packet: p})
}

// inbound opens a link from outside.
func (s *subject) inbound(from string) core.LinkID {
	s.nextIn++
	s.step(core.Accepted{Link: s.nextIn, Remote: host(from), Local: s.local})
	return s.nextIn
}

// cluster runs a CLUSTER command and gives the answer as text.
func (s *subject) cluster(command string) string {
	words := strings.Fields(command)
	args := make([][]byte, len(words))
	for i, word := range words {
		if word == `""` {
			word = ""
		}
		args[i] = []byte(word)
	}
	for _, e := range s.step(core.Command{Request: 7, Args: args, Keys: s}) {
		if r, ok := e.(core.Reply); ok && r.Request == 7 {
			switch r.Kind {
			case core.Status:
				return "+" + r.Text
			case core.Failure:
				return "-" + r.Text
			default:
				return fmt.Sprintf(":%d", r.Number)
			}
		}
	}
	return "no answer"
}

// nodes is the table as CLUSTER NODES shows it.
func (s *subject) nodes() string { return string(s.core.AppendNodes(nil, wire.FormClient)) }

// find gives the first effect of a type.
func find[E core.Effect](effects []core.Effect) (found E, ok bool) {
	for _, e := range effects {
		if found, ok = e.(E); ok {
			return found, true
		}
	}
	return found, false
}

// sent lists the types of the packets that were sent.
func sent(effects []core.Effect) (types []wire.Type) {
	for _, e := range effects {
		if s, ok := e.(core.Send); ok {
			types = append(types, s.Packet.Type)
		}
	}
	return types
}

// order gives the names of the effects.
func order(effects []core.Effect) string {
	var names []string
	for _, e := range effects {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", e), "core."))
	}
	return strings.Join(names, " ")
}
