package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// mailbox is the transport of a client that is suspended now and then: what is posted runs when the client looks.
type mailbox struct {
	inproc.Nowhere
	posts chan func(*engine.Worker)
}

func (m mailbox) Post(fn func(*engine.Worker))      { m.posts <- fn }
func (m mailbox) await(w *engine.Worker, t *client) { (<-m.posts)(w); t.woken++ }

// client sends commands to an engine, one after the other, and waits for each to be executed.
type client struct {
	s     *engine.Session
	w     *engine.Worker
	box   mailbox
	woken int // how often a command had to wait
}

func newClient(e *engine.Engine) *client {
	box := mailbox{posts: make(chan func(*engine.Worker), 16)}
	return &client{s: e.NewSession(box, engine.Peer{}), w: e.NewWorker(), box: box}
}

// newPrimary is the link to a primary.
func newPrimary(e *engine.Engine) *client {
	box := mailbox{posts: make(chan func(*engine.Worker), 16)}
	return &client{s: e.NewPrimaryLink(box, engine.Peer{}, nil), w: e.NewWorker(), box: box}
}

// send gives a command and returns what was not used of it, because the client is suspended.
func (c *client) send(args ...string) (left []byte) {
	line := testkit.AppendCommand(nil, args...)
	return line[c.s.Process(c.w, line):]
}

// do gives a command and returns its reply.
func (c *client) do(args ...string) string {
	for left := c.send(args...); !c.s.Open() || len(left) > 0; {
		if !c.s.Open() {
			c.box.await(c.w, c)
		}
		left = left[c.s.Process(c.w, left):]
	}
	return c.reply()
}

// words is do for a command without spaces in its words.
func (c *client) words(line string) string { return c.do(strings.Fields(line)...) }

func (c *client) reply() string {
	all := string(bytes.Join(c.w.Out.Take(), nil))
	c.w.Out.Reset()
	return all
}

func (c *client) close() {
	c.s.Close()
	c.w.Drop()
}

// fillBig makes a big value of each type, of n elements; names begin with prefix.
func fillBig(c *client, prefix string, n int) {
	batch := func(name, key string, words func(i int) []string) {
		const each = 500
		for i := 0; i < n; i += each {
			args := []string{name, prefix + key}
			for j := i; j < min(i+each, n); j++ {
				args = append(args, words(j)...)
			}
			c.do(args...)
		}
	}
	text := strconv.Itoa
	batch("HSET", "hash", func(i int) []string { return []string{"field:" + text(i), "value " + text(i*7)} })
	batch("HSET", "ttl", func(i int) []string { return []string{"f" + text(i), text(i)} })
	for i := 0; i < n; i += 10 {
		c.do("HPEXPIRE", prefix+"ttl", text(1e9+i), "FIELDS", "1", "f"+text(i))
	}
	batch("SADD", "set", func(i int) []string { return []string{"member " + text(i)} })
	batch("ZADD", "zset", func(i int) []string { return []string{text(i * 31 % 1009), "member:" + text(i)} })
	batch("RPUSH", "list", func(i int) []string { return []string{strings.Repeat("element", 10+i%5) + text(i)} })
	c.do("XGROUP", "CREATE", prefix+"stream", "group", "0", "MKSTREAM")
	for i := 1; i <= n; i++ {
		c.do("XADD", prefix+"stream", "1-"+text(i), "a", text(i), "b", "text")
	}
	for i := range 4 {
		c.do("XREADGROUP", "GROUP", "group", "consumer"+text(i), "COUNT", text(n/8), "STREAMS", prefix+"stream", ">")
	}
	c.do("SET", prefix+"string", strings.Repeat("0123456789abcdef", max(n/2, 8<<10)))
}

// state is every key of every database with its value and expiry, in a form that does not depend on how tables lie. All
// shards are locked.
func state(e *engine.Engine) map[string]string {
	all := map[string]string{}
	for shard := range e.Shards() {
		p := e.Part(shard)
		for db := range p.Databases() {
			for s := shard; s < slot.Count; s += keyspace.Shards {
				p.Each(db, slot.ID(s), func(r keyspace.Rec) bool {
					all[fmt.Sprintf("%d/%s", db, r.Key())] = fmt.Sprintf("%s @%d", canonical(r), r.ExpireAt())
					return true
				})
			}
		}
	}
	return all
}

// canonical is a value as text: what has no order is sorted.
func canonical(r keyspace.Rec) string {
	var parts []string
	var digits [20]byte
	switch {
	case r.Type() == keyspace.TypeHash:
		h := object.OpenHash(nil, r)
		h.Each(func(f object.Field) bool {
			parts = append(parts, fmt.Sprintf("%s=%s@%d", f.Name.Text(digits[:0]), f.Value.Text(nil), f.ExpireAt))
			return true
		})
	case r.Type() == keyspace.TypeSet:
		set := object.OpenSet(nil, r)
		set.Each(func(m object.Member) bool { parts = append(parts, string(m.Text(digits[:0]))); return true })
	case r.Type() == keyspace.TypeZSet:
		z := object.OpenZSet(nil, r)
		z.Each(func(m object.Member, score float64) bool {
			parts = append(parts, fmt.Sprint(string(m.Text(digits[:0])), score))
			return true
		})
	default:
		return string(object.AppendTyped(nil, r, nil))
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// cut is a snapshot with what the data was at its moment.
type cut struct {
	snap *snapshot.Snapshot
	want map[string]string
}

func begin(t testing.TB, e *engine.Engine, taker *snapshot.Taker) *cut {
	t.Helper()
	c := new(cut)
	var err error
	c.snap, err = taker.Cut(context.Background(), snapshot.Options{AtCut: func() { c.want = state(e) }})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// compare loads a file and compares it with the data at the moment of the cut.
func (c *cut) compare(t testing.TB, file *bytes.Buffer) {
	t.Helper()
	copied := inproc.New(t, inproc.Options{})
	if _, err := snapshot.Load(copied, file, snapshot.LoadOptions{KeepExpired: true}); err != nil {
		t.Fatal(err)
	}
	copied.LockAll()
	got := state(copied)
	copied.UnlockAll()
	if len(got) != len(c.want) {
		t.Errorf("%d keys, want %d", len(got), len(c.want))
	}
	for k, v := range c.want {
		if got[k] != v {
			t.Errorf("%s: got %d bytes, want %d: %.100q, %.100q", k, len(got[k]), len(v), got[k], v)
		}
	}
}

// write writes the snapshot and compares it.
func (c *cut) write(t testing.TB) {
	t.Helper()
	var file bytes.Buffer
	if _, err := c.snap.WriteTo(context.Background(), &file); err != nil {
		t.Fatal(err)
	}
	c.compare(t, &file)
}

// wantNoLeak empties an engine that nobody uses any more and looks for memory that is left.
func wantNoLeak(t testing.TB, e *engine.Engine) {
	t.Helper()
	for i := range e.Shards() {
		sh := e.Lock(i)
		if err := sh.Part.Check(); err != nil {
			t.Error(err)
		}
		if n := sh.Part.Pinned(); n != 0 {
			t.Errorf("shard %d: %d values are pinned", i, n)
		}
		for db := range sh.Part.Databases() {
			sh.Part.FlushDB(db)
		}
		for sh.Part.FreeSome(1<<30) > 0 {
		}
		for purpose, n := range sh.Part.Memory().Used {
			if n != 0 {
				t.Errorf("shard %d: %v leaks %d bytes", i, mem.Purpose(purpose), n)
			}
		}
		sh.Unlock()
	}
}
