package replication_test

import (
	"bytes"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/testkit"
)

// This file tests orders that come while others are carried out.

// TestPromotedBeforeTheOldDataGoes: a node that becomes a primary when a snapshot has come, but is not loaded, keeps its data.
func TestPromotedBeforeTheOldDataGoes(t *testing.T) {
	for name, promote := range map[string]func(*node){
		"REPLICAOF NO ONE": func(n *node) {
			go n.m.Promote()
			n.eventually("the link is told to end", func() bool { return n.m.Primary() == "" })
		},
		"in EXEC": (*node).promoteInExec,
	} {
		t.Run(name, func(t *testing.T) {
			primary, replica := start(t), start(t)
			change(t, primary.Client, 0, 200)
			change(t, replica.Client, 1000, 50)
			before := digest(t, replica.Client)
			replica.then.on("replacing", func() { promote(replica) })
			replica.follow(primary.addr)
			replica.eventually("it is a primary", func() bool { return !replica.e.Role.IsReplica() })
			replica.m.Close() // the link has ended
			if now := digest(t, replica.Client); now != before {
				t.Errorf("the data is %s, and was %s", now, before)
			}
		})
	}
}

// TestFollowsAmidPromotion: the last order counts, and a link does not begin before the one before it has ended.
func TestFollowsAmidPromotion(t *testing.T) {
	first, second, node := start(t), start(t), start(t)
	change(t, first.Client, 0, 200)
	change(t, second.Client, 1000, 200)
	promoted, followed := make(chan struct{}), make(chan struct{})
	node.then.on("replacing", func() {
		go func() {
			defer close(promoted)
			node.m.Promote()
		}()
		node.eventually("the link is told to end", func() bool { return node.m.Primary() == "" })
		node.then.on("Loading DB", func() { t.Error("a snapshot is loaded while another link is there") })
		node.m.Follow(second.addr)
		node.then.on("", func() {})
		close(followed)
	})
	node.follow(first.addr)
	<-followed
	<-promoted
	if !node.e.Role.IsReplica() || node.m.Primary() != second.addr {
		t.Fatal("it is a replica:", node.e.Role.IsReplica(), "of", node.m.Primary())
	}
	agree(t, second.Client, node.Client)
	node.Want(t, "-READONLY...", "SET", "k", "v")
}

// TestFailoverAbortedAtItsTurn: FAILOVER ABORT, when the target has all of the stream, leaves the primary what it is.
func TestFailoverAbortedAtItsTurn(t *testing.T) {
	primary, replica := start(t), start(t)
	change(t, primary.Client, 0, 100)
	replica.follow(primary.addr)
	agree(t, primary.Client, replica.Client)
	primary.Want(t, ":1", "WAIT", "1", "0")
	aborted, other := make(chan struct{}), testkit.Dial(t, primary.addr)
	primary.then.on("is synced, failing over", func() {
		primary.e.LockAll() // others are slow
		go func() {
			defer primary.e.UnlockAll()
			for n := 0; n < 300 && !strings.Contains(other.Do(t, "INFO", "replication").Text, "failover-in-progress"); n++ {
			}
			other.Want(t, "+OK", "FAILOVER", "ABORT")
			close(aborted)
		}()
	})
	primary.Want(t, "+OK", "FAILOVER")
	<-aborted
	primary.m.Close() // whoever was to follow has done it
	if primary.e.Role.IsReplica() {
		t.Error("it is a replica")
	}
}

func (n *node) promoteInExec() {
	c := testkit.Dial(n.t, n.addr)
	c.Want(n.t, "+OK", "MULTI")
	c.Want(n.t, "+QUEUED", "REPLICAOF", "NO", "ONE")
	c.Want(n.t, "[+OK]", "EXEC")
}

// listening is a link on which something is done, once, about a text that comes.
type listening struct {
	net.Conn
	text string
	come func()      // when it has come, before anybody sees it
	amid func()      // when all that was sent before it is done, and nothing of it
	ack  atomic.Bool // the next write is the answer to what was put before the text
}

func (l *listening) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	if l.text == "" || !bytes.Contains(b[:n], []byte(l.text)) {
		return n, err
	}
	l.text = ""
	if l.come != nil {
		l.come()
		return n, err
	}
	l.ack.Store(true)
	return copy(b, append(testkit.AppendCommand(nil, "REPLCONF", "GETACK", "*"), b[:n]...)), err
}

func (l *listening) Write(b []byte) (int, error) {
	if l.ack.Swap(false) {
		l.amid()
	}
	return l.Conn.Write(b)
}

// listen has the next links of a node listen.
func (n *node) listen(text string, come, amid func()) {
	n.dial.mu.Lock()
	defer n.dial.mu.Unlock()
	n.dial.ears = func(c net.Conn) net.Conn { return &listening{Conn: c, text: text, come: come, amid: amid} }
}

// TestPromotedAmidABatch: of what has come from the primary, a node that became a primary in EXEC applies nothing any more.
func TestPromotedAmidABatch(t *testing.T) {
	for _, batch := range [][]string{{"SET step in"}, {"FLUSHALL"}, {"MULTI", "SET step in", "SET step out", "EXEC"}} {
		t.Run(batch[0], func(t *testing.T) {
			primary, node := start(t), start(t)
			change(t, primary.Client, 0, 50)
			end, marker := int64(0), strings.Fields(batch[0])[0]
			node.listen(marker, nil, func() { node.promoteInExec(); end = node.e.Log.End() })
			node.follow(primary.addr)
			agree(t, primary.Client, node.Client)
			before := digest(t, node.Client)
			for _, words := range batch {
				primary.OK(t, strings.Fields(words)...)
			}
			node.eventually("it is a primary", func() bool { return !node.e.Role.IsReplica() })
			node.m.Close() // the link has ended
			if now := digest(t, node.Client); now != before {
				t.Errorf("the data is %s, and was %s", now, before)
			}
			harmless := append(testkit.AppendCommand(nil, "REPLCONF", "GETACK", "*"), testkit.AppendCommand(nil, "SELECT", "0")...)
			if now := node.e.Log.End(); now > end+int64(len(harmless)) {
				t.Errorf("the log ends at %d, and did at %d", now, end)
			}
		})
	}
}

