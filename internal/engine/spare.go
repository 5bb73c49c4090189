package engine

import (
	"slices"

	"github.com/covey-db/covey/internal/mem"
)

// Spare makes buffers for large input and for large replies, and keeps some while its worker is busy: one that is made for each
// value of a megabyte costs more than everything else that is done for the value. Those for very large ones lie off the Go
// heap, which the collector would let grow to twice what is in it.
type Spare struct {
	buffers *mem.Buffers // who makes those off the heap; nil if there shall be none
	list    []spareBuffer
	bytes   int
	used    bool // since Tidy
}

// NewSpare is a Spare for who has no worker.
func (e *Engine) NewSpare() Spare { return Spare{buffers: &e.Buffers} }

type spareBuffer struct {
	bytes   []byte
	offHeap bool
}

const (
	spareBytesMax = 16 << 20
	spareEachMin  = bigReplyBytes // smaller ones are not kept
	spareWaste    = 4             // a buffer that is so many times too large is not used
	offHeapMin    = 1 << 20       // from this size on buffers lie off the heap
)

// Get returns an empty buffer for at least so many bytes: one that has room for as many as wished if there is such a
// one, else a new one that is no larger than asked for, or hardly. Nobody may append more to it than it has room for, and
// who has it gives it to Put: its memory is not the collector's.
func (s *Spare) Get(least, wished int) []byte {
	if b := s.kept(least, wished, false); b != nil {
		return b
	}
	if s.buffers != nil && least >= offHeapMin {
		return s.buffers.New(least)
	}
	return make([]byte, 0, least)
}

// Plain is Get for a buffer that may be appended to and dropped like any other.
func (s *Spare) Plain(n int) []byte {
	if b := s.kept(n, n, true); b != nil {
		return b
	}
	return make([]byte, 0, n)
}

// kept takes the buffer out of the list that is the best for so many bytes, nil if none will do.
func (s *Spare) kept(least, wished int, onHeap bool) []byte {
	found := -1
	for i, x := range s.list {
		if x.offHeap && onHeap {
			continue
		}
		if n := cap(x.bytes); n >= least && n/spareWaste <= max(wished, least) && (found < 0 || fits(n, cap(s.list[found].bytes), wished)) {
			found = i
		}
	}
	if found < 0 {
		return nil
	}
	b := s.list[found].bytes
	s.used = true
	s.list = slices.Delete(s.list, found, found+1)
	s.bytes -= cap(b)
	return b
}

// fits says whether a buffer of n bytes is a better choice than one of so many: the smallest that is large enough, else
// the largest.
func fits(n, best, wished int) bool {
	if n >= wished && best >= wished {
		return n < best
	}
	return n > best
}

// Grow makes room for at least so many bytes in b, better for as many as wished, and returns it with what it has; b is dead.
func (s *Spare) Grow(b []byte, least, wished int) []byte {
	if s.isOffHeap(b) {
		return s.buffers.Grow(b, least)
	}
	grown := append(s.Get(least, wished), b...)
	s.Put(b)
	return grown
}

func (s *Spare) isOffHeap(b []byte) bool {
	return cap(b) >= offHeapMin && s.buffers != nil && s.buffers.Has(b)
}

// Put takes a buffer that nobody uses any more: it is kept, or given back at once.
func (s *Spare) Put(b []byte) {
	switch {
	case cap(b) < spareEachMin:
	case s.bytes+cap(b) <= spareBytesMax:
		s.used = true
		s.list = append(s.list, spareBuffer{b[:0], s.isOffHeap(b)})
		s.bytes += cap(b)
	case s.buffers != nil:
		s.buffers.Free(b)
	}
}

// Drop gives all buffers back.
func (s *Spare) Drop() {
	for _, x := range s.list {
		if x.offHeap {
			s.buffers.Free(x.bytes)
		}
	}
	*s = Spare{buffers: s.buffers}
}

// Held says whether there are any.
func (s *Spare) Held() bool { return len(s.list) > 0 }

// Tidy gives the buffers back if none was asked for or given since the last call.
func (s *Spare) Tidy() {
	if !s.used {
		s.Drop()
	}
	s.used = false
}
