package table

// This file fetches what finding a member reads into the caches, in two steps of which the second needs what the first has
// fetched. Nothing is changed and nothing found. It pays in a table that the caches do not hold.

// WarmCell is the first step: the cells, and the head of the segment, which an insertion looks at.
func (t *Table) WarmCell(hash uint64) {
	tag := hash >> tagShift
	if w := t.segmentOf(tag); w != 0 {
		t.arena.Prefetch(w.ref(), w.home(tag)*8, true)
		t.arena.Prefetch(w.ref(), 0, false)
	}
}

// WarmEntry is the second step.
func (t *Table) WarmEntry(hash uint64) {
	tag := hash >> tagShift
	w := t.segmentOf(tag)
	if w == 0 {
		return
	}
	cells := t.arena.TailWords(w.ref())
	i := w.home(tag)
	for cellTag(cells[i]) < tag {
		i++
	}
	if cell := cells[i]; cellTag(cell) == tag && cell != emptyCell {
		t.arena.Prefetch(cellRef(cell), 0, true)
	}
}
