package spec

import "encoding/binary"

// index finds rows by name in any case. It is an open-addressing hash table with linear probing; a place holds 16 bits of the
// hash and the number of an entry, so that a miss is nearly always seen without looking at a name.
//
//	place: | tag: 16 bits | entry number + 1: 16 bits |   0 = empty
type index struct {
	places  []uint32
	entries []entry
}

// entry is a row under a name in lower case.
type entry struct {
	name string
	ends nameEnds // of name
	row  *Row
}

// nameEnds holds the first and the last eight bytes of a name in lower case. They overlap or are the same if it is short, so up
// to 16 bytes, which nearly all names are, they are all there is.
type nameEnds struct {
	head, tail uint64
	length     int
}

const (
	wordBytes      = 8 // in one end of a name
	placesPerEntry = 4 // keeps the table at most a quarter full: probes stay at one or two
)

func newEntry(name string, row *Row) entry {
	return entry{name, endsOf([]byte(name)), row}
}

func newIndex(entries []entry) index {
	size := placesPerEntry
	for size < placesPerEntry*len(entries) {
		size *= 2
	}
	x := index{places: make([]uint32, size), entries: entries}
	for i, e := range entries {
		hash := e.ends.hash()
		at := hash & uint32(size-1)
		for x.places[at] != 0 {
			at = (at + 1) & uint32(size-1)
		}
		x.places[at] = hash>>16<<16 | uint32(i+1)
	}
	return x
}

func indexByName(rows []*Row) index {
	entries := make([]entry, len(rows))
	for i, row := range rows {
		entries[i] = newEntry(row.Name, row)
	}
	return newIndex(entries)
}

// restricted returns the index of those entries whose rows are still in byID, pointing to the rows found there.
func (x *index) restricted(byID []*Row) index {
	var kept []entry
	for _, e := range x.entries {
		if row := byID[e.row.ID]; row != nil {
			kept = append(kept, newEntry(e.name, row))
		}
	}
	return newIndex(kept)
}

func (x *index) find(name []byte) *Row {
	ends := endsOf(name)
	hash := ends.hash()
	mask := uint32(len(x.places) - 1)
	for at := hash & mask; ; at = (at + 1) & mask {
		place := x.places[at]
		if place == 0 {
			return nil
		}
		if (place^hash)>>16 != 0 {
			continue
		}
		e := &x.entries[place&0xffff-1]
		if e.ends == ends && (len(name) <= 2*wordBytes || equalFold(name, e.name)) {
			return e.row
		}
	}
}

func endsOf(name []byte) nameEnds {
	e := nameEnds{length: len(name)}
	switch n := len(name); {
	case n >= 8:
		e.head = binary.LittleEndian.Uint64(name)
		e.tail = binary.LittleEndian.Uint64(name[n-8:])
	case n >= 4:
		e.head = uint64(binary.LittleEndian.Uint32(name))
		e.tail = uint64(binary.LittleEndian.Uint32(name[n-4:]))
	case n > 0: // first, middle and last byte: all there are
		e.head = uint64(name[0]) | uint64(name[n/2])<<8 | uint64(name[n-1])<<16
	}
	e.head, e.tail = foldWord(e.head), foldWord(e.tail)
	return e
}

func (e nameEnds) hash() uint32 {
	const (
		mixHead = 0x9e3779b97f4a7c15
		mixTail = 0xc2b2ae3d27d4eb4f
	)
	h := e.head*mixHead ^ e.tail*mixTail + uint64(e.length)
	h ^= h >> 32
	return uint32(h * mixTail >> 32)
}

// foldWord turns the upper case letters among eight bytes into lower case. Adding to the low seven bits of a byte carries into
// its top bit where the byte is at least 'A', or above 'Z'; only ASCII bytes count.
func foldWord(w uint64) uint64 {
	const (
		each = 0x0101010101010101
		top  = 0x80 * each
	)
	low := w &^ top
	fromA := low + (0x80-'A')*each
	aboveZ := low + (0x7f-'Z')*each
	upper := (fromA ^ aboveZ) &^ w & top
	return w | upper>>2 // the top bit of a letter becomes its bit 5
}

// equalFold compares a name in any case with one in lower case. Only ASCII letters have cases.
func equalFold(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if c != lower[i] && (c < 'A' || c > 'Z' || c|0x20 != lower[i]) {
			return false
		}
	}
	return true
}
