package bus_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// redisNode is a real redis-server in cluster mode.
func redisNode(t testing.TB) *testkit.Server {
	t.Helper()
	conf := []string{"cluster-enabled yes", "cluster-config-file nodes.conf", fmt.Sprintf("cluster-node-timeout %d", nodeTimeout.Milliseconds())}
	return testkit.Start(t, testkit.Options{Binary: testkit.Redis(t), Conf: conf})
}

// TestNodesOfBothKinds makes a cluster of ours and real nodes: a real replica takes over from our primary, our replica
// follows a real primary and takes over from it.
func TestNodesOfBothKinds(t *testing.T) {
	real := []*testkit.Server{redisNode(t), redisNode(t)}
	ours := []*node{start(t), start(t), start(t)}
	ours[0].want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "5000")
	ours[1].want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "5001", "11000")
	real[0].Want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "11001", "16383")
	for i, n := range ours {
		n.want(t, "+OK", "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
	}
	for i, r := range real {
		r.Want(t, "+OK", "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+11))
		ours[0].want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(r.Port))
	}
	real[0].Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(ours[1].port)) // from the other side too
	ours[0].want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(ours[2].port))
	awaitMixed(t, ours, real)

	realID := real[0].OK(t, "CLUSTER", "MYID").Text
	ours[2].soon(t, "+OK", "CLUSTER", "REPLICATE", realID)
	real[1].MakeReplica(t, ours[0].id())
	ours[2].awaitLink(t)
	testkit.Eventually(t, within, func() error { return real[1].ReplicaLinked(ours[0].port) })
	one := reply.MustParse("len(1)")
	testkit.Eventually(t, within, func() error {
		v, err := real[0].Try("CLUSTER", "REPLICAS", realID)
		if err == nil && !one.Matches(v) {
			err = fmt.Errorf("replicas: %v", v)
		}
		return err
	})
	key := keyOf(t, ours[0])
	ours[0].want(t, "+OK", "SET", key, "ours")
	real[0].Want(t, "+OK", "SET", "foo", "real") // slot 12182
	ours[0].want(t, ":1", "WAIT", "1", "30000")
	testkit.Eventually(t, within, func() error {
		lines, err := testkit.ParseNodeLines(real[0].OK(t, "CLUSTER", "NODES").Text)
		if err == nil && len(lines) != 5 {
			err = fmt.Errorf("%d nodes", len(lines))
		}
		for _, l := range lines {
			if l.Has("fail") || l.Has("fail?") {
				err = fmt.Errorf("%v", l)
			}
		}
		return err
	})
	ours[2].soon(t, "+OK", "CLUSTER", "FAILOVER") // over a real primary, which pauses its clients for us
	ours[2].soon(t, `"real"`, "GET", "foo")
	ours[0].stop()
	testkit.Eventually(t, within, func() error {
		v, err := real[1].Try("GET", key)
		if err == nil && v.Plain() != "ours" {
			err = fmt.Errorf("got %v", v)
		}
		return err
	})
}

func awaitMixed(t testing.TB, ours []*node, real []*testkit.Server) {
	t.Helper()
	awaitNodes := func(addr string) {
		testkit.Eventually(t, within, func() error {
			v, err := ask(addr, "CLUSTER", "INFO")
			if err == nil && !(strings.Contains(v.Text, "cluster_state:ok") && strings.Contains(v.Text, fmt.Sprintf("cluster_known_nodes:%d\r", len(ours)+len(real)))) {
				err = fmt.Errorf("%s: %s", addr, v.Text)
			}
			return err
		})
	}
	for _, n := range ours {
		awaitNodes(n.addr())
	}
	for _, r := range real {
		awaitNodes(r.Addr())
	}
}

