package snapshot_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// contents is every key of every database with its value and expiry, as one text each.
func contents(e *engine.Engine) map[string]string {
	all := map[string]string{}
	for i := range e.Shards() {
		sh := e.Lock(i)
		readShard(all, i, sh.Part)
		sh.Unlock()
	}
	return all
}

// contentsLocked is contents for a caller that holds all locks.
func contentsLocked(e *engine.Engine) map[string]string {
	all := map[string]string{}
	for i := range e.Shards() {
		readShard(all, i, e.Part(i))
	}
	return all
}

func readShard(all map[string]string, shard int, p *keyspace.Part) {
	for db := range p.Databases() {
		for s := shard; s < slot.Count; s += keyspace.Shards {
			p.Each(db, slot.ID(s), func(r keyspace.Rec) bool {
				value := string(r.Value())
				if r.Encoding() == keyspace.EncInt {
					value = strconv.FormatInt(r.Int(), 10)
				}
				all[fmt.Sprintf("%d/%s", db, r.Key())] = fmt.Sprintf("%s @%d", value, r.ExpireAt())
				return true
			})
		}
	}
}

func fill(w *inproc.Client, keys int) {
	for db := range 3 {
		w.Do("SELECT", strconv.Itoa(db))
		for i := range keys >> db {
			w.Do("SET", "key:"+strconv.Itoa(i), "value "+strconv.Itoa(i))
			switch i % 7 {
			case 0:
				w.Do("EXPIRE", "key:"+strconv.Itoa(i), "10000")
			case 1:
				w.Do("SET", "key:"+strconv.Itoa(i), strconv.Itoa(i))
			}
		}
	}
}

func wantSame(t *testing.T, got, want map[string]string) {
	t.Helper()
	if maps.Equal(got, want) {
		return
	}
	t.Errorf("%d keys, want %d", len(got), len(want))
	shown := 0
	for k, v := range want {
		if got[k] != v && shown < 5 {
			shown++
			t.Errorf("%s: got %q, want %q", k, got[k], v)
		}
	}
}

func TestSnapshotOfAllShardsAndDatabases(t *testing.T) {
	from, to := inproc.New(t, inproc.Options{}), inproc.New(t, inproc.Options{})
	fill(inproc.NewClient(from), 3000)
	snap, err := snapshot.NewTaker(from).Cut(context.Background(), snapshot.Options{Compress: true})
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	n, err := snap.WriteTo(context.Background(), &file)
	if err != nil || n != int64(file.Len()) {
		t.Fatalf("wrote %d of %d bytes: %v", n, file.Len(), err)
	}
	loaded, err := snapshot.Load(to, &file, snapshot.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := contents(from)
	wantSame(t, contents(to), want)
	if snap.Keys() != int64(len(want)) || loaded.Keys != uint64(len(want)) {
		t.Errorf("the cut tells %d keys, the loader %d, there are %d", snap.Keys(), loaded.Keys, len(want))
	}
}

// TestSnapshotIsExactUnderWriters compares a file with a copy that was made at the moment of the cut, while clients go on
// changing, deleting, renaming and flushing.
func TestSnapshotIsExactUnderWriters(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	fill(inproc.NewClient(e), 4000)
	taker := snapshot.NewTaker(e)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for n := range 3 {
		writers.Go(func() { disturb(e, n, stop) })
	}
	for round := range 6 {
		var want map[string]string
		snap, err := taker.Cut(context.Background(), snapshot.Options{AtCut: func() { want = contentsLocked(e) }})
		if err != nil {
			t.Fatal(err)
		}
		var file bytes.Buffer
		if _, err := snap.WriteTo(context.Background(), &file); err != nil {
			t.Fatal(err)
		}
		copied := inproc.New(t, inproc.Options{})
		if _, err := snapshot.Load(copied, &file, snapshot.LoadOptions{KeepExpired: true}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		wantSame(t, contents(copied), want)
	}
	close(stop)
	writers.Wait()
}

// disturb changes keys until stop is closed.
func disturb(e *engine.Engine, n int, stop chan struct{}) {
	w := inproc.NewClient(e)
	defer w.Close()
	for i := n; ; i += 3 {
		select {
		case <-stop:
			return
		default:
		}
		key := "key:" + strconv.Itoa(i*31%4500)
		w.Do("SELECT", strconv.Itoa(i%3))
		switch i % 11 {
		case 0:
			w.Do("DEL", key)
		case 1:
			w.Do("APPEND", key, "more")
		case 2:
			w.Do("RENAME", key, "new:"+strconv.Itoa(i%500))
		case 3:
			w.Do("PEXPIRE", key, "900000")
		case 4:
			w.Do("MULTI")
			w.Do("INCR", "count:"+strconv.Itoa(i%50))
			w.Do("SET", key, "in a transaction")
			w.Do("EXEC")
		default:
			w.Do("SET", key, "changed "+strconv.Itoa(i))
		}
		if i%9973 == 0 {
			w.Do("FLUSHDB")
		}
	}
}

func TestSnapshotThatIsDroppedFreesItsLane(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	w := inproc.NewClient(e)
	fill(w, 2000)
	taker := snapshot.NewTaker(e)
	for range 3 * keyspace.Lanes {
		ctx, cancel := context.WithCancel(context.Background())
		snap, err := taker.Cut(ctx, snapshot.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.Do("SET", "key:5", "handed over")
		cancel()
		if _, err := snap.WriteTo(ctx, &bytes.Buffer{}); err == nil {
			t.Fatal("a cancelled snapshot was written")
		}
		snap.Drop()
	}
	for i := range e.Shards() {
		sh := e.Lock(i)
		if err := sh.Part.Check(); err != nil {
			t.Error(err)
		}
		sh.Unlock()
	}
}

// TestEveryKeyIsWaitedFor: rdb-key-save-delay counts the keys that writers hand over like those that the walker finds.
func TestEveryKeyIsWaitedFor(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	w := inproc.NewClient(e)
	const keys = 200
	for i := range keys {
		w.Do("SET", strconv.Itoa(i), "old")
	}
	snap, err := snapshot.NewTaker(e).Cut(context.Background(), snapshot.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range keys {
		w.Do("SET", strconv.Itoa(i), "new")
	}
	const delay = 500 * time.Microsecond
	e.Settings.SaveKeyDelay.Store(delay.Microseconds())
	start := time.Now()
	if _, err := snap.WriteTo(context.Background(), &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < keys*delay {
		t.Errorf("%d keys were written after %v, want %v at least", keys, took, keys*delay)
	}
}
