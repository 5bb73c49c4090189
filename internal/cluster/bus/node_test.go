package bus_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/bus"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/migrate"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
	"github.com/covey-db/covey/internal/testkit/reply"
	"github.com/covey-db/covey/internal/transport"
	"github.com/covey-db/covey/internal/vfs"
)

// The timeouts of the nodes of these tests: a short one, while a cluster forms and where a node is to be taken for dead, and
// the one of a whole cluster, in which a machine that is busy makes nobody seem dead.
const (
	nodeTimeout = 1500 * time.Millisecond
	calmTimeout = 15 * time.Second
)

// within is how long anything may take that takes a second or two.
const within = testkit.Patience

// node is a cluster node inside the test's process: engine, replication, bus and client port.
type node struct {
	e       *engine.Engine
	bus     *bus.Bus
	repl    *replication.Manager
	mover   *migrate.Migrator
	port    int
	dir     string
	fs      vfs.FS
	mu      sync.Mutex // guards set
	set     bus.Settings
	clients *transport.Goroutines
	door    net.Listener
	cancel  context.CancelFunc
	ran     sync.WaitGroup
	stopped bool
}

// logOut is where the nodes' logs go: nowhere, or to standard error when somebody looks for the cause of a failure.
func logOut() io.Writer {
	if os.Getenv("BUS_LOG") != "" {
		return os.Stderr
	}
	return io.Discard
}

// newNode makes a node that has not loaded yet. prepare may change it first.
func newNode(t testing.TB, prepare ...func(*node)) *node {
	t.Helper()
	n := &node{port: testkit.FreePort(t), dir: t.TempDir(), fs: vfs.OS{}}
	n.set.Core = core.DefaultConfig()
	n.setNodeTimeout(nodeTimeout)
	n.set.Core.TCPPort, n.set.Core.BusPort = uint16(n.port), uint16(n.port+10000)
	for _, f := range prepare {
		f(n)
	}
	n.build(t)
	return n
}

// setNodeTimeout is CONFIG SET cluster-node-timeout.
func (n *node) setNodeTimeout(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.set.Core.NodeTimeout = clock.Millis(d.Milliseconds())
}

func (n *node) settings() bus.Settings {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.set
}

// build makes the parts. The engine wants the handlers before the parts exist that run them.
func (n *node) build(t testing.TB) {
	t.Helper()
	var table map[string]engine.Handler
	late := make(map[string]engine.Handler)
	for name, h := range (*bus.Bus)(nil).Handlers() {
		late[name] = h
	}
	for name := range replication.New(replication.Options{}).Handlers() {
		late[name] = engine.Handler{}
	}
	late["migrate"] = engine.Handler{}
	for name, h := range late {
		h.Run = func(c *engine.Ctx) { table[name].Run(c) }
		late[name] = h
	}
	n.e = inproc.New(t, inproc.Options{Cluster: true, RunID: replication.NewID(), Handlers: late})
	log := slog.New(slog.NewTextHandler(logOut(), nil)).With("port", n.port)
	n.repl = replication.New(replication.Options{Engine: n.e, Taker: snapshot.NewTaker(n.e), Log: log,
		Changed: func() { n.bus.ReplicationChanged() },
		Settings: func() replication.Settings {
			return replication.Settings{Timeout: 10 * time.Second, PingPeriod: time.Second, ListenPort: n.port, Dir: n.dir, ClusterOwned: true}
		}})
	var err error
	n.bus, err = bus.New(bus.Options{Engine: n.e, Replication: n.repl, Settings: n.settings, Log: log, FS: n.fs,
		ConfFile: filepath.Join(n.dir, "nodes.conf"), Bind: []string{"127.0.0.1"}, BusPort: n.port + 10000})
	if err != nil {
		t.Fatal(err)
	}
	if n.mover, err = migrate.New(migrate.Options{Engine: n.e, Log: log}); err != nil {
		t.Fatal(err)
	}
	table = n.bus.Handlers()
	for _, more := range []map[string]engine.Handler{n.repl.Handlers(), n.mover.Handlers()} {
		for name, h := range more {
			table[name] = h
		}
	}
}

// start makes nodes and runs them until the test ends.
func start(t testing.TB, prepare ...func(*node)) *node {
	t.Helper()
	n := newNode(t, prepare...)
	n.run(t)
	return n
}

