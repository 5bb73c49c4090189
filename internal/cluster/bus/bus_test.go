package bus_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/cluster/bus"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
	"github.com/covey-db/covey/internal/testkit/reply"
	"github.com/covey-db/covey/internal/vfs"
)

func TestNodesMeetServeAndRedirect(t *testing.T) {
	nodes := cluster(t, 3, 0)
	nodes[2].want(t, "+OK", "SET", "foo", "1") // slot 12182
	for _, n := range nodes[:2] {
		n.want(t, fmt.Sprintf("-MOVED 12182 %s", nodes[2].addr()), "GET", "foo")
	}
	for _, n := range nodes {
		v := n.want(t, "array", "CLUSTER", "SLOTS")
		if len(v.Items) != 3 {
			t.Fatalf("CLUSTER SLOTS: %v", v)
		}
		for i, run := range v.Items {
			first, last := testkit.SlotShare(i, 3)
			if run.Items[0].Int != int64(first) || run.Items[1].Int != int64(last) || len(run.Items) != 3 {
				t.Fatalf("run %d: %v", i, run)
			}
			at := run.Items[2]
			if at.Items[0].Text != "127.0.0.1" || at.Items[1].Int != int64(nodes[i].port) || at.Items[2].Text != nodes[i].id() || len(at.Items[3].Items) != 0 {
				t.Fatalf("endpoint of run %d: %v", i, at)
			}
		}
		testkit.Eventually(t, within, func() error { // the others may still be opening theirs
			if links := n.want(t, "array", "CLUSTER", "LINKS"); len(links.Items) != 4 || len(links.Items[0].Items) != 12 {
				return fmt.Errorf("CLUSTER LINKS: %v", links)
			}
			return nil
		})
	}
	lines, err := testkit.ParseNodeLines(nodes[0].want(t, "string", "CLUSTER", "NODES").Text)
	if err != nil || len(lines) != 3 {
		t.Fatalf("CLUSTER NODES: %v %v", lines, err)
	}
}

func TestReplicaTakesOverWhenItsPrimaryIsGone(t *testing.T) {
	nodes := cluster(t, 3, 1)
	key := keyOf(t, nodes[0])
	nodes[0].want(t, "+OK", "SET", key, "v")
	testkit.Eventually(t, within, func() error {
		if nodes[3].e.Log.End() < nodes[0].e.Log.End() {
			return errors.New("replica is behind")
		}
		return nil
	})
	for _, n := range nodes {
		n.setNodeTimeout(nodeTimeout)
	}
	nodes[0].stop()
	nodes[3].soon(t, `"v"`, "GET", key)
	nodes[3].want(t, "+OK", "SET", key, "w")
	nodes[1].soon(t, "-MOVED...", "GET", key)
	testkit.Eventually(t, within, func() error {
		v, err := nodes[1].ask("GET", key)
		if err == nil && !strings.HasSuffix(v.Text, nodes[3].addr()) {
			err = fmt.Errorf("redirected by %v", v)
		}
		return err
	})
}

// keyOf is a key whose slot a node serves.
func keyOf(t testing.TB, n *node) string {
	t.Helper()
	for i := range 10000 {
		key := fmt.Sprintf("key%d", i)
		if v, err := n.ask("EXISTS", key); err == nil && v.Kind == reply.Int {
			return key
		}
	}
	t.Fatal("no key for this node")
	return ""
}

func TestFailoverByCommandLosesNothing(t *testing.T) {
	nodes := cluster(t, 1, 1)
	old, next := nodes[0], nodes[1]
	stop, counted := make(chan struct{}), make(chan int64, 1)
	go func() { counted <- countUp(stop, old.addr(), next.addr()) }()
	next.want(t, "+OK", "CLUSTER", "FAILOVER")
	testkit.Eventually(t, within, func() error {
		v, err := ask(next.addr(), "GET", "counter")
		if err == nil && !(v.Kind == reply.Bulk && old.e.Role.IsReplica()) {
			err = fmt.Errorf("the roles have not changed: %v", v)
		}
		return err
	})
	close(stop)
	want := <-counted
	if v := next.want(t, "string", "GET", "counter"); want == 0 || v.Text != fmt.Sprint(want) {
		t.Fatalf("%d increments were acknowledged, the counter is %v", want, v)
	}
	old.awaitLink(t)
}

// countUp increments a counter wherever it is served and gives how often it was told that it worked.
func countUp(stop chan struct{}, addrs ...string) (acked int64) {
	for i := 0; ; i++ {
		select {
		case <-stop:
			return acked
		default:
		}
		v, err := ask(addrs[i/8%len(addrs)], "INCR", "counter")
		if err == nil && v.Kind == reply.Int {
			acked++
		}
	}
}

