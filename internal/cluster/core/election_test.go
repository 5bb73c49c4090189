package core_test

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// fail marks a node as failed by the word of another.
func (s *subject) fail(digit, by byte) {
	p := s.heartbeat(by, wire.TypeFail)
	p.Fail = id(digit)
	s.receive(s.links[id(by)], p)
}

// request makes a vote request of a replica.
func (s *subject) request(digit byte, epoch wire.Epoch) *wire.Packet {
	p := s.heartbeat(digit, wire.TypeVoteRequest)
	p.CurrentEpoch = epoch
	return p
}

func hasVote(effects []core.Effect) bool {
	for _, kind := range sent(effects) {
		if kind == wire.TypeVote {
			return true
		}
	}
	return false
}

// The vote is durable before it leaves, there is one an epoch, and it survives a restart.
func TestVote(t *testing.T) {
	s := start(t, three('2'))
	s.run(3000, '1', '3', '4', '5', '6')
	if s.receive(s.links[id('4')], s.request('4', 4)); hasVote(s.effects) {
		t.Fatal("vote against a primary that is up")
	}
	s.fail('1', '3')
	s.receive(s.links[id('4')], s.request('4', 5))
	p, _ := find[core.Persist](s.effects)
	if !hasVote(s.effects) || !p.Hold || !p.Sync || !strings.HasPrefix(order(s.effects), "Persist") {
		t.Fatalf("effects: %s", order(s.effects))
	}
	s.fail('3', '4')
	if s.receive(s.links[id('6')], s.request('6', 5)); hasVote(s.effects) {
		t.Error("two votes in one epoch")
	}
	conf, err := wire.ParseConf(s.core.AppendConf(nil), false)
	if err != nil {
		t.Fatal(err)
	}
	again := start(t, conf)
	again.run(3000, '1', '3', '4', '5', '6')
	again.fail('3', '4')
	if again.receive(again.links[id('6')], again.request('6', 5)); hasVote(again.effects) {
		t.Error("two votes in one epoch, with a restart between")
	}
	if again.receive(again.links[id('6')], again.request('6', 6)); !hasVote(again.effects) {
		t.Error("no vote in the next epoch")
	}
	if s.receive(s.links[id('4')], s.request('4', 7)); hasVote(s.effects) {
		t.Error("two votes about one primary within twice the node timeout")
	}
}

func TestVoteRefusals(t *testing.T) {
	s := start(t, three('2'))
	s.run(3000, '1', '3', '4', '5', '6')
	s.fail('1', '3')
	cases := map[string]func(p *wire.Packet){
		"epoch is over":    func(p *wire.Packet) { p.CurrentEpoch = 2 },
		"claim is too old": func(p *wire.Packet) { p.ConfigEpoch = 1; p.Slots.AddRange(10923, 10923) },
	}
	for name, change := range cases {
		p := s.request('4', 4)
		change(p)
		if s.receive(s.links[id('4')], p); hasVote(s.effects) {
			t.Errorf("vote although %s", name)
		}
	}
	primary := s.heartbeat('3', wire.TypeVoteRequest)
	primary.CurrentEpoch = 5
	if s.receive(s.links[id('3')], primary); hasVote(s.effects) {
		t.Error("vote for a primary")
	}
	replica := start(t, three('5'))
	replica.run(1000, '1', '2', '3', '4', '6')
	replica.fail('1', '3')
	if replica.receive(replica.links[id('4')], replica.request('4', 4)); hasVote(replica.effects) {
		t.Error("a replica votes")
	}
}

// candidate is a replica of a failed primary that has asked for votes.
func candidate(t *testing.T) *subject {
	s := start(t, three('4'))
	s.run(500, '1', '2', '3', '5', '6')
	s.step(core.Replication{Offset: 100, Primary: id('1'), Up: true, Contact: s.now})
	s.step(core.Replication{Offset: 100, Primary: id('1'), Contact: s.now})
	s.fail('1', '3')
	for range 30 {
		s.now += core.TickPeriod
		s.step(core.Tick{})
		for _, e := range s.effects {
			if x, ok := e.(core.Send); ok && x.Packet.Type == wire.TypeVoteRequest {
				p, _ := find[core.Persist](s.effects)
				if !p.Hold || !p.Sync || x.Packet.CurrentEpoch != 4 || len(x.To) != 5 {
					t.Fatalf("request in epoch %d to %d after %+v", x.Packet.CurrentEpoch, len(x.To), p)
				}
				return s
			}
		}
	}
	t.Fatal("no vote is asked for")
	return nil
}

