package table

import "github.com/covey-db/covey/internal/invariant"

// This file holds how a table grows and shrinks.
//
// A directory of depth d has 2^d words; the top d bits of a tag say which one. A segment of depth s has all entries whose
// tags begin with the same s bits, and stands in 2^(d-s) neighbouring words. A segment that would become larger than
// 2048 words is split by the next bit of the tag; two sisters that have few entries left become one again. So an insertion
// or removal never moves more than a few thousand cells, however many entries the table has. What grows with the table is
// the directory, which is copied when it doubles: a word for some 700 entries.

// place is where a member is, or would be, in a table.
type place struct {
	word  segWord  // of the segment; zero when the table has none
	seg   []uint64 // the segment, and what follows in its chunk
	head  uint64   // its first word
	i     int      // the member's cell, or where it would be inserted
	entry Entry
	found bool
}

// segment is the segment of the given word.
func (t *Table) segment(w segWord) []uint64 {
	seg := t.arena.TailWords(w.ref())
	return seg[:segWords(seg[0])]
}

// directory is the directory of a table that has one.
func (t *Table) directory() []uint64 {
	w := segWord(t.head[headSegment])
	return t.arena.Words(w.ref(), 1<<w.depth())
}

// segmentOf is the word of the segment for a tag, zero when the table has none.
func (t *Table) segmentOf(tag uint64) segWord {
	w := segWord(t.head[headSegment])
	if w.isDirectory() {
		w = segWord(t.arena.TailWords(w.ref())[tag>>(tagBits-w.depth())])
	}
	return w
}

func (t *Table) top() segWord     { return segWord(t.head[headSegment]) }
func (t *Table) setTop(w segWord) { t.head[headSegment] = uint64(w) }

// locate finds the place of a member.
func (t *Table) locate(tag uint64, member []byte) (at place) {
	w := t.segmentOf(tag)
	if w == 0 {
		return at
	}
	at.word = w
	at.seg = t.arena.TailWords(w.ref())
	at.head = at.seg[0] // asked for now, as it lies in another line of the cache than the cell does
	for i := w.home(tag); ; i++ {
		cell := at.seg[i]
		switch {
		case cellTag(cell) < tag:
			continue
		case cellTag(cell) > tag || cell == emptyCell:
			at.i = i
			return at
		}
		if e := t.entry(cell); string(e.Member()) == string(member) {
			at.i, at.entry, at.found = i, e, true
			return at
		}
	}
}

// placeFor is the place for a member that is known not to be there.
func (t *Table) placeFor(tag uint64) (at place) {
	if at.word = t.segmentOf(tag); at.word == 0 {
		return at
	}
	at.seg = t.arena.TailWords(at.word.ref())
	at.head = at.seg[0]
	at.i = at.word.home(tag)
	for cellTag(at.seg[at.i]) < tag {
		at.i++
	}
	return at
}

// insert puts a cell at the place where a search for its member has ended.
func (t *Table) insert(at *place, cell uint64) {
	tag := cellTag(cell)
	for at.word == 0 || headEntries(at.head) >= at.word.limit(headCells(at.head)) || !insertCell(at.seg, at.i, cell) {
		t.grow(tag)
		*at = t.placeFor(tag)
	}
	t.addCount(1)
	if isFixed(cell) {
		t.addVolatile(at.seg, 1)
	}
}

// remove takes the cell at a place away. The entry is the caller's.
func (t *Table) remove(at *place) {
	cell := at.seg[at.i]
	if isFixed(cell) {
		t.addVolatile(at.seg, -1)
	}
	removeCell(at.seg, at.word, at.i)
	t.addCount(-1)
	t.maybeShrink(cellTag(cell))
}

// Reserve makes an empty table ready for so many entries, as far as one segment takes them.
func (t *Table) Reserve(entries int) {
	if t.head[headSegment] == 0 {
		t.setTop(t.newSegment(wordsFor(min(entries, t.wordsMax*3/4)), 0))
	}
}

// Fit gives back what Reserve has made too much of.
func (t *Table) Fit() {
	w := t.top()
	if w == 0 || w.isDirectory() {
		return
	}
	seg := t.segment(w)
	if words := wordsFor(entriesOf(seg)); words < len(seg)*3/4 {
		t.replace(0, w, t.rebuild(words, 0, boundOf(seg), cellsOf(seg), nil))
	}
}

// newSegment is an empty segment.
func (t *Table) newSegment(words, depth int) segWord {
	invariant.That(words-extraWords <= cellsMax, "table: too many members have the same tag")
	ref := t.alloc(words * 8)
	initSegment(t.arena.Words(ref, words))
	return makeSegWord(ref, homesOf(words-extraWords, depth), depth)
}

func (t *Table) freeSegment(w segWord) { t.free(w.ref(), len(t.segment(w))*8) }

// grow makes room for a tag: by a first segment, a larger segment, or a split.
func (t *Table) grow(tag uint64) {
	w := t.segmentOf(tag)
	if w == 0 {
		t.setTop(t.newSegment(wordsMin, 0))
		return
	}
	old := t.segment(w)
	words := nextWords(len(old))
	if words > t.wordsMax && w.depth() < tagBits {
		t.split(tag, w)
		return
	}
	t.replace(tag, w, t.rebuild(words, w.depth(), boundOf(old), cellsOf(old), nil))
}