func TestGarbageEndsOneLinkOnly(t *testing.T) {
	nodes := cluster(t, 2, 0)
	whole := wire.AppendPacket(nil, &wire.Packet{Header: wire.Header{Type: wire.TypePing}})
	huge := append([]byte(nil), whole...)
	copy(huge[4:8], []byte{0x7f, 0xff, 0xff, 0xff})
	for _, garbage := range [][]byte{
		[]byte("GET / HTTP/1.1\r\n\r\n"),
		[]byte(strings.Repeat("\x00", 5000)),
		huge,
	} {
		c := testkit.Dial(t, nodes[0].busAddr())
		if err := c.SendRaw(garbage); err != nil {
			t.Fatal(err)
		}
		if err := c.Closed(within); err != nil {
			t.Errorf("after %.20q: %v", garbage, err)
		}
	}
	c := testkit.Dial(t, nodes[0].busAddr())
	if err := c.SendRaw(whole[:len(whole)/2]); err != nil { // half a packet waits for the rest
		t.Fatal(err)
	}
	if err := c.Quiet(50 * time.Millisecond); err != nil {
		t.Error(err)
	}
	awaitWhole(t, nodes...)
	if links := nodes[0].want(t, "array", "CLUSTER", "LINKS"); len(links.Items) != 2 {
		t.Errorf("CLUSTER LINKS: %v", links)
	}
}

func TestSlotsMoveWithTheirKeysAndLostKeysGo(t *testing.T) {
	nodes := cluster(t, 2, 0)
	from, to := nodes[0], nodes[1]
	key := keyOf(t, from)
	slot := fmt.Sprint(from.want(t, "number", "CLUSTER", "KEYSLOT", key).Int)
	from.want(t, "+OK", "SET", key, "v")
	from.want(t, ":1", "CLUSTER", "COUNTKEYSINSLOT", slot)
	from.want(t, fmt.Sprintf("[%q]", key), "CLUSTER", "GETKEYSINSLOT", slot, "10")
	from.want(t, "-ERR Can't assign hashslot "+slot+" to a different node while I still hold keys for this hash slot.",
		"CLUSTER", "SETSLOT", slot, "NODE", to.id())
	to.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "IMPORTING", from.id())
	from.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "MIGRATING", to.id())
	from.want(t, `"v"`, "GET", key)
	from.want(t, "+OK", "MIGRATE", "127.0.0.1", fmt.Sprint(to.port), key, "0", "30000")
	from.want(t, "-ASK "+slot+" "+to.addr(), "GET", key)
	c := testkit.Dial(t, to.addr())
	c.Want(t, "-MOVED "+slot+" "+from.addr(), "GET", key)
	c.Want(t, "+OK", "ASKING")
	c.Want(t, `"v"`, "GET", key)
	to.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "NODE", to.id())
	from.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "NODE", to.id())
	from.want(t, "-MOVED "+slot+" "+to.addr(), "GET", key)
	to.want(t, `"v"`, "GET", key)
	// The slot is taken back by a claim with a higher epoch: the loser drops its keys.
	from.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "IMPORTING", to.id())
	from.want(t, "+OK", "CLUSTER", "SETSLOT", slot, "NODE", from.id())
	to.soon(t, ":0", "CLUSTER", "COUNTKEYSINSLOT", slot)
	to.soon(t, "-MOVED "+slot+" "+from.addr(), "GET", key)
}

func TestEndpointsAsConfigured(t *testing.T) {
	n := start(t)
	n.want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "8000", "8002", "16383")
	put := func(kind bus.EndpointKind, name string) {
		n.mu.Lock()
		n.set.Endpoint, n.set.Core.Hostname = kind, name
		n.set.Core.RequireFullCoverage = false
		n.mu.Unlock()
		n.bus.SettingsChanged()
	}
	port := fmt.Sprint(n.port)
	run := func(node string) string { return fmt.Sprintf("[[:0 :8000 %s] [:8002 :16383 %s]]", node, node) }
	n.want(t, run(`["" :`+port+` "`+n.id()+`" []]`), "CLUSTER", "SLOTS")
	put(bus.EndpointHostname, "")
	n.soon(t, run(`["?" :`+port+` "`+n.id()+`" ["ip" ""]]`), "CLUSTER", "SLOTS")
	put(bus.EndpointHostname, "host-1.example")
	n.soon(t, run(`["host-1.example" :`+port+` "`+n.id()+`" ["ip" ""]]`), "CLUSTER", "SLOTS")
	put(bus.EndpointIP, "host-1.example")
	n.soon(t, run(`["" :`+port+` "`+n.id()+`" ["hostname" "host-1.example"]]`), "CLUSTER", "SLOTS")
	put(bus.EndpointUnknown, "")
	n.soon(t, run(`[nil :`+port+` "`+n.id()+`" ["ip" ""]]`), "CLUSTER", "SLOTS")
	n.want(t, `[["slots" [:0 :8000 :8002 :16383] "nodes" [["id" "`+n.id()+`" "port" :`+port+
		` "ip" "" "endpoint" "" "role" "master" "replication-offset" :0 "health" "online"]]]]`, "CLUSTER", "SHARDS")
	c := testkit.Dial(t, n.addr())
	c.OK(t, "HELLO", "3")
	if v := c.OK(t, "CLUSTER", "SHARDS"); v.Items[0].Kind != reply.Map || v.Items[0].Items[3].Items[0].Kind != reply.Map {
		t.Errorf("CLUSTER SHARDS in RESP3: %v", v)
	}
	if v := c.OK(t, "CLUSTER", "INFO"); v.Kind != reply.Verbatim {
		t.Errorf("CLUSTER INFO in RESP3: %v", v)
	}
}