// vote lets a primary vote in an epoch.
func (s *subject) vote(digit byte, epoch wire.Epoch) {
	p := s.heartbeat(digit, wire.TypeVote)
	p.CurrentEpoch = epoch
	s.receive(s.links[id(digit)], p)
}

func TestElection(t *testing.T) {
	s := candidate(t)
	for range 3 {
		s.vote('2', 4) // the same vote again is none
	}
	s.vote('5', 4) // a replica has none
	s.vote('3', 3) // nor does one of another epoch count
	if v := s.core.View(); v.Me().Flags.Has(wire.FlagPrimary) {
		t.Fatal("elected without a majority")
	}
	s.vote('3', 4)
	lead, ok := find[core.Lead](s.effects)
	if !ok || lead.Epoch != 4 || !lead.Elected || s.core.Owner(0) != id('4') {
		t.Fatalf("effects: %s", order(s.effects))
	}
	if got := order(s.effects); !strings.HasPrefix(got, "Persist Lead Routes Send") {
		t.Errorf("effects: %s", got)
	}
	if p, _ := find[core.Persist](s.effects); !p.Hold || !p.Sync {
		t.Error("the claim is not durable before it is told")
	}
	s.fail('2', '3')
	if s.receive(s.links[id('5')], s.request('5', 4)); hasVote(s.effects) {
		t.Error("the winner of an epoch votes in it for another")
	}
	if s.receive(s.links[id('5')], s.request('5', 5)); !hasVote(s.effects) {
		t.Error("the winner does not vote in the next epoch")
	}
}

// An election whose epoch was won by another shard is lost: the next one does not wait until its votes are too old.
func TestElectionLostToAnotherShard(t *testing.T) {
	s := candidate(t)
	s.vote('2', 4)
	news := s.heartbeat('5', wire.TypePong)
	news.Flags, news.Primary, news.ConfigEpoch, news.CurrentEpoch = wire.FlagPrimary, wire.NodeID{}, 4, 4
	s.receive(s.links[id('5')], news)
	began := s.now
	for s.now < began+1200 {
		s.now += core.TickPeriod
		s.step(core.Tick{})
		for _, e := range s.effects {
			if x, ok := e.(core.Send); ok && x.Packet.Type == wire.TypeVoteRequest {
				if x.Packet.CurrentEpoch != 5 {
					t.Errorf("votes are asked for in epoch %d", x.Packet.CurrentEpoch)
				}
				s.vote('5', 5) // which has the slots of 2 now
				s.vote('3', 5)
				if s.core.Owner(0) != id('4') {
					t.Error("not elected")
				}
				return
			}
		}
	}
	t.Error("no second election within 1.2 s")
}

// A replica whose data is not this shard's does not stand, nor one whose data is too old, nor one that must not.
func TestWhoStands(t *testing.T) {
	stands := func(s *subject) bool {
		s.fail('1', '3')
		for range 30 {
			s.now += core.TickPeriod
			s.step(core.Tick{})
			for _, kind := range sent(s.effects) {
				if kind == wire.TypeVoteRequest {
					return true
				}
			}
		}
		return false
	}
	fresh := func() *subject {
		s := start(t, three('4'))
		s.run(500, '1', '2', '3', '5', '6')
		return s
	}
	if s := fresh(); stands(s) {
		t.Error("data of unknown age stands")
	}
	s := fresh()
	s.step(core.Replication{Primary: id('1'), Up: true, Contact: s.now - 60_000})
	if stands(s) {
		t.Error("data a minute old stands")
	}
	s = fresh()
	s.step(core.Replication{Primary: id('2'), Up: true, Contact: s.now})
	if stands(s) {
		t.Error("news of another primary counts")
	}
	s = fresh()
	s.step(core.Replication{Primary: id('1'), Up: true, Contact: s.now})
	cfg := testConfig()
	cfg.ReplicaNoFailover = true
	s.step(core.Configure{Config: cfg})
	if stands(s) {
		t.Error("a replica that must not stand stands")
	}
	s = fresh()
	s.step(core.Replication{Primary: id('1'), Up: true, Contact: s.now})
	s.cluster("REPLICATE " + id('2').String())
	s.cluster("REPLICATE " + id('1').String())
	if stands(s) {
		t.Error("data of another shard stands")
	}
	s = fresh()
	cfg.ReplicaNoFailover, cfg.ReplicaValidityFactor = false, 0
	s.step(core.Configure{Config: cfg})
	if !stands(s) {
		t.Error("data of any age does not stand although the factor is 0")
	}
}

