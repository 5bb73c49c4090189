package keyspace

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the table of one slot: a segment, or a directory of segments.
//
// A directory of depth d has 2^d words; the top d bits of a tag say which one. A segment of depth s has all keys whose
// tags begin with the same s bits, and stands in 2^(d-s) neighbouring words. A segment that would become larger than
// 2048 words is split by the next bit of the tag; two sisters that have few keys left become one again. So an insertion
// or removal never moves more than a few thousand cells, however many keys the slot has. What grows with the slot is
// the directory, which is copied when it doubles: a word for some 700 keys.

// slotTable is the table of one slot. The zero value, but for bound, is empty.
type slotTable struct {
	root     segWord // of the segment or directory, and the slot's snapshot lanes
	count    uint32  // keys
	volatile uint32  // keys with an expiry
	bound    int64   // no key expires before this time, in milliseconds
}

// place is where a key is, or would be, in a table.
type place struct {
	word  segWord  // of the segment; zero when the table has none
	seg   []uint64 // the segment, and what follows in its chunk
	head  uint64   // its first word
	i     int      // the key's cell, or where it would be inserted
	rec   Rec
	found bool
}

// segment is the segment of the given word.
func (p *Part) segment(w segWord) []uint64 {
	seg := p.arena.TailWords(w.ref())
	return seg[:segWords(seg[0])]
}

// directory is the directory of a table that has one.
func (p *Part) directory(t *slotTable) []uint64 {
	return p.arena.Words(t.root.ref(), 1<<t.root.depth())
}

// segmentOf is the word of the segment for a tag, zero when the table has none.
func (p *Part) segmentOf(t *slotTable, tag uint64) segWord {
	w := t.root
	if w.isDirectory() {
		w = segWord(p.arena.TailWords(w.ref())[tag>>(tagBits-w.depth())])
	}
	return w &^ laneMask
}

// setRoot changes what the table's word points to. The snapshot lanes stay.
func (t *slotTable) setRoot(w segWord) { t.root = t.root&laneMask | w }

// locate finds the place of a key.
func (p *Part) locate(t *slotTable, k *Key) (at place) {
	tag := k.tag()
	w := p.segmentOf(t, tag)
	if w == 0 {
		return at
	}
	at.word = w
	at.seg = p.arena.TailWords(w.ref())
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
		rec := p.record(cell)
		if string(rec.Key()) == string(k.Bytes) {
			at.i, at.rec, at.found = i, rec, true
			return at
		}
	}
}

// insert puts a cell at the place where a search for its key has ended.
func (p *Part) insert(t *slotTable, at *place, cell uint64, expireAt int64) {
	tag := cellTag(cell)
	for at.word == 0 || headKeys(at.head) >= at.word.limit(headCells(at.head)) || !insertCell(at.seg, at.i, cell) {
		p.grow(t, tag)
		at.word = p.segmentOf(t, tag)
		at.seg = p.arena.TailWords(at.word.ref())
		at.head = at.seg[0]
		at.i = at.word.home(tag)
		for cellTag(at.seg[at.i]) < tag {
			at.i++
		}
	}
	t.count++
	if expireAt != 0 {
		t.volatile++
		lowerBound(t, at.seg, expireAt)
	}
}

// lowerBound notes that a key of the segment expires at the given time.
func lowerBound(t *slotTable, seg []uint64, at int64) {
	setBound(seg, min(boundOf(seg), at))
	t.bound = min(t.bound, at)
}

// remove takes the cell at a place away. The record is the caller's.
func (p *Part) remove(t *slotTable, at *place) {
	if isVolatile(at.seg[at.i]) {
		t.volatile--
	}
	t.count--
	tag := cellTag(at.seg[at.i])
	removeCell(at.seg, at.word, at.i)
	p.maybeShrink(t, tag)
}