func TestNodesConfSurvivesARestart(t *testing.T) {
	nodes := cluster(t, 2, 0)
	first := nodes[0]
	id, dir, port := first.id(), first.dir, first.port
	first.stop()
	again := start(t, func(n *node) {
		n.dir, n.port = dir, port
		n.set.Core.TCPPort, n.set.Core.BusPort = uint16(port), uint16(port+10000)
	})
	if again.id() != id {
		t.Fatalf("the node was %s and is %s", id, again.id())
	}
	awaitWhole(t, again, nodes[1])
}

func TestNodesConfIsLockedAndChecked(t *testing.T) {
	first := start(t)
	path := filepath.Join(first.dir, "nodes.conf")
	second := newNode(t, func(n *node) { n.dir = first.dir })
	if err := second.bus.Load(); err == nil || err.Error() != "Sorry, the cluster configuration file "+path+
		" is already used by a different Redis Cluster node. Please make sure that different nodes use different cluster configuration files." {
		t.Errorf("a second node on %s: %v", path, err)
	}
	broken := newNode(t)
	path = filepath.Join(broken.dir, "nodes.conf")
	if err := os.WriteFile(path, []byte("vars currentEpoch 1 lastVoteEpoch 0\nthis is no node\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := broken.bus.Load()
	broken.bus.Close()
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestPromisesWaitForTheDiskAndNothingElseDoes(t *testing.T) {
	faulty := vfs.NewFaulty(vfs.OS{})
	nodes := []*node{start(t, func(n *node) { n.fs = faulty }), start(t)}
	n := nodes[0]
	n.want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	n.want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(nodes[1].port))
	awaitWhole(t, nodes...)
	let := make(chan struct{})
	open := sync.OnceFunc(func() { close(let) })
	defer open()
	faulty.Slow(vfs.Calls{Op: vfs.OpRename}, func() { <-let })
	c := testkit.Dial(t, n.addr())
	if err := c.Send("CLUSTER", "SETSLOT", "7", "MIGRATING", nodes[1].id()); err != nil {
		t.Fatal(err)
	}
	if err := c.Quiet(200 * time.Millisecond); err != nil {
		t.Error(err)
	}
	n.want(t, "+OK", "SET", "k", "v") // data and views do not wait
	n.want(t, "string", "CLUSTER", "NODES")
	n.want(t, "+PONG", "PING")
	open()
	if v := c.Next(t); v.Text != "OK" {
		t.Errorf("after the disk: %v", v)
	}
	awaitWhole(t, nodes...)
}

func TestADiskThatFailsEndsTheBus(t *testing.T) {
	faulty := vfs.NewFaulty(vfs.OS{})
	n := newNode(t, func(n *node) { n.fs = faulty })
	if err := n.bus.Load(); err != nil {
		t.Fatal(err)
	}
	defer n.bus.Close()
	faulty.Fail(vfs.Calls{Op: vfs.OpRename}, errors.New("no space"))
	n.mu.Lock()
	n.set.Core.NodeName = "renamed"
	n.mu.Unlock()
	n.bus.SettingsChanged()
	if err := n.bus.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "can't update cluster config file") {
		t.Errorf("Run: %v", err)
	}
}

func TestCommandsOutsideClusterMode(t *testing.T) {
	for name := range bus.DisabledHandlers() {
		if _, sub, ok := strings.Cut(name, "|"); !ok || sub == "" {
			t.Errorf("handler %q", name)
		}
	}
	_ = inproc.New(t, inproc.Options{Handlers: bus.DisabledHandlers()}) // every handler has a row
}
