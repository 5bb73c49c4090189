package snapshot

import (
	"context"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the walk over the shards, and the writing of what it finds and of what writers hand over.

const (
	// visitEffort is how many small records are encoded under one hold of a shard's lock: about 50 µs.
	visitEffort = 256
	// effortBytes is how much of a value costs as much again.
	effortBytes = 256
	// visitSlots is how many empty or small slots are visited under one hold.
	visitSlots = 16
	// pieceBytes is how much is gathered before it is written.
	pieceBytes = 256 << 10
)

// walk is a position in a shard.
type walk struct {
	slot slot.ID
	tag  uint32
	done bool
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
			found, side := s.visit(shard, db, &w)
			if err := s.writeFound(out, found, side); err != nil {
				return err
			}
			if err := s.slowDown(ctx); err != nil {
				return err
			}
			if err := s.writeHandedOver(ctx, out, sideBytesMax); err != nil {
				return err
			}
		}
	}
	return nil
}

// slowDown waits as rdb-key-save-delay says for each key that was taken since the last wait, by a visit or from a writer.
func (s *Snapshot) slowDown(ctx context.Context) error {
	keys := s.keys - s.slowed
	s.slowed = s.keys
	return pause(ctx.Done(), &s.t.e.Settings.SaveKeyDelay, keys)
}

// visit encodes the next piece of a shard under its lock, up to a big value, which it returns with what writers handed over.
func (s *Snapshot) visit(shard, db int, w *walk) (found *big, handed []chunk) {
	sh := s.t.e.Lock(shard)
	defer sh.Unlock()
	budget, before := visitEffort, len(s.buf)
	for n := 0; n < visitSlots && budget > 0 && !w.done; n++ {
		next, slotDone := sh.Part.VisitSlot(s.lane, db, w.slot, w.tag, budget, func(r keyspace.Rec) (cost int) {
			weight := object.Weight(r)
			if cost = 1 + int(weight/effortBytes); r.Pinnable() && weight > bigWeight {
				if found == nil {
					found = s.pin(shard, db, r)
				} else {
					s.enqueue(s.pin(shard, db, r)) // it has the same tag
				}
				cost = visitEffort
			} else {
				s.selectDB(db)
				s.buf = AppendRecord(s.buf, s.t.e, r, s.lzf)
				s.keys++
			}
			budget -= cost
			return cost
		})
		w.tag = next
		if slotDone {
			w.tag = 0
			w.done = int(w.slot)+keyspace.Shards >= slot.Count
			w.slot += keyspace.Shards
		}
	}
	s.t.figures.underLock(len(s.buf) - before)
	return found, s.takeSide(shard)
}

// writeFound writes what a visit has brought, when it is enough.
func (s *Snapshot) writeFound(out *rdb.Writer, found *big, side []chunk) error {
	err := s.writeChunks(out, side)
	switch {
	case found == nil && err == nil:
		return s.flush(out, pieceBytes)
	case err == nil:
		return s.writeBig(out, found)
	case found != nil:
		found.abandon()
	}
	return err
}

// writeHandedOver writes the big values that writers have pinned, and what else they have handed over when that is more than
// so many bytes.
func (s *Snapshot) writeHandedOver(ctx context.Context, out *rdb.Writer, most int64) error {
	for queue := s.takeQueue(); len(queue) > 0; queue = s.takeQueue() {
		for i, b := range queue {
			err := ctx.Err()
			if err == nil {
				err = s.writeBig(out, b)
			}
			if err != nil {
				s.abandon(queue[i:])
				return err
			}
		}
	}
	if s.sideBytes.Load() <= most {
		return nil
	}
	for shard := range s.sides {
		sh := s.t.e.Lock(shard)
		side := s.takeSide(shard)
		sh.Unlock()
		if err := s.writeChunks(out, side); err != nil {
			return err
		}
	}
	return nil
}

// writeBig writes a big value, as it is encoded.
func (s *Snapshot) writeBig(out *rdb.Writer, b *big) error {
	s.keys++
	s.selectDB(b.db)
	if err := s.flush(out, 0); err != nil {
		b.abandon()
		return err
	}
	b.start(s.lzf)
	for pieces := b.take(); len(pieces) > 0; pieces = b.take() {
		for _, piece := range pieces {
			if err := s.write(out, piece); err != nil {
				b.abandon()
				return err
			}
			s.hold(-len(piece))
			s.keepPiece(piece)
		}
	}
	<-b.done // the compressor may be used again
	return nil
}

func (s *Snapshot) writeChunks(out *rdb.Writer, chunks []chunk) error {
	for _, c := range chunks {
		s.selectDB(c.db)
		if err := s.flush(out, 0); err != nil {
			return err
		}
		if err := s.write(out, c.bytes); err != nil {
			return err
		}
		s.hold(-len(c.bytes))
	}
	return nil
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
	err := s.write(out, s.buf)
	s.buf = s.buf[:0]
	return err
}

func (s *Snapshot) write(out *rdb.Writer, b []byte) error {
	_, err := out.Write(b)
	if s.opts.Progress != nil {
		s.opts.Progress(s.keys)
	}
	return err
}

// sparePieces is how many pieces are kept to be used again.
const sparePieces = 4

// emptyPiece is a buffer for a piece of a big value.
func (s *Snapshot) emptyPiece() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.mu.spare)
	if n == 0 {
		return make([]byte, 0, pieceBytes+pieceStart)
	}
	b := s.mu.spare[n-1]
	s.mu.spare = s.mu.spare[:n-1]
	return b
}

// keepPiece gives a buffer back that emptyPiece made, or another one.
func (s *Snapshot) keepPiece(b []byte) {
	if cap(b) < pieceBytes || cap(b) > 2*pieceBytes {
		return
	}
	s.mu.Lock()
	if len(s.mu.spare) < sparePieces {
		s.mu.spare = append(s.mu.spare, b[:0])
	}
	s.mu.Unlock()
}

// abandon gives up values that nobody will write.
func (s *Snapshot) abandon(values []*big) {
	for _, b := range values {
		b.abandon()
	}
}

// dropShard ends the cut in a shard, finishing the walk without output when it was broken off.
func (s *Snapshot) dropShard(e *engine.Engine, shard int) {
	for more := true; more; {
		sh := e.Lock(shard)
		if more = !sh.Part.EndEpoch(s.lane); more {
			if more = sh.Part.DrainEpoch(s.lane, drainRecords); !more {
				sh.Part.EndEpoch(s.lane)
			}
		}
		s.sides[shard].chunks = nil
		sh.Unlock()
	}
}
