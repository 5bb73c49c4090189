package stream

import (
	"math"
	"math/bits"
	"strconv"
)

// ID names an entry: the milliseconds at which it was added, and a number among those of the same millisecond.
type ID struct{ Ms, Seq uint64 }

// MaxID is the greatest ID.
func MaxID() ID { return ID{math.MaxUint64, math.MaxUint64} }

// Less says whether a comes before b.
func (a ID) Less(b ID) bool { return a.Ms < b.Ms || a.Ms == b.Ms && a.Seq < b.Seq }

// IsZero says whether the ID is 0-0, which no entry has.
func (a ID) IsZero() bool { return a.Ms|a.Seq == 0 }

// Next is the ID after a; false when there is none.
func (a ID) Next() (ID, bool) {
	seq, carry := bits.Add64(a.Seq, 1, 0)
	ms, carry := bits.Add64(a.Ms, 0, carry)
	return ID{ms, seq}, carry == 0
}

// Prev is the ID before a; false when there is none.
func (a ID) Prev() (ID, bool) {
	seq, borrow := bits.Sub64(a.Seq, 1, 0)
	ms, borrow := bits.Sub64(a.Ms, 0, borrow)
	return ID{ms, seq}, borrow == 0
}

// plus is an ID as a node holds it, relative to the node's master ID. It wraps as the numbers do.
func (a ID) plus(ms, seq int64) ID { return ID{a.Ms + uint64(ms), a.Seq + uint64(seq)} }

// AppendText appends the ID as clients see it.
func (a ID) AppendText(dst []byte) []byte {
	dst = strconv.AppendUint(dst, a.Ms, 10)
	dst = append(dst, '-')
	return strconv.AppendUint(dst, a.Seq, 10)
}
