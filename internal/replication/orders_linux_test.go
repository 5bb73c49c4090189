package replication_test

import (
	"strings"
	"testing"

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
		"in EXEC": func(n *node) {
			c := testkit.Dial(n.t, n.addr)
			c.Want(n.t, "+OK", "MULTI")
			c.Want(n.t, "+QUEUED", "REPLICAOF", "NO", "ONE")
			c.Want(n.t, "[+OK]", "EXEC")
		},
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
