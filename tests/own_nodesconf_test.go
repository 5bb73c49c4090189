package tests

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

var (
	ownID   = strings.Repeat("1234567890abcdef1234", 2)
	otherID = strings.Repeat("fedcba09876543210000", 2)
)

// nodeWithFile prepares a cluster node whose nodes.conf make writes; it gets the client and the bus port.
func nodeWithFile(t testing.TB, write func(port, bus int) string) *testkit.Server {
	t.Helper()
	s := testkit.NewServer(t, testkit.Options{Conf: testkit.ClusterConf()})
	s.WriteFile(t, "nodes.conf", write(s.Port, s.BusPort))
	return s
}

const varsLine = "vars currentEpoch 7 lastVoteEpoch 0\n"

// ownLine is a sound entry of the node itself that ends in the given slots.
func ownLine(port, bus int, slots string) string {
	return fmt.Sprintf("%s 127.0.0.1:%d@%d myself,master - 0 0 5 connected %s\n", ownID, port, bus, slots)
}

// refusesFile starts a node on a damaged nodes.conf: it must end cleanly and name the file.
func refusesFile(t testing.TB, write func(port, bus int) string) {
	t.Helper()
	s := nodeWithFile(t, write)
	s.Relaunch(t)
	if status := s.AwaitExit(t, testkit.Patience); status <= 0 {
		t.Errorf("exit status %d", status)
	}
	checkNoTrace(t, s)
	if !strings.Contains(s.Log(), "nodes.conf") && !strings.Contains(s.Log(), "cluster config file") {
		t.Error("the message does not name the file")
	}
}

func TestCase_c034a_Slot16384(t *testing.T) {
	own(t, "c034a", func(t testing.TB) {
		refusesFile(t, func(port, bus int) string { return ownLine(port, bus, "0-16384") + varsLine })
	})
}

func TestCase_c034c_LineOfOneWord(t *testing.T) {
	own(t, "c034c", func(t testing.TB) {
		refusesFile(t, func(port, bus int) string { return ownLine(port, bus, "0-16383") + "word\n" + varsLine })
	})
}

func TestCase_c034d_AddressWithoutPort(t *testing.T) {
	own(t, "c034d", func(t testing.TB) {
		refusesFile(t, func(port, bus int) string {
			return strings.Replace(ownLine(port, bus, "0-16383"), fmt.Sprintf(":%d@%d", port, bus), "", 1) + varsLine
		})
	})
}

func TestCase_c034e_UnknownFlag(t *testing.T) {
	own(t, "c034e", func(t testing.TB) {
		refusesFile(t, func(port, bus int) string {
			return strings.Replace(ownLine(port, bus, "0-16383"), "myself,master", "myself,master,nosuchflag", 1) + varsLine
		})
	})
}

func TestCase_c034g_UnknownVariable(t *testing.T) {
	own(t, "c034g", func(t testing.TB) {
		s := nodeWithFile(t, func(port, bus int) string {
			return ownLine(port, bus, "0-16383") + "vars currentEpoch 7 nosuchthing 3 lastVoteEpoch 0\n"
		})
		endsCleanlyOrStarts(t, s, func() { s.Want(t, `"`+ownID+`"`, "CLUSTER", "MYID") })
	})
}

// endsCleanlyOrStarts accepts both, but neither a crash nor a hang.
func endsCleanlyOrStarts(t testing.TB, s *testkit.Server, started func()) {
	t.Helper()
	s.Relaunch(t)
	testkit.Eventually(t, testkit.Patience, func() error {
		if !s.Running() {
			return nil
		}
		v, err := s.Try("PING")
		if err == nil && v.Kind == reply.Error { // it still loads
			err = errors.New(v.Text)
		}
		return err
	})
	checkNoTrace(t, s)
	if s.Running() {
		started()
		return
	}
	if status := s.AwaitExit(t, testkit.Patience); status <= 0 || s.Log() == "" {
		t.Errorf("exit status %d", status)
	}
}

func TestCase_c034h_BinaryGarbage(t *testing.T) {
	own(t, "c034h", func(t testing.TB) {
		refusesFile(t, func(int, int) string { return strings.Repeat("\x00\x01\xfe\xff\x80garbage\n\r", 50) })
	})
}

func TestCase_c034j_OddVariables(t *testing.T) {
	own(t, "c034j", func(t testing.TB) {
		refusesFile(t, func(port, bus int) string {
			return ownLine(port, bus, "0-16383") + "vars currentEpoch 7 lastVoteEpoch\n"
		})
	})
}

func TestCase_c034k_MarkerOfSlot99999(t *testing.T) {
	own(t, "c034k", func(t testing.TB) {
		refusesFile(t, func(port, bus int) string { return ownLine(port, bus, "0-16383 [99999->-"+otherID+"]") + varsLine })
	})
}

