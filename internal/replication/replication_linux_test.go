package replication_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
	"github.com/covey-db/covey/internal/transport"
	"github.com/covey-db/covey/internal/vfs"
)

// caughtUpWithin is how long a replica may take; it never does unless the test fails.
const caughtUpWithin = testkit.Patience

// node is a server of this process that replicates.
type node struct {
	*testkit.Client
	t    testing.TB
	e    *engine.Engine
	m    *replication.Manager
	addr string
	dial dialer
	dir  string
	disk *vfs.Faulty
	then moment
}

// moment is when a node does something at which a test wants to step in, once.
type moment struct {
	mu   sync.Mutex
	what string // a text in the log, or "replacing"
	do   func()
}

func (m *moment) on(what string, do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.what, m.do = what, do
}

func (m *moment) come(text string) {
	m.mu.Lock()
	do := m.do
	if do == nil || !strings.Contains(text, m.what) {
		m.mu.Unlock()
		return
	}
	m.do = nil
	m.mu.Unlock()
	do()
}

// hearing is a log that nobody reads.
type hearing struct {
	slog.Handler
	then *moment
}

func (h hearing) Handle(_ context.Context, line slog.Record) error {
	h.then.come(line.Message)
	return nil
}

// dialer opens links to primaries and can cut the one that is open.
type dialer struct {
	mu   sync.Mutex
	down bool // no link can be opened
	last net.Conn
	ears func(net.Conn) net.Conn // put around the next links; may be nil
}

func (d *dialer) open(ctx context.Context, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last = c; d.down {
		c.Close()
	}
	if d.ears != nil {
		return d.ears(c), nil
	}
	return c, nil
}

// hold cuts the link and lets no other one live until it is called with false.
func (d *dialer) hold(down bool) {
	d.mu.Lock()
	d.down = down
	d.mu.Unlock()
	d.cut()
}

func (d *dialer) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.last != nil {
		d.last.Close()
	}
}