// newSegment is an empty segment.
func (p *Part) newSegment(words, depth int) (segWord, []uint64) {
	invariant.That(words-extraWords <= cellsMax, "keyspace: too many keys of one slot have the same tag")
	ref := p.arena.Alloc(mem.ForTable, words*8)
	seg := p.arena.Words(ref, words)
	initSegment(seg, depth)
	return makeSegWord(ref, homesOf(words-extraWords, depth), depth), seg
}

func (p *Part) freeSegment(w segWord) {
	p.arena.Free(mem.ForTable, w.ref(), len(p.segment(w))*8)
}

// grow makes room for a tag: by a first segment, a larger segment, or a split.
func (p *Part) grow(t *slotTable, tag uint64) {
	w := p.segmentOf(t, tag)
	if w == 0 {
		w, _ = p.newSegment(wordsMin, 0)
		t.setRoot(w)
		return
	}
	old := p.segment(w)
	words := nextWords(len(old))
	if words > p.wordsMax && w.depth() < tagBits {
		p.split(t, tag, w)
		return
	}
	fresh := p.rebuild(words, w.depth(), boundOf(old), cellsOf(old), nil)
	p.replace(t, tag, w, fresh)
}

// rebuild is a new segment of at least so many words with the cells of one or two others. Should the tags be so uneven
// that no size serves, all homes are the first cell: slow to search, but hashes of a good function never come to that.
func (p *Part) rebuild(words, depth int, bound int64, first, second []uint64) segWord {
	if depth < tagBits {
		words = min(words, p.wordsMax)
	}
	for packed := false; ; {
		w, seg := p.newSegment(words, depth)
		if packed {
			w = makeSegWord(w.ref(), 1, depth)
		}
		at, ok := appendCells(seg, w, cellsAt, first)
		if ok {
			_, ok = appendCells(seg, w, at, second)
		}
		if ok {
			setBound(seg, bound)
			p.moved += keysOf(seg)
			return w
		}
		p.freeSegment(w)
		words = nextWords(words)
		if words > p.wordsMax && depth < tagBits {
			words, packed = p.wordsMax, true
		}
	}
}

// replace puts the segment fresh into the place of old, which has the given tag, and frees old.
func (p *Part) replace(t *slotTable, tag uint64, old, fresh segWord) {
	p.freeSegment(old)
	if !t.root.isDirectory() {
		t.setRoot(fresh)
		return
	}
	p.point(t, tag, fresh)
}

// point makes all words of the directory that stand for the segment w, which has the given tag, say so.
func (p *Part) point(t *slotTable, tag uint64, w segWord) {
	dir := p.directory(t)
	n := 1 << (t.root.depth() - w.depth())
	first := int(tag>>(tagBits-t.root.depth())) &^ (n - 1)
	for i := first; i < first+n; i++ {
		dir[i] = uint64(w)
	}
}

// split makes two segments of the one with the given tag.
func (p *Part) split(t *slotTable, tag uint64, w segWord) {
	depth := w.depth() + 1
	if depth > t.root.depth() || !t.root.isDirectory() {
		p.doubleDirectory(t, w)
	}
	old := p.segment(w)
	cells := cellsOf(old)
	bit := uint64(1) << (tagBits - depth)
	half, low := 0, 0
	for half < len(cells) && (cells[half] == emptyCell || cellTag(cells[half])&bit == 0) {
		if cells[half] != emptyCell {
			low++
		}
		half++
	}
	left := p.rebuild(wordsFor(low), depth, boundOf(old), cells[:half], nil)
	right := p.rebuild(wordsFor(keysOf(old)-low), depth, boundOf(old), cells[half:], nil)
	p.freeSegment(w)
	p.point(t, tag&^bit, left)
	p.point(t, tag|bit, right)
}