// TestRepliesAreThoseOfRedis gives both kinds of nodes the same commands.
func TestRepliesAreThoseOfRedis(t *testing.T) {
	server, ours := redisNode(t), start(t)
	mine, its := testkit.Dial(t, ours.addr()), server.Dial(t)
	stranger := strings.Repeat("a", 40)
	for _, line := range []string{
		"CLUSTER ADDSLOTSRANGE 0 5 7 16383", "CLUSTER ADDSLOTS 5", "CLUSTER ADDSLOTS 6 6", "CLUSTER ADDSLOTS -1", "CLUSTER ADDSLOTS x",
		"CLUSTER ADDSLOTS 16384", "CLUSTER ADDSLOTS 6 16384", "CLUSTER DELSLOTS 6", "CLUSTER DELSLOTS 5 5", "CLUSTER ADDSLOTSRANGE 1",
		"CLUSTER ADDSLOTSRANGE 5 3", "CLUSTER ADDSLOTSRANGE 1 2 3", "CLUSTER DELSLOTSRANGE 6 6", "CLUSTER ADDSLOTS 6", "CLUSTER SLOTS EXTRA",
		"CLUSTER DELSLOTS", "CLUSTER SETSLOT 3", "CLUSTER SETSLOT 3 STABLE", "CLUSTER SETSLOT 3 NOWHERE", "CLUSTER SETSLOT 99999 STABLE",
		"CLUSTER SETSLOT 3 NODE " + stranger, "CLUSTER SETSLOT 3 MIGRATING " + stranger, "CLUSTER SETSLOT 3 IMPORTING " + stranger,
		"CLUSTER SETSLOT 3 NODE", "CLUSTER FORGET abc", "CLUSTER FORGET " + stranger, "CLUSTER FORGET ME", "CLUSTER REPLICATE ME",
		"CLUSTER REPLICATE abc", "CLUSTER REPLICAS abc", "CLUSTER REPLICAS ME", "CLUSTER SLAVES ME", "CLUSTER COUNT-FAILURE-REPORTS ME",
		"CLUSTER COUNT-FAILURE-REPORTS abc", "CLUSTER FAILOVER", "CLUSTER FAILOVER NOW", "CLUSTER FAILOVER FORCE", "CLUSTER KEYSLOT foo{bar}{zap}",
		"CLUSTER COUNTKEYSINSLOT x", "CLUSTER COUNTKEYSINSLOT -1", "CLUSTER COUNTKEYSINSLOT 16384", "CLUSTER COUNTKEYSINSLOT 12182",
		"SET foo 1", "CLUSTER COUNTKEYSINSLOT 12182", "CLUSTER GETKEYSINSLOT 12182 10", "CLUSTER GETKEYSINSLOT 12182 0", "CLUSTER GETKEYSINSLOT 12182 -1",
		"CLUSTER GETKEYSINSLOT x 1", "CLUSTER GETKEYSINSLOT 16384 1", "CLUSTER GETKEYSINSLOT 12182", "CLUSTER FLUSHSLOTS", "CLUSTER RESET",
		"CLUSTER RESET HARDER", "CLUSTER RESET a b", "CLUSTER SET-CONFIG-EPOCH x", "CLUSTER SET-CONFIG-EPOCH -1", "CLUSTER SET-CONFIG-EPOCH 3",
		"CLUSTER SET-CONFIG-EPOCH 4", "CLUSTER BUMPEPOCH", "CLUSTER SAVECONFIG", "CLUSTER SAVECONFIG x", "CLUSTER MEET not-an-ip 7000",
		"CLUSTER MEET 127.0.0.1 0", "CLUSTER MEET 127.0.0.1 70000", "CLUSTER MEET 127.0.0.1", "CLUSTER NOSUCH", "CLUSTER",
		"DEL foo", "CLUSTER FLUSHSLOTS", "CLUSTER INFO x", "CLUSTER LINKS", "CLUSTER SLOTS", "CLUSTER RESET HARD",
	} {
		var got, want reply.Value
		for _, side := range []struct {
			c  *testkit.Client
			to *reply.Value
		}{{mine, &got}, {its, &want}} {
			id := side.c.OK(t, "CLUSTER", "MYID").Text
			words := strings.Fields(line)
			for i := range words {
				if words[i] == "ME" {
					words[i] = id
				}
			}
			*side.to = side.c.Do(t, words...)
		}
		if got.String() != want.String() {
			t.Errorf("%s:\n got %v\nwant %v", line, got, want)
		}
	}
}