func start(t testing.TB, tune ...func(*replication.Settings)) *node {
	t.Helper()
	n := &node{t: t, dir: t.TempDir(), disk: vfs.NewFaulty(vfs.OS{})}
	n.e = inproc.New(t, inproc.Options{RunID: replication.NewID(), Late: func(e *engine.Engine) map[string]engine.Handler {
		n.m = replication.New(replication.Options{
			Engine: e,
			Taker:  snapshot.NewTaker(e),
			Settings: func() replication.Settings {
				s := replication.Settings{Timeout: 10 * time.Second, PingPeriod: time.Second, Dir: n.dir, File: "dump.rdb", Compress: true}
				for _, fn := range tune {
					fn(&s)
				}
				return s
			},
			Log:       slog.New(hearing{slog.NewTextHandler(io.Discard, nil), &n.then}),
			Dial:      n.dial.open,
			FS:        n.disk,
			Replacing: func() { n.then.come("replacing") },
		})
		return n.m.Handlers()
	}})
	n.e.Settings.DebugAllowed.Store(engine.AllowAll)
	loops, err := transport.NewLoops(n.e, transport.Options{Loops: 1, Logf: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	l, err := transport.ListenTCP("127.0.0.1", 0, 511)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(context.Background())
	running.Go(func() { _ = n.m.Run(ctx) })
	running.Go(func() { _ = loops.Serve(l) })
	t.Cleanup(func() {
		stop()
		l.Close()
		running.Wait()
		loops.Close()
	})
	n.addr = l.Addr().String()
	n.Client = testkit.Dial(t, n.addr)
	return n
}

func (n *node) follow(addr string) {
	n.t.Helper()
	host, port, _ := net.SplitHostPort(addr)
	n.Want(n.t, "+OK", "REPLICAOF", host, port)
}

// digest asks for a sum over all data, which Redis makes in the same way.
func digest(t testing.TB, c *testkit.Client) string {
	t.Helper()
	return c.OK(t, "DEBUG", "DIGEST").Text
}

// agree waits until all have the data of the first.
func agree(t testing.TB, first *testkit.Client, others ...*testkit.Client) {
	t.Helper()
	testkit.Eventually(t, caughtUpWithin, func() error {
		want := digest(t, first)
		for i, c := range others {
			if got := digest(t, c); got != want {
				return fmt.Errorf("node %d has %s, the primary %s", i+1, got, want)
			}
		}
		return nil
	})
}

// change makes n changes of all kinds to a few hundred keys of three databases.
func change(t testing.TB, c *testkit.Client, from, n int) {
	t.Helper()
	var all []byte
	for i := from; i < from+n; i++ {
		key := "key:" + strconv.Itoa(i*37%500)
		all = testkit.AppendCommand(all, "SELECT", strconv.Itoa(i%3))
		switch i % 8 {
		case 0:
			all = testkit.AppendCommand(all, "INCRBYFLOAT", "f:"+key, "0.1")
		case 1:
			all = testkit.AppendCommand(all, "SET", key, strconv.Itoa(i), "EX", "10000")
		case 2:
			all = testkit.AppendCommand(all, "DEL", key)
		case 3:
			all = testkit.AppendCommand(all, "SET", key, "a", "PX", "1")
		default:
			all = testkit.AppendCommand(all, "SET", key, strings.Repeat("v", i%300))
		}
	}
	sent := make(chan error, 1)
	go func() { sent <- c.SendRaw(all) }()
	for range 2 * n {
		c.Next(t)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestFullThenStream(t *testing.T) {
	primary, replica := start(t), start(t)
	change(t, primary.Client, 0, 2000)
	replica.follow(primary.addr)
	change(t, primary.Client, 2000, 2000)
	agree(t, primary.Client, replica.Client)
	if n := primary.e.Stats.SyncFull.Load(); n != 1 {
		t.Errorf("%d full synchronisations", n)
	}
	replica.Want(t, "-READONLY...", "SET", "k", "v")
}

func TestPartialAfterACut(t *testing.T) {
	primary, replica := start(t), start(t)
	change(t, primary.Client, 0, 500)
	replica.follow(primary.addr)
	agree(t, primary.Client, replica.Client)
	for round := range 3 {
		replica.dial.cut()
		change(t, primary.Client, 500+round*100, 100)
		agree(t, primary.Client, replica.Client)
	}
	if full, part := primary.e.Stats.SyncFull.Load(), primary.e.Stats.SyncPartial.Load(); full != 1 || part < 1 {
		t.Errorf("%d full and %d partial synchronisations", full, part)
	}
	if a, b := primary.e.Log.End(), replica.e.Log.End(); a != b {
		testkit.Eventually(t, caughtUpWithin, func() error {
			if a, b := primary.e.Log.End(), replica.e.Log.End(); a != b {
				return fmt.Errorf("the offsets are %d and %d", a, b)
			}
			return nil
		})
	}
}

func TestChainAndPromotion(t *testing.T) {
	top, middle, bottom := start(t), start(t), start(t)
	change(t, top.Client, 0, 500)
	middle.follow(top.addr)
	agree(t, top.Client, middle.Client)
	bottom.follow(middle.addr)
	change(t, top.Client, 500, 500)
	agree(t, top.Client, middle.Client, bottom.Client)
	middle.Want(t, "+OK", "REPLICAOF", "NO", "ONE")
	change(t, middle.Client, 1000, 300)
	agree(t, middle.Client, bottom.Client)
	top.follow(middle.addr)
	change(t, middle.Client, 1300, 300)
	agree(t, middle.Client, bottom.Client, top.Client)
}

func TestWait(t *testing.T) {
	primary, replica := start(t), start(t)
	primary.Want(t, ":0", "WAIT", "1", "10")
	primary.Want(t, "-ERR timeout is not an integer or out of range", "WAIT", "1", "x")
	primary.Want(t, "-ERR timeout is negative", "WAIT", "1", "-1")
	primary.Want(t, "+PONG", "PING")
	replica.follow(primary.addr)
	agree(t, primary.Client, replica.Client)
	primary.Want(t, "+OK", "SET", "k", "v")
	primary.Want(t, ":1", "WAIT", "1", "0")
	replica.Want(t, `"v"`, "GET", "k")
	primary.Want(t, ":1", "WAIT", "2", "20")
	replica.Want(t, "-ERR WAIT cannot be used with replica...", "WAIT", "1", "0")
}

func TestKilledReplicaComesBack(t *testing.T) {
	primary, replica := start(t), start(t)
	replica.follow(primary.addr)
	primary.Want(t, "+OK", "SET", "k", "v")
	agree(t, primary.Client, replica.Client)
	primary.Want(t, ":1", "CLIENT", "KILL", "TYPE", "replica")
	primary.Want(t, "+OK", "SET", "k", "w")
	agree(t, primary.Client, replica.Client)
	testkit.Eventually(t, caughtUpWithin, func() error {
		if primary.e.Stats.SyncPartial.Load() != 1 {
			return errors.New("no partial synchronisation")
		}
		return nil
	})
}

func TestRolesChangedByManyAtOnce(t *testing.T) {
	primary, replica := start(t), start(t)
	change(t, primary.Client, 0, 200)
	var clients sync.WaitGroup
	for i := range 6 {
		clients.Go(func() {
			if i%3 == 2 {
				replica.m.Promote()
			} else {
				replica.m.Follow(primary.addr)
			}
		})
	}
	clients.Wait()
	replica.m.Follow(primary.addr)
	change(t, primary.Client, 200, 200)
	agree(t, primary.Client, replica.Client)
}

func redis(t testing.TB) *testkit.Server {
	return testkit.Start(t, testkit.Options{Binary: testkit.Redis(t), Conf: []string{"enable-debug-command yes", "repl-diskless-load disabled"}})
}

func redisAddr(s *testkit.Server) string { return "127.0.0.1:" + strconv.Itoa(s.Port) }

func TestFollowsRedis(t *testing.T) {
	server := redis(t)
	primary, replica, bottom := testkit.Dial(t, redisAddr(server)), start(t), start(t)
	change(t, primary, 0, 1000)
	replica.follow(redisAddr(server))
	change(t, primary, 1000, 500)
	agree(t, primary, replica.Client)
	replica.dial.cut()
	change(t, primary, 1500, 300)
	agree(t, primary, replica.Client)
	if v := primary.Do(t, "INFO", "stats"); !strings.Contains(v.Text, "sync_full:1\r\n") || !strings.Contains(v.Text, "sync_partial_ok:1\r\n") {
		t.Errorf("the primary tells:\n%s", v.Text)
	}
	bottom.follow(replica.addr)
	change(t, primary, 1800, 200)
	agree(t, primary, replica.Client, bottom.Client)
}

func TestIsFollowedByRedis(t *testing.T) {
	server := redis(t)
	primary, replica := start(t), testkit.Dial(t, redisAddr(server))
	change(t, primary.Client, 0, 1000)
	_, port, _ := net.SplitHostPort(primary.addr)
	replica.Want(t, "+OK", "REPLICAOF", "127.0.0.1", port)
	change(t, primary.Client, 1000, 500)
	agree(t, primary.Client, replica)
	primary.Want(t, ":1", "CLIENT", "KILL", "TYPE", "replica")
	change(t, primary.Client, 1500, 300)
	agree(t, primary.Client, replica)
	if full, part := primary.e.Stats.SyncFull.Load(), primary.e.Stats.SyncPartial.Load(); full != 1 || part != 1 {
		t.Errorf("%d full and %d partial synchronisations", full, part)
	}
}

// TestReplicasThatHaveAllAreNotAsked: waiting for replicas adds nothing to the stream when they have said already that they
// have everything.
func TestReplicasThatHaveAllAreNotAsked(t *testing.T) {
	primary, replica := start(t), start(t)
	replica.follow(primary.addr)
	primary.Want(t, "+OK", "SET", "k", "v")
	agree(t, primary.Client, replica.Client)
	testkit.Eventually(t, caughtUpWithin, func() error { // a ping may come in between
		at := primary.e.Log.End()
		if late := primary.m.Lagging(at); len(late) > 0 {
			return fmt.Errorf("%q", late)
		}
		primary.m.AwaitReplicas(context.Background(), at)
		if end := primary.e.Log.End(); end != at {
			return fmt.Errorf("the stream has grown from %d to %d", at, end)
		}
		return nil
	})
}

// TestCommandsEndALink: a replica that sends a command which wants a reply is disconnected; what REPLCONF says and empty
// lines are not.
func TestCommandsEndALink(t *testing.T) {
	primary := start(t)
	for _, command := range []string{"PING", "GET k", "XINFO HELP", "no such command"} {
		link := testkit.Dial(t, primary.addr)
		if err := link.SendRaw([]byte("SYNC\r\n\r\nREPLCONF ACK 0\r\nREPLCONF CAPA EOF\r\n")); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, caughtUpWithin, func() error {
			if n := primary.m.ReplicaCount(); n != 1 {
				return fmt.Errorf("%d replicas", n)
			}
			return nil
		})
		if err := link.SendRaw([]byte(command + "\r\n")); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, caughtUpWithin, func() error {
			if n := primary.m.ReplicaCount(); n != 0 {
				return fmt.Errorf("%s: %d replicas", command, n)
			}
			return nil
		})
	}
}
