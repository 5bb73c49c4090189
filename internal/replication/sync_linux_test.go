package replication_test

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/testkit"
)

// slowLoad is how long a key takes to be saved or loaded where a test wants to look at a load that is under way, µs. With
// the keys of manyChanges that is half a minute, if the test does not end it.
const (
	slowLoad    = 20_000
	manyChanges = 2000
)

// eventually waits until a node is as told.
func (n *node) eventually(what string, holds func() bool) {
	n.t.Helper()
	testkit.Eventually(n.t, caughtUpWithin, func() error {
		if !holds() {
			return fmt.Errorf("not yet: %s", what)
		}
		return nil
	})
}

// overrun cuts the link of a replica for as long as its primary writes more than it keeps of its history.
func (n *node) overrun(primary *node) {
	n.t.Helper()
	n.dial.hold(true)
	primary.eventually("the replica is gone", func() bool { return primary.m.ReplicaCount() == 0 })
	primary.e.Log.SetBacklogBytes(1)
	for i := range 4 {
		primary.Want(n.t, "+OK", "SET", "big", strings.Repeat(strconv.Itoa(i), 100_000))
	}
	n.dial.hold(false)
}

func direct(when replication.WhenDirect) func(*replication.Settings) {
	return func(s *replication.Settings) { s.Direct = when }
}

// TestNobodyGoesOnFromDataThatIsGone: a replica whose load was given up has no data and no history. It must not go on from
// where it once was, nor count as somebody who has what it had.
func TestNobodyGoesOnFromDataThatIsGone(t *testing.T) {
	for _, when := range []replication.WhenDirect{replication.DirectNever, replication.DirectBeside} {
		first, other, replica := start(t), start(t), start(t, direct(when))
		change(t, first.Client, 0, 500)
		change(t, other.Client, 500, 500)
		replica.follow(first.addr)
		agree(t, first.Client, replica.Client)
		replica.e.Settings.LoadKeyDelay.Store(slowLoad)
		replica.follow(other.addr)
		replica.eventually("loading", replica.e.Loading)
		replica.m.Follow(first.addr)
		replica.e.Settings.LoadKeyDelay.Store(0)
		agree(t, first.Client, replica.Client)
	}
}

// TestFailedLoadLeavesNoHistory: until the next synchronisation the node says that it is nowhere.
func TestFailedLoadLeavesNoHistory(t *testing.T) {
	first, other, replica := start(t), start(t), start(t)
	change(t, first.Client, 0, 500)
	change(t, other.Client, 500, 500)
	replica.follow(first.addr)
	agree(t, first.Client, replica.Client)
	before := replica.e.Log.History()
	replica.e.Settings.LoadKeyDelay.Store(slowLoad)
	replica.follow(other.addr)
	replica.eventually("loading", replica.e.Loading)
	replica.m.Promote()
	if h := replica.e.Log.History(); h.ID == before.ID || h.ID2 == before.ID || h.End != 0 {
		t.Errorf("the history is %+v, and was %+v", h, before)
	}
	replica.Want(t, ":0", "DBSIZE")
}

// TestDirectLoad: what comes is loaded at once, with no file, and is what the primary has.
func TestDirectLoad(t *testing.T) {
	for _, when := range []replication.WhenDirect{replication.DirectWhenEmpty, replication.DirectBeside} {
		primary, replica := start(t), start(t, direct(when))
		replica.disk.LimitSpace(0)
		change(t, primary.Client, 0, 3000)
		primary.Want(t, ":2", "HSET", "hash", "f", "v", "g", "w")
		primary.Want(t, "[:1]", "HPEXPIRE", "hash", "100000000", "FIELDS", "1", "f")
		replica.follow(primary.addr)
		change(t, primary.Client, 3000, 1000)
		agree(t, primary.Client, replica.Client)
		if when == replication.DirectWhenEmpty {
			continue
		}
		replica.overrun(primary)
		agree(t, primary.Client, replica.Client)
		if n := primary.e.Stats.SyncFull.Load(); n < 2 {
			t.Errorf("%d full synchronisations", n)
		}
	}
}

// TestOldDataIsServedBeside: data of the same history is served while what replaces it is loaded, and stays when that fails.
func TestOldDataIsServedBeside(t *testing.T) {
	primary, replica, bottom := start(t), start(t, direct(replication.DirectBeside)), start(t)
	replica.e.Settings.ReplicaReadOnly.Store(false)
	change(t, primary.Client, 0, manyChanges)
	replica.follow(primary.addr)
	agree(t, primary.Client, replica.Client)
	bottom.follow(replica.addr)
	agree(t, primary.Client, bottom.Client)
	replica.Want(t, "+OK", "SET", "mine", "v")
	primary.e.Settings.SaveKeyDelay.Store(slowLoad)
	replica.overrun(primary)
	replica.eventually("loading beside", replica.e.AsyncLoading)
	replica.Want(t, `"v"`, "GET", "mine")
	replica.Want(t, "-LOADING...", "REPLICAOF", "NO", "ONE")
	watching := testkit.Dial(t, replica.addr)
	watching.Want(t, "+OK", "WATCH", "mine")
	if replica.e.Loading() || bottom.m.Primary() == "" || !bottom.m.LinkUp() {
		t.Error("somebody was disturbed")
	}
	replica.dial.cut()
	replica.eventually("the load has failed", func() bool { return !replica.e.AsyncLoading() })
	replica.Want(t, `"v"`, "GET", "mine")
	primary.e.Settings.SaveKeyDelay.Store(0)
	agree(t, primary.Client, replica.Client, bottom.Client)
	replica.Want(t, "nil", "GET", "mine")
	watching.Want(t, "+OK", "MULTI")
	watching.Want(t, "+QUEUED", "PING")
	watching.Want(t, "nil*", "EXEC")
}

