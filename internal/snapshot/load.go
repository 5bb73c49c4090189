package snapshot

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/rdb"
)

// LoadOptions say how a file is put into the keyspace.
type LoadOptions struct {
	Unsummed    bool
	KeepExpired bool                     // a replica keeps what is due: its primary decides
	OnExpired   func(db int, key []byte) // called for each key that was due and is left out; may be nil
	OnEmpty     func(key []byte)         // called for each key without elements, which is left out; may be nil
	Merge       bool                     // a key that is there already is overwritten; otherwise it is damage
	Staged      bool                     // into the databases that wait to take the place of the others; the libraries are only told
	Stop        <-chan struct{}          // closed when the load is to be given up; may be nil
}

// Loaded is what a file told.
type Loaded struct {
	rdb.Summary
	Expired  int64 // keys that were due and left out
	ReplID   string
	Offset   int64 // -1 when the file tells none
	StreamDB int
	Version  string    // of the server that wrote the file
	Codes    [][]byte  // sources of the libraries of functions
	Rest     io.Reader // what follows the file
}

// Load reads an RDB file into the keyspace; the shard of a key is locked for one element at a time. It fails with ErrGivenUp when
// opts.Stop is closed.
func Load(e *engine.Engine, r io.Reader, opts LoadOptions) (Loaded, error) {
	l := &loader{e: e, opts: opts, out: Loaded{Offset: -1}, value: rdb.Nop{}}
	if opts.Staged {
		l.first = e.Part(0).Staged(0)
	}
	decoder := rdb.NewDecoder(r, rdb.Options{Unsummed: opts.Unsummed, OnEmpty: opts.OnEmpty})
	sum, err := decoder.Decode(l)
	l.out.Rest = decoder.Rest()
	if err != nil {
		l.abort()
	} else if e.Libraries != nil && !opts.Staged {
		err = e.Libraries.Restore(e, l.out.Codes, opts.Merge)
	}
	l.out.Summary = sum
	return l.out, err
}

// pauseStep is how often a pause looks whether it has become shorter.
const pauseStep = 10 * time.Millisecond

// pause waits for so many microseconds a key as delay says; what slows saving and loading down for tests is more often 0.
func pause(stop <-chan struct{}, delay *atomic.Int64, keys int64) error {
	if delay.Load() <= 0 || keys == 0 {
		return nil
	}
	for start := time.Now(); ; {
		left := time.Duration(delay.Load()*keys)*time.Microsecond - time.Since(start)
		if left <= 0 {
			return nil
		}
		t := time.NewTimer(min(left, pauseStep))
		select {
		case <-t.C:
		case <-stop:
			t.Stop()
			return ErrGivenUp
		}
	}
}

// ErrGivenUp says that loading or saving was ended before it was done.
var ErrGivenUp = errors.New("given up")

// loader builds records from what the decoder reads.
type loader struct {
	rdb.Nop
	e    *engine.Engine
	opts LoadOptions
	out  Loaded
	db   int
	meta *rdb.Meta

	first int // what the keyspace counts the databases from: the staged ones are behind the others

	key   keyspace.Key     // of the value that is being built
	shard int              // and its shard, which is locked for every call of value
	value rdb.ValueBuilder // built, or a Nop for a value that is left out
	built object.Builder
}

func (l *loader) Aux(name, value []byte) error {
	switch string(name) {
	case "repl-id":
		l.out.ReplID = string(value)
	case "repl-offset":
		l.out.Offset, _ = strconv.ParseInt(string(value), 10, 64)
	case "repl-stream-db":
		l.out.StreamDB, _ = strconv.Atoi(string(value))
	case "redis-ver":
		l.out.Version = string(value)
	}
	return nil
}

// Function implements rdb.Builder.
func (l *loader) Function(code []byte) error {
	l.out.Codes = append(l.out.Codes, append([]byte(nil), code...))
	return nil
}

func (l *loader) SelectDB(db int) error {
	if db < 0 || db >= l.e.Databases() {
		return fmt.Errorf("database %d is outside of the %d configured ones", db, l.e.Databases())
	}
	l.db = db
	return nil
}

// Key implements rdb.Builder: what is due, or there already, is seen before its value is built.
func (l *loader) Key(m *rdb.Meta) error {
	l.meta = m
	select {
	case <-l.opts.Stop:
		return ErrGivenUp
	default:
	}
	if err := pause(l.opts.Stop, &l.e.Settings.LoadKeyDelay, 1); err != nil {
		return err
	}
	l.key = l.e.Key(m.Key)
	l.shard = keyspace.ShardOf(l.key.Slot)
	l.value = rdb.Nop{}
	if at := m.ExpireAt; at != 0 && !l.opts.KeepExpired && at <= int64(l.e.Clock.Now()) {
		l.out.Expired++
		if l.opts.OnExpired != nil {
			l.opts.OnExpired(l.db, m.Key)
		}
		return nil
	}
	sh := l.e.Lock(l.shard)
	defer sh.Unlock()
	if !l.opts.Merge {
		if _, twice := sh.Part.Find(l.first+l.db, &l.key); twice {
			return fmt.Errorf("key '%s' is there twice", m.Key)
		}
	}
	l.built.Begin(object.Place{Part: sh.Part, DB: l.first + l.db, Key: &l.key}, m.ExpireAt, &l.e.Settings.Encoding)
	l.value = &l.built
	return nil
}

// End implements rdb.Builder.
func (l *loader) End() error {
	sh := l.e.Lock(l.shard)
	defer sh.Unlock()
	if err := l.value.End(); err != nil || l.value != &l.built {
		return l.named(err)
	}
	l.value = rdb.Nop{}
	if rec, ok := sh.Part.Find(l.first+l.db, &l.key); ok {
		l.setClock(rec)
	}
	return nil
}

// abort frees what was built of a value that did not come to its end.
func (l *loader) abort() {
	if l.value == &l.built {
		sh := l.e.Lock(l.shard)
		l.built.Abort()
		sh.Unlock()
	}
}

// named adds the key to what is wrong with its value.
func (l *loader) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("key '%s': %w", l.meta.Key, err)
}

func (l *loader) setClock(rec keyspace.Rec) {
	switch {
	case l.meta.Freq >= 0 && l.e.Evictor.UsesLFU():
		rec.SetClock(l.e.FreshLRU(l.e.Clock.Now())&^0xff | uint32(l.meta.Freq))
	case l.meta.Idle >= 0 && !l.e.Evictor.UsesLFU():
		rec.SetClock((l.e.LRUClock() - uint32(l.meta.Idle)) & (1<<24 - 1))
	}
}