// The primary tells its offset only once writes have stopped.
func TestPauseBeforeOffset(t *testing.T) {
	s := start(t, three('1'))
	s.run(3000, '2', '3', '4', '5', '6')
	s.receive(s.links[id('4')], s.heartbeat('4', wire.TypeFailoverMe))
	pause, ok := find[core.Pause](s.effects)
	if !ok || len(sent(s.effects)) > 0 || pause.Until != s.now+10_000 {
		t.Fatalf("effects: %s", order(s.effects))
	}
	s.step(core.Replication{Offset: 500})
	s.step(core.Paused{Token: pause.Token + 1, Offset: 600})
	if len(s.effects) > 0 {
		t.Error("an answer to another pause counts")
	}
	s.step(core.Paused{Token: pause.Token, Offset: 700})
	ping, ok := find[core.Send](s.effects)
	if !ok || ping.Packet.MsgFlags&wire.MsgPaused == 0 || ping.Packet.Offset != 700 {
		t.Fatalf("effects: %s", order(s.effects))
	}
	s.run(6500, '2', '3', '4', '5', '6')
	if !strings.Contains(logText(s), "failover by command timed out") {
		t.Error("the pause does not end")
	}
}

func logText(s *subject) string {
	var b strings.Builder
	for _, l := range s.logs {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

// The replica waits until it has applied what the primary wrote before it paused.
func TestReplicaCatchesUp(t *testing.T) {
	s := start(t, three('4'))
	s.run(500, '1', '2', '3', '5', '6')
	s.step(core.Replication{Offset: 100, Primary: id('1'), Up: true, Contact: s.now})
	s.cluster("FAILOVER")
	if got := sent(s.effects); len(got) != 1 || got[0] != wire.TypeFailoverMe {
		t.Fatalf("sent %v", got)
	}
	asks := func() bool {
		for _, e := range s.effects {
			if x, ok := e.(core.Send); ok && x.Packet.Type == wire.TypeVoteRequest {
				return x.Packet.MsgFlags&wire.MsgForceAck != 0
			}
		}
		return false
	}
	p := s.heartbeat('1', wire.TypePing)
	p.Offset = 150
	if s.receive(s.links[id('1')], p); asks() {
		t.Fatal("an offset without pause counts")
	}
	p.MsgFlags |= wire.MsgPaused
	if s.receive(s.links[id('1')], p); asks() {
		t.Fatal("votes are asked for before all is applied")
	}
	if s.step(core.Replication{Offset: 150, Primary: id('1'), Up: true, Contact: s.now}); !asks() {
		t.Fatalf("no votes are asked for: %s", order(s.effects))
	}
}

// A primary that slept for longer than the node timeout does not serve until it has heard from the others.
func TestSleep(t *testing.T) {
	s := start(t, three('1'))
	s.run(4000, '2', '3', '4', '5', '6')
	if s.core.State() != wire.StateOK {
		t.Fatal("the state is not ok")
	}
	s.now += 1500
	s.step(core.Tick{})
	if s.core.State() != wire.StateOK || strings.Contains(s.nodes(), "fail") {
		t.Fatalf("a short sleep is taken for failures of others:\n%s", s.nodes())
	}
	s.now += 3000
	s.step(core.Tick{})
	if s.core.State() != wire.StateFail || strings.Contains(s.nodes(), "fail") {
		t.Fatalf("after a long sleep:\n%s", s.nodes())
	}
	s.run(3000, '2', '3', '4', '5', '6')
	if s.core.State() != wire.StateOK {
		t.Error("it does not serve again")
	}
}
