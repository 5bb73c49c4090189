package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestCase_c165b_SlotsAndShardsWithReplicas(t *testing.T) {
	own(t, "c165b", func(t testing.TB) {
		top := testkit.StartTopology(t, "C6")
		for node, key := range map[int]string{0: keyOfNode0, 1: "k", 2: keyOfNode2} {
			top.Nodes[node].Want(t, "+OK", "SET", key, "v")
		}
		node := `[any :<n> "<id>" ...]`
		slots := fmt.Sprintf("len(3) & each([:<n> :<n> %s %s])", node, node)
		field := `field("id" "<id>") & field("port" :<n>) & field("ip" string) & field("endpoint" string) & field("health" "online")`
		role := func(role string) string { return fmt.Sprintf(`field("role" %q) & %s`, role, field) }
		shards := fmt.Sprintf(`len(3) & each(field("slots" [:<n> :<n>]) & field("nodes" [%s %s] (any order)))`, role("master"), role("replica"))
		for _, s := range top.Nodes {
			eventuallyReply(t, testkit.Patience, s, slots, "CLUSTER", "SLOTS")
			eventuallyReply(t, testkit.Patience, s, shards, "CLUSTER", "SHARDS")
		}
	})
}

// awaitPrimary waits until every running node says that node i owns slot 0, and that the cluster is well.
func awaitPrimary(t testing.TB, top *testkit.Topology, i int) {
	t.Helper()
	began := time.Now()
	testkit.Eventually(t, testkit.Patience, func() error {
		if err := top.OwnerIs(0, i); err != nil {
			return err
		}
		return top.StateOK()
	})
	t.Logf("node %d owns its slots everywhere after %v", i, time.Since(began).Round(10*time.Millisecond))
}

func TestCase_e300_AutomaticFailover(t *testing.T) {
	own(t, "e300", func(t testing.TB) {
		top := testkit.StartTopology(t, "C6")
		keys := keysOf(0, 5460, 50)
		for _, key := range keys {
			top.Nodes[0].Want(t, "+OK", "SET", key, "value of "+key)
		}
		top.Nodes[0].Want(t, ":1", "WAIT", "1", "30000") // on another connection: replicas are asked all the same
		eventuallyReply(t, testkit.Patience, top.Nodes[3], ":50", "DBSIZE")
		top.Hasten(t)
		top.Nodes[0].Kill(t)
		awaitPrimary(t, top, 3)
		for _, key := range keys {
			top.Nodes[3].Want(t, `"value of `+key+`"`, "GET", key)
		}
		shards := fmt.Sprintf(`holds(field("slots" [:0 :5460])) & holds(field("nodes" holds(field("id" %q) & field("health" "fail"))))`, top.IDs[0])
		top.Nodes[1].Want(t, shards, "CLUSTER", "SHARDS")
		top.Nodes[0].Restart(t)
		testkit.Eventually(t, testkit.Patience, func() error { return top.Nodes[0].ReplicaLinked(top.Nodes[3].Port) })
		testkit.Eventually(t, testkit.Patience, top.Whole)
		eventuallyReply(t, testkit.Patience, top.Nodes[0], ":50", "DBSIZE")
	})
}

func TestCase_c029_ManualFailover(t *testing.T) {
	own(t, "c029", func(t testing.TB) {
		top := testkit.StartTopology(t, "C6")
		f := newFollower(top, 0)
		defer f.close()
		stop := writing(setNumber(f, "{bar}"))
		top.Nodes[3].Want(t, "+OK", "CLUSTER", "FAILOVER")
		testkit.Eventually(t, testkit.Patience, func() error { return top.OwnerIs(0, 3) })
		testkit.Eventually(t, testkit.Patience, top.Whole) // the config epochs agree, too
		testkit.Eventually(t, testkit.Patience, func() error { return top.Nodes[0].ReplicaLinked(top.Nodes[3].Port) })
		n, err := stop()
		must(t, err)
		checkNumbers(t, f, "{bar}", n)
		if full := top.Nodes[3].InfoInt(t, "sync_full"); full != 0 {
			t.Errorf("sync_full of the new master is %d", full)
		}
		t.Logf("%d writes acknowledged", n)
	})
}

