package tests

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// openSlot marks a slot as moving, the target first.
func openSlot(t testing.TB, top *testkit.Topology, slot, from, to int) {
	t.Helper()
	n := strconv.Itoa(slot)
	top.Nodes[to].Want(t, "+OK", "CLUSTER", "SETSLOT", n, "IMPORTING", top.IDs[from])
	top.Nodes[from].Want(t, "+OK", "CLUSTER", "SETSLOT", n, "MIGRATING", top.IDs[to])
}

// moveKeys moves all keys of an open slot.
func moveKeys(t testing.TB, top *testkit.Topology, slot, from, to int) {
	t.Helper()
	source := top.Nodes[from].Dial(t)
	for {
		keys := source.OK(t, "CLUSTER", "GETKEYSINSLOT", strconv.Itoa(slot), "20").Strings()
		if len(keys) == 0 {
			return
		}
		args := []string{"MIGRATE", "127.0.0.1", strconv.Itoa(top.Nodes[to].Port), "", "0", "30000", "KEYS"}
		source.Want(t, "+OK | +NOKEY", append(args, keys...)...)
	}
}

// giveSlot tells every primary that the slot has a new owner, the owner first, and waits until all nodes agree.
func giveSlot(t testing.TB, top *testkit.Topology, slot, from, to int) {
	t.Helper()
	order := []int{to, from}
	for i := range 3 {
		if i != to && i != from {
			order = append(order, i)
		}
	}
	for _, i := range order {
		top.Nodes[i].Want(t, "+OK", "CLUSTER", "SETSLOT", strconv.Itoa(slot), "NODE", top.IDs[to])
	}
	testkit.Eventually(t, testkit.Patience, func() error { return top.OwnerIs(slot, to) })
}

// moveSlot moves a slot with its keys, as the standard tool does.
func moveSlot(t testing.TB, top *testkit.Topology, slot, from, to int) {
	t.Helper()
	openSlot(t, top, slot, from, to)
	moveKeys(t, top, slot, from, to)
	giveSlot(t, top, slot, from, to)
}