// rebuild is a new segment of at least so many words with the cells of one or two others. Should the tags be so uneven
// that no size serves, all homes are the first cell: slow to search, but hashes of a good function never come to that.
func (t *Table) rebuild(words, depth int, bound int64, first, second []uint64) segWord {
	if depth < tagBits {
		words = min(words, t.wordsMax)
	}
	for packed := false; ; {
		w := t.newSegment(words, depth)
		seg := t.segment(w)
		if packed {
			w = makeSegWord(w.ref(), 1, depth)
		}
		at, ok := appendCells(seg, w, cellsAt, first)
		if ok {
			_, ok = appendCells(seg, w, at, second)
		}
		if ok {
			setBound(seg, bound)
			t.moved += entriesOf(seg)
			return w
		}
		t.freeSegment(w)
		words = nextWords(words)
		if words > t.wordsMax && depth < tagBits {
			words, packed = t.wordsMax, true
		}
	}
}

// replace puts the segment fresh into the place of old, which has the given tag, and frees old.
func (t *Table) replace(tag uint64, old, fresh segWord) {
	t.freeSegment(old)
	if !t.top().isDirectory() {
		t.setTop(fresh)
		return
	}
	t.point(tag, fresh)
}

// point makes all words of the directory that stand for the segment w, which has the given tag, say so.
func (t *Table) point(tag uint64, w segWord) {
	dir, depth := t.directory(), t.top().depth()
	n := 1 << (depth - w.depth())
	first := int(tag>>(tagBits-depth)) &^ (n - 1)
	for i := first; i < first+n; i++ {
		dir[i] = uint64(w)
	}
}

// split makes two segments of the one with the given tag.
func (t *Table) split(tag uint64, w segWord) {
	depth := w.depth() + 1
	if depth > t.top().depth() || !t.top().isDirectory() {
		t.doubleDirectory(w)
	}
	old := t.segment(w)
	cells := cellsOf(old)
	bit := uint64(1) << (tagBits - depth)
	half, low := 0, 0
	for half < len(cells) && (cells[half] == emptyCell || cellTag(cells[half])&bit == 0) {
		if cells[half] != emptyCell {
			low++
		}
		half++
	}
	left := t.rebuild(wordsFor(low), depth, boundOf(old), cells[:half], nil)
	right := t.rebuild(wordsFor(entriesOf(old)-low), depth, boundOf(old), cells[half:], nil)
	t.freeSegment(w)
	t.point(tag&^bit, left)
	t.point(tag|bit, right)
}

// doubleDirectory gives the directory another bit, or makes one for the only segment w.
func (t *Table) doubleDirectory(w segWord) {
	top := t.top()
	if !top.isDirectory() {
		ref := t.alloc(2 * 8)
		dir := t.arena.Words(ref, 2)
		dir[0], dir[1] = uint64(w), uint64(w)
		t.setTop(makeSegWord(ref, 0, 1) | directoryBit)
		return
	}
	old := t.directory()
	ref := t.alloc(2 * 8 << top.depth())
	dir := t.arena.Words(ref, 2<<top.depth())
	for i, word := range old {
		dir[2*i], dir[2*i+1] = word, word
	}
	t.free(top.ref(), 8<<top.depth())
	t.setTop(makeSegWord(ref, 0, top.depth()+1) | directoryBit)
}

// maybeShrink makes the segment with the given tag smaller, or one with its sister, when it has become thin.
func (t *Table) maybeShrink(tag uint64) {
	if t.Len() == 0 {
		t.freeSegments()
		return
	}
	w := t.segmentOf(tag)
	seg := t.segment(w)
	if t.top().isDirectory() && entriesOf(seg) <= t.wordsMax/mergeShare {
		t.merge(tag)
		return
	}
	if entriesOf(seg)*3 >= cellCount(seg) || len(seg) <= wordsMin {
		return
	}
	if words := wordsFor(entriesOf(seg)); words < len(seg)*3/4 {
		t.replace(tag, w, t.rebuild(words, w.depth(), boundOf(seg), cellsOf(seg), nil))
	}
}

// merge makes one segment of the one with the given tag and its sister, as long as both together have few entries.
func (t *Table) merge(tag uint64) {
	for t.top().isDirectory() {
		w := t.segmentOf(tag)
		depth := w.depth()
		if depth == 0 {
			break
		}
		bit := uint64(1) << (tagBits - depth)
		left, right := t.segmentOf(tag&^bit), t.segmentOf(tag|bit)
		if left.depth() != depth || right.depth() != depth {
			break
		}
		l, r := t.segment(left), t.segment(right)
		both := entriesOf(l) + entriesOf(r)
		if both > t.wordsMax/mergeShare {
			break
		}
		fresh := t.rebuild(wordsFor(both), depth-1, min(boundOf(l), boundOf(r)), cellsOf(l), cellsOf(r))
		t.freeSegment(left)
		t.freeSegment(right)
		t.point(tag, fresh)
	}
	for t.top().isDirectory() && t.Len() < t.wordsMax/16<<t.top().depth() && t.halveDirectory() {
	}
}

// halveDirectory takes a bit from the directory, if no segment needs it.
func (t *Table) halveDirectory() bool {
	dir, top := t.directory(), t.top()
	for i := 0; i < len(dir); i += 2 {
		if dir[i] != dir[i+1] {
			return false
		}
	}
	if top.depth() == 1 {
		t.setTop(segWord(dir[0]))
	} else {
		ref := t.alloc(len(dir) / 2 * 8)
		half := t.arena.Words(ref, len(dir)/2)
		for i := range half {
			half[i] = dir[2*i]
		}
		t.setTop(makeSegWord(ref, 0, top.depth()-1) | directoryBit)
	}
	t.free(top.ref(), 8<<top.depth())
	return true
}

// freeSegments frees all segments and the directory of a table that has no entries any more.
func (t *Table) freeSegments() {
	top := t.top()
	for tag := uint64(0); top != 0 && tag <= tagMask; {
		w := t.segmentOf(tag)
		tag = w.end(tag)
		t.freeSegment(w)
	}
	if top.isDirectory() {
		t.free(top.ref(), 8<<top.depth())
	}
	t.setTop(0)
}
