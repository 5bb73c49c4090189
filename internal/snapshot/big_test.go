package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// gate is an output that stands still until it is opened.
type gate struct {
	bytes.Buffer
	open chan struct{}
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	return g.Buffer.Write(b)
}

// behind is a snapshot whose output stands still.
type behind struct {
	*cut
	out  gate
	done chan error
}

// beginBehind cuts and begins to write where nothing is taken.
func beginBehind(t testing.TB, e *engine.Engine, taker *snapshot.Taker) *behind {
	b := &behind{cut: begin(t, e, taker), done: make(chan error, 1)}
	b.out.open = make(chan struct{})
	go func() {
		_, err := b.snap.WriteTo(context.Background(), &b.out)
		b.done <- err
	}()
	return b
}

func (b *behind) finish(t testing.TB) {
	t.Helper()
	close(b.out.open)
	if err := <-b.done; err != nil {
		t.Fatal(err)
	}
	b.compare(t, &b.out.Buffer)
}

const bigElements = 1000

// bigRig is an engine whose big values a snapshot has still to copy: its output stands still from begin until end.
type bigRig struct {
	t       testing.TB
	e       *engine.Engine
	clients []*client
	c       *client // the first of them
	taker   *snapshot.Taker
	behind  *behind
}

// newBigRig makes an engine with a big value of each type.
func newBigRig(t testing.TB, prefix string) *bigRig {
	r := &bigRig{t: t, e: inproc.New(t, inproc.Options{})}
	r.c = r.client()
	r.taker = snapshot.NewTaker(r.e)
	fillBig(r.c, prefix, bigElements)
	return r
}

func (r *bigRig) client() *client {
	c := newClient(r.e)
	r.clients = append(r.clients, c)
	return c
}

func (r *bigRig) begin() { r.behind = beginBehind(r.t, r.e, r.taker) }

// wantFinished says how many values a client has to have waited for under the lock.
func (r *bigRig) wantFinished(n int64) {
	r.t.Helper()
	if got := r.taker.Figures().Finished; got != n {
		r.t.Errorf("%d values were waited for under the lock, want %d", got, n)
	}
}

// end lets the snapshot be written and looks whether it is exact, and for memory that is lost.
func (r *bigRig) end() {
	r.t.Helper()
	r.behind.finish(r.t)
	for _, c := range r.clients {
		c.close()
	}
	wantNoLeak(r.t, r.e)
}

// edits change a value of fillBig in place.
var edits = []string{
	"HSET hash field:7 changed", "HDEL hash field:8", "HINCRBY ttl f1 5", "HPEXPIRE ttl 5000000 FIELDS 1 f3", "HPERSIST ttl FIELDS 1 f10",
	"SADD set more", "SREM set nothing", "SPOP set", "ZADD zset 5 member:5", "ZINCRBY zset 2 member:6", "ZREM zset member:7",
	"ZPOPMIN zset 3", "RPUSH list more", "LPOP list", "LSET list 500 other", "LREM list 1 x", "LTRIM list 10 -10",
	"XADD stream 2-1 a b", "XDEL stream 1-5", "XTRIM stream MAXLEN 100", "XACK stream group 1-1", "XGROUP DESTROY stream group",
	"XREADGROUP GROUP group new COUNT 5 STREAMS stream >", "XCLAIM stream group other 0 1-2", "XGROUP CREATECONSUMER stream group fresh",
	"BITOP NOT string string", "APPEND string more", "SETRANGE string 5 xyz", "SETBIT string 77 1",
}

// TestEditWaitsForTheCopy changes big values in place while the output of a snapshot stands still: the client waits, others
// do not, and the change is made before anything was written.
func TestEditWaitsForTheCopy(t *testing.T) {
	for _, line := range edits {
		t.Run(line, func(t *testing.T) {
			r := newBigRig(t, "")
			c, other := r.c, r.client()
			r.begin()
			if reply := c.words(line); strings.HasPrefix(reply, "-") {
				t.Error(reply)
			}
			if c.woken != 1 {
				t.Errorf("the client waited %d times", c.woken)
			}
			c.words(line)
			if c.woken != 1 {
				t.Error("the client waited for a value that was copied")
			}
			if other.words("HGET hash field:9"); other.woken != 0 {
				t.Error("a reader waited")
			}
			r.end()
			r.wantFinished(0)
		})
	}
}