func TestCase_c045_FailoverAndBack(t *testing.T) {
	own(t, "c045", func(t testing.TB) {
		top := testkit.StartTopology(t, "C6")
		f := newFollower(top, 0)
		defer f.close()
		top.Hasten(t)
		counter := int64(0)
		count := func() {
			for range 20 {
				counter++
				if v, err := f.do("INCR", keyOfNode0); err != nil || v.Int != counter {
					t.Fatalf("INCR: %v %v, want %d", v, err, counter)
				}
			}
		}
		fullBefore := top.Nodes[0].InfoInt(t, "sync_full") + top.Nodes[3].InfoInt(t, "sync_full")
		for swap, to := range []int{3, 0, 3} {
			if swap > 0 {
				testkit.Elapse(2*testkit.FailTimeout + time.Second/2) // two votes for one shard are at least so far apart
			}
			count()
			top.Nodes[to].Want(t, "+OK", "CLUSTER", "FAILOVER")
			awaitPrimary(t, top, to)
			testkit.Eventually(t, testkit.Patience, func() error { return top.Nodes[3-to].ReplicaLinked(top.Nodes[to].Port) })
			count()
		}
		if full := top.Nodes[0].InfoInt(t, "sync_full") + top.Nodes[3].InfoInt(t, "sync_full"); full != fullBefore {
			t.Errorf("%d full synchronisations, before there were %d", full, fullBefore)
		}
	})
}

func TestCase_c041_PrimaryInTheMinority(t *testing.T) {
	own(t, "c041", func(t testing.TB) {
		top := testkit.StartTopology(t, "C3")
		blocked := dialNode(t, top, 0)
		must(t, blocked.Send("BLPOP", "{bar}q", "0"))
		top.Hasten(t)
		top.Nodes[1].Kill(t)
		top.Nodes[2].Kill(t)
		const down = "-CLUSTERDOWN The cluster is down"
		eventuallyReply(t, testkit.Patience, top.Nodes[0], down, "SET", keyOfNode0, "v")
		top.Nodes[0].Want(t, down, "GET", keyOfNode0)
		if v := blocked.Next(t); v.String() != down {
			t.Errorf("the blocked client gets %v", v)
		}
	})
}

func TestCase_c023_TwoReplicasWithEqualOffset(t *testing.T) {
	own(t, "c023", func(t testing.TB) {
		top := testkit.StartTopology(t, "C3+2")
		top.Hasten(t)
		top.Nodes[0].Kill(t)
		winner := awaitWinner(t, top, 3, 4)
		loser := 7 - winner
		testkit.Eventually(t, testkit.Patience, func() error {
			if err := top.OwnerIs(0, winner); err != nil {
				return err
			}
			return top.Nodes[loser].ReplicaLinked(top.Nodes[winner].Port)
		})
		line, err := top.Nodes[loser].Line(top.IDs[loser])
		must(t, err)
		if !line.Has("slave") || line.Primary != top.IDs[winner] {
			t.Errorf("node %d: %v %s", loser, line.Flags, line.Primary)
		}
	})
}

// awaitWinner waits until one of the candidates says that it owns slot 0.
func awaitWinner(t testing.TB, top *testkit.Topology, candidates ...int) (winner int) {
	t.Helper()
	testkit.Eventually(t, testkit.Patience, func() error {
		for _, i := range candidates {
			if line, err := top.Nodes[i].Line(top.IDs[i]); err == nil && line.Has("master") && line.Owns(0) {
				winner = i
				return nil
			}
		}
		return fmt.Errorf("none of the nodes %v owns slot 0", candidates)
	})
	return winner
}