// TestPromotedWhenTheStreamGoesOn: a node that became a primary in EXEC, just when its primary let it go on, has an id of its own.
func TestPromotedWhenTheStreamGoesOn(t *testing.T) {
	primary, node := start(t), start(t)
	change(t, primary.Client, 0, 50)
	node.follow(primary.addr)
	agree(t, primary.Client, node.Client)
	node.dial.hold(true)
	primary.e.Log.Rename(replication.NewID())
	node.listen("+CONTINUE", node.promoteInExec, nil)
	node.dial.hold(false)
	node.eventually("it is a primary", func() bool { return !node.e.Role.IsReplica() })
	node.m.Close() // the link has ended
	if id := node.e.Log.History().ID; id == primary.e.Log.History().ID {
		t.Error("both have the id", id)
	}
}

// TestPromotedWhenASnapshotIsWhole: a node that became a primary in EXEC, when a snapshot was loaded beside its data, keeps them.
func TestPromotedWhenASnapshotIsWhole(t *testing.T) {
	primary, node := start(t), start(t, direct(replication.DirectBeside))
	change(t, primary.Client, 0, 200)
	change(t, node.Client, 1000, 50)
	before := digest(t, node.Client)
	node.then.on("replacing", func() {
		node.e.SetLoading(false) // the transaction was let in before the load
		node.promoteInExec()
	})
	node.follow(primary.addr)
	node.eventually("it is a primary", func() bool { return !node.e.Role.IsReplica() })
	node.m.Close() // the link has ended
	if now := digest(t, node.Client); now != before {
		t.Errorf("the data is %s, and was %s", now, before)
	}
	if id := node.e.Log.History().ID; id == primary.e.Log.History().ID {
		t.Error("both have the id", id)
	}
}

// TestSnapshotWaitsForAnotherLoad: a snapshot from the primary does not go where somebody else loads data, and comes again.
func TestSnapshotWaitsForAnotherLoad(t *testing.T) {
	primary, node := start(t), start(t)
	change(t, primary.Client, 0, 200)
	node.then.on("replacing", func() {
		node.e.SetLoading(true) // as DEBUG RELOAD does
		node.then.on("Flushing old data", func() { t.Error("what another one loads goes") })
	})
	node.follow(primary.addr)
	node.eventually("another try", func() bool { return primary.e.Stats.SyncFull.Load() == 2 })
	node.then.on("", func() {})
	node.e.SetLoading(false)
	agree(t, primary.Client, node.Client)
}

// leaving is a link on which something is done, once, when it is closed.
type leaving struct {
	net.Conn
	once sync.Once
	do   func()
}

func (l *leaving) Close() error {
	err := l.Conn.Close()
	l.once.Do(l.do)
	return err
}

// TestFailoverBetweenTwoPrimaries: a replica that turns to another primary does not change places with a replica of its own meanwhile.
func TestFailoverBetweenTwoPrimaries(t *testing.T) {
	first, second, node, replica := start(t), start(t), start(t), start(t)
	other := testkit.Dial(t, node.addr)
	node.dial.mu.Lock()
	node.dial.ears = func(c net.Conn) net.Conn {
		return &leaving{Conn: c, do: func() {
			if got := other.Do(t, "FAILOVER").String(); got != "-ERR FAILOVER is not valid when server is a replica." {
				t.Error(got)
			}
		}}
	}
	node.dial.mu.Unlock()
	change(t, first.Client, 0, 50)
	node.follow(first.addr)
	replica.follow(node.addr)
	agree(t, first.Client, node.Client, replica.Client)
	node.dial.mu.Lock()
	node.dial.ears = nil
	node.dial.mu.Unlock()
	node.follow(second.addr)
	agree(t, second.Client, node.Client, replica.Client)
	if node.m.Primary() != second.addr {
		t.Error("it follows", node.m.Primary())
	}
}

// TestFailoverBeforeAnOrder: FAILOVER that begins before REPLICAOF has the locks comes first, and REPLICAOF is refused.
func TestFailoverBeforeAnOrder(t *testing.T) {
	primary, replica, third := start(t), start(t), start(t)
	other := testkit.Dial(t, primary.addr)
	change(t, primary.Client, 0, 50)
	replica.follow(primary.addr)
	agree(t, primary.Client, replica.Client)
	primary.Want(t, ":1", "WAIT", "1", "0")
	host, port, _ := net.SplitHostPort(third.addr)
	primary.e.LockAll() // others are slow
	answer := make(chan string)
	go func() { answer <- other.Do(t, "REPLICAOF", host, port).String() }()
	stacks := make([]byte, 1<<20)
	primary.eventually("the order waits for the locks", func() bool {
		return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*Manager).Follow("))
	})
	began := testkit.Dial(t, primary.addr)
	began.Want(t, "+OK", "FAILOVER")
	primary.e.UnlockAll()
	if got := <-answer; got != "-ERR REPLICAOF not allowed while failing over." {
		t.Error(got)
	}
	began.Want(t, "+OK", "FAILOVER", "ABORT")
}
