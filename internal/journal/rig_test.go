package journal

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/testkit/inproc"
	"github.com/covey-db/covey/internal/vfs"
)

const (
	dataDir = "/data"
	setDir  = "/data/appendonlydir"
)

// rig is an engine with a Journal on files in memory that can fail.
type rig struct {
	t     testing.TB
	e     *engine.Engine
	j     *Journal
	setMu sync.Mutex // guards set while the journal runs
	set   Settings
	mem   *vfs.Mem
	disk  *vfs.Faulty
	log   logBuffer
	fatal chan error
	c     *client
}

// logBuffer takes log lines from any goroutine.
type logBuffer struct {
	mu    sync.Mutex
	b     bytes.Buffer
	heard string
	then  func()
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// on has something done when the first line with a text is logged, by whoever logs it.
func (l *logBuffer) on(text string, then func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heard, l.then = text, then
}

// hearing is a log whose lines have something done.
type hearing struct {
	slog.Handler
	l *logBuffer
}

func (h hearing) Handle(ctx context.Context, line slog.Record) error {
	h.l.mu.Lock()
	then := h.l.then
	if then != nil && strings.Contains(line.Message, h.l.heard) {
		h.l.then = nil
		h.l.mu.Unlock()
		then()
	} else {
		h.l.mu.Unlock()
	}
	return h.Handler.Handle(ctx, line)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

type ignore struct{}

func (ignore) BeginLoad(int64) {}
func (ignore) Loaded(int64)    {}

// newRig makes a node whose journal is off and does nothing by itself before run.
func newRig(t testing.TB, mem *vfs.Mem) *rig {
	t.Helper()
	if err := vfs.MakeDirSafe(mem, dataDir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, e: inproc.New(t, inproc.Options{}), mem: mem, disk: vfs.NewFaulty(mem), fatal: make(chan error, 100)}
	r.e.Settings.DebugAllowed.Store(engine.AllowAll)
	r.set = Settings{Dir: dataDir, DirName: "appendonlydir", File: "appendonly.aof", LoadTruncated: true, Preamble: true, SyncOften: true, Compress: true}
	r.j = New(Options{Engine: r.e, Taker: snapshot.NewTaker(r.e), Settings: r.settings, FS: r.disk,
		Log: slog.New(hearing{slog.NewTextHandler(&r.log, nil), &r.log}), Progress: ignore{}, Fatal: func(err error) {
			select {
			case r.fatal <- err:
			default:
			}
		}})
	r.j.SetPolicy(EverySecond)
	r.c = r.client()
	t.Cleanup(r.j.Close)
	return r
}

func (r *rig) settings() Settings {
	r.setMu.Lock()
	defer r.setMu.Unlock()
	return r.set
}

// usePreamble is CONFIG SET aof-use-rdb-preamble.
func (r *rig) usePreamble(on bool) {
	r.setMu.Lock()
	r.set.Preamble = on
	r.setMu.Unlock()
}

// start loads the set and goes on with it.
func (r *rig) start() *rig {
	r.t.Helper()
	r.j.Sweep()
	if err := r.j.Load(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	if err := r.j.Start(); err != nil {
		r.t.Fatal(err)
	}
	return r
}

// run lets the journal do what time brings until the test ends.
func (r *rig) run() *rig {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.j.Run(ctx) // it ends with ctx and has nothing to say
	}()
	r.t.Cleanup(func() { cancel(); <-done })
	return r
}

// client is a user of the rig.
type client struct {
	*inproc.Client
	e *engine.Engine
}

func (r *rig) client() *client { return &client{inproc.NewClient(r.e), r.e} }

// durable waits until the gate lets the reply of the last write pass; false when dark is closed before.
func (c *client) durable(dark chan struct{}) bool {
	open := make(chan struct{})
	c.e.Gate.Wait(c.Written(), func() { close(open) })
	select {
	case <-open:
		return true
	case <-dark:
		return false
	}
}

func (r *rig) digest() string { return r.c.Do("DEBUG", "DIGEST") }

// change does n random things to data of all types.
func (c *client) change(rng *rand.Rand, n int) {
	key := func(kind string) string { return kind + ":" + strconv.Itoa(rng.IntN(20)) }
	num := func() string { return strconv.Itoa(rng.IntN(1000)) }
	for range n {
		switch rng.IntN(26) {
		case 0:
			c.Do("SET", key("s"), strings.Repeat("value ", rng.IntN(50)), "PX", "10000000")
		case 1:
			c.Do("INCRBYFLOAT", key("f"), "0."+num())
		case 2:
			c.Do("APPEND", key("s"), num())
		case 3:
			c.Do("LPUSH", key("l"), num(), num(), strings.Repeat("x", rng.IntN(100)))
		case 4:
			c.Do("LMOVE", key("l"), key("l"), "LEFT", "RIGHT")
		case 5:
			c.Do("SADD", key("set"), num(), num(), "member"+num())
		case 6:
			c.Do("SPOP", key("set"), "2")
		case 7:
			c.Do("ZADD", key("z"), num()+".25", "m"+num(), "-inf", "low")
		case 8:
			c.Do("ZPOPMIN", key("z"))
		case 9:
			c.Do("HSET", key("h"), "f"+num(), num(), "g", num())
		case 10:
			c.Do("HINCRBYFLOAT", key("h"), "g", "1.5")
		case 11:
			c.Do("XADD", key("x"), "*", "field", num())
		case 12:
			c.Do("XGROUP", "CREATE", key("x"), "group", "0", "MKSTREAM")
		case 13:
			c.Do("XREADGROUP", "GROUP", "group", "consumer"+strconv.Itoa(rng.IntN(3)), "COUNT", "2", "STREAMS", key("x"), ">")
		case 14:
			c.Do("XTRIM", key("x"), "MAXLEN", "5")
		case 15:
			c.Do("SELECT", strconv.Itoa(rng.IntN(3)))
		case 16:
			c.Do("MULTI")
			c.Do("SET", key("s"), num())
			c.Do("SPOP", key("set"))
			c.Do("SELECT", strconv.Itoa(rng.IntN(3)))
			c.Do("INCR", "count")
			c.Do("EXEC")
		case 17:
			c.Do("EVAL", "redis.call('set',KEYS[1],ARGV[1]) return redis.call('incrby',KEYS[1],2)", "1", key("e"), num())
		case 18:
			c.Do("DEL", key("l"), key("set"))
		case 19:
			c.Do("PUBLISH", "channel", "a message")
		case 20:
			c.Do("SETBIT", key("b"), num(), "1")
		case 21:
			c.Do("PFADD", key("p"), num())
		case 22:
			c.Do("EXPIRE", key("h"), "100000")
		case 23:
			c.Do("RENAME", key("z"), key("z"))
		case 24:
			c.Do("SET", key("int"), num(), "EX", "1000", "KEEPTTL")
		case 25:
			c.Do("COPY", key("x"), key("x"), "REPLACE")
		}
	}
}

// reloaded is the digest of what the set on a disk loads.
func reloaded(t testing.TB, mem *vfs.Mem) (*rig, string) {
	t.Helper()
	r := newRig(t, mem)
	r.j.Sweep()
	if err := r.j.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return r, r.digest()
}

// mended is reloaded after a power failure: what the disk has made of the end of the last file is cut off, as a user does.
func mended(t testing.TB, mem *vfs.Mem) (*rig, string) {
	t.Helper()
	probe := newRig(t, mem)
	err := probe.j.Load(context.Background())
	if err != nil && strings.Contains(err.Error(), "Bad file format") {
		var out bytes.Buffer
		if err := Check(mem, setDir+"/appendonly.aof.manifest", &out, CheckOptions{Fix: true, In: strings.NewReader("y\n")}); err != nil {
			t.Fatal(err, out.String())
		}
	}
	return reloaded(t, mem)
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// rewrite rewrites and waits for the end.
func (r *rig) rewrite() {
	r.t.Helper()
	if err := r.j.Rewrite(); err != nil {
		r.t.Fatal(err)
	}
	r.await(func() bool { return !r.j.Rewriting() })
}

// await waits until something the journal does by itself is done.
func (r *rig) await(done func() bool) {
	r.t.Helper()
	for n := 0; !done(); n++ {
		if n > 10_000_000 {
			r.t.Fatal("it does not come to its end: " + r.log.String())
		}
		r.j.wake()
		<-func() chan struct{} { ch := make(chan struct{}); go close(ch); return ch }() // lets others run
	}
}

// soon gives others the time to bring something about, and tells whether they have.
func soon(done func() bool) bool {
	for n := 0; !done() && n < 100_000; n++ {
		runtime.Gosched()
	}
	return done()
}

// names lists the directory of the set.
func (r *rig) names() string {
	list, err := r.mem.ReadDir(setDir)
	if err != nil {
		return ""
	}
	var out []string
	for _, f := range list {
		out = append(out, f.Name())
	}
	return strings.Join(out, " ")
}

func (r *rig) file(name string) string {
	b, err := r.mem.ReadFile(setDir + "/" + name)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(b)
}

func (r *rig) info(name string) string {
	always, rest := r.j.Info()
	for _, f := range append(always, rest...) {
		if f[0] == name {
			return f[1]
		}
	}
	return fmt.Sprint("no field ", name)
}
