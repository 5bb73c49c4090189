// Package intset reads and edits intsets, the compact form of small sets of numbers. All functions work on plain bytes,
// which may lie inside an arena block: an edit takes a slice and returns it grown or shrunk, as append does, and allocates
// only when the capacity does not suffice.
//
// An intset, numbers in little endian:
//
//	width (4): 2, 4 or 8 | elements (4) | the numbers, each of that width, ascending
//
// The width grows with the first number that needs it and never shrinks. Bytes from outside are for packed.OpenIntset (package
// rdb/packed): the functions here expect an intset that is sound, and may panic when it is not.
package intset

import (
	"encoding/binary"
	"math"
	"slices"
)

const headSize = 8

// EmptySize is the number of bytes of an intset without elements.
const EmptySize = headSize

// New appends an empty intset to dst. The others take an intset that begins at the start of the slice.
func New(dst []byte) []byte { return append(dst, 2, 0, 0, 0, 0, 0, 0, 0) }

// Len is the number of elements.
func Len(s []byte) int { return int(binary.LittleEndian.Uint32(s[4:])) }

// Bytes is the size of the intset.
func Bytes(s []byte) int { return headSize + width(s)*Len(s) }

// width is the number of bytes of each number.
func width(s []byte) int { return int(s[0]) }

// widthOf is the number of bytes that a number needs.
func widthOf(v int64) int {
	switch {
	case v >= math.MinInt16 && v <= math.MaxInt16:
		return 2
	case v >= math.MinInt32 && v <= math.MaxInt32:
		return 4
	}
	return 8
}

// At is the i-th smallest element.
func At(s []byte, i int) int64 { return get(s, width(s), i) }

func get(s []byte, width, i int) int64 {
	b := s[headSize+i*width:]
	switch width {
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

func set(s []byte, width, i int, v int64) {
	b := s[headSize+i*width:]
	switch width {
	case 2:
		binary.LittleEndian.PutUint16(b, uint16(v))
	case 4:
		binary.LittleEndian.PutUint32(b, uint32(v))
	default:
		binary.LittleEndian.PutUint64(b, uint64(v))
	}
}

// Find tells where v is, or, when it is not there, where it would be.
func Find(s []byte, v int64) (i int, found bool) {
	w, n := width(s), Len(s)
	if n == 0 || v > get(s, w, n-1) {
		return n, false
	}
	low := bisect(s, w, 0, n, v)
	return low, get(s, w, low) == v
}

// bisect is the first place from low on, high if there is none before it, whose number is not less than v.
func bisect(s []byte, w, low, high int, v int64) int {
	for low < high {
		mid := int(uint(low+high) >> 1)
		if get(s, w, mid) < v {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// FindFrom is Find for a v that is greater than all elements before the i-th. It takes few steps when v is near.
func FindFrom(s []byte, i int, v int64) (at int, found bool) {
	w, n := width(s), Len(s)
	low, high := i, i
	for step := 1; high < n && get(s, w, high) < v; step *= 2 {
		low = high + 1
		high += step
	}
	at = bisect(s, w, low, min(high, n), v)
	return at, at < n && get(s, w, at) == v
}

// Contains tells whether v is an element.
func Contains(s []byte, v int64) bool {
	_, found := Find(s, v)
	return found
}

// SizeWith is the size that the intset has at most after v is added.
func SizeWith(s []byte, v int64) int { return headSize + max(width(s), widthOf(v))*(Len(s)+1) }

// Add adds an element. added is false when it was there already.
func Add(s []byte, v int64) (out []byte, added bool) {
	i, found := Find(s, v)
	if found {
		return s, false
	}
	w, n := width(s), Len(s)
	need := max(w, widthOf(v))
	size := headSize + n*w
	s = slices.Grow(s[:size], headSize+(n+1)*need-size)[:headSize+(n+1)*need]
	if need > w {
		widen(s, w, need, n, i)
	} else {
		copy(s[headSize+(i+1)*w:], s[headSize+i*w:size])
	}
	set(s, need, i, v)
	setLen(s, n+1)
	return s, true
}

// widen writes the first n numbers wider, leaving a gap at an index. A number that needs more width than all others is the
// smallest or the greatest, so the gap is at one of the ends.
func widen(s []byte, from, to, n, gap int) {
	shift := 0
	if gap == 0 {
		shift = 1
	}
	for i := n - 1; i >= 0; i-- {
		set(s, to, i+shift, get(s, from, i))
	}
	s[0] = byte(to)
}

// Delete removes the i-th smallest element.
func Delete(s []byte, i int) []byte {
	w, size := width(s), Bytes(s)
	copy(s[headSize+i*w:], s[headSize+(i+1)*w:size])
	setLen(s, Len(s)-1)
	return s[:size-w]
}

func setLen(s []byte, n int) { binary.LittleEndian.PutUint32(s[4:], uint32(n)) }
