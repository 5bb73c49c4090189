package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// exchange is a command and its answer; "#1" in either stands for the name of node 1.
type exchange struct{ command, answer string }

func (s *subject) talk(list []exchange) {
	s.t.Helper()
	expand := func(text string) string {
		for digit := byte('1'); digit <= '9'; digit++ {
			text = strings.ReplaceAll(text, "#"+string(digit), id(digit).String())
		}
		return strings.ReplaceAll(text, "#me", s.core.MyID().String())
	}
	for _, x := range list {
		if got, want := s.cluster(expand(x.command)), expand(x.answer); got != want {
			s.t.Errorf("CLUSTER %s\n got %s\nwant %s", x.command, got, want)
		}
	}
}

func TestCommandsOfNewNode(t *testing.T) {
	s := start(t, nil)
	s.run(2500)
	s.talk([]exchange{
		{"FORGET abc", "-ERR Unknown node abc"},
		{"FORGET aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "-ERR Unknown node aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
		{`FORGET ""`, "-ERR Unknown node "},
		{"FORGET #me", "-ERR I tried hard but I can't forget myself..."},
		{"REPLICATE #me", "-ERR Can't replicate myself"},
		{"REPLICATE #1", "-ERR Unknown node #1"},
		{"FAILOVER", "-ERR You should send CLUSTER FAILOVER to a replica"},
		{"FAILOVER NOW", "-ERR syntax error"},
		{"MEET not-an-ip 7000", "-ERR Invalid node address specified: not-an-ip:7000"},
		{"MEET 127.0.0.1 0", "-ERR Invalid node address specified: 127.0.0.1:0"},
		{"MEET 127.0.0.1 x", "-ERR Invalid base port specified: x"},
		{"MEET 127.0.0.1 7000 x", "-ERR Invalid bus port specified: x"},
		{"MEET 127.0.0.1 7000 0", "-ERR Invalid node address specified: 127.0.0.1:7000"},
		{"MEET 127.0.0.1 60000", "-ERR Invalid node address specified: 127.0.0.1:60000"},
		{"MEET 127.0.0.1 4294974296", "-ERR Invalid node address specified: 127.0.0.1:4294974296"},
		{"MEET 127.0.0.01 7000", "-ERR Invalid node address specified: 127.0.0.01:7000"},
		{"MEET fe80::1%eth0 7000", "-ERR Invalid node address specified: fe80::1%eth0:7000"},
		{"COUNT-FAILURE-REPORTS #1", "-ERR Unknown node #1"},
		{"COUNT-FAILURE-REPORTS #me", ":0"},
		{"SET-CONFIG-EPOCH -1", "-ERR Invalid config epoch specified: -1"},
		{"SET-CONFIG-EPOCH x", "-ERR value is not an integer or out of range"},
		{"SET-CONFIG-EPOCH 3", "+OK"},
		{"SET-CONFIG-EPOCH 4", "-ERR Node config epoch is already non-zero"},
		{"BUMPEPOCH", "+STILL 3"},
		{"RESET MAYBE", "-ERR syntax error"},
		{"SAVECONFIG", "+OK"},
		{"NOSUCH", "-ERR unknown subcommand or wrong number of arguments for 'NOSUCH'. Try CLUSTER HELP."},
		{"FORGET", "-ERR unknown subcommand or wrong number of arguments for 'FORGET'. Try CLUSTER HELP."},
	})
	if known := s.core.Stats().KnownNodes; known != 1 {
		t.Errorf("%d nodes are known", known)
	}
}

func TestSlotCommands(t *testing.T) {
	s := start(t, nil)
	s.run(2500)
	s.talk([]exchange{
		{"ADDSLOTS -1", "-ERR Invalid or out of range slot"},
		{"ADDSLOTS 16384", "-ERR Invalid or out of range slot"},
		{"ADDSLOTS 1 x", "-ERR Invalid or out of range slot"},
		{"ADDSLOTS 1 1", "-ERR Slot 1 specified multiple times"},
		{"ADDSLOTSRANGE 5 3", "-ERR start slot number 5 is greater than end slot number 3"},
		{"ADDSLOTSRANGE 0 10 5", "-ERR wrong number of arguments for 'cluster|addslotsrange' command"},
		{"ADDSLOTSRANGE 0 10 5 12", "-ERR Slot 5 specified multiple times"},
		{"ADDSLOTSRANGE 0 16383", "+OK"},
		{"ADDSLOTS 5", "-ERR Slot 5 is already busy"},
		{"DELSLOTS 16384", "-ERR Invalid or out of range slot"},
		{"DELSLOTS 1 1", "-ERR Slot 1 specified multiple times"},
		{"DELSLOTSRANGE 10 12", "+OK"},
		{"DELSLOTS 11", "-ERR Slot 11 is already unassigned"},
		{"ADDSLOTS 10 11 12", "+OK"},
		{"SETSLOT 5 IMPORTING #1", "-ERR I'm already the owner of hash slot 5"},
		{"SETSLOT 5 MIGRATING #1", "-ERR I don't know about node #1"},
		{"SETSLOT 5 NODE #1", "-ERR Unknown node #1"},
		{"SETSLOT 5 NOSUCH", "-ERR Invalid CLUSTER SETSLOT action or number of arguments. Try CLUSTER HELP"},
		{"SETSLOT 5 STABLE", "+OK"},
		{"SETSLOT x STABLE", "-ERR Invalid or out of range slot"},
	})
	s.keys[12182] = 1
	s.talk([]exchange{
		{"FLUSHSLOTS", "-ERR DB must be empty to perform CLUSTER FLUSHSLOTS."},
		{"RESET", "-ERR CLUSTER RESET can't be called with master nodes containing keys"},
	})
	delete(s.keys, 12182)
	s.talk([]exchange{{"FLUSHSLOTS", "+OK"}, {"RESET HARD", "+OK"}})
	if n := s.core.Stats().SlotsAssigned; n != 0 {
		t.Errorf("%d slots are left", n)
	}
}

func TestCommandsOfMember(t *testing.T) {
	s := start(t, three('1'))
	s.run(3000, '2', '3', '4', '5', '6')
	s.keys[3] = 2
	s.talk([]exchange{
		{"REPLICATE #2", "-ERR To set a master the node must be empty and without assigned slots."},
		{"SET-CONFIG-EPOCH 9", "-ERR The user can assign a config epoch only when the node does not know any other node."},
		{"SETSLOT 3 MIGRATING #5", "-ERR Target node is not a master"},
		{"SETSLOT 6000 MIGRATING #2", "-ERR I'm not the owner of hash slot 6000"},
		{"SETSLOT 3 MIGRATING #2", "+OK"},
		{"SETSLOT 6000 IMPORTING #2", "+OK"},
		{"SETSLOT 3 NODE #2", "-ERR Can't assign hashslot 3 to a different node while I still hold keys for this hash slot."},
		{"SETSLOT 3 NODE #4", "-ERR Target node is not a master"},
	})
	if text := s.nodes(); !strings.Contains(text, "[3->-"+id('2').String()+"]") || !strings.Contains(text, "[6000-<-"+id('2').String()+"]") {
		t.Errorf("open slots are missing:\n%s", text)
	}
	s.talk([]exchange{{"SETSLOT 3 STABLE", "+OK"}, {"SETSLOT 6000 NODE #me", "+OK"}, {"BUMPEPOCH", "+STILL 4"}})
	if text := s.nodes(); strings.Contains(text, "[") {
		t.Errorf("open slots are left:\n%s", text)
	}
	if s.core.Owner(6000) != id('1') {
		t.Error("slot 6000 did not move")
	}
}

func TestCommandsOfReplica(t *testing.T) {
	s := start(t, three('4'))
	s.run(1000, '1', '2', '3', '5', '6')
	s.talk([]exchange{
		{"FORGET #1", "-ERR Can't forget my master!"},
		{"SETSLOT 0 STABLE", "-ERR Please use SETSLOT only with masters."},
		{"REPLICATE #5", "-ERR I can only replicate a master, not a replica."},
		{"REPLICATE #me", "-ERR Can't replicate myself"},
		{"FORGET #6", "+OK"},
		{"FORGET #6", "+OK"},
		{"FAILOVER", "+OK"},
		{"REPLICATE #2", "+OK"},
	})
	if f, ok := find[core.Follow](s.effects); !ok || f.Primary != id('2') || f.Port != 7000 {
		t.Errorf("effects of REPLICATE: %s", order(s.effects))
	}
	s.talk([]exchange{{"RESET", "+OK"}})
	if got := order(s.effects); !strings.HasPrefix(got, "Persist Lead Routes Flush") {
		t.Errorf("effects of RESET: %s", got)
	}
}

// What a command changes is written and in force before its answer.
func TestReplyComesLast(t *testing.T) {
	s := start(t, three('1'))
	s.run(3000, '2', '3')
	for _, command := range []string{
		"SETSLOT 3 MIGRATING " + id('2').String(), "SETSLOT 3 NODE " + id('2').String(), "DELSLOTS 4", "ADDSLOTS 4",
	} {
		if answer := s.cluster(command); answer != "+OK" {
			t.Fatalf("%s: %s", command, answer)
		}
		p, ok := find[core.Persist](s.effects)
		if got := order(s.effects); !ok || !p.Hold || !strings.HasPrefix(got, "Persist Routes") || !strings.HasSuffix(got, "Reply") {
			t.Errorf("%s: %s", command, got)
		}
	}
}

func TestReplicasView(t *testing.T) {
	s := start(t, three('2'))
	for given, want := range map[string]string{
		id('1').String(): "", id('4').String(): "ERR The specified node is not a master", "x": "ERR Unknown node x",
	} {
		lines, failure := s.core.Replicas([]byte(given))
		if failure != want || want == "" && (len(lines) != 1 || lines[0].ID != id('4')) {
			t.Errorf("Replicas(%s): %v %q", given, lines, failure)
		}
	}
}

// The address that MEET was given is the one that is connected to, in its usual form.
func TestMeetNormalisesAddress(t *testing.T) {
	for given, want := range map[string]string{"10.0.0.7": "10.0.0.7", "0:0::0:1": "::1", "::FFFF:1.2.3.4": "::ffff:1.2.3.4"} {
		s := start(t, nil)
		if answer := s.cluster("MEET " + given + " 7000 7001"); answer != "+OK" {
			t.Fatal(answer)
		}
		s.now += core.TickPeriod
		s.step(core.Tick{})
		c, ok := find[core.Connect](s.effects)
		if !ok || c.Host.String() != want || c.Port != 7001 {
			t.Errorf("MEET %s connects to %s:%d", given, c.Host, c.Port)
		}
		s.step(core.Connected{Link: c.Link, Remote: c.Host})
		if got := fmt.Sprint(sent(s.effects)); got != "[meet]" {
			t.Errorf("first packet: %s", got)
		}
	}
}

// What is written can be read, and says the same.
func TestConfRoundTrip(t *testing.T) {
	s := start(t, three('1'))
	s.run(1000, '2', '3')
	s.cluster("SETSLOT 3 MIGRATING " + id('2').String())
	s.cluster("SETSLOT 7000 IMPORTING " + id('2').String())
	s.cluster("MEET 10.0.0.77 7000")
	text := s.core.AppendConf(nil)
	conf, err := wire.ParseConf(text, false)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	again := start(t, conf)
	again.run(100)
	a, b := s.core.View(), again.core.View()
	if len(b.Nodes) != 6 || a.CurrentEpoch != b.CurrentEpoch || b.Me().ID != id('1') {
		t.Fatalf("another table:\n%s", again.nodes())
	}
	for at := range slot.ID(slot.Count) {
		if a.OwnerOf(at).ID != b.OwnerOf(at).ID {
			t.Fatalf("another owner of slot %d", at)
		}
	}
	for at, markers := range map[slot.ID][2]wire.NodeID{3: {id('2'), {}}, 7000: {{}, id('2')}} {
		if to, from := again.core.Moving(at); to != markers[0] || from != markers[1] {
			t.Errorf("slot %d moves from %q to %q", at, from, to)
		}
	}
}

// What a later view takes away is taken away, what it adds is not added.
func TestViewLimit(t *testing.T) {
	s := start(t, three('1'))
	s.run(3000, '2', '3')
	before := s.core.View()
	s.cluster("SETSLOT 3 NODE " + id('2').String())
	s.cluster("DELSLOTS 4")
	s.cluster("SETSLOT 6000 NODE " + id('1').String())
	s.cluster("FORGET " + id('3').String())
	after := s.core.View()
	limited := before.Limit(after)
	for at, want := range map[slot.ID]wire.NodeID{2: id('1'), 3: id('2'), 4: {}, 6000: id('2'), 11000: id('3')} {
		var got wire.NodeID
		if n := limited.OwnerOf(at); n != nil {
			got = n.ID
		}
		if got != want {
			t.Errorf("slot %d belongs to %q, want %q", at, got, want)
		}
	}
	if limited.State != after.State || after.State != wire.StateFail {
		t.Errorf("state %s, later %s", limited.State, after.State)
	}
	if again := before.Limit(before); again.Owner != before.Owner || again.State != before.State {
		t.Error("a view limits itself")
	}
}
