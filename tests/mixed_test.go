package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// debugCommands lets a test ask for DEBUG DIGEST.
const debugCommands = "enable-debug-command yes"

// sutAndRedis are the server under test and the real one. Two versions of the real one are no case for these tests: the
// older cannot read what the newer sends.
func sutAndRedis(t *testing.T) (sut, real testkit.Binary) {
	t.Helper()
	sut, real = testkit.SUT(t), testkit.Redis(t)
	if !sut.IsCovey() && sut.Version(t) != real.Version(t) {
		t.Skip("two versions of redis-server")
	}
	return sut, real
}

// addReplica lets a node of another make meet the cluster and makes it a replica of node 0.
func addReplica(t testing.TB, top *testkit.Topology, b testkit.Binary) *testkit.Server {
	t.Helper()
	s := testkit.Start(t, testkit.Options{Binary: b, Conf: testkit.ClusterConf()})
	top.Nodes[0].Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(s.Port))
	top.Nodes, top.IDs = append(top.Nodes, s), append(top.IDs, s.OK(t, "CLUSTER", "MYID").Text)
	s.MakeReplica(t, top.IDs[0])
	testkit.Eventually(t, testkit.Patience, func() error { return s.ReplicaLinked(top.Nodes[0].Port) })
	testkit.Eventually(t, testkit.Patience, top.Whole)
	return s
}

// promoteOther runs a cluster of one make, lets a node of the other make join it as a replica, kills its primary and
// checks that the data lives on, and that the primary comes back as a replica of the other make.
func promoteOther(t *testing.T, cluster, joins testkit.Binary) {
	t.Helper()
	top := testkit.StartCluster(t, testkit.ClusterOptions{Binaries: []testkit.Binary{cluster}, Primaries: 3})
	const keys = 500
	f := newFollower(top, 0)
	defer f.close()
	for n := range keys {
		must(t, setNumber(f, "before:")(n))
	}
	addReplica(t, top, joins)
	for n := range keys {
		must(t, setNumber(f, "after:")(n))
	}
	names := append(keysNamed("before:", keys, 0), keysNamed("after:", keys, 0)...)
	testkit.Eventually(t, testkit.Patience, func() error { return sameStrings(t, top.Nodes[0], top.Nodes[3], names) })
	top.Hasten(t)
	top.Nodes[0].Kill(t)
	awaitPrimary(t, top, 3)
	f.close()
	f = newFollower(top, 1)
	checkNumbers(t, f, "before:", keys)
	checkNumbers(t, f, "after:", keys)
	for n := range keys {
		must(t, setNumber(f, "promoted:")(n))
	}
	top.Nodes[0].Restart(t)
	testkit.Eventually(t, testkit.Patience, func() error { return top.Nodes[0].ReplicaLinked(top.Nodes[3].Port) })
	testkit.Eventually(t, testkit.Patience, top.Whole)
	names = append(names, keysNamed("promoted:", keys, 0)...)
	testkit.Eventually(t, testkit.Patience, func() error { return sameStrings(t, top.Nodes[3], top.Nodes[0], names) })
}

// keysNamed are the keys prefix0 to prefix<n-1> that belong to a primary of three.
func keysNamed(prefix string, n, primary int) (names []string) {
	first, last := testkit.SlotShare(primary, 3)
	for i := range n {
		name := prefix + strconv.Itoa(i)
		if s := slotByRule([]byte(name)); first <= s && s <= last {
			names = append(names, name)
		}
	}
	return names
}

func TestRedisNodeInACoveyCluster(t *testing.T) {
	t.Parallel()
	sut, real := sutAndRedis(t)
	promoteOther(t, sut, real)
}

func TestCoveyNodeInARedisCluster(t *testing.T) {
	t.Parallel()
	sut, real := sutAndRedis(t)
	promoteOther(t, real, sut)
}

// replicate makes one server a replica of another make: a full synchronisation, a stream, a cut link and a partial
// synchronisation, and the same digest on both sides after each step.
func replicate(t *testing.T, primaryBinary, replicaBinary testkit.Binary) {
	t.Helper()
	primary := testkit.Start(t, testkit.Options{Binary: primaryBinary, Conf: []string{debugCommands}})
	replica := testkit.Start(t, testkit.Options{Binary: replicaBinary, Conf: []string{debugCommands}})
	c := primary.Dial(t)
	fillStrings(t, c, "before ")
	for i := range 3000 {
		c.Want(t, "+OK", "SET", fmt.Sprint("k", i), strings.Repeat(strconv.Itoa(i), i%100))
	}
	replica.Follow(t, primary)
	sameDigest(t, primary, replica)
	for i := range 3000 {
		n := strconv.Itoa(i)
		c.OK(t, "APPEND", "k"+n, "more")
		c.OK(t, "INCRBY", "counter", n)
		c.OK(t, "SET", "e"+n, n, "PX", strconv.Itoa(1+i%50))
		if i%3 == 0 {
			c.OK(t, "DEL", "k"+strconv.Itoa(i/2))
		}
	}
	sameDigest(t, primary, replica)
	full := primary.InfoInt(t, "sync_full")
	c.Want(t, "int(>=1)", "CLIENT", "KILL", "TYPE", "replica")
	for i := range 500 {
		c.Want(t, "+OK", "SET", fmt.Sprint("while cut ", i), "v")
	}
	testkit.Eventually(t, testkit.Patience, func() error { return replica.ReplicaLinked(primary.Port) })
	sameDigest(t, primary, replica)
	if now := primary.InfoInt(t, "sync_full"); now != full {
		t.Errorf("%d full synchronisations, there were %d: the link did not go on where it was cut", now, full)
	}
	if partial := primary.InfoInt(t, "sync_partial_ok"); partial < 1 {
		t.Errorf("%d partial synchronisations", partial)
	}
	replica.Want(t, "+OK", "REPLICAOF", "NO", "ONE")
	replica.Want(t, "+OK", "SET", "k", "of its own")
}

// sameDigest waits until both servers hold the same data.
func sameDigest(t testing.TB, a, b *testkit.Server) {
	t.Helper()
	testkit.Eventually(t, testkit.Patience, func() error {
		da, db := a.OK(t, "DEBUG", "DIGEST").Text, b.OK(t, "DEBUG", "DIGEST").Text
		if da != db {
			return fmt.Errorf("digest %s on %s, %s on %s", da, a, db, b)
		}
		return nil
	})
}

func TestRedisReplicatesFromCovey(t *testing.T) {
	t.Parallel()
	sut, real := sutAndRedis(t)
	replicate(t, sut, real)
}

func TestCoveyReplicatesFromRedis(t *testing.T) {
	t.Parallel()
	sut, real := sutAndRedis(t)
	replicate(t, real, sut)
}
