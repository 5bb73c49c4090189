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

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/slot"
)

const (
	// visitRecords is how many records are encoded under one hold of a shard's lock: about 50 µs.
	visitRecords = 256
	// visitSlots is how many empty or small slots are visited under one hold.
	visitSlots = 16
	// pieceBytes is how much is gathered before it is written.
	pieceBytes = 256 << 10
	// drainRecords is visitRecords for the end of a cut that nobody wants any more: records are only marked.
	drainRecords = 2048
)

// Taker takes snapshots of one engine. At most keyspace.Lanes are under way at the same time.
type Taker struct {
	e     *engine.Engine
	lanes chan keyspace.Lane
}

// NewTaker makes the only Taker of an engine.
func NewTaker(e *engine.Engine) *Taker {
	t := &Taker{e: e, lanes: make(chan keyspace.Lane, keyspace.Lanes)}
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

	lzf   *checksum.LZF
	buf   []byte
	db    int // database selected in the output, -1 before the first
	keys  int64
	ended bool

	// Offset is the log's end at the cut: the snapshot contains all effects before it and none behind.
	Offset engine.Offset
}

// dbSize is what a database held at the cut; the file tells it once, as a hint.
type dbSize struct {
	keys, expires int64
	told          bool
}

// side collects the old records that writers hand over in one shard, by database. The shard's lock guards it.
type side struct {
	e    *engine.Engine
	byDB [][]byte
	keys int64
}

// BeforeChange implements keyspace.Observer.
func (s *side) BeforeChange(db int, r keyspace.Rec) {
	for len(s.byDB) <= db {
		s.byDB = append(s.byDB, nil)
	}
	s.byDB[db] = AppendRecord(s.byDB[db], s.e, r, nil)
	s.keys++
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
		s.sides[i].e = t.e
	}
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
	if err := s.flush(out, 0); err != nil {
		return out.Size(), err
	}
	err := out.Finish()
	return out.Size(), err
}

// writeShard walks all slots of a shard, in every database.
func (s *Snapshot) writeShard(ctx context.Context, out *rdb.Writer, shard int) error {
	for db := range s.sizes {
		if s.sizes[db].keys == 0 {
			continue
		}
		w := walk{slot: slot.ID(shard)}
		for !w.done {
			if err := ctx.Err(); err != nil {
				return err
			}
			before := s.keys
			s.visit(shard, db, &w)
			if err := pause(ctx.Done(), &s.t.e.Settings.SaveKeyDelay, s.keys-before); err != nil {
				return err
			}
			if err := s.flush(out, pieceBytes); err != nil {
				return err
			}
		}
	}
	s.drainSide(shard)
	return s.flush(out, pieceBytes)
}

// walk is a position in a shard.
type walk struct {
	slot slot.ID
	tag  uint32
	done bool
}

// visit encodes the next piece of a shard under its lock, and what writers handed over meanwhile.
func (s *Snapshot) visit(shard, db int, w *walk) {
	sh := s.t.e.Lock(shard)
	defer sh.Unlock()
	budget := visitRecords
	for n := 0; n < visitSlots && budget > 0 && !w.done; n++ {
		next, slotDone := sh.Part.VisitSlot(s.lane, db, w.slot, w.tag, budget, func(r keyspace.Rec) {
			s.selectDB(db)
			s.buf = AppendRecord(s.buf, s.t.e, r, s.lzf)
			s.keys++
			budget--
		})
		w.tag = next
		if slotDone {
			w.tag = 0
			w.done = int(w.slot)+keyspace.Shards >= slot.Count
			w.slot += keyspace.Shards
		}
	}
	s.takeSide(shard)
}

func (s *Snapshot) drainSide(shard int) {
	sh := s.t.e.Lock(shard)
	defer sh.Unlock()
	s.takeSide(shard)
}

// takeSide moves what writers handed over into the output; the shard is locked.
func (s *Snapshot) takeSide(shard int) {
	side := &s.sides[shard]
	for db, b := range side.byDB {
		if len(b) == 0 {
			continue
		}
		s.selectDB(db)
		s.buf = append(s.buf, b...)
		side.byDB[db] = nil
	}
	s.keys += side.keys
	side.keys = 0
}

func (s *Snapshot) selectDB(db int) {
	if s.db == db {
		return
	}
	s.db = db
	s.buf = rdb.AppendSelectDB(s.buf, db)
	if size := &s.sizes[db]; !size.told {
		size.told = true
		s.buf = rdb.AppendResizeDB(s.buf, uint64(size.keys), uint64(size.expires))
	}
}

// flush writes what was gathered when it is at least atLeast bytes.
func (s *Snapshot) flush(out *rdb.Writer, atLeast int) error {
	if len(s.buf) < max(atLeast, 1) {
		return nil
	}
	_, err := out.Write(s.buf)
	s.buf = s.buf[:0]
	if s.opts.Progress != nil {
		s.opts.Progress(s.keys)
	}
	return err
}

// Drop ends the cut, finishing the walk without output when it was broken off. It may be called more than once.
func (s *Snapshot) Drop() {
	if s.ended {
		return
	}
	s.ended = true
	for shard := range s.sides {
		for more := true; more; {
			sh := s.t.e.Lock(shard)
			if !sh.Part.EndEpoch(s.lane) {
				more = sh.Part.DrainEpoch(s.lane, drainRecords)
				if !more {
					sh.Part.EndEpoch(s.lane)
				}
			} else {
				more = false
			}
			s.sides[shard].byDB = nil
			sh.Unlock()
		}
	}
	s.t.lanes <- s.lane
}
