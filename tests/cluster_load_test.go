package tests

import (
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

func startC6NoFullCoverage(t testing.TB) *testkit.Topology {
	t.Helper()
	return testkit.StartCluster(t, testkit.ClusterOptions{
		Primaries: 3, Replicas: []int{0, 1, 2}, Conf: []string{"cluster-require-full-coverage no"},
	})
}

// TestRedisCLIBuildsACluster is what the documentation of Redis Cluster begins with.
func TestRedisCLIBuildsACluster(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-cli")
	top := &testkit.Topology{}
	create := []string{"--cluster", "create"}
	for range 6 {
		top.Nodes = append(top.Nodes, testkit.Launch(t, testkit.Options{Conf: testkit.ClusterConf()}))
	}
	for _, node := range top.Nodes {
		node.AwaitReady(t)
		top.IDs = append(top.IDs, node.OK(t, "CLUSTER", "MYID").Text)
		create = append(create, node.Addr())
	}
	began := time.Now()
	redisCLI(t, append(create, "--cluster-replicas", "1", "--cluster-yes")...)
	testkit.Eventually(t, testkit.Patience, top.Whole)
	t.Logf("created and whole after %v", time.Since(began).Round(10*time.Millisecond))
	for _, node := range top.Nodes {
		redisCLI(t, "--cluster", "check", node.Addr())
	}
	f := newFollower(top, 0)
	defer f.close()
	for n := range 300 {
		must(t, setNumber(f, "key:")(n))
	}
	checkNumbers(t, f, "key:", 300)
}

// TestPrimaryKilledUnderLoad kills primaries in turn while two client libraries write.
func TestPrimaryKilledUnderLoad(t *testing.T) {
	t.Parallel()
	top := startC6NoFullCoverage(t)
	l := newLoad(t, top, loadKeys(t))
	primary, replica := []int{0, 1, 2}, []int{3, 4, 5} // by shard
	for round := range loadRounds(t) {
		top.Hasten(t)
		shard := round % 3
		killRound(t, top, l, shard, primary[shard], replica[shard])
		primary[shard], replica[shard] = replica[shard], primary[shard]
		if t.Failed() {
			return
		}
	}
}

func killRound(t *testing.T, top *testkit.Topology, l *load, shard, primary, replica int) {
	t.Helper()
	first, last := testkit.SlotShare(shard, 3)
	l.start()
	testkit.Elapse(500 * time.Millisecond) // some load before the blow
	kept := awaitReplicated(t, top.Nodes[primary], top.Nodes[replica])
	testkit.Elapse(50 * time.Millisecond) // what comes meanwhile may be lost
	killed := time.Now()
	top.Nodes[primary].Kill(t)
	awaitWrite(t, top, l.namesIn(first, last)[0])
	back := time.Now()
	t.Logf("writes of the shard work again %v after the kill (node timeout %v)", back.Sub(killed).Round(10*time.Millisecond), testkit.FailTimeout)
	testkit.Elapse(time.Second) // some load on the new primary
	top.Nodes[primary].Restart(t)
	testkit.Eventually(t, testkit.Patience, func() error { return top.Nodes[primary].ReplicaLinked(top.Nodes[replica].Port) })
	t.Logf("the killed node is a replica again %v after the kill", time.Since(killed).Round(10*time.Millisecond))
	l.end()
	l.mustFailOnlyIn(t, first, last)
	checkLost(t, l, shard, kept, back)
	names := l.namesIn(first, last)
	testkit.Eventually(t, testkit.Patience, func() error { return sameStrings(t, top.Nodes[replica], top.Nodes[primary], names) })
	testkit.Eventually(t, testkit.Patience, top.Whole)
	l.failures = nil
}

// awaitReplicated waits until the replica has what the primary has now, and returns a moment: all that was acknowledged
// before is on the replica.
func awaitReplicated(t testing.TB, primary, replica *testkit.Server) time.Time {
	t.Helper()
	now := time.Now()
	end := primary.InfoInt(t, "master_repl_offset")
	testkit.Eventually(t, testkit.Patience, func() error {
		if at := replica.InfoInt(t, "slave_repl_offset"); at < end {
			return fmt.Errorf("the replica is at %d of %d", at, end)
		}
		return nil
	})
	return now
}

// awaitWrite asks the nodes that are left until one of them takes a write of the key.
func awaitWrite(t testing.TB, top *testkit.Topology, key string) {
	t.Helper()
	testkit.Eventually(t, testkit.Patience, func() error {
		for _, node := range top.Running() {
			if v, err := node.Try("SET", key+":probe{"+key+"}", "1"); err == nil && v.String() == "+OK" {
				return nil
			}
		}
		return fmt.Errorf("no node takes a write of %s", key)
	})
}

// checkLost reports the acknowledged writes that are gone. Asynchronous replication may lose what the dead primary
// acknowledged right before its end, after the moment that the replica had everything, and nothing that was acknowledged
// when the new one served.
func checkLost(t testing.TB, l *load, shard int, kept, back time.Time) {
	t.Helper()
	first, last := testkit.SlotShare(shard, 3)
	lost := l.verify(t)
	var wrong []string
	for _, w := range lost {
		s := int(w.key.slot)
		if s < first || s > last || w.key.at.Before(kept) || w.key.at.After(back) {
			wrong = append(wrong, fmt.Sprintf("%s (acknowledged %v after the replica had everything: %d, have %q)",
				w.key.name, w.key.at.Sub(kept), w.key.confirmed, w.have))
		}
	}
	t.Logf("%d acknowledged writes lost by the kill", len(lost))
	if len(wrong) > 0 {
		t.Errorf("%d acknowledged writes lost that replication had time for: %s", len(wrong), shortList(wrong))
	}
	for _, w := range lost { // later rounds go on from what is there
		l.keys[w.index].confirmed, _ = strconv.Atoi(w.have)
	}
}

// TestReshardUnderLoad moves slots with the standard tool and fails a shard over by hand while two client libraries
// write. No application may notice.
func TestReshardUnderLoad(t *testing.T) {
	t.Parallel()
	testkit.Need(t, "redis-cli")
	top := startC6NoFullCoverage(t)
	l := newLoad(t, top, loadKeys(t))
	slots := intFromEnv(t, "COVEY_SLOTS", 200)
	l.start()
	for round := range loadRounds(t) {
		from, to := round%3, (round+1)%3
		began := time.Now()
		reshape(t, top, "reshard", top.Nodes[from].Addr(), "--cluster-from", top.IDs[from], "--cluster-to", top.IDs[to],
			"--cluster-slots", strconv.Itoa(slots), "--cluster-yes")
		t.Logf("%d slots moved in %v", slots, time.Since(began).Round(time.Millisecond))
		testkit.Eventually(t, testkit.Patience, top.Whole)
	}
	began := time.Now()
	top.Nodes[3].Want(t, "+OK", "CLUSTER", "FAILOVER")
	testkit.Eventually(t, testkit.Patience, func() error {
		if err := top.Nodes[0].ReplicaLinked(top.Nodes[3].Port); err != nil {
			return err
		}
		return top.Whole()
	})
	t.Logf("failed over by hand in %v", time.Since(began).Round(time.Millisecond))
	testkit.Elapse(500 * time.Millisecond) // some load afterwards
	l.end()
	l.mustNotFail(t)
	l.mustKeepAll(t)
	reshape(t, top, "check", top.Nodes[3].Addr())
}

// TestRedisCLICoversAnUnownedSlot: redis-cli gives a slot without owner to a node in a transaction of CLUSTER commands.
func TestRedisCLICoversAnUnownedSlot(t *testing.T) {
	t.Parallel()
	top := startC3(t)
	const lost = "100"
	for _, node := range top.Nodes {
		node.Want(t, "+OK", "CLUSTER", "DELSLOTS", lost)
	}
	address := fmt.Sprintf("127.0.0.1:%d", top.Nodes[0].Port)
	fix := exec.Command(testkit.Need(t, "redis-cli"), "--cluster", "fix", address)
	fix.Stdin = strings.NewReader("yes\n")
	if out, err := fix.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	testkit.Eventually(t, testkit.Patience, func() error {
		out, err := exec.Command(testkit.Need(t, "redis-cli"), "--cluster", "check", address).CombinedOutput()
		if err == nil && !strings.Contains(string(out), "All 16384 slots covered") {
			err = errors.New("slots are not covered")
		}
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	mixed := top.Nodes[0].Dial(t)
	mixed.Want(t, "+OK", "MULTI")
	mixed.Want(t, "+QUEUED", "CLUSTER", "BUMPEPOCH")
	mixed.Want(t, "+QUEUED", "CLUSTER", "COUNTKEYSINSLOT", "1")
	mixed.Want(t, "[+... :0]", "EXEC") // BUMPED, or STILL where redis-cli chose this node, which it does at random
}