// wholes do away with values of fillBig, put others in their place, or leave them as they are.
var wholes = []string{
	"DEL hash set zset list stream string ttl", "UNLINK hash set zset list stream string", "SET hash v", "SET string short",
	"RENAME hash other", "RENAME {a}small {a}big", "FLUSHALL", "FLUSHDB", "FLUSHALL ASYNC", "SWAPDB 0 1", "MOVE hash 1", "EXPIRE hash 1000",
	"PEXPIREAT zset 5", "PERSIST list", "GETDEL string", "GETSET string x", "SETEX list 10 x", "SUNIONSTORE set set small", "COPY hash copy",
	"SINTERSTORE zset nothing nothing", "ZUNIONSTORE zset 1 small2", "SORT list BY nosort LIMIT 0 1 STORE list",
	"RESTORE hash 0 x REPLACE", "SDIFFSTORE set {x} {x}",
}

// TestWholeValuesWaitForNothing removes and replaces big values while the output of a snapshot stands still.
func TestWholeValuesWaitForNothing(t *testing.T) {
	for _, line := range wholes {
		t.Run(line, func(t *testing.T) {
			r := newBigRig(t, "")
			c := r.c
			fillBig(c, "{a}", bigElements/2)
			c.words("RENAME {a}hash {a}big")
			c.words("SET {a}small x")
			c.words("SADD small 1 2")
			c.words("ZADD small2 1 a")
			r.begin()
			c.words(line)
			if c.woken != 0 {
				t.Error("the client waited")
			}
			fillBig(c, "", 400)
			r.end()
			r.wantFinished(0)
		})
	}
}

// TestRenamedValueIsStillCopied changes a value under another name than it had at the cut.
func TestRenamedValueIsStillCopied(t *testing.T) {
	r := newBigRig(t, "{t}")
	r.begin()
	for _, line := range []string{"RENAME {t}hash {t}a", "HSET {t}a f v", "MULTI", "RENAME {t}zset {t}b", "ZADD {t}b 1 x", "EXEC", "SWAPDB 0 3", "SELECT 3",
		"SADD {t}set new", "RENAME {t}list {t}c", "DEL {t}c"} {
		r.c.words(line)
	}
	r.end()
}

// TestTransactionWaitsForTheCopy has a transaction and scripts that change big values.
func TestTransactionWaitsForTheCopy(t *testing.T) {
	for _, lines := range [][]string{
		{"MULTI", "GET x", "HSET hash f v", "SADD set x", "DEL zset", "EXEC"},
		{"MULTI", "SELECT 0", "LPUSH list a", "EXEC"},
		{"EVAL redis.call('hset',KEYS[1],'f','v')return(redis.call('sadd',KEYS[2],1)) 2 hash set"},
	} {
		r := newBigRig(t, "")
		r.begin()
		var reply string
		for _, line := range lines {
			reply = r.c.words(line)
		}
		if strings.Contains(reply, "ERR") || r.c.woken == 0 {
			t.Errorf("%v: %s, waited %d times", lines, reply, r.c.woken)
		}
		r.end()
		r.wantFinished(0)
	}
}

// TestUndeclaredKeyIsFinishedUnderTheLock has a script change a big value that it did not declare.
func TestUndeclaredKeyIsFinishedUnderTheLock(t *testing.T) {
	r := newBigRig(t, "")
	r.begin()
	if reply := r.c.do("EVAL", "return redis.call('hset','hash','f','v')", "0"); reply != ":1\r\n" {
		t.Error(reply)
	}
	r.end()
	r.wantFinished(1)
}

// TestPrimaryLinkWaitsInOrder applies a stream to a replica that takes a snapshot.
func TestPrimaryLinkWaitsInOrder(t *testing.T) {
	r := newBigRig(t, "")
	link := newPrimary(r.e)
	r.begin()
	for i := range 50 {
		link.words("HSET hash field:1 " + strconv.Itoa(i))
		link.words("RPUSH list " + strconv.Itoa(i))
	}
	if link.woken != 0 || !strings.Contains(r.c.words("HGET hash field:1"), "49") {
		t.Error("the stream was not applied")
	}
	link.close()
	r.end()
	r.wantFinished(0)
}