func TestCase_c034m_CutInTheFirstLine(t *testing.T) {
	own(t, "c034m", func(t testing.TB) {
		const cuts = 14
		for i := range cuts {
			s := nodeWithFile(t, func(port, bus int) string {
				line := strings.TrimSuffix(ownLine(port, bus, "0-16383"), "\n")
				return line[:1+i*(len(line)-2)/(cuts-1)]
			})
			endsCleanlyOrStarts(t, s, func() {
				lines, err := s.ClusterNodes()
				must(t, err)
				for _, line := range lines {
					if !reply.IsNodeID(line.ID) {
						t.Errorf("cut %d: node id %q", i, line.ID)
					}
				}
			})
		}
	})
}

func TestCase_c034o_EmptyFile(t *testing.T) {
	own(t, "c034o", func(t testing.TB) {
		s := nodeWithFile(t, func(int, int) string { return "" })
		endsCleanlyOrStarts(t, s, func() {
			id := s.OK(t, "CLUSTER", "MYID").Text
			s.Kill(t)
			s.Restart(t)
			s.Want(t, `"`+id+`"`, "CLUSTER", "MYID")
		})
	})
}

func TestCase_e240_StateSurvivesAKill(t *testing.T) {
	own(t, "e240", func(t testing.TB) {
		a, b := startNode(t), startNode(t)
		idA, idB := a.OK(t, "CLUSTER", "MYID").Text, b.OK(t, "CLUSTER", "MYID").Text
		a.Want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "100")
		b.Want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "101", "200")
		a.Want(t, "+OK", "CLUSTER", "SET-CONFIG-EPOCH", "5")
		b.Want(t, "+OK", "CLUSTER", "SET-CONFIG-EPOCH", "6")
		a.Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(b.Port))
		testkit.Eventually(t, testkit.Patience, func() error {
			line, err := a.Line(idB)
			if err == nil && !line.Owns(150) {
				err = fmt.Errorf("%v", line)
			}
			return err
		})
		a.Want(t, "+OK", "CLUSTER", "SETSLOT", "150", "IMPORTING", idB)
		a.Kill(t)
		a.Restart(t)
		line, err := a.Line(idA)
		must(t, err)
		if !line.Has("myself") || line.Epoch != 5 || strings.Join(line.Slots, " ") != "0-100 [150-<-"+idB+"]" {
			t.Errorf("%+v", line)
		}
	})
}

func TestCase_c030_FieldsOfLaterVersions(t *testing.T) {
	own(t, "c030", func(t testing.TB) {
		for _, name := range []string{"host-2.example", ""} {
			otherPort := testkit.FreePort(t)
			s := nodeWithFile(t, func(port, bus int) string {
				return fmt.Sprintf("%s 127.0.0.1:%d@%d,%s,tls-port=0,shard-id=%s myself,master - 0 0 5 connected 0-100\n"+
					"%s 127.0.0.1:%d@%d,%s,tls-port=0,shard-id=%s master - 0 0 6 connected 101-200\n", ownID, port, bus, name,
					strings.Repeat("a", 40), otherID, otherPort, otherPort+10000, name, strings.Repeat("b", 40)) + varsLine
			})
			for range 2 {
				s.Restart(t)
				line, err := s.Line(otherID)
				must(t, err)
				want := fmt.Sprintf("127.0.0.1:%d@%d", otherPort, otherPort+10000)
				if name != "" {
					want += "," + name
				}
				if line.Address != want {
					t.Errorf("address %s, want %s", line.Address, want)
				}
				s.Want(t, `"`+ownID+`"`, "CLUSTER", "MYID")
				s.Kill(t)
			}
		}
	})
}

func TestCase_c102_KeysOfAForeignSlotAtLoad(t *testing.T) {
	own(t, "c102", func(t testing.TB) {
		plain := testkit.Start(t, testkit.Options{})
		plain.Want(t, "+OK", "SET", keyOfNode2, "2")
		plain.Want(t, "+OK", "SET", keyOfNode0, "0")
		plain.Want(t, "+OK", "SAVE")
		otherPort := testkit.FreePort(t)
		s := nodeWithFile(t, func(port, bus int) string {
			return ownLine(port, bus, fmt.Sprintf("0-%d %d-%d", slotOfFoo-1, slotOfFoo+1, lastSlot)) +
				fmt.Sprintf("%s 127.0.0.1:%d@%d master - 0 0 6 connected %d\n", otherID, otherPort, otherPort+10000, slotOfFoo) + varsLine
		})
		s.WriteFile(t, "dump.rdb", plain.ReadFile(t, "dump.rdb"))
		s.Restart(t)
		s.Want(t, ":1", "CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(slotOfBar))
		line, err := s.Line(ownID)
		must(t, err)
		marked := strings.Contains(strings.Join(line.Slots, " "), fmt.Sprintf("[%d-<-%s]", slotOfFoo, otherID))
		if kept := s.OK(t, "CLUSTER", "COUNTKEYSINSLOT", fmt.Sprint(slotOfFoo)).Int; kept != 0 && !marked {
			t.Errorf("%d keys of a foreign slot, and no marker: %v", kept, line.Slots)
		}
	})
}
