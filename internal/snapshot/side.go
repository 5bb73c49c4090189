package snapshot

import (
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds what writers hand over: the old state of what they are about to change.

const (
	// bigWeight is the weight above which a value is copied without the lock of its shard: below it takes less than 100 µs.
	bigWeight = 64 << 10
	// chunkBytes is how much of what is handed over lies in one block.
	chunkBytes = 64 << 10
	// sideBytesMax is how much writers may have handed over before the walker takes it wherever it is.
	sideBytesMax = 1 << 20
)

// side collects the old records that writers hand over in one shard. The shard's lock guards it.
type side struct {
	s      *Snapshot
	shard  int
	chunks []chunk
	keys   int64
}

// chunk is some records of one database.
type chunk struct {
	db    int
	bytes []byte
}

// BeforeChange implements keyspace.Observer.
func (o *side) BeforeChange(db int, r keyspace.Rec) {
	s := o.s
	if s.stopped.Load() {
		return
	}
	if r.Pinnable() && object.Weight(r) > bigWeight {
		s.enqueue(s.pin(o.shard, db, r))
		return
	}
	n := len(o.chunks)
	if n == 0 || o.chunks[n-1].db != db || len(o.chunks[n-1].bytes) > chunkBytes {
		o.chunks = append(o.chunks, chunk{db: db})
		n++
	}
	last := &o.chunks[n-1]
	before := len(last.bytes)
	last.bytes = AppendRecord(last.bytes, s.t.e, r, nil)
	o.keys++
	s.sideBytes.Add(int64(len(last.bytes) - before))
	s.hold(len(last.bytes) - before)
	s.t.figures.underLock(len(last.bytes) - before)
}

// enqueue adds a value that a writer has pinned to those that the walker writes next.
func (s *Snapshot) enqueue(b *big) {
	s.mu.Lock()
	s.mu.queue = append(s.mu.queue, b)
	s.mu.Unlock()
}

// takeQueue is the values that writers have pinned since the last call.
func (s *Snapshot) takeQueue() []*big {
	s.mu.Lock()
	defer s.mu.Unlock()
	queue := s.mu.queue
	s.mu.queue = nil
	return queue
}

// takeSide takes what writers handed over in a shard, which is locked.
func (s *Snapshot) takeSide(shard int) []chunk {
	o := &s.sides[shard]
	taken := o.chunks
	o.chunks = nil
	s.keys += o.keys
	o.keys = 0
	for _, c := range taken {
		s.sideBytes.Add(int64(-len(c.bytes)))
	}
	return taken
}

// hold counts bytes that wait to be written; a negative number is what was written.
func (s *Snapshot) hold(n int) {
	now := s.held.Add(int64(n))
	for most := s.heldMost.Load(); now > most && !s.heldMost.CompareAndSwap(most, now); most = s.heldMost.Load() {
	}
}

// Held is how many bytes of what was handed over or copied wait to be written, now and at most.
func (s *Snapshot) Held() (now, most int64) { return s.held.Load(), s.heldMost.Load() }
