package bus_test

import (
	"fmt"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// TestOrdersInTransactionsWithKeys changes the cluster in transactions that use keys: no other client's command comes in
// between, and a replica gets every write once.
func TestOrdersInTransactionsWithKeys(t *testing.T) {
	nodes := cluster(t, 1, 1)
	primary, replica := nodes[0], nodes[1]
	stop, counted := make(chan struct{}), make(chan int64, 1)
	go func() { counted <- countUp(stop, primary.addr()) }()
	c := testkit.Dial(t, primary.addr())
	const rounds = 20
	for i := range rounds {
		c.Want(t, "+OK", "MULTI")
		c.Want(t, "+QUEUED", "INCR", "counter")
		c.Want(t, "+QUEUED", "CLUSTER", "ADDSLOTS", "5")
		c.Want(t, "+QUEUED", "CLUSTER", "SAVECONFIG")
		c.Want(t, "+QUEUED", "EVAL", "return redis.call('incr', KEYS[1])", "1", "counter")
		c.Want(t, "+QUEUED", "CLUSTER", "SETSLOT", "7", "STABLE")
		c.Want(t, "+QUEUED", "INCR", "counter")
		v := c.Want(t, `[number -"ERR Slot 5 is already busy" +OK number +OK number]`, "EXEC")
		if first := v.Items[0].Int; v.Items[3].Int != first+1 || v.Items[5].Int != first+2 {
			t.Fatalf("round %d: somebody came in between: %v", i, v)
		}
	}
	close(stop)
	want := fmt.Sprintf("%q", fmt.Sprint(<-counted+3*rounds))
	c.Want(t, want, "GET", "counter")
	c.Want(t, ":1", "WAIT", "1", "30000")
	r := testkit.Dial(t, replica.addr())
	r.Want(t, "+OK", "READONLY")
	r.Want(t, want, "GET", "counter")
	r.Want(t, "+OK", "MULTI")
	r.Want(t, "+QUEUED", "GET", "counter")
	r.Want(t, "+QUEUED", "CLUSTER", "SAVECONFIG")
	r.Want(t, "["+want+` -"ERR CLUSTER commands that change"...]`, "EXEC")
	c.Want(t, "-ERR CLUSTER commands that change...", "EVAL", "redis.call('get', KEYS[1]) return redis.call('cluster', 'saveconfig')", "1", "counter")
	c.Want(t, "+OK", "EVAL", "return redis.call('cluster', 'saveconfig')", "0")
}

// TestAnOrderInATransactionGivesASlotAway lets the keys of a slot go and the slot with them, in one transaction.
func TestAnOrderInATransactionGivesASlotAway(t *testing.T) {
	nodes := cluster(t, 2, 0)
	from, to := nodes[0], nodes[1]
	key := keyOf(t, from)
	slot := fmt.Sprint(from.want(t, "number", "CLUSTER", "KEYSLOT", key).Int)
	from.want(t, "+OK", "SET", key, "v")
	to.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id())
	from.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "MIGRATING", to.id())
	c := testkit.Dial(t, from.addr())
	c.Want(t, "+OK", "MULTI")
	c.Want(t, "+QUEUED", "DEL", key)
	c.Want(t, "+QUEUED", "CLUSTER", "SETSLOT", slot, "NODE", to.id())
	c.Want(t, "[:1 +OK]", "EXEC")
	from.soon(t, "-MOVED "+slot+" "+to.addr(), "GET", key)
}