// TestBlockedPopIsServedAfterTheCopy gives a big list to one who waits for it.
func TestBlockedPopIsServedAfterTheCopy(t *testing.T) {
	r := newBigRig(t, "{t}")
	popper := r.client()
	popper.send("BLPOP", "{t}wanted", "0")
	r.begin()
	r.c.words("RENAME {t}list {t}wanted")
	for !popper.s.Open() {
		popper.box.await(popper.w, popper)
	}
	if reply := popper.reply(); !strings.HasPrefix(reply, "*2\r\n") {
		t.Errorf("%q", reply)
	}
	r.end()
	r.wantFinished(0)
}

// TestDroppedSnapshotLetsAllGo gives snapshots up while writers wait and values are pinned.
func TestDroppedSnapshotLetsAllGo(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	c := newClient(e)
	taker := snapshot.NewTaker(e)
	for round := range 10 {
		fillBig(c, "", bigElements)
		snap, err := taker.Cut(context.Background(), snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		c.words("DEL hash zset")
		left := c.send("SADD", "set", fmt.Sprint("round ", round))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := snap.WriteTo(ctx, &bytes.Buffer{}); err == nil {
			t.Fatal("a snapshot that was given up was written")
		}
		for !c.s.Open() {
			c.box.await(c.w, c)
		}
		c.s.Process(c.w, left)
		c.words("HSET ttl f1 x")
	}
	c.close()
	wantNoLeak(t, e)
}

// TestBigValuesAreExactUnderWriters takes snapshots, two at a time, while writers do everything to values of all types.
func TestBigValuesAreExactUnderWriters(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	prefixes := []string{"{a}", "{b}", "{c}", ""}
	c := newClient(e)
	for i, prefix := range prefixes {
		fillBig(c, prefix, 600+200*i)
	}
	taker := snapshot.NewTaker(e)
	stop := make(chan struct{})
	var writers, snapshots sync.WaitGroup
	for n := range 3 {
		writers.Go(func() { disturbBig(e, prefixes, uint64(n), stop) })
	}
	for range 2 {
		snapshots.Go(func() {
			for range 8 {
				begin(t, e, taker).write(t)
			}
		})
	}
	snapshots.Wait()
	close(stop)
	writers.Wait()
	c.close()
	t.Logf("%+v", taker.Figures())
	wantNoLeak(t, e)
}

// disturbBig does everything to big values until stop is closed.
func disturbBig(e *engine.Engine, prefixes []string, seed uint64, stop chan struct{}) {
	c := newClient(e)
	defer c.close()
	dice := rand.New(rand.NewPCG(seed, 7))
	names := map[string]bool{"hash": true, "ttl": true, "set": true, "zset": true, "list": true, "stream": true, "string": true}
	for {
		select {
		case <-stop:
			return
		default:
		}
		prefix := prefixes[dice.IntN(len(prefixes))]
		line := edits[dice.IntN(len(edits))]
		if dice.IntN(12) == 0 {
			line = wholes[dice.IntN(len(wholes))]
		}
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			if names[words[i]] {
				words[i] = prefix + words[i]
			}
		}
		if dice.IntN(8) == 0 {
			c.words("MULTI")
			c.do(words...)
			c.words("SET x y")
			c.words("EXEC")
		} else {
			c.do(words...)
		}
		if dice.IntN(40) == 0 {
			fillBig(c, prefix, 300+dice.IntN(400))
		}
		c.do("SELECT", strconv.Itoa(dice.IntN(8)/7))
	}
}

// TestLittleIsEncodedUnderALock bounds what a snapshot encodes under one hold of a lock, whatever the values are.
func TestLittleIsEncodedUnderALock(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	c := newClient(e)
	fillBig(c, "", 10*bigElements)
	fillBig(c, "{a}", 200) // below the limits, but not small
	for i := range 3000 {
		c.do("SET", fmt.Sprint("{a}", i), strings.Repeat("x", i*10))
	}
	taker := snapshot.NewTaker(e)
	for range 2 {
		b := beginBehind(t, e, taker)
		for i := range 300 {
			c.do("APPEND", fmt.Sprint("{a}", i*10), "x")
		}
		for _, line := range edits {
			c.words(line)
		}
		b.finish(t)
	}
	const most = 192 << 10 // what fits into a visit, and one value more
	if f := taker.Figures(); f.MostLocked > most || f.Copied == 0 || f.Finished != 0 {
		t.Errorf("%+v", f)
	}
	c.close()
	wantNoLeak(t, e)
}
