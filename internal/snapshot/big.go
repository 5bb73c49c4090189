package snapshot

import (
	"sync"

	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the copying of big values. A big value is pinned under the lock of its shard and then encoded without it,
// by a goroutine of its own that hands piece after piece to the walker. The walker begins with the values that it comes to,
// one at a time, and with those that writers have pinned, before it goes on. When a writer waits for a value, its goroutine
// begins at once and stops for nobody: what the walker has not taken yet is kept.

// aheadBytes is how much of a value is encoded before the walker has written what came before, if nobody is in a hurry.
const aheadBytes = 512 << 10

// pieceStart is the room of the first piece of a value; later ones have what they need.
const pieceStart = 16 << 10

// big is a big value that is being copied.
type big struct {
	s     *Snapshot
	shard int
	db    int
	rec   keyspace.Rec // frozen
	head  []byte       // what stands before the value
	root  mem.Ref
	freed bool // no longer pinned; the shard's lock guards it

	done chan struct{} // closed when the value is not read any more

	mu struct { // a leaf lock
		sync.Mutex
		pieces  [][]byte // encoded and not yet taken
		bytes   int      // in pieces
		started bool
		hurried bool
		ended   bool
	}
	changed sync.Cond // of mu
}

// pin makes a big value of a record one that is copied; its shard is locked.
func (s *Snapshot) pin(shard, db int, r keyspace.Rec) *big {
	b := &big{s: s, shard: shard, db: db, rec: r.Frozen(), done: make(chan struct{})}
	b.changed.L = &b.mu
	b.head = appendHead(nil, s.t.e, r, nil)
	b.root = s.t.e.Part(shard).Pin(s.lane, r, b)
	return b
}

// Hurry implements keyspace.Holder.
func (b *big) Hurry() {
	b.mu.Lock()
	b.mu.hurried = true
	b.startLocked(nil)
	b.changed.Broadcast()
	b.mu.Unlock()
}

// Finish implements keyspace.Holder.
func (b *big) Finish() {
	b.Hurry()
	<-b.done
	b.freed = true // by the caller
	b.s.t.figures.finished.Add(1)
}

// start begins to encode, unless somebody has.
func (b *big) start(lzf *checksum.LZF) {
	b.mu.Lock()
	b.startLocked(lzf)
	b.mu.Unlock()
}

func (b *big) startLocked(lzf *checksum.LZF) {
	if b.mu.started {
		return
	}
	b.mu.started = true
	b.s.copying.Add(1)
	b.s.t.figures.copied.Add(1)
	go b.run(lzf)
}

// run encodes the value and ends its pin. All take turns, piece by piece of about a millisecond, so that they need no more
// than one processor and leave the others to clients.
func (b *big) run(lzf *checksum.LZF) {
	defer b.s.copying.Done()
	b.s.t.turn <- struct{}{}
	out := object.Saver{Dst: append(make([]byte, 0, pieceStart), b.head...), LZF: lzf}
	out.Spill = func(piece []byte) ([]byte, bool) {
		if b.pass(piece) {
			out.LZF = nil
		}
		return b.s.emptyPiece(), !b.s.stopped.Load()
	}
	out.Value(b.rec)
	b.give(out.Dst)
	<-b.s.t.turn
	b.rec = keyspace.Rec{}
	close(b.done)
	b.mu.Lock()
	b.mu.ended = true
	b.changed.Broadcast()
	b.mu.Unlock()
	b.unpin()
}

// unpin ends the pin of the value, which nobody reads.
func (b *big) unpin() {
	sh := b.s.t.e.Lock(b.shard)
	if !b.freed {
		b.freed = true
		sh.Part.Unpin(b.s.lane, b.root)
	}
	sh.Unlock()
}

// give adds a piece to what the walker takes.
func (b *big) give(piece []byte) {
	b.s.hold(len(piece))
	b.mu.Lock()
	b.mu.pieces = append(b.mu.pieces, piece)
	b.mu.bytes += len(piece)
	b.changed.Broadcast()
	b.mu.Unlock()
}

// pass gives a piece to the walker, and waits while there are enough of them, unless somebody is in a hurry.
func (b *big) pass(piece []byte) (hurried bool) {
	b.give(piece)
	<-b.s.t.turn
	b.mu.Lock()
	for b.mu.bytes >= aheadBytes && !b.mu.hurried {
		b.changed.Wait()
	}
	hurried = b.mu.hurried
	b.mu.Unlock()
	b.s.t.turn <- struct{}{}
	return hurried
}

// take waits for pieces; it returns none when all were taken.
func (b *big) take() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.mu.pieces) == 0 && !b.mu.ended {
		b.changed.Wait()
	}
	pieces := b.mu.pieces
	b.mu.pieces, b.mu.bytes = nil, 0
	b.changed.Broadcast()
	return pieces
}

// abandon ends a value that nobody will write: one that was not begun is unpinned.
func (b *big) abandon() {
	b.mu.Lock()
	started := b.mu.started
	b.mu.started, b.mu.hurried = true, true
	b.changed.Broadcast()
	if !started {
		close(b.done)
	}
	b.mu.Unlock()
	if !started {
		b.unpin()
	}
}
