package snapshot

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// LoadOptions say how a file is put into the keyspace.
type LoadOptions struct {
	Unsummed    bool
	KeepExpired bool                     // a replica keeps what is due: its primary decides
	OnExpired   func(db int, key []byte) // called for each key that was due and is left out; may be nil
	Merge       bool                     // a key that is there already is overwritten; otherwise it is damage
	Stop        <-chan struct{}          // closed when the load is to be given up; may be nil
}

// Loaded is what a file told.
type Loaded struct {
	rdb.Summary
	Expired  int64 // keys that were due and left out
	ReplID   string
	Offset   int64 // -1 when the file tells none
	StreamDB int
	Version  string // of the server that wrote the file
}

// ErrUnknownType says that the file holds a type this server cannot keep.
var ErrUnknownType = errors.New("value of a type that is not supported")

// Load reads an RDB file into the keyspace, one key at a time under its shard's lock. It fails with ErrGivenUp when
// opts.Stop is closed.
func Load(e *engine.Engine, r io.Reader, opts LoadOptions) (Loaded, error) {
	l := &loader{e: e, opts: opts, out: Loaded{Offset: -1}}
	sum, err := rdb.NewDecoder(r, rdb.Options{Unsummed: opts.Unsummed}).Decode(l)
	l.out.Summary = sum
	return l.out, err
}

// pause waits for micros a key; what slows saving and loading down for tests is more often 0.
func pause(stop <-chan struct{}, micros, keys int64) error {
	if micros <= 0 || keys == 0 {
		return nil
	}
	t := time.NewTimer(time.Duration(micros*keys) * time.Microsecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-stop:
		return ErrGivenUp
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

func (l *loader) SelectDB(db int) error {
	if db < 0 || db >= l.e.Databases() {
		return fmt.Errorf("database %d is outside of the %d configured ones", db, l.e.Databases())
	}
	l.db = db
	return nil
}

func (l *loader) Key(m *rdb.Meta) error {
	l.meta = m
	select {
	case <-l.opts.Stop:
		return ErrGivenUp
	default:
	}
	return pause(l.opts.Stop, l.e.Settings.LoadKeyDelay.Load(), 1)
}

func (l *loader) String(v []byte) error {
	return l.put(func(p *keyspace.Part, k *keyspace.Key) { p.SetString(l.db, k, v, l.meta.ExpireAt) })
}

func (l *loader) Int(v int64) error {
	return l.put(func(p *keyspace.Part, k *keyspace.Key) { p.SetInt(l.db, k, v, l.meta.ExpireAt) })
}

// put stores one key unless it is due or a duplicate.
func (l *loader) put(store func(p *keyspace.Part, k *keyspace.Key)) error {
	key := l.e.Key(l.meta.Key)
	if at := l.meta.ExpireAt; at != 0 && !l.opts.KeepExpired && at <= int64(l.e.Clock.Now()) {
		l.out.Expired++
		if l.opts.OnExpired != nil {
			l.opts.OnExpired(l.db, l.meta.Key)
		}
		return nil
	}
	sh := l.e.Lock(keyspace.ShardOf(key.Slot))
	defer sh.Unlock()
	if !l.opts.Merge {
		if _, twice := sh.Part.Find(l.db, &key); twice {
			return fmt.Errorf("key '%s' is there twice", l.meta.Key)
		}
	}
	store(sh.Part, &key)
	if rec, ok := sh.Part.Find(l.db, &key); ok {
		l.setClock(rec)
	}
	return nil
}

func (l *loader) setClock(rec keyspace.Rec) {
	switch {
	case l.meta.Freq >= 0 && l.e.Evictor.UsesLFU():
		rec.SetClock(l.e.FreshLRU(l.e.Clock.Now())&^0xff | uint32(l.meta.Freq))
	case l.meta.Idle >= 0 && !l.e.Evictor.UsesLFU():
		rec.SetClock((l.e.LRUClock() - uint32(l.meta.Idle)) & (1<<24 - 1))
	}
}

func (l *loader) unsupported() error { return fmt.Errorf("key '%s': %w", l.meta.Key, ErrUnknownType) }

func (l *loader) Packed(rdb.Packed) (bool, error) { return false, l.unsupported() }
func (l *loader) ListStart(uint64) error          { return l.unsupported() }
func (l *loader) SetStart(uint64) error           { return l.unsupported() }
func (l *loader) ZSetStart(uint64) error          { return l.unsupported() }
func (l *loader) HashStart(uint64) error          { return l.unsupported() }
func (l *loader) StreamStart() error              { return l.unsupported() }
func (l *loader) Module(rdb.ModuleID) error       { return l.unsupported() }
