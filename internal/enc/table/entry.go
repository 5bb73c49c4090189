package table

import (
	"encoding/binary"
	"math"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds the entry: what a table has of one member.
//
//	| score or expiry 0 or 8 | member length 1 or 5 | value length 1 or 5 | member | value |
//
// A length above 254 is 255 and four bytes, little-endian like all numbers. Only a table of Fields has values.

const wideLength = 255 // the first byte of a length in 5 bytes

// Entry is an entry as it was found. It is valid until the next change of its table; in a table of Members or Scores, as
// long as its member is there.
type Entry struct {
	b     []byte // from the entry to the end of its chunk
	ref   mem.Ref
	at    int32 // where the member begins
	mlen  int32
	vlen  int32
	fixed bool // begins with 8 fixed bytes
}

// shape is what an entry is made of.
type shape struct {
	member, value []byte
	fixed         uint64
	layout        Layout
	hasFixed      bool
}

func lengthSize(n int) int {
	if n < wideLength {
		return 1
	}
	return 5
}

// headSize is where the member begins.
func (s *shape) headSize() int {
	n := lengthSize(len(s.member))
	if s.layout == Fields {
		n += lengthSize(len(s.value))
	}
	if s.hasFixed {
		n += 8
	}
	return n
}

func (s *shape) size() int { return s.headSize() + len(s.member) + len(s.value) }

// write encodes the entry. The value is written first: it may be part of the entry that b holds.
func (s *shape) write(b []byte) {
	at := s.headSize()
	copy(b[at+len(s.member):], s.value)
	copy(b[at:], s.member)
	at = 0
	if s.hasFixed {
		binary.LittleEndian.PutUint64(b, s.fixed)
		at = 8
	}
	at = putLength(b, at, len(s.member))
	if s.layout == Fields {
		putLength(b, at, len(s.value))
	}
}

func putLength(b []byte, at, n int) (next int) {
	if n < wideLength {
		b[at] = byte(n)
		return at + 1
	}
	b[at] = wideLength
	binary.LittleEndian.PutUint32(b[at+1:], uint32(n))
	return at + 5
}

func getLength(b []byte, at int32) (n, next int32) {
	if b[at] != wideLength {
		return int32(b[at]), at + 1
	}
	return int32(binary.LittleEndian.Uint32(b[at+1:])), at + 5
}

// entry is the entry of a cell.
func (t *Table) entry(cell uint64) Entry {
	ref := cellRef(cell)
	return decode(t.arena.Tail(ref), ref, t.layout, isFixed(cell))
}

func decode(b []byte, ref mem.Ref, l Layout, fixed bool) Entry {
	e := Entry{b: b, ref: ref, fixed: fixed}
	if fixed {
		e.at = 8
	}
	e.mlen, e.at = getLength(b, e.at)
	if l == Fields {
		e.vlen, e.at = getLength(b, e.at)
	}
	return e
}

// Ref names the entry for At.
func (e Entry) Ref() mem.Ref { return e.ref }

// Size is the number of bytes of the entry.
func (e Entry) Size() int { return int(e.at + e.mlen + e.vlen) }

// Member is the member or field.
func (e Entry) Member() []byte { return e.b[e.at : e.at+e.mlen : e.at+e.mlen] }

// Value is the value of a field.
func (e Entry) Value() []byte {
	at := e.at + e.mlen
	return e.b[at : at+e.vlen : at+e.vlen]
}

// ExpireAt is when a field expires, in milliseconds; 0 means never.
func (e Entry) ExpireAt() int64 {
	if !e.fixed {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(e.b))
}

// Score is the score of a member in a table of Scores.
func (e Entry) Score() float64 { return math.Float64frombits(binary.LittleEndian.Uint64(e.b)) }

// SetScore changes the score of a member in a table of Scores, in place.
func (e Entry) SetScore(score float64) { binary.LittleEndian.PutUint64(e.b, scoreBits(score)) }

func scoreBits(score float64) uint64 { return math.Float64bits(score) }
