package command

import (
	"bufio"
	"bytes"
	"hash/maphash"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/spec"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// testEpoch is what the clock of a harness shows at first, in milliseconds.
const testEpoch clock.Millis = 1_700_000_000_000

// harness is an engine with all handlers and one client, in this process. Its clock stands still until it is moved.
//
//	h := newHarness(t)
//	h.want("SET k v", "+OK")
//	h.clock.Advance(time.Second)
//	second := h.client()
//	second.want("GET k", `"v"`)
type harness struct {
	*testClient
	e     *engine.Engine
	clock *clock.Manual
	w     *engine.Worker
	log   *engine.LogReader
}

// harnessOptions change what newHarness builds. The zero value is a single node with 16 databases.
type harnessOptions struct {
	cluster bool
	clock   clock.Source // nil: a manual clock that shows testEpoch
	deps    Deps
}

func newHarness(t testing.TB) *harness { return newHarnessWith(t, harnessOptions{}) }

// newHarnessWith builds an engine whose log is on. When the test ends, every shard is checked.
func newHarnessWith(t testing.TB, o harnessOptions) *harness {
	t.Helper()
	table, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	manual := clock.NewManual(testEpoch)
	if o.clock == nil {
		o.clock = manual
	}
	opts := engine.Options{
		Table:     table,
		Handlers:  Table(o.deps),
		Clock:     o.clock,
		Seed:      1,
		RunID:     strings.Repeat("a", 40),
		HashSeed:  maphash.MakeSeed(),
		Used:      new(atomic.Int64),
		Databases: 16,
		Cluster:   o.cluster,
	}
	if o.cluster {
		opts.Databases = 1
	}
	for i := range opts.Parts {
		arena := mem.NewArena(mem.Options{Published: opts.Used})
		opts.Parts[i] = keyspace.New(keyspace.Options{Shard: i, Databases: opts.Databases, Arena: arena, Dropper: object.NewDropper(arena)})
	}
	h := &harness{e: engine.New(opts), clock: manual}
	h.w = h.e.NewWorker()
	h.e.LockAll()
	h.e.Log.Start()
	h.e.UnlockAll()
	if h.log, err = h.e.Log.Reader(h.e.Log.End()); err != nil {
		t.Fatal(err)
	}
	h.testClient = h.newClient(t)
	t.Cleanup(func() { h.end(t, opts.Parts[:]) })
	return h
}

// end checks the shards, and that an emptied keyspace holds no memory.
func (h *harness) end(t testing.TB, parts []*keyspace.Part) {
	for _, p := range parts {
		if err := p.Check(); err != nil {
			t.Error(err)
		}
		for db := range p.Databases() {
			p.FlushDB(db)
		}
		for left := p.FreeSome(1 << 30); left > 0; left = p.FreeSome(1 << 30) {
		}
		for purpose, bytes := range p.Memory().Used {
			if bytes != 0 {
				t.Errorf("%v leaks %d bytes", mem.Purpose(purpose), bytes)
			}
		}
		p.Arena().Close()
	}
	h.w.Drop()
	if n := h.e.Buffers.Held(); n != 0 {
		t.Errorf("buffers of %d bytes are lost", n)
	}
}

// serveAllSlots makes a cluster node own all slots, in a healthy cluster.
func (h *harness) serveAllSlots() {
	var changes []engine.RouteChange
	for s := range slot.Count {
		changes = append(changes, engine.RouteChange{Slot: slot.ID(s), Route: engine.Route{State: engine.RouteMine, Other: engine.NoNode}})
	}
	h.e.Routes.SetEndpoints([]engine.Endpoint{{Plain: "127.0.0.1:7000"}})
	h.e.Routes.Flip(changes)
	h.e.Routes.SetHealth(engine.HealthOK)
}

// stream returns the bytes that were logged since the last look.
func (h *harness) stream() []byte {
	var stream []byte
	for b := h.log.Next(); b != nil; b = h.log.Next() {
		stream = append(stream, b...)
	}
	return stream
}

// effects returns what was logged since the last look, one command a line.
func (h *harness) effects() []string {
	stream := h.stream()
	var list []string
	var parser resp.Parser
	var cmd resp.Command
	for len(stream) > 0 {
		n, err := parser.Parse(stream, &cmd)
		if err != nil || n == 0 {
			h.t.Fatalf("the log is no stream of commands: %q: %v", stream, err)
		}
		list = append(list, string(bytes.Join(cmd.Args, []byte(" "))))
		stream = stream[n:]
	}
	return list
}

// wantEffects compares what was logged since the last look with the given commands.
func (h *harness) wantEffects(want ...string) {
	h.t.Helper()
	got := h.effects()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		h.t.Fatalf("logged:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// client connects one more client.
func (h *harness) client() *testClient { return h.newClient(h.t) }

// parallelClient connects a client that may run beside others, on a goroutine of its own.
func (h *harness) parallelClient() *testClient {
	c := h.newClient(h.t)
	c.w = h.e.NewWorker()
	h.t.Cleanup(c.w.Drop)
	return c
}

func (h *harness) newClient(t testing.TB) *testClient {
	c := &testClient{t: t, h: h, w: h.w, posted: make(chan func(*engine.Worker), 4096)}
	c.s = h.e.NewSession(c, engine.Peer{Remote: "127.0.0.1:5000", Local: "127.0.0.1:6379", Loopback: true})
	t.Cleanup(c.s.Close)
	return c
}

// testClient is a connection without a socket: it is the engine.Conn of its session.
type testClient struct {
	t      testing.TB
	h      *harness
	w      *engine.Worker
	s      *engine.Session
	in     []byte       // input that Process has left
	out    bytes.Buffer // replies that were not read
	posted chan func(*engine.Worker)
	closed atomic.Bool
}

// replyWithin is how long a client waits for a reply that is not there at once; it never takes that long unless the test fails.
const replyWithin = 5 * time.Second

// Post implements engine.Conn.
func (c *testClient) Post(fn func(*engine.Worker)) { c.posted <- fn }

// CloseSoon implements engine.Conn.
func (c *testClient) CloseSoon(bool) { c.closed.Store(true) }

// Hijack implements engine.Conn.
func (c *testClient) Hijack(func(engine.Raw, []byte)) { c.closed.Store(true) }

// Buffered implements engine.Conn.
func (c *testClient) Buffered() (query, output int) { return len(c.in), c.out.Len() }

// run lets the session work on its input.
func (c *testClient) run() {
	for c.s.Open() && len(c.in) > 0 {
		used := c.s.Process(c.w, c.in)
		c.in = c.in[used:]
		c.collect()
		if !c.s.More() {
			break
		}
	}
}

func (c *testClient) collect() {
	for _, piece := range c.w.Out.Pieces(nil) {
		c.out.Write(piece)
	}
	c.w.Out.Reset()
}

// send gives the session a command and does not read the reply.
func (c *testClient) send(args ...string) {
	words := make([][]byte, len(args))
	for i, a := range args {
		words[i] = []byte(a)
	}
	c.in = resp.AppendCommand(c.in, words...)
	c.run()
}

// read takes the next reply. When the session is suspended, it waits for whoever ends that.
func (c *testClient) read() reply.Value {
	c.t.Helper()
	deadline := time.NewTimer(replyWithin)
	defer deadline.Stop()
	for c.out.Len() == 0 {
		select {
		case fn := <-c.posted:
			fn(c.w)
			c.collect()
			c.run()
		case <-deadline.C:
			c.t.Fatal("no reply")
		}
	}
	in := bufio.NewReaderSize(&c.out, c.out.Len()+16)
	v, err := reply.Read(in)
	if err != nil {
		c.t.Fatalf("the reply is broken: %v", err)
	}
	rest, _ := in.Peek(in.Buffered())
	c.out = *bytes.NewBuffer(append([]byte(nil), rest...))
	return v
}

// args sends one command, given word by word, and returns the reply.
func (c *testClient) args(args ...string) reply.Value {
	c.t.Helper()
	c.send(args...)
	return c.read()
}

// do sends one command, written as a line with words in quotes where needed, and returns the reply.
func (c *testClient) do(line string) reply.Value {
	c.t.Helper()
	return c.args(splitLine(c.t, line)...)
}

// want sends one command and compares the reply with a pattern as package reply knows them.
func (c *testClient) want(line, pattern string) {
	c.t.Helper()
	p, err := reply.Parse(pattern)
	if err != nil {
		c.t.Fatal(err)
	}
	if v := c.do(line); !p.Matches(v) {
		c.t.Fatalf("%s: got %v, want %s", line, v, pattern)
	}
}

// script runs lines "command -> pattern"; lines without an arrow may answer anything but an error, empty lines and lines
// that begin with # are skipped. A line "wait 1s" moves the clock.
func (h *harness) script(text string) {
	h.t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if span, ok := strings.CutPrefix(line, "wait "); ok {
			d, err := time.ParseDuration(span)
			if err != nil {
				h.t.Fatal(err)
			}
			h.clock.Advance(d)
			h.e.TickClock()
			continue
		}
		cmd, pattern, found := strings.Cut(line, " -> ")
		if found {
			h.want(strings.TrimSpace(cmd), strings.TrimSpace(pattern))
		} else if v := h.do(cmd); v.Kind == reply.Error {
			h.t.Fatalf("%s: %v", cmd, v)
		}
	}
}

// splitLine splits a line into words; a word in double quotes may hold anything, with escapes.
func splitLine(t testing.TB, line string) []string {
	t.Helper()
	var words []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		if line[0] == '"' {
			word, n, err := reply.Unquote(line)
			if err != nil {
				t.Fatal(err)
			}
			words, line = append(words, word), line[n:]
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		words, line = append(words, word), rest
	}
	return words
}
