package table

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the comparison of tables of Members whose members are hashed alike. As a cell has the part of the hash that
// says where it lies, a member of one table is looked up in another, or put into it, without hashing it again; and as both are
// in the order of their tags, the cells that are asked for come one after the other.

// batchMax is how many entries are compared at a time: what the processor can wait for at once.
const batchMax = 16

// Batch is some members of a table. It lives until the table is changed.
type Batch struct {
	arena *mem.Arena
	cells [batchMax]uint64
	n     int
}

// EachBatch calls fn for all members, which b has then, some at a time and in the order of Each, until it returns false. fn may
// take members out of the batch and must not change the table.
func (t *Table) EachBatch(b *Batch, fn func() bool) {
	invariant.That(t.layout == Members, "table: members are compared of a table that has more")
	b.arena, b.n = t.arena, 0
	for tag := uint64(0); tag < endOfTable; {
		w := t.segmentOf(tag)
		if w == 0 {
			break
		}
		for _, cell := range cellsOf(t.segment(w)) {
			if cell == emptyCell {
				continue
			}
			b.cells[b.n] = cell
			if b.n++; b.n == batchMax {
				if !fn() {
					return
				}
				b.n = 0
			}
		}
		tag = w.end(tag)
	}
	if b.n > 0 {
		fn()
	}
}

// Len is the number of members.
func (b *Batch) Len() int { return b.n }

// Member is the i-th of the members.
func (b *Batch) Member(i int) []byte { return plainMember(b.arena, cellRef(b.cells[i])) }

// AddBatch adds the members of a batch of a table that hashes alike; none of them is there.
func (t *Table) AddBatch(b *Batch) {
	invariant.That(t.layout == Members, "table: members are added to a table that has more")
	for _, cell := range b.cells[:b.n] {
		from := decode(b.arena.Tail(cellRef(cell)), cellRef(cell), Members, false)
		n := from.Size()
		ref := t.alloc(n)
		copy(t.arena.Bytes(ref, n), from.b)
		at := t.placeFor(cellTag(cell))
		t.insert(&at, makeCell(cellTag(cell), ref, false))
	}
}

// Sift leaves those members in the batch that the table o has; with has false, those that it has not. Both tables
// must hash alike.
func (b *Batch) Sift(o *Table, has bool) {
	var found [batchMax][]uint64 // the cells of o with the tag, and those behind them
	o.seek(b.cells[:b.n], &found)
	for i, cells := range found[:b.n] {
		if cells != nil {
			o.arena.Prefetch(cellRef(cells[0]), 0, false)
			b.arena.Prefetch(cellRef(b.cells[i]), 0, false)
		}
	}
	kept := 0
	for i, cell := range b.cells[:b.n] {
		if (found[i] != nil && o.hasAmong(found[i], b.Member(i))) == has {
			b.cells[kept] = cell
			kept++
		}
	}
	b.n = kept
}

// seek looks up the tags of cells, which ascend. Only where there are cells with the same tag it tells them.
func (t *Table) seek(cells []uint64, found *[batchMax][]uint64) {
	var w segWord
	var seg []uint64
	at, end := 0, uint64(0) // the cells before at have lower tags; the tags of the segment end before end
	for i, cell := range cells {
		tag := cellTag(cell)
		if tag >= end {
			if w = t.segmentOf(tag); w == 0 {
				return
			}
			seg, at, end = t.arena.TailWords(w.ref()), 0, w.end(tag)
		}
		at = max(at, w.home(tag))
		for cellTag(seg[at]) < tag {
			at++
		}
		if cellTag(seg[at]) == tag && seg[at] != emptyCell {
			found[i] = seg[at:]
		}
	}
}

// hasAmong tells whether the first of some cells, those with the same tag, have the entry of a member.
func (t *Table) hasAmong(cells []uint64, member []byte) bool {
	tag := cellTag(cells[0])
	for _, cell := range cells {
		if cellTag(cell) != tag || cell == emptyCell {
			break
		}
		if string(plainMember(t.arena, cellRef(cell))) == string(member) {
			return true
		}
	}
	return false
}

// plainMember is the member of an entry of a table of Members.
func plainMember(a *mem.Arena, ref mem.Ref) []byte {
	b := a.Tail(ref)
	if n := int(b[0]); n != wideLength {
		return b[1 : 1+n : 1+n]
	}
	end := 5 + int(binary.LittleEndian.Uint32(b[1:]))
	return b[5:end:end]
}
