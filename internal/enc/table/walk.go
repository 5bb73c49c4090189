package table

import "math/bits"

// This file holds walks over the entries of a table, and the choice of entries at random.

// endOfTable is the first tag that no entry has: a walk that reaches it is done.
const endOfTable = 1 << tagBits

// Scan calls fn for entries in the order of their tags from the cursor on, for about count of them: only those with equal
// tags are never separated. It returns the cursor for the next call, which is less than 2^23; 0 when the end is reached,
// as 0 is the beginning. An entry that is there from the first call to the last is met exactly once, whatever happens
// between the calls. fn must not change the table.
func (t *Table) Scan(cursor uint64, count int, fn func(Entry)) (next uint64) {
	last := uint64(emptyCell)
	for tag := cursor; tag < endOfTable; {
		w := t.segmentOf(tag)
		if w == 0 {
			break
		}
		seg := t.segment(w)
		for i := w.home(tag); i < len(seg)-1; i++ {
			cell := seg[i]
			if cell == emptyCell || cellTag(cell) < tag {
				continue
			}
			if count <= 0 && cellTag(cell) != last {
				return cellTag(cell)
			}
			last = cellTag(cell)
			fn(t.entry(cell))
			count--
		}
		tag = w.end(tag)
	}
	return 0
}

// Each calls fn for all entries until it returns false. It must not change the table, but may change scores.
func (t *Table) Each(fn func(Entry) bool) {
	for tag := uint64(0); tag < endOfTable; {
		w := t.segmentOf(tag)
		if w == 0 {
			return
		}
		for _, cell := range cellsOf(t.segment(w)) {
			if cell != emptyCell && !fn(t.entry(cell)) {
				return
			}
		}
		tag = w.end(tag)
	}
}

// Dice makes random numbers of the one that it is (splitmix64).
type Dice uint64

// Next is the next number.
func (d *Dice) Next() uint64 {
	*d += 0x9e3779b97f4a7c15
	x := uint64(*d)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Below is a random number below n.
func (d *Dice) Below(n uint64) uint64 {
	high, _ := bits.Mul64(d.Next(), n)
	return high
}

// throwsMax bounds the throws for a cell that is in use. As a rule every second one hits; only in a table that has lost
// nearly all it had can so many miss.
const throwsMax = 200

// Random is an entry chosen by chance, all with the same chance; of a table that has lost nearly all of what it had, with
// about the same. The table must not be empty.
func (t *Table) Random(d *Dice) Entry {
	top := t.top()
	for range throwsMax {
		if cell := t.throw(top, d); cell != emptyCell {
			return t.entry(cell)
		}
	}
	return t.after(d.Below(endOfTable))
}

// throw is a cell chosen by chance, often an empty one. All cells that are in use are as likely: of the words of a directory
// only the first of a segment counts, and every segment counts as if it had the most cells.
func (t *Table) throw(top segWord, d *Dice) uint64 {
	if !top.isDirectory() {
		cells := cellsOf(t.segment(top))
		return cells[d.Below(uint64(len(cells)))]
	}
	i := d.Below(1 << top.depth())
	w := segWord(t.arena.TailWords(top.ref())[i])
	if i&(1<<(top.depth()-w.depth())-1) != 0 {
		return emptyCell
	}
	seg := t.segment(w)
	if n := int(d.Below(uint64(max(t.wordsMax, len(seg))))); n >= cellsAt && n < len(seg) {
		return seg[n]
	}
	return emptyCell
}

// after is the first entry from a tag on, around the end.
func (t *Table) after(tag uint64) (e Entry) {
	found := false
	take := func(x Entry) {
		if !found {
			e, found = x, true
		}
	}
	if t.Scan(tag, 1, take); !found {
		t.Scan(0, 1, take)
	}
	return e
}