// noMarkers returns nil if no node shows an open slot.
func noMarkers(top *testkit.Topology) error {
	for _, node := range top.Nodes {
		v, err := node.Try("CLUSTER", "NODES")
		if err == nil && strings.Contains(v.Plain(), "[") {
			err = fmt.Errorf("%s has an open slot:\n%s", node, v.Plain())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func epochOf(t testing.TB, top *testkit.Topology, i int) int64 {
	t.Helper()
	line, err := top.Nodes[i].Line(top.IDs[i])
	must(t, err)
	return line.Epoch
}

func TestCase_e221_CompleteSlotMove(t *testing.T) {
	own(t, "e221", func(t testing.TB) {
		top := startC3(t)
		source := dialNode(t, top, 2)
		fillAllTypes(t, source, tagA)
		before, epoch := contents(t, source), epochOf(t, top, 0)
		moveSlot(t, top, slotOfA, 2, 0)
		must(t, same(moved(contents(t, dialNode(t, top, 0))), moved(before)))
		source.Want(t, ":0", "DBSIZE")
		for _, node := range []int{1, 2} {
			top.Nodes[node].Want(t, fmt.Sprintf("-MOVED %d 127.0.0.1:%d", slotOfA, top.Nodes[0].Port), "GET", "{a}string")
		}
		if now := epochOf(t, top, 0); now <= epoch {
			t.Errorf("config epoch of the target is %d, was %d", now, epoch)
		}
		must(t, noMarkers(top))
	})
}

func TestCase_c002_SlotMovesBetweenQueueAndExec(t *testing.T) {
	own(t, "c002", func(t testing.TB) {
		top := startC3(t)
		c := dialNode(t, top, 2)
		c.Want(t, "+OK", "MULTI")
		c.Want(t, "+QUEUED", "SET", keyOfNode2, "x")
		moveSlot(t, top, slotOfFoo, 2, 1)
		c.Want(t, fmt.Sprintf("-MOVED %d 127.0.0.1:%d", slotOfFoo, top.Nodes[1].Port), "EXEC")
		c.Want(t, "-ERR EXEC without MULTI", "EXEC")
		c.Want(t, ":0", "DBSIZE")
		top.Nodes[1].Want(t, "nil", "GET", keyOfNode2)
	})
}

func TestCase_c003_BlockedClientsOfAMovedSlot(t *testing.T) {
	own(t, "c003", func(t testing.TB) {
		top := startC3(t)
		list, stream := dialNode(t, top, 2), dialNode(t, top, 2)
		must(t, list.Send("BLPOP", keyOfNode2, "0"))
		must(t, stream.Send("XREAD", "BLOCK", "0", "STREAMS", "{foo}s", "$"))
		awaitBlocked(t, top.Nodes[2], 2)
		giveSlot(t, top, slotOfFoo, 2, 1)
		for _, c := range []*testkit.Client{list, stream} {
			if v, want := c.Next(t), fmt.Sprintf("-MOVED %d 127.0.0.1:%d", slotOfFoo, top.Nodes[1].Port); v.String() != want {
				t.Errorf("got %v, want %s", v, want)
			}
			c.Want(t, "+PONG", "PING")
		}
	})
}

func TestCase_c005_FinalisedOnTheTargetFirst(t *testing.T) {
	own(t, "c005", func(t testing.TB) {
		top := startC3(t)
		openSlot(t, top, slotOfA, 2, 0)
		epoch := epochOf(t, top, 0)
		top.Nodes[0].Want(t, "+OK", "CLUSTER", "SETSLOT", strconv.Itoa(slotOfA), "NODE", top.IDs[0])
		top.Nodes[0].Want(t, "nil", "GET", "{a}1")
		for _, node := range []int{1, 2} {
			eventuallyReply(t, testkit.Patience, top.Nodes[node],
				fmt.Sprintf("-MOVED %[1]d 127.0.0.1:%[2]d | -ASK %[1]d 127.0.0.1:%[2]d", slotOfA, top.Nodes[0].Port), "GET", "{a}1")
		}
		top.Nodes[0].Want(t, "nil", "GET", "{a}1")
		if now := epochOf(t, top, 0); now <= epoch {
			t.Errorf("config epoch of the target is %d, was %d", now, epoch)
		}
	})
}

func TestCase_c006_MigrateToANodeThatHangs(t *testing.T) {
	own(t, "c006", func(t testing.TB) {
		top := startC3(t)
		source := dialNode(t, top, 2)
		source.Want(t, "+OK", "SET", "{a}1", "v")
		openSlot(t, top, slotOfA, 2, 0)
		port := strconv.Itoa(top.Nodes[0].Port)
		top.Nodes[0].Pause(t)
		v := source.Do(t, "MIGRATE", "127.0.0.1", port, "{a}1", "0", "150")
		top.Nodes[0].Resume(t)
		if !v.IsError("IOERR ") {
			t.Errorf("MIGRATE to a node that hangs: %v", v)
		}
		source.Want(t, `"v"`, "GET", "{a}1")
		if v := source.Do(t, "MIGRATE", "127.0.0.1", port, "{a}1", "0", "30000"); v.IsError("BUSYKEY") || strings.Contains(v.Text, "BUSYKEY") {
			source.Want(t, "+OK", "MIGRATE", "127.0.0.1", port, "{a}1", "0", "30000", "REPLACE")
		} else if v.String() != "+OK" {
			t.Errorf("MIGRATE: %v", v)
		}
		source.Want(t, ":0", "DBSIZE")
		target := dialNode(t, top, 0)
		target.Want(t, "+OK", "ASKING")
		target.Want(t, `"v"`, "GET", "{a}1")
		target.Want(t, ":1", "DBSIZE")
	})
}

func TestCase_e223_MigrateBetweenPlainServers(t *testing.T) {
	own(t, "e223", func(t testing.TB) {
		from, to := testkit.Start(t, testkit.Options{}), testkit.Start(t, testkit.Options{})
		source, target := from.Dial(t), to.Dial(t)
		port := strconv.Itoa(to.Port)
		fillStrings(t, source, "")
		source.Want(t, "+OK", "SET", "big", strings.Repeat(binaryText, 30_000))
		before := contents(t, source)
		source.Want(t, "+OK", "MIGRATE", "127.0.0.1", port, "big", "0", "30000", "COPY")
		target.Want(t, ":1", "DBSIZE")
		args := []string{"MIGRATE", "127.0.0.1", port, "", "0", "30000", "REPLACE", "KEYS", "missing"}
		for key := range before {
			args = append(args, key)
		}
		source.Want(t, "+OK", append(args, "missing too")...)
		must(t, same(moved(contents(t, target)), moved(before)))
		source.Want(t, ":0", "DBSIZE")

		source.Want(t, "+OK", "SET", "k", "v")
		source.Want(t, "-ERR Target instance replied with error: ERR...", "MIGRATE", "127.0.0.1", port, "k", "99", "5000")
		source.Want(t, "-ERR Target instance replied with error: ERR...", "MIGRATE", "127.0.0.1", port, "k", "0", "30000", "AUTH", "no")
		source.Want(t, `"v"`, "GET", "k")
		source.Want(t, "+OK", "SET", "m", "w")
		source.Want(t, "+OK", "MIGRATE", "127.0.0.1", port, "m", "5", "5000")
		target.Want(t, "nil", "GET", "m")
		target.Want(t, "+OK", "SELECT", "5")
		target.Want(t, `"w"`, "GET", "m")
	})
}

// dbSizes is the number of keys of the first three nodes together.
func dbSizes(t testing.TB, top *testkit.Topology) (sum int64) {
	t.Helper()
	for _, node := range top.Nodes[:3] {
		sum += node.OK(t, "DBSIZE").Int
	}
	return sum
}

func TestCase_c016_NumberOfKeysBeforeAndAfterMoves(t *testing.T) {
	own(t, "c016", func(t testing.TB) {
		top := startC3(t)
		f := newFollower(top, 0)
		defer f.close()
		const keys, moves = 3000, 12
		for n := range keys {
			must(t, setNumber(f, "key:")(n))
		}
		if sum := dbSizes(t, top); sum != keys {
			t.Fatalf("%d keys", sum)
		}
		for i := range moves {
			slot := slotByRule([]byte("key:" + strconv.Itoa(i*7)))
			from := slices.IndexFunc(top.Nodes, func(s *testkit.Server) bool {
				line, err := s.Line(s.OK(t, "CLUSTER", "MYID").Text)
				return err == nil && line.Owns(slot)
			})
			moveSlot(t, top, slot, from, (from+1)%3)
			testkit.Eventually(t, testkit.Patience, top.Whole)
			if sum := dbSizes(t, top); sum != keys {
				t.Fatalf("%d keys after move %d", sum, i)
			}
		}
		checkNumbers(t, f, "key:", keys)
	})
}

func TestCase_c018_KeysThatExpireWhileTheyMove(t *testing.T) {
	own(t, "c018", func(t testing.TB) {
		top := startC3(t)
		source, target := dialNode(t, top, 2), dialNode(t, top, 0)
		keys := keysInSlot(tagA, 200)
		var out []byte
		for i, key := range keys {
			if i%2 == 0 {
				out = testkit.AppendCommand(out, "SET", key, key, "PX", "5")
			} else {
				out = testkit.AppendCommand(out, "SET", key, key)
			}
		}
		must(t, source.SendRaw(out))
		for range keys {
			source.Next(t)
		}
		openSlot(t, top, slotOfA, 2, 0)
		port := strconv.Itoa(top.Nodes[0].Port)
		for group := range slices.Chunk(keys, 10) {
			source.Want(t, "+OK", append([]string{"MIGRATE", "127.0.0.1", port, "", "0", "30000", "KEYS"}, group...)...)
		}
		for i, key := range keys {
			if i%2 == 1 {
				target.OK(t, "ASKING")
				target.Want(t, strconv.Quote(key), "GET", key)
				target.OK(t, "ASKING")
				target.Want(t, ":-1", "TTL", key)
			}
		}
		source.Want(t, "+NOKEY", "MIGRATE", "127.0.0.1", port, "", "0", "30000", "KEYS", keys[0], keys[2])
	})
}

func TestCase_c140_ShardedSubscriberOfAMovedSlot(t *testing.T) {
	own(t, "c140", func(t testing.TB) {
		top := startC3(t)
		c := dialNode(t, top, 2)
		c.Want(t, `["ssubscribe" "{foo}c" :1]`, "SSUBSCRIBE", "{foo}c")
		moveSlot(t, top, slotOfFoo, 2, 1)
		if v := c.Next(t); v.String() != `["sunsubscribe" "{foo}c" :0]` {
			t.Errorf("the subscriber gets %v", v)
		}
		must(t, c.Quiet(quietDuring))
		c.Want(t, "+PONG", "PING")
		c.Want(t, fmt.Sprintf("-MOVED %d 127.0.0.1:%d", slotOfFoo, top.Nodes[1].Port), "SSUBSCRIBE", "{foo}c")
	})
}

func TestCase_c072_HalfOpenSlotAndTheStandardTool(t *testing.T) {
	own(t, "c072", func(t testing.TB) {
		top := startC3(t)
		testkit.Need(t, "redis-cli")
		f := newFollower(top, 0)
		defer f.close()
		const keys = 20
		for n := range keys {
			must(t, setNumber(f, tagA)(n))
		}
		top.Nodes[2].Want(t, "+OK", "CLUSTER", "SETSLOT", strconv.Itoa(slotOfA), "MIGRATING", top.IDs[0])
		redisCLI(t, "--cluster", "fix", top.Nodes[0].Addr())
		testkit.Eventually(t, testkit.Patience, func() error { return noMarkers(top) })
		reshape(t, top, "check", top.Nodes[0].Addr())
		checkNumbers(t, f, tagA, keys)
	})
}

func TestCase_c015_CounterUnderLoad(t *testing.T) {
	own(t, "c015", func(t testing.TB) {
		top := startC3(t)
		f := newFollower(top, 2)
		defer f.close()
		for n := range 30 {
			must(t, setNumber(f, tagA)(n))
		}
		stop := writing(func(n int) error {
			v, err := f.do("INCR", "{a}n")
			if err == nil && (v.Kind != reply.Int || v.Int != int64(n+1)) {
				err = fmt.Errorf("INCR: %v, want %d", v, n+1)
			}
			return err
		})
		moveSlot(t, top, slotOfA, 2, 0)
		moveSlot(t, top, slotOfA, 0, 1)
		n, err := stop()
		must(t, err)
		top.Nodes[1].Want(t, fmt.Sprintf(`"%d"`, n), "GET", "{a}n")
		t.Logf("%d increments, %d redirections", n, f.asked)
	})
}

func TestCase_c011_ReplicasKeepNoStaleMarker(t *testing.T) {
	own(t, "c011", func(t testing.TB) {
		top := testkit.StartTopology(t, "C6")
		openSlot(t, top, slotOfBar, 0, 1)
		top.Nodes[3].Kill(t)
		top.Nodes[3].Restart(t)
		giveSlot(t, top, slotOfBar, 0, 1)
		testkit.Eventually(t, testkit.Patience, func() error {
			if err := noMarkers(top); err != nil {
				return err
			}
			return top.OwnerIs(slotOfBar, 1)
		})
	})
}
