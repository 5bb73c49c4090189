package table

import (
	"encoding/binary"
	"math"

	"github.com/covey-db/covey/internal/invariant"
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

// DeleteScored removes the members of entries that Entry.Ref named. hash tells the hash of a member. What the processor has
// to wait for is fetched ahead, some entries at a time.
func (t *Table) DeleteScored(refs []mem.Ref, hash func(member []byte) uint64) {
	for len(refs) > 0 {
		some := refs[:min(len(refs), batchMax)]
		refs = refs[len(some):]
		for _, ref := range some {
			t.arena.Prefetch(ref, 0, false)
		}
		var tags [batchMax]uint64
		for i, ref := range some {
			tags[i] = hash(ScoredMember(t.arena, ref)) >> tagShift
			w := t.segmentOf(tags[i])
			t.arena.Prefetch(w.ref(), 0, false)
			t.arena.Prefetch(w.ref(), w.home(tags[i])*8, true)
		}
		for i, ref := range some {
			t.deleteRef(tags[i], ref)
		}
	}
}

// deleteRef removes the entry with a tag and a Ref, which the table has.
func (t *Table) deleteRef(tag uint64, ref mem.Ref) {
	w := t.segmentOf(tag)
	at := place{word: w, seg: t.arena.TailWords(w.ref())}
	for at.i = w.home(tag); cellRef(at.seg[at.i]) != ref; at.i++ {
		invariant.That(cellTag(at.seg[at.i]) <= tag && at.seg[at.i] != emptyCell, "table: an entry is deleted that is not there")
	}
	t.free(ref, t.At(ref).Size())
	t.remove(&at)
}
