package clients

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// TestRedisCliCreatesACluster forms six nodes, started from configuration files, with the real redis-cli.
func TestRedisCliCreatesACluster(t *testing.T) {
	cli := testkit.Need(t, "redis-cli")
	args := []string{"--cluster", "create"}
	var nodes []*testkit.Server
	for range 6 {
		nodes = append(nodes, testkit.Launch(t, testkit.Options{Conf: append(testkit.ClusterConf(), "cluster-announce-ip 127.0.0.1")}))
	}
	for _, n := range nodes {
		n.AwaitReady(t)
		args = append(args, n.Addr())
	}
	out, err := exec.Command(cli, append(args, "--cluster-replicas", "1", "--cluster-yes")...).CombinedOutput()
	if err != nil {
		t.Fatalf("create: %v\n%s", err, lastLines(string(out), 15))
	}
	testkit.Eventually(t, 20*time.Second, func() error {
		out, err := exec.Command(cli, "--cluster", "check", nodes[0].Addr()).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "All 16384 slots covered") || !strings.Contains(string(out), "1 additional replica(s)") {
			return fmt.Errorf("%v: %s", err, lastLines(string(out), 5))
		}
		return nil
	})
}

// TestMixedCluster lets real Redis nodes join: each kind becomes the replica of the other kind's primary, and takes over
// when that dies.
func TestMixedCluster(t *testing.T) {
	redis := testkit.Redis(t)
	covey := testkit.SUT(t)
	top := testkit.StartCluster(t, testkit.ClusterOptions{
		Binaries:  []testkit.Binary{covey, redis, covey, redis, covey},
		Primaries: 3, Replicas: []int{0, 1}, Conf: []string{"cluster-require-full-coverage no"},
	})
	for _, n := range top.Nodes {
		n := n
		testkit.Eventually(t, 10*time.Second, func() error {
			info, err := n.ClusterInfo()
			if err == nil && (info["cluster_slots_assigned"] != "16384" || info["cluster_known_nodes"] != "5") {
				err = fmt.Errorf("%v sees %v", n, info)
			}
			return err
		})
	}
	write := func(n *testkit.Server, key string) { n.Want(t, "+OK", "SET", key, "1") }
	write(top.Nodes[0], "{06S}a") // slot 0
	write(top.Nodes[1], "{dP}a")
	for i, heir := range map[int]int{0: 3, 1: 4} {
		testkit.Eventually(t, 10*time.Second, func() error { return sameSize(top.Nodes[i], top.Nodes[heir]) })
		top.Nodes[i].Kill(t)
		testkit.Eventually(t, 20*time.Second, func() error {
			if !heirLeads(top.Nodes[heir]) {
				return fmt.Errorf("%v does not take over from %v", top.Nodes[heir], top.Nodes[i])
			}
			return nil
		})
		top.Nodes[i].Restart(t)
		testkit.Eventually(t, 20*time.Second, func() error { return top.Nodes[i].ReplicaLinked(top.Nodes[heir].Port) })
	}
}

func sameSize(a, b *testkit.Server) error {
	x, errX := a.Try("DBSIZE")
	y, errY := b.Try("DBSIZE")
	if errX != nil || errY != nil || x.Int != y.Int {
		return fmt.Errorf("%v has %d keys, %v has %d (%v, %v)", a, x.Int, b, y.Int, errX, errY)
	}
	return nil
}
