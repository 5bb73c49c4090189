package tests

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// follow makes one server a replica of another and waits until the link is up.
func follow(t testing.TB, replica, primary *testkit.Server) {
	t.Helper()
	replica.Want(t, "+OK", "REPLICAOF", "127.0.0.1", strconv.Itoa(primary.Port))
	eventuallyReply(t, testkit.Patience, replica, `has("master_link_status:up")`, "INFO", "replication")
}

// TestPrimaryAndReplicaChangePlaces: FAILOVER loses no write, wherever the other side comes from.
func TestPrimaryAndReplicaChangePlaces(t *testing.T) {
	for _, other := range []struct {
		name   string
		binary testkit.Binary
	}{{"covey", testkit.Covey(t)}, {"redis-server", testkit.Redis(t)}} {
		t.Run(other.name, func(t *testing.T) {
			t.Parallel()
			a := testkit.Start(t, testkit.Options{Binary: testkit.Covey(t)})
			b := testkit.Start(t, testkit.Options{Binary: other.binary})
			follow(t, b, a)
			a.Want(t, "-ERR FAILOVER target HOST and PORT is not a replica.", "FAILOVER", "TO", "127.0.0.1", "1")
			b.Want(t, "-ERR FAILOVER is not valid when server is a replica.", "FAILOVER")
			for i := range 100 {
				a.Want(t, "+OK", "SET", fmt.Sprint("key:", i), "v")
			}
			a.Want(t, "+OK", "FAILOVER", "TO", "127.0.0.1", strconv.Itoa(b.Port), "TIMEOUT", "60000")
			eventuallyReply(t, testkit.Patience, b, `has("role:master")`, "INFO", "replication")
			eventuallyReply(t, testkit.Patience, a, `has("master_link_status:up") & has("master_failover_state:no-failover")`, "INFO", "replication")
			a.Want(t, "-READONLY...", "SET", "key", "v")
			b.Want(t, "+OK", "SET", "key:100", "v")
			eventuallyReply(t, testkit.Patience, a, ":101", "DBSIZE")
			a.Want(t, `has("sync_full:1")`, "INFO", "stats")
			b.Want(t, `has("sync_full:0")`, "INFO", "stats")

			b.Want(t, "+OK", "FAILOVER")
			eventuallyReply(t, testkit.Patience, a, `has("role:master")`, "INFO", "replication")
			eventuallyReply(t, testkit.Patience, b, `has("master_link_status:up")`, "INFO", "replication")
			a.Want(t, ":101", "DBSIZE")
		})
	}
}

// TestFailoverThatCannotBeEnds: a replica that does not catch up costs a pause and nothing else.
func TestFailoverThatCannotBeEnds(t *testing.T) {
	t.Parallel()
	a := testkit.Start(t, testkit.Options{Binary: testkit.Covey(t)})
	b := testkit.Start(t, testkit.Options{Binary: testkit.Covey(t)})
	a.Want(t, "-ERR FAILOVER requires connected replicas.", "FAILOVER")
	a.Want(t, "-ERR No failover in progress.", "FAILOVER", "ABORT")
	follow(t, b, a)
	b.Pause(t)
	a.Want(t, "+OK", "SET", "key", "v")
	a.Want(t, "+OK", "FAILOVER")
	a.Want(t, `has("master_failover_state:waiting-for-sync")`, "INFO", "replication")
	a.Want(t, "-ERR FAILOVER already in progress.", "FAILOVER")
	a.Want(t, "-ERR REPLICAOF not allowed while failing over.", "REPLICAOF", "NO", "ONE")
	a.Want(t, "+OK", "FAILOVER", "ABORT")
	a.Want(t, "+OK", "SET", "key", "after the order to stop")
	a.Want(t, "+OK", "FAILOVER", "TIMEOUT", "300")
	a.Want(t, "+OK", "SET", "key", "after the pause")
	a.Want(t, `has("role:master") & has("master_failover_state:no-failover")`, "INFO", "replication")
	b.Resume(t)
	eventuallyReply(t, testkit.Patience, b, `"after the pause"`, "GET", "key")
}