// TestDataOfAnotherHistoryComesBack: while foreign data is loaded nobody is served, and the old data is there again when that
// fails.
func TestDataOfAnotherHistoryComesBack(t *testing.T) {
	primary, replica := start(t), start(t, direct(replication.DirectBeside))
	change(t, primary.Client, 0, manyChanges)
	replica.Want(t, "+OK", "SET", "mine", "v")
	primary.e.Settings.SaveKeyDelay.Store(slowLoad)
	replica.follow(primary.addr)
	replica.eventually("loading", replica.e.Loading)
	replica.Want(t, "-LOADING...", "GET", "mine")
	primary.e.Settings.SaveKeyDelay.Store(0)
	primary.Want(t, ":1", "CLIENT", "KILL", "TYPE", "replica")
	agree(t, primary.Client, replica.Client)

	gone := start(t)
	change(t, gone.Client, 0, manyChanges)
	gone.e.Settings.SaveKeyDelay.Store(slowLoad)
	before := digest(t, replica.Client)
	replica.follow(gone.addr)
	replica.eventually("loading", replica.e.Loading)
	replica.m.Promote()
	if now := digest(t, replica.Client); now != before {
		t.Errorf("the data is %s, and was %s", now, before)
	}
}

// TestBrokenSnapshots: whatever is wrong with a snapshot that comes over the link, the old data stays.
func TestBrokenSnapshots(t *testing.T) {
	primary := start(t)
	change(t, primary.Client, 0, 100)
	good := primary.OK(t, "DEBUG", "DIGEST").Text
	mark, id := strings.Repeat("m", 40), strings.Repeat("a", 40)
	for name, sent := range map[string]string{
		"no head":        "+FULLRESYNC " + id + " 1\r\n",
		"short":          "+FULLRESYNC " + id + " 1\r\n$100\r\nREDIS0011",
		"other mark":     "+FULLRESYNC " + id + " 1\r\n$EOF:" + mark + "\r\nREDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00" + strings.Repeat("n", 40),
		"half a mark":    "+FULLRESYNC " + id + " 1\r\n$EOF:" + mark + "\r\nREDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00" + mark[:20],
		"more than said": "+FULLRESYNC " + id + " 1\r\n$19\r\nREDIS0011\xff\x00\x00\x00\x00\x00\x00\x00\x00x",
		"no snapshot":    "+FULLRESYNC " + id + " 1\r\n$EOF:" + mark + "\r\nnothing of the kind",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			tries := make(chan struct{}, 1)
			go impostor(l, sent, tries)
			replica := start(t, direct(replication.DirectBeside))
			replica.follow(primary.addr)
			agree(t, primary.Client, replica.Client)
			replica.follow(l.Addr().String())
			for range 2 { // the second attempt begins when the first has failed
				<-tries
			}
			replica.follow(primary.addr)
			agree(t, primary.Client, replica.Client)
			if now := digest(t, replica.Client); now != good {
				t.Errorf("the data is %s, not %s", now, good)
			}
		})
	}
}

// impostor answers every replica like a primary that has nothing better to say than what is sent.
func impostor(l net.Listener, sent string, tries chan<- struct{}) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case tries <- struct{}{}:
		default:
		}
		err = play(c, sent)
		if err != nil && !errors.Is(err, net.ErrClosed) {
			c.Close()
		}
	}
}

// play answers the greeting of a replica and sends what it is told to.
func play(c net.Conn, sent string) error {
	defer c.Close()
	buf := make([]byte, 4096)
	for seen := ""; ; {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		if seen += string(buf[:n]); strings.Contains(seen, "PSYNC") {
			_, err = c.Write([]byte(sent))
			return err
		}
		if _, err = c.Write([]byte("+OK\r\n")); err != nil {
			return err
		}
	}
}

// TestReplicasAreGathered: those that come within repl-diskless-sync-delay get one snapshot, which begins at once when
// there are repl-diskless-sync-max-replicas.
func TestReplicasAreGathered(t *testing.T) {
	primary := start(t, func(s *replication.Settings) { s.GatherFor, s.GatherMax = time.Hour, 3 })
	change(t, primary.Client, 0, 2000)
	replicas := []*node{start(t), start(t), start(t)}
	for i, r := range replicas {
		if n := primary.e.Cuts.Load(); n != 0 {
			t.Errorf("%d snapshots for %d replicas", n, i)
		}
		r.follow(primary.addr)
		primary.eventually("the replica waits", func() bool { return primary.m.ReplicaCount() == i+1 })
	}
	change(t, primary.Client, 2000, 500)
	agree(t, primary.Client, replicas[0].Client, replicas[1].Client, replicas[2].Client)
	if id := replicas[0].e.Log.History().ID; id != replicas[1].e.Log.History().ID {
		t.Errorf("the histories differ")
	}
}