func (n *node) run(t testing.TB) {
	t.Helper()
	if err := n.bus.Load(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n.cancel = cancel
	for _, run := range []func(context.Context) error{n.bus.Run, n.repl.Run} {
		n.ran.Add(1)
		go func() {
			defer n.ran.Done()
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		}()
	}
	door, err := net.Listen("tcp", n.addr())
	if err != nil {
		t.Fatal(err)
	}
	n.door, n.clients = door, transport.NewGoroutines(n.e, transport.Options{Logf: t.Logf})
	n.ran.Add(1)
	go func() {
		defer n.ran.Done()
		if err := n.clients.Serve(door, nil); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(n.stop)
}

// stop ends the node, as a process that is killed does for its peers.
func (n *node) stop() {
	if n.stopped {
		return
	}
	n.stopped = true
	n.door.Close()
	n.clients.Close()
	n.cancel()
	n.mover.Close()
	n.repl.Close()
	n.bus.Close()
	n.ran.Wait()
}

func (n *node) addr() string    { return fmt.Sprintf("127.0.0.1:%d", n.port) }
func (n *node) busAddr() string { return fmt.Sprintf("127.0.0.1:%d", n.port+10000) }
func (n *node) id() string      { return n.bus.View().Me().ID.String() }

// ask runs one command over a connection of its own.
func (n *node) ask(args ...string) (reply.Value, error) { return ask(n.addr(), args...) }

func ask(addr string, args ...string) (reply.Value, error) {
	c, err := testkit.TryDial(addr)
	if err != nil {
		return reply.Value{}, err
	}
	defer c.Close()
	return c.Try(args...)
}

func (n *node) want(t testing.TB, pattern string, args ...string) reply.Value {
	t.Helper()
	return testkit.Dial(t, n.addr()).Want(t, pattern, args...)
}

// soon waits until a command has a reply that fits the pattern.
func (n *node) soon(t testing.TB, pattern string, args ...string) {
	t.Helper()
	p := reply.MustParse(pattern)
	testkit.Eventually(t, within, func() error {
		v, err := n.ask(args...)
		if err == nil && !p.Matches(v) {
			err = fmt.Errorf("%v: got %v, want %s", args, v, pattern)
		}
		return err
	})
}

// cluster starts primaries with equal shares of the slots, and the replicas of the first.
func cluster(t testing.TB, primaries, replicas int) []*node {
	t.Helper()
	var nodes []*node
	for i := range primaries + replicas {
		n := start(t)
		nodes = append(nodes, n)
		n.want(t, "+OK", "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1))
		if i < primaries {
			first, last := testkit.SlotShare(i, primaries)
			n.want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(last))
		}
		if i > 0 {
			nodes[0].want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(n.port))
		}
	}
	awaitWhole(t, nodes...)
	for _, n := range nodes[primaries:] {
		n.soon(t, "+OK", "CLUSTER", "REPLICATE", nodes[0].id())
	}
	awaitWhole(t, nodes...)
	for _, n := range nodes[primaries:] {
		n.awaitLink(t)
	}
	for _, n := range nodes {
		n.soon(t, fmt.Sprintf("len(%d)", replicas), "CLUSTER", "REPLICAS", nodes[0].id())
	}
	for _, n := range nodes {
		n.setNodeTimeout(calmTimeout)
	}
	return nodes
}

// awaitLink waits until the node is a replica that follows its primary's stream.
func (n *node) awaitLink(t testing.TB) {
	t.Helper()
	testkit.Eventually(t, within, func() error {
		if !n.repl.LinkUp() {
			return fmt.Errorf("node on %d is not linked to %q", n.port, n.repl.Primary())
		}
		return nil
	})
}

// awaitWhole waits until every node sees all slots served and all nodes.
func awaitWhole(t testing.TB, nodes ...*node) {
	t.Helper()
	for _, n := range nodes {
		testkit.Eventually(t, within, func() error {
			v, err := n.ask("CLUSTER", "INFO")
			if err != nil {
				return err
			}
			for _, line := range []string{"cluster_state:ok", "cluster_slots_ok:16384", fmt.Sprintf("cluster_known_nodes:%d", len(nodes))} {
				if !strings.Contains(v.Text, line+"\r\n") {
					return fmt.Errorf("node on %d: no %s in %s", n.port, line, v.Text)
				}
			}
			return nil
		})
	}
}