func TestCase_c024_SecondFailoverInAShard(t *testing.T) {
	own(t, "c024", func(t testing.TB) {
		top := testkit.StartTopology(t, "C3+2")
		top.Hasten(t)
		top.Nodes[0].Kill(t)
		winner := awaitWinner(t, top, 3, 4)
		top.Nodes[winner].Kill(t)
		awaitPrimary(t, top, 7-winner)
	})
}

func TestCase_c025_SiblingFollowsAManualFailover(t *testing.T) {
	own(t, "c025", func(t testing.TB) {
		top := testkit.StartTopology(t, "C3+2")
		top.Nodes[4].Pause(t)
		top.Nodes[3].Want(t, "+OK", "CLUSTER", "FAILOVER")
		testkit.Elapse(time.Second) // the sibling misses the whole failover
		top.Nodes[4].Resume(t)
		testkit.Eventually(t, testkit.Patience, func() error {
			for _, node := range top.Nodes {
				line, err := node.Line(top.IDs[4])
				if err != nil {
					return err
				}
				if line.Primary != top.IDs[3] || len(line.Slots) > 0 {
					return fmt.Errorf("%s: node 4 follows %s, slots %v", node, line.Primary, line.Slots)
				}
			}
			if err := top.OwnerIs(0, 3); err != nil {
				return err
			}
			return top.Nodes[4].ReplicaLinked(top.Nodes[3].Port)
		})
	})
}

func TestCase_c026_ReplicaThatNeverSynced(t *testing.T) {
	own(t, "c026", func(t testing.TB) {
		top := testkit.StartTopology(t, "C6")
		top.Nodes[0].Want(t, "+OK", "SET", keyOfNode0, "v")
		top.Hasten(t)
		top.Nodes[4].Kill(t)
		top.Nodes[1].Pause(t)
		top.Nodes[3].Want(t, "+OK", "CLUSTER", "REPLICATE", top.IDs[1])
		top.Nodes[1].Kill(t)
		reader := top.Nodes[3].Dial(t)
		reader.OK(t, "READONLY")
		steadily(t, testkit.FailTimeout+5*time.Second, func() error {
			line, err := top.Nodes[3].Line(top.IDs[3])
			if err != nil || line.Has("master") || len(line.Slots) > 0 {
				return fmt.Errorf("node 3: %v %v %v", line.Flags, line.Slots, err)
			}
			if v, err := reader.Try("GET", keyOfNode0); err != nil || v.Kind != reply.Error {
				return fmt.Errorf("node 3 answers for its old shard: %v %v", v, err)
			}
			return nil
		})
	})
}

func TestCase_c037_TwoClustersStayApart(t *testing.T) {
	own(t, "c037", func(t testing.TB) {
		a, b := startNode(t), startNode(t)
		meet(t, a, b)
		b.Kill(t)
		c := testkit.Start(t, testkit.Options{Port: b.Port, Conf: testkit.ClusterConf()})
		d := startNode(t)
		meet(t, c, d)
		testkit.Elapse(5 * time.Second) // long enough for gossip to spread what it should not
		first, second := []*testkit.Server{a}, []*testkit.Server{c, d}
		for _, side := range [][2][]*testkit.Server{{first, second}, {second, first}} {
			for _, s := range side[0] {
				nodes := s.OK(t, "CLUSTER", "NODES").Plain()
				for _, other := range side[1] {
					if strings.Contains(nodes, other.OK(t, "CLUSTER", "MYID").Text) {
						t.Errorf("%s knows %s:\n%s", s, other, nodes)
					}
				}
			}
		}
	})
}

// meet brings two nodes together and waits until they know each other.
func meet(t testing.TB, a, b *testkit.Server) {
	t.Helper()
	a.Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(b.Port))
	for _, s := range []*testkit.Server{a, b} {
		testkit.Eventually(t, testkit.Patience, func() error {
			lines, err := s.ClusterNodes()
			if err == nil && (len(lines) < 2 || anyLine(lines, func(n testkit.NodeLine) bool { return n.Has("handshake") || !n.Connected })) {
				err = fmt.Errorf("%s knows %v", s, lines)
			}
			return err
		})
	}
}