// doubleDirectory gives the directory another bit, or makes one for the only segment w.
func (p *Part) doubleDirectory(t *slotTable, w segWord) {
	if !t.root.isDirectory() {
		ref := p.arena.Alloc(mem.ForTable, 2*8)
		dir := p.arena.Words(ref, 2)
		dir[0], dir[1] = uint64(w), uint64(w)
		t.setRoot(makeSegWord(ref, 0, 1) | directoryBit)
		return
	}
	depth := t.root.depth()
	old := p.directory(t)
	ref := p.arena.Alloc(mem.ForTable, 2*8<<depth)
	dir := p.arena.Words(ref, 2<<depth)
	for i, word := range old {
		dir[2*i], dir[2*i+1] = word, word
	}
	p.arena.Free(mem.ForTable, t.root.ref(), 8<<depth)
	t.setRoot(makeSegWord(ref, 0, depth+1) | directoryBit)
}

// maybeShrink makes the segment with the given tag smaller, or one with its sister, when it has become thin.
func (p *Part) maybeShrink(t *slotTable, tag uint64) {
	if t.count == 0 {
		p.freeSegments(t)
		return
	}
	w := p.segmentOf(t, tag)
	seg := p.segment(w)
	if t.root.isDirectory() && keysOf(seg) <= p.wordsMax/mergeShare {
		p.merge(t, tag)
		return
	}
	if keysOf(seg)*3 >= cellCount(seg) || len(seg) <= wordsMin {
		return
	}
	words := wordsFor(keysOf(seg))
	if words < len(seg)*3/4 {
		p.replace(t, tag, w, p.rebuild(words, w.depth(), boundOf(seg), cellsOf(seg), nil))
	}
}

// merge makes one segment of the one with the given tag and its sister, as long as both together have few keys.
func (p *Part) merge(t *slotTable, tag uint64) {
	for t.root.isDirectory() {
		w := p.segmentOf(t, tag)
		depth := w.depth()
		if depth == 0 {
			break
		}
		bit := uint64(1) << (tagBits - depth)
		left, right := p.segmentOf(t, tag&^bit), p.segmentOf(t, tag|bit)
		if left.depth() != depth || right.depth() != depth {
			break
		}
		l, r := p.segment(left), p.segment(right)
		if keysOf(l)+keysOf(r) > p.wordsMax/mergeShare {
			break
		}
		fresh := p.rebuild(wordsFor(keysOf(l)+keysOf(r)), depth-1, min(boundOf(l), boundOf(r)), cellsOf(l), cellsOf(r))
		p.freeSegment(left)
		p.freeSegment(right)
		p.point(t, tag, fresh)
	}
	for t.root.isDirectory() && int(t.count) < p.wordsMax/16<<t.root.depth() && p.halveDirectory(t) {
	}
}

// halveDirectory takes a bit from the directory, if no segment needs it.
func (p *Part) halveDirectory(t *slotTable) bool {
	dir := p.directory(t)
	for i := 0; i < len(dir); i += 2 {
		if dir[i] != dir[i+1] {
			return false
		}
	}
	old, depth := t.root.ref(), t.root.depth()
	if depth == 1 {
		t.setRoot(segWord(dir[0]))
	} else {
		ref := p.arena.Alloc(mem.ForTable, len(dir)/2*8)
		half := p.arena.Words(ref, len(dir)/2)
		for i := range half {
			half[i] = dir[2*i]
		}
		t.setRoot(makeSegWord(ref, 0, depth-1) | directoryBit)
	}
	p.arena.Free(mem.ForTable, old, 8<<depth)
	return true
}

// freeSegments frees all segments and the directory of a table whose cells nobody needs any more.
func (p *Part) freeSegments(t *slotTable) {
	if t.root&^laneMask != 0 {
		for tag := uint64(0); tag <= tagMask; {
			w := p.segmentOf(t, tag)
			tag = w.end(tag)
			p.freeSegment(w)
		}
		if t.root.isDirectory() {
			p.arena.Free(mem.ForTable, t.root.ref(), 8<<t.root.depth())
		}
	}
	*t = slotTable{root: t.root & laneMask, bound: noDeadline}
}
