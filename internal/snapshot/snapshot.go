// Package snapshot takes point-in-time copies of the data without fork. A cut stops all shards for an instant, notes the
// offset of the log and starts an epoch in every shard; a walker then visits slot after slot, a piece at a time under the
// shard's lock. A writer that is about to change a record the walker has not seen hands the old record over first. The copy
// is exact for the moment of the cut, memory grows only by the records that are changed meanwhile and not yet written, and
// nobody waits longer than for one piece.
package snapshot

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/slot"
)

// drainRecords is how many records are marked under one hold of a shard's lock, for a cut that nobody wants any more.
const drainRecords = 2048

// Taker takes snapshots of one engine. At most keyspace.Lanes are under way at the same time.
type Taker struct {
	e       *engine.Engine
	lanes   chan keyspace.Lane
	turn    chan struct{} // has room while nobody encodes a big value: see big.run
	figures figures

	mu struct { // a leaf lock
		sync.Mutex
		running  []*Snapshot
		lastMost int64 // most that the last snapshot held
	}
}

// NewTaker makes the only Taker of an engine.
func NewTaker(e *engine.Engine) *Taker {
	t := &Taker{e: e, lanes: make(chan keyspace.Lane, keyspace.Lanes), turn: make(chan struct{}, 1)}
	for l := range keyspace.Lanes {
		t.lanes <- keyspace.Lane(l)
	}
	return t
}

// Options say what goes into a snapshot.
type Options struct {
	Slots    *slot.Set // nil: all
	NoLibs   bool      // leave out the libraries of functions
	Compress bool      // rdbcompression
	Unsummed bool      // rdbchecksum no
	AOFBase  bool      // the file is the base of an append-only file
	Stream   bool      // tell id, offset and database of the replication stream in the header
	AtCut    func()    // called at the moment of the cut, under all shard locks; may be nil
	Progress func(keys int64)
}

// Snapshot is a cut that is being written.
type Snapshot struct {
	t      *Taker
	opts   Options
	lane   keyspace.Lane
	header rdb.Header
	libs   [][]byte // sources of the libraries of functions at the cut
	sizes  []dbSize
	sides  [keyspace.Shards]side

	stopped   atomic.Bool    // nothing is wanted any more
	copying   sync.WaitGroup // goroutines that encode big values
	sideBytes atomic.Int64   // in sides
	held      atomic.Int64   // bytes that wait to be written, copies of big values included
	heldMost  atomic.Int64

	mu struct { // a leaf lock
		sync.Mutex
		queue []*big   // values that writers have pinned
		spare [][]byte // buffers for pieces
	}

	lzf    *checksum.LZF
	buf    []byte
	db     int // database selected in the output, -1 before the first
	keys   int64
	slowed int64 // keys that slowDown has waited for
	ended  bool

	// Offset is the log's end at the cut: the snapshot contains all effects before it and none behind.
	Offset engine.Offset
}

// dbSize is what a database held at the cut; the file tells it once, as a hint.
type dbSize struct {
	keys, expires int64
	told          bool
}

// ErrBusy says that all lanes are in use.
var ErrBusy = errors.New("a snapshot is already under way")

// Cut fixes the moment of a snapshot. The result must be written or dropped.
func (t *Taker) Cut(ctx context.Context, opts Options) (*Snapshot, error) {
	var lane keyspace.Lane
	select {
	case lane = <-t.lanes:
	case <-ctx.Done():
		return nil, ErrBusy
	}
	s := &Snapshot{t: t, opts: opts, lane: lane, db: -1}
	if opts.Compress {
		s.lzf = new(checksum.LZF)
	}
	for i := range s.sides {
		s.sides[i].s, s.sides[i].shard = s, i
	}
	t.begin(s)
	t.e.Cuts.Add(1)
	t.e.LockAll()
	defer t.e.UnlockAll()
	s.sizes = make([]dbSize, t.e.Databases())
	for i := range s.sides {
		part := t.e.Part(i)
		for db := range s.sizes {
			s.sizes[db].keys += part.Len(db)
			s.sizes[db].expires += part.Expires(db)
		}
		part.BeginEpoch(lane, opts.Slots, &s.sides[i])
	}
	if opts.AtCut != nil {
		opts.AtCut()
	}
	if t.e.Libraries != nil && !opts.NoLibs {
		s.libs = t.e.Libraries.Codes()
	}
	history := t.e.Log.History()
	s.Offset = history.End
	s.header = rdb.Header{CreatedAt: int64(t.e.Clock.Now()) / 1000, UsedMem: t.e.UsedMemory(), AOFBase: opts.AOFBase}
	if opts.Stream {
		s.header.Stream = &rdb.ReplayPoint{DB: max(0, t.e.Log.StreamDB()), ID: history.ID, Offset: history.End}
	}
	return s, nil
}

// Keys is the number of keys at the cut.
func (s *Snapshot) Keys() (n int64) {
	for _, d := range s.sizes {
		n += d.keys
	}
	return n
}

// WriteTo writes the snapshot as an RDB file and ends the cut.
func (s *Snapshot) WriteTo(ctx context.Context, w io.Writer) (int64, error) {
	defer s.Drop()
	out := rdb.NewWriter(w, s.opts.Unsummed)
	s.buf = rdb.AppendHeader(s.buf[:0], s.header)
	for _, code := range s.libs {
		s.buf = rdb.AppendFunction(s.buf, code, s.lzf)
	}
	for shard := range s.sides {
		if err := s.writeShard(ctx, out, shard); err != nil {
			return out.Size(), err
		}
	}
	if err := s.writeHandedOver(ctx, out, -1); err != nil {
		return out.Size(), err
	}
	if err := s.slowDown(ctx); err != nil {
		return out.Size(), err
	}
	if err := s.flush(out, 0); err != nil {
		return out.Size(), err
	}
	err := out.Finish()
	return out.Size(), err
}

// Drop ends the cut, finishing the walk without output when it was broken off. It may be called more than once.
func (s *Snapshot) Drop() {
	if s.ended {
		return
	}
	s.ended = true
	s.stopped.Store(true)
	for shard := range s.sides {
		s.dropShard(s.t.e, shard)
	}
	s.abandon(s.takeQueue())
	s.copying.Wait()
	s.t.e.Cuts.Add(-1)
	s.t.end(s)
}