func TestCase_e301_StandardToolBuildsAndReshapes(t *testing.T) {
	own(t, "e301", func(t testing.TB) {
		top := &testkit.Topology{}
		create := []string{"--cluster", "create"}
		for range 3 {
			node := startNode(t)
			top.Nodes = append(top.Nodes, node)
			top.IDs = append(top.IDs, node.OK(t, "CLUSTER", "MYID").Text)
			create = append(create, node.Addr())
		}
		redisCLI(t, append(create, "--cluster-yes")...)
		testkit.Eventually(t, testkit.Patience, top.Whole)
		f := newFollower(top, 0)
		defer f.close()
		const keys = 500
		for n := range keys {
			must(t, setNumber(f, "key:")(n))
		}
		address := top.Nodes[0].Addr()
		reshape(t, top, "reshard", address, "--cluster-from", top.IDs[0], "--cluster-to", top.IDs[1], "--cluster-slots", "100", "--cluster-yes")
		reshape(t, top, "rebalance", address, "--cluster-threshold", "1")
		if out := reshape(t, top, "check", address); !strings.Contains(out, "All 16384 slots covered") {
			t.Errorf("check says:\n%s", out)
		}
		checkNumbers(t, f, "key:", keys)
	})
}

func TestCase_c004b_BlockedClientsAndManualFailover(t *testing.T) {
	own(t, "c004b", func(t testing.TB) {
		top := testkit.StartTopology(t, "C6")
		list, zset := dialNode(t, top, 0), dialNode(t, top, 0)
		must(t, list.Send("BLPOP", "{bar}q", "0"))
		must(t, zset.Send("BZPOPMIN", "{bar}z", "0"))
		awaitBlocked(t, top.Nodes[0], 2)
		top.Nodes[3].Want(t, "+OK", "CLUSTER", "FAILOVER")
		moved := fmt.Sprintf("-MOVED %d 127.0.0.1:%d", slotOfBar, top.Nodes[3].Port)
		for _, c := range []*testkit.Client{list, zset} {
			switch v := c.Next(t); {
			case v.IsError("UNBLOCKED"):
				must(t, c.Closed(testkit.Patience))
			case v.String() == moved:
				c.Want(t, "+PONG", "PING")
			default:
				t.Errorf("the blocked client gets %v", v)
			}
		}
	})
}

// awaitBlocked waits until so many clients of the node are blocked.
func awaitBlocked(t testing.TB, s *testkit.Server, clients int) {
	t.Helper()
	testkit.Eventually(t, testkit.Patience, func() error {
		info, err := s.TryInfo("clients")
		if err == nil && info["blocked_clients"] != strconv.Itoa(clients) {
			err = fmt.Errorf("blocked_clients is %s", info["blocked_clients"])
		}
		return err
	})
}

func TestCase_c149_PublishingToAPeerThatDoesNotRead(t *testing.T) {
	own(t, "c149", func(t testing.TB) {
		top := testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 3, Conf: []string{"cluster-link-sendbuf-limit 5mb"}})
		before, most := top.Nodes[0].RSS(t), int64(0)
		top.Nodes[1].Pause(t)
		began := time.Now()
		c := dialNode(t, top, 0)
		message := strings.Repeat("m", 1<<20)
		for range 100 {
			c.Want(t, ":0", "PUBLISH", "c", message)
			most = max(most, top.Nodes[0].RSS(t)-before)
		}
		steadily(t, max(0, 1500*time.Millisecond-time.Since(began)), func() error {
			most = max(most, top.Nodes[0].RSS(t)-before)
			_, err := c.Try("PING")
			return err
		})
		top.Nodes[1].Resume(t)
		if most >= 120<<20 {
			t.Errorf("node 0 grew by %d MB", most>>20)
		}
		t.Logf("node 0 grew by %d MB", most>>20)
		testkit.Eventually(t, testkit.Patience, top.Whole)
	})
}
