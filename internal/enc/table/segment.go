package table

import "github.com/covey-db/covey/internal/mem"

// This file holds the segment: an array of cells in the order of their tags.
//
//	word 0   | 16 bits: entries | 16: entries with an expiry | 16: cells | 16: 0 |
//	word 1   no field of the segment expires before this time, in milliseconds
//	word 2.. the cells
//	the last word is always empty, so that a search ends there at the latest
//
//	cell     | 63..41: tag | 40: begins with 8 fixed bytes | 39..0: mem.Ref of the entry |   empty: all ones
//
// The tag of an entry says where its cell would best be, its home: tag × homes / 2^23, rising with the tag. A cell lies
// at its home or behind it, with no empty cell between, and all cells are in the order of their tags. A search starts at
// the home and ends at the first cell whose tag is larger or that is empty. As the order is by tag, a segment is copied
// into a larger one, or split in two, from left to right and without a look at the entries; and a walk by tags meets every
// entry once, however the segment grows meanwhile.
//
// The cells behind the last home only take what is displaced there. In a segment of a few cells all homes are the first.
// The tables of slots in package keyspace lie in the same way.

const (
	cellsAt      = 2 // word of the first cell
	extraWords   = cellsAt + 1
	emptyCell    = ^uint64(0)
	fixedBit     = 1 << mem.RefBits
	wordsMin     = 6    // a segment of 48 bytes: 3 cells
	wordsMax     = 2048 // above this a segment is split, see Table.wordsMax
	cellsMax     = 1<<16 - 1
	packedMax    = 13 // up to so many cells all homes are the first one: they span two cache lines
	mergeShare   = 4  // two sister segments with less than a part of wordsMax entries become one
	directoryBit = 1 << 57
)

// segWord is the address of a segment or directory, as a header or directory holds it:
//
//	| 63..58: unused | 57: directory | 56..52: depth | 51..40: homes | 39..0: Ref |
type segWord uint64

func makeSegWord(ref mem.Ref, homes, depth int) segWord {
	return segWord(ref) | segWord(homes)<<40 | segWord(depth)<<52
}

func (w segWord) ref() mem.Ref      { return mem.Ref(w & mem.RefMask) }
func (w segWord) homes() uint64     { return uint64(w>>40) & 0xfff }
func (w segWord) depth() int        { return int(w>>52) & 31 }
func (w segWord) isDirectory() bool { return w&directoryBit != 0 }

// home is the word where the search for a tag starts.
func (w segWord) home(tag uint64) int {
	return cellsAt + int((tag<<(w>>52&31)&tagMask)*w.homes()>>tagBits)
}

// end is the first tag that belongs to a later segment than the given one does, which is of this segment.
func (w segWord) end(tag uint64) uint64 {
	width := uint64(1) << (tagBits - w.depth())
	return tag&^(width-1) + width
}

// homesOf is the number of homes of a segment with so many cells.
func homesOf(cells, depth int) int {
	if cells <= packedMax || depth == tagBits {
		return 1
	}
	return cells - cells>>6 - 6
}

// limit is how many entries the segment takes before it grows, if it has so many cells.
func (w segWord) limit(cells int) int {
	if w.homes() == 1 {
		return cells
	}
	return cells - cells>>3 - 1
}

// wordsFor is the size of a segment that takes so many entries and has some room.
func wordsFor(entries int) int {
	cells := entries + 1
	if cells > packedMax {
		cells = entries + entries/4 + 2
	}
	return mem.Usable(max(cells+extraWords, wordsMin)*8) / 8
}

// nextWords is the size a segment grows to: by an eighth, which is the next class of the arena.
func nextWords(words int) int { return mem.Usable((words+max(words/8, 2))*8) / 8 }

func headEntries(head uint64) int     { return int(head & 0xffff) }
func headCells(head uint64) int       { return int(head >> 32 & 0xffff) }
func entriesOf(seg []uint64) int      { return headEntries(seg[0]) }
func volatileOf(seg []uint64) int     { return int(seg[0] >> 16 & 0xffff) }
func cellCount(seg []uint64) int      { return headCells(seg[0]) }
func segWords(head uint64) int        { return headCells(head) + extraWords }
func boundOf(seg []uint64) int64      { return int64(seg[1]) }
func setBound(seg []uint64, at int64) { seg[1] = uint64(at) }
func addEntries(seg []uint64, n int)  { seg[0] += uint64(int64(n)) }
func cellTag(cell uint64) uint64      { return cell >> tagShift }
func cellRef(cell uint64) mem.Ref     { return mem.Ref(cell & mem.RefMask) }
func isFixed(cell uint64) bool        { return cell&fixedBit != 0 }

// cellsOf is the cells of a segment without the last, empty one.
func cellsOf(seg []uint64) []uint64 { return seg[cellsAt : len(seg)-1] }

func makeCell(tag uint64, ref mem.Ref, fixed bool) uint64 {
	cell := tag<<tagShift | uint64(ref)
	if fixed {
		cell |= fixedBit
	}
	return cell
}

// initSegment makes seg an empty segment.
func initSegment(seg []uint64) {
	seg[0] = uint64(len(seg)-extraWords) << 32
	setBound(seg, noDeadline)
	for i := cellsAt; i < len(seg); i++ {
		seg[i] = emptyCell
	}
}

// insertCell puts a cell at i, where a search for its tag has ended; false when there is no room behind it. More may
// follow seg.
func insertCell(seg []uint64, i int, cell uint64) bool {
	end := i
	for seg[end] != emptyCell {
		end++
	}
	if end == segWords(seg[0])-1 {
		return false
	}
	copy(seg[i+1:end+1], seg[i:end])
	seg[i] = cell
	addEntries(seg, 1)
	return true
}

// removeCell takes the cell at i away and moves back those behind it that are not at home. More may follow seg.
func removeCell(seg []uint64, w segWord, i int) {
	addEntries(seg, -1)
	end := i + 1
	for seg[end] != emptyCell && w.home(cellTag(seg[end])) < end {
		end++
	}
	copy(seg[i:end-1], seg[i+1:end])
	seg[end-1] = emptyCell
}

// appendCells copies cells, which are in order and may have gaps, behind what the fresh segment seg has, whose next free
// word is at. It returns the new one; false when the segment has too little room at its end.
func appendCells(seg []uint64, w segWord, at int, cells []uint64) (next int, ok bool) {
	entries, fixed := 0, 0
	last := len(seg) - 1
	for _, cell := range cells {
		if cell == emptyCell {
			continue
		}
		at = max(at, w.home(cellTag(cell)))
		if at >= last {
			return at, false
		}
		seg[at] = cell
		at++
		entries++
		fixed += int(cell >> mem.RefBits & 1)
	}
	addEntries(seg, entries)
	seg[0] += uint64(fixed) << 16
	return at, true
}
