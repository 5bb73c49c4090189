package clients

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/covey-db/covey/internal/testkit"
)

// failoverWithin is how long a failover may take. A second would do on a quiet machine; a Sentinel that a busy one kept from
// running does nothing for thirty.
const failoverWithin = 3 * testkit.Patience

// startSentinel starts a Sentinel of the real Redis that decides alone. It is more patient than on a quiet machine it would
// need to be: where a primary that is only slow counts as down, a second failover follows the first.
func startSentinel(t testing.TB, primary *testkit.Server) *testkit.Server {
	t.Helper()
	port := testkit.FreePort(t)
	conf := fmt.Sprintf(`port %d
bind 127.0.0.1
sentinel monitor watched 127.0.0.1 %d 1
sentinel down-after-milliseconds watched 6000
sentinel failover-timeout watched 10000
`, port, primary.Port)
	sentinel := testkit.Launch(t, testkit.Options{
		Binary: testkit.Redis(t), NoConf: true, Port: port, Args: []string{"sentinel.conf", "--sentinel"},
		Files: map[string]string{"sentinel.conf": conf},
	})
	testkit.Eventually(t, failoverWithin, func() error {
		_, err := sentinel.Try("PING")
		return err
	})
	return sentinel
}

// follows returns nil if the Sentinel knows the node as primary and one replica in order.
func follows(sentinel, primary *testkit.Server) error {
	v, err := sentinel.Try("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "watched")
	if err != nil {
		return err
	}
	if got, want := fmt.Sprint(v.Strings()), fmt.Sprintf("[127.0.0.1 %d]", primary.Port); got != want {
		return fmt.Errorf("the primary is %s, not %s", got, want)
	}
	v, err = sentinel.Try("SENTINEL", "REPLICAS", "watched")
	if err != nil || len(v.Items) != 1 {
		return fmt.Errorf("replicas: %v %v", v, err)
	}
	fields := v.Items[0].Strings()
	for i := 0; i+1 < len(fields); i += 2 {
		if name, value := fields[i], fields[i+1]; name == "flags" && value != "slave" || name == "master-link-status" && value != "ok" {
			return fmt.Errorf("the replica's %s: %s", name, value)
		}
	}
	return nil
}

// has returns nil if a node has a key whose value is v.
func has(node *testkit.Server, key string) error {
	v, err := node.Try("GET", key)
	if err == nil && v.Text != "v" {
		err = fmt.Errorf("%s: %s is %v", node, key, v)
	}
	return err
}

// TestSentinel lets a Sentinel watch a primary and its replica while a client writes through it: the primary is killed, the
// replica takes over, and the old primary comes back as a replica, with that in its configuration file.
func TestSentinel(t *testing.T) {
	t.Parallel()
	pair := testkit.StartTopology(t, "R2")
	first, second := pair.Nodes[0], pair.Nodes[1]
	sentinel := startSentinel(t, first)
	testkit.Eventually(t, failoverWithin, func() error { return follows(sentinel, first) })

	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "watched", SentinelAddrs: []string{sentinel.Addr()}})
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*failoverWithin)
	defer cancel()
	must(t, client.Set(ctx, "before", "v", 0).Err())
	testkit.Eventually(t, stepWithin, func() error { return has(second, "before") })

	began := time.Now()
	first.Kill(t)
	testkit.Eventually(t, failoverWithin, func() error { return client.Set(ctx, "behind", "v", 0).Err() })
	t.Logf("writable again after %v", time.Since(began).Round(10*time.Millisecond))
	want[string](t, "v")(client.Get(ctx, "before").Result())
	if role := second.Info(t, "replication")["role"]; role != "master" {
		t.Fatalf("the replica is %s", role)
	}

	first.Restart(t)
	testkit.Eventually(t, failoverWithin, func() error { return first.ReplicaLinked(second.Port) })
	testkit.Eventually(t, stepWithin, func() error { return has(first, "behind") })
	contains(t, first.ReadFile(t, "test.conf"), `(?m)^replicaof 127\.0\.0\.1 `+strconv.Itoa(second.Port)+`$`)
}

// TestOrdersInATransaction gives the orders of a Sentinel: the file that is written has what was ordered just before.
func TestOrdersInATransaction(t *testing.T) {
	t.Parallel()
	node, other := testkit.Start(t, testkit.Options{}), testkit.Start(t, testkit.Options{})
	order := func(host, port string) {
		c := node.Dial(t)
		c.Want(t, "+OK", "MULTI")
		c.Want(t, "+QUEUED", "REPLICAOF", host, port)
		c.Want(t, "+QUEUED", "CONFIG", "REWRITE")
		c.Want(t, "[+OK +OK]", "EXEC")
	}
	line := fmt.Sprintf("replicaof 127.0.0.1 %d\n", other.Port)
	order("127.0.0.1", strconv.Itoa(other.Port))
	if file := node.ReadFile(t, "test.conf"); !strings.Contains(file, line) {
		t.Fatalf("no replicaof in:\n%s", file)
	}
	testkit.Eventually(t, stepWithin, func() error { return node.ReplicaLinked(other.Port) })
	order("NO", "ONE")
	if file := node.ReadFile(t, "test.conf"); strings.Contains(file, line) {
		t.Fatalf("replicaof in:\n%s", file)
	}
}
