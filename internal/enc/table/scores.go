package table

import (
	"encoding/binary"
	"math"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds quick ways to the entries of a table of Scores for who knows its arena only: the tree of a sorted set.

// ScoredMember is the member of the entry that Entry.Ref named.
func ScoredMember(a *mem.Arena, ref mem.Ref) []byte {
	b := a.Tail(ref)
	if n := int(b[8]); n != wideLength {
		return b[9 : 9+n : 9+n]
	}
	end := 13 + int(binary.LittleEndian.Uint32(b[9:]))
	return b[13:end:end]
}

// ScoreAt is the score of the entry that Entry.Ref named.
func ScoreAt(a *mem.Arena, ref mem.Ref) float64 {
	return math.Float64frombits(binary.LittleEndian.Uint64(a.Tail(ref)))
}