// TestReplicaThatGoesAwayHoldsUpNobody: the others get the rest of the snapshot, and when all have gone it ends.
func TestReplicaThatGoesAwayHoldsUpNobody(t *testing.T) {
	for _, file := range []bool{false, true} {
		primary := start(t, func(s *replication.Settings) { s.GatherFor, s.GatherMax, s.ToFile = time.Hour, 2, file })
		change(t, primary.Client, 0, manyChanges)
		primary.e.Settings.SaveKeyDelay.Store(slowLoad)
		stays, goes := start(t), start(t)
		stays.follow(primary.addr)
		goes.follow(primary.addr)
		primary.eventually("a snapshot is made for two", func() bool {
			return primary.m.Sending() && strings.Count(fmt.Sprint(primary.m.Info()), "wait_bgsave") == 2
		})
		goes.m.Promote()
		primary.eventually("one is gone", func() bool { return primary.m.ReplicaCount() == 1 })
		if !primary.m.Sending() {
			t.Error("the snapshot ended with the first replica")
		}
		stays.m.Promote()
		primary.eventually("nothing is sent any more", func() bool { return !primary.m.Sending() && primary.e.Cuts.Load() == 0 })
		primary.e.Settings.SaveKeyDelay.Store(0)
		goes.follow(primary.addr)
		stays.follow(primary.addr)
		agree(t, primary.Client, stays.Client, goes.Client)
	}
}

// TestReplicaJoinsASaveThatRuns: by way of the file, a replica that comes while it is written gets it too.
func TestReplicaJoinsASaveThatRuns(t *testing.T) {
	primary := start(t, func(s *replication.Settings) { s.ToFile = true })
	change(t, primary.Client, 0, manyChanges)
	early, late := start(t), start(t)
	primary.e.Settings.SaveKeyDelay.Store(slowLoad)
	early.follow(primary.addr)
	primary.eventually("a file is made", primary.m.Sending)
	change(t, primary.Client, manyChanges, 300)
	late.follow(primary.addr)
	primary.eventually("both wait", func() bool { return strings.Count(fmt.Sprint(primary.m.Info()), "wait_bgsave") == 2 })
	if n := primary.e.Cuts.Load(); n != 1 {
		t.Errorf("%d snapshots are made", n)
	}
	primary.e.Settings.SaveKeyDelay.Store(0)
	agree(t, primary.Client, early.Client, late.Client)
}

// TestFlushEndsATransfer: what is on its way is of no use any more.
func TestFlushEndsATransfer(t *testing.T) {
	primary, replica := start(t), start(t)
	change(t, primary.Client, 0, 500)
	primary.e.Settings.SaveKeyDelay.Store(slowLoad)
	replica.follow(primary.addr)
	primary.eventually("a snapshot is made", primary.m.Sending)
	primary.Want(t, "+OK", "FLUSHALL")
	primary.m.Flushed()
	primary.Want(t, "+OK", "SET", "k", "v")
	agree(t, primary.Client, replica.Client)
}

// TestSilentPrimary: repl-timeout counts from the last byte of the primary, whatever it was when the read began.
func TestSilentPrimary(t *testing.T) {
	var timeout atomic.Int64
	timeout.Store(int64(time.Hour))
	replica := start(t, func(s *replication.Settings) { s.Timeout = time.Duration(timeout.Load()) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	came := make(chan net.Conn, 8)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			came <- c
		}
	}()
	replica.follow(l.Addr().String())
	defer (<-came).Close()
	timeout.Store(int64(time.Second))
	select {
	case c := <-came:
		c.Close()
	case <-time.After(caughtUpWithin):
		t.Error("the replica still waits")
	}
}

// TestKilledReplicaGetsNothingMore: what follows CLIENT KILL in a transaction is not sent to the replica that was killed, so
// that the backlog may be too short for it when it comes back.
func TestKilledReplicaGetsNothingMore(t *testing.T) {
	primary, replica := start(t), start(t)
	replica.follow(primary.addr)
	primary.Want(t, "+OK", "SET", "k", "v")
	agree(t, primary.Client, replica.Client)
	primary.e.Log.SetBacklogBytes(1)
	primary.Want(t, "+OK", "MULTI")
	primary.Want(t, "+QUEUED", "CLIENT", "KILL", "TYPE", "replica")
	for range 8 {
		primary.Want(t, "+QUEUED", "SET", "k", strings.Repeat("v", 100_000))
	}
	primary.OK(t, "EXEC")
	primary.eventually("another full synchronisation", func() bool { return primary.e.Stats.SyncFull.Load() == 2 })
	agree(t, primary.Client, replica.Client)
}
