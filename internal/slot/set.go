// A set of slots is a bitmap of 2048 bytes: slot s is bit s&63 of word s>>6. Seen as bytes, the lowest of each word first,
// that is the form of the cluster bus, where slot s is bit s&7 of byte s/8.

package slot

import (
	"encoding/binary"
	"math/bits"

	"github.com/covey-db/covey/internal/invariant"
)

// BitmapBytes is the size of a set in the form of the cluster bus.
const BitmapBytes = Count / 8

const words = Count / 64

// Set is a set of slots. Its zero value is the empty set; assignment copies it and == compares it.
type Set [words]uint64

// Has tells whether s is in the set.
func (set *Set) Has(s ID) bool { return set[s>>6]>>(s&63)&1 != 0 }

// Add puts s into the set.
func (set *Set) Add(s ID) { set[s>>6] |= 1 << (s & 63) }

// Remove takes s out of the set.
func (set *Set) Remove(s ID) { set[s>>6] &^= 1 << (s & 63) }

// AddRange puts the slots from first to last, both included, into the set; nothing when last is below first.
func (set *Set) AddRange(first, last ID) {
	if last < first {
		return
	}
	low, high := first>>6, last>>6
	fromFirst := ^uint64(0) << (first & 63)
	toLast := ^uint64(0) >> (63 - last&63)
	if low == high {
		set[low] |= fromFirst & toLast
		return
	}
	set[low] |= fromFirst
	for w := low + 1; w < high; w++ {
		set[w] = ^uint64(0)
	}
	set[high] |= toLast
}

// Len is the number of slots in the set.
func (set *Set) Len() int {
	n := 0
	for _, w := range set {
		n += bits.OnesCount64(w)
	}
	return n
}

// IsEmpty tells whether the set holds no slot.
func (set *Set) IsEmpty() bool { return *set == Set{} }

// Equal tells whether both sets hold the same slots.
func (set *Set) Equal(other *Set) bool { return *set == *other }

// Clear takes all slots out of the set.
func (set *Set) Clear() { *set = Set{} }

// Ranges yields the longest runs of slots, ascending: first and last slot of each, both included. The set may change while
// it runs: what lies behind the run that was yielded last counts as it is when it is reached.
func (set *Set) Ranges(yield func(first, last ID) bool) {
	for at := 0; at < Count; {
		first := set.next(at, 0)
		if first == Count {
			return
		}
		at = set.next(first, ^uint64(0))
		if !yield(ID(first), ID(at-1)) {
			return
		}
	}
}

// next is the first slot from at on that the set holds (flip 0) or lacks (flip all ones); Count when there is none.
func (set *Set) next(at int, flip uint64) int {
	w := at >> 6
	rest := (set[w] ^ flip) >> (at & 63) << (at & 63)
	for rest == 0 {
		if w++; w == words {
			return Count
		}
		rest = set[w] ^ flip
	}
	return w<<6 + bits.TrailingZeros64(rest)
}

// AppendBitmap appends the set in the form of the cluster bus, BitmapBytes long.
func (set *Set) AppendBitmap(dst []byte) []byte {
	for _, w := range set {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// FromBitmap reads a set from the form of the cluster bus. The caller has checked that b is BitmapBytes long.
func FromBitmap(b []byte) (set Set) {
	invariant.That(len(b) == BitmapBytes, "slot bitmap of another size")
	for i := range set {
		set[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return set
}
