package clients

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/testkit"
)

func addrs(top *testkit.Topology) (list []string) {
	for _, n := range top.Nodes {
		list = append(list, n.Addr())
	}
	return list
}

func keyNames(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("key:%06d", i))
	}
	return keys
}

// eachClient runs a test with every client.
func eachClient(t *testing.T, top *testkit.Topology, test func(t *testing.T, s store)) {
	t.Run("go-redis", func(t *testing.T) {
		s := newGoRedis(addrs(top))
		defer s.close()
		test(t, s)
	})
	t.Run("rueidis", func(t *testing.T) {
		s, err := newRueidis(addrs(top))
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		test(t, s)
	})
}

// TestManyKeys writes keys through each client and reads them back.
func TestManyKeys(t *testing.T) {
	top := testkit.StartTopology(t, "C6")
	count := fromEnv("COVEY_KEYS", 20000)
	eachClient(t, top, func(t *testing.T, s store) {
		start := time.Now()
		const parallel = 64
		var wg sync.WaitGroup
		var bad atomic.Int64
		for p := range parallel {
			wg.Add(1)
			go func() {
				defer wg.Done()
				ctx := context.Background()
				for i := p; i < count; i += parallel {
					key, value := fmt.Sprintf("%s:%d", t.Name(), i), strconv.Itoa(i)
					if err := s.set(ctx, key, value); err != nil {
						t.Errorf("SET %s: %v", key, err)
						return
					}
					if got, err := s.get(ctx, key); err != nil || got != value {
						bad.Add(1)
					}
				}
			}()
		}
		wg.Wait()
		if bad.Load() > 0 {
			t.Errorf("%d of %d keys were wrong", bad.Load(), count)
		}
		t.Logf("%d keys written and read in %.1f s", count, time.Since(start).Seconds())
	})
}

const nodeTimeout = 2 * time.Second

// TestKillPrimaryUnderLoad kills a primary under load: its slots take writes again within the node timeout and two
// seconds, the others never fail, and the killed node comes back as a replica with the right data.
func TestKillPrimaryUnderLoad(t *testing.T) {
	top := testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 3, Replicas: []int{0, 1, 2}, Conf: []string{"cluster-require-full-coverage no"}})
	s := newGoRedis(addrs(top))
	defer s.close()
	victim, heir := 0, 3
	for round := range fromEnv("COVEY_ROUNDS", 1) {
		killRound(t, top, s, round, victim, heir)
		victim, heir = heir, victim
	}
}

func killRound(t *testing.T, top *testkit.Topology, s store, round, victim, heir int) {
	t.Helper()
	_, last := testkit.SlotShare(0, 3)
	var otherFails atomic.Int64
	w := startWriters(s, keyNames(600), func(key string, err error) {
		if int(slot.Of([]byte(key))) > last && otherFails.Add(1) < 4 {
			t.Errorf("round %d: write to %s, whose primary lives: %v", round, key, err)
		}
	})
	t.Cleanup(w.stop)
	testkit.Eventually(t, 10*time.Second, func() error { return enough(w, 2000) })
	killed := time.Now()
	top.Nodes[victim].Kill(t)
	var back time.Duration
	testkit.Eventually(t, nodeTimeout+8*time.Second, func() error {
		for i, key := range w.keys {
			if int(slot.Of([]byte(key))) <= last && w.lastOK[i].Load() > killed.Add(50*time.Millisecond).UnixNano() && heirLeads(top.Nodes[heir]) {
				back = time.Unix(0, w.lastOK[i].Load()).Sub(killed)
				return nil
			}
		}
		return fmt.Errorf("slots of the killed primary take no writes")
	})
	t.Logf("round %d: writes again after %.2f s", round, back.Seconds())
	if back > nodeTimeout+2*time.Second {
		t.Errorf("round %d: the slots of the killed primary took writes after %v only", round, back)
	}
	top.Nodes[victim].Restart(t)
	testkit.Eventually(t, 20*time.Second, func() error { return top.Nodes[victim].ReplicaLinked(top.Nodes[heir].Port) })
	w.stop()
	lost, wrong, err := w.verify(context.Background())
	if err != nil || wrong > 0 {
		t.Errorf("round %d: %d wrong keys, error %v", round, wrong, err)
	}
	t.Logf("round %d: %d acknowledged writes, %d failed, %d keys older than acknowledged (asynchronous replication)", round, w.total(), w.fails.Load(), lost)
	sameData(t, top.Nodes[heir], top.Nodes[victim])
}

func heirLeads(n *testkit.Server) bool {
	v, err := n.Try("ROLE")
	return err == nil && len(v.Items) > 0 && v.Items[0].Text == "master"
}

func enough(w *writers, n int64) error {
	if got := w.total(); got < n {
		return fmt.Errorf("%d writes so far", got)
	}
	return nil
}

// sameData waits until a replica has everything and compares the numbers of keys.
func sameData(t *testing.T, primary, replica *testkit.Server) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, func() error {
		a, b := primary.OK(t, "DBSIZE"), replica.OK(t, "DBSIZE")
		if a.Int != b.Int {
			return fmt.Errorf("primary has %d keys, replica %d", a.Int, b.Int)
		}
		return nil
	})
}

// TestReshardAndFailoverUnderLoad moves slots with redis-cli and fails over by command while clients write: no error
// reaches a client that follows redirections, and no acknowledged write is lost.
func TestReshardAndFailoverUnderLoad(t *testing.T) {
	cli := testkit.Need(t, "redis-cli")
	top := testkit.StartTopology(t, "C6")
	s := newGoRedis(addrs(top))
	defer s.close()
	var shown atomic.Int64
	w := startWriters(s, keyNames(2000), func(key string, err error) {
		if shown.Add(1) < 5 {
			t.Errorf("write to %s: %v", key, err)
		}
	})
	t.Cleanup(w.stop)
	testkit.Eventually(t, 10*time.Second, func() error { return enough(w, 4000) })
	slots := fromEnv("COVEY_SLOTS", 200)
	start := time.Now()
	out, err := exec.Command(cli, "--cluster", "reshard", top.Nodes[0].Addr(), "--cluster-from", top.IDs[0], "--cluster-to", top.IDs[1],
		"--cluster-slots", strconv.Itoa(slots), "--cluster-yes").CombinedOutput()
	if err != nil {
		t.Errorf("reshard: %v\n%s", err, lastLines(string(out), 10))
	}
	t.Logf("%d slots moved in %.1f s", slots, time.Since(start).Seconds())
	start = time.Now()
	top.Nodes[3].Want(t, "+OK", "CLUSTER", "FAILOVER")
	testkit.Eventually(t, 10*time.Second, func() error {
		if !heirLeads(top.Nodes[3]) {
			return fmt.Errorf("node 3 does not lead")
		}
		return nil
	})
	t.Logf("failover by command took %.2f s", time.Since(start).Seconds())
	before := w.total()
	testkit.Eventually(t, 10*time.Second, func() error { return enough(w, before+2000) })
	w.stop()
	lost, wrong, err := w.verify(context.Background())
	if err != nil || lost > 0 || wrong > 0 {
		t.Errorf("%d keys lost acknowledged writes, %d wrong, error %v", lost, wrong, err)
	}
	t.Logf("%d acknowledged writes, %d errors at the client", w.total(), w.fails.Load())
	out, err = exec.Command(cli, "--cluster", "check", top.Nodes[1].Addr()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "All 16384 slots covered") {
		t.Errorf("check: %v\n%s", err, lastLines(string(out), 10))
	}
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
