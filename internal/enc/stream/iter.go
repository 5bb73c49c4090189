package stream

import (
	"github.com/covey-db/covey/internal/enc/listpack"
)

// This file holds the walk over entries, and what is found out by it.

// Iter walks over the entries of a range of IDs, forwards or backwards. It is valid until the stream changes.
//
//	for it := s.Range(from, to); it.Next(); {
//		for range it.Fields {
//			field, value := it.Pair()
//		}
//	}
type Iter struct {
	ID     ID  // of the entry
	Fields int // number of its pairs

	s          Stream
	t          tree
	from, to   ID
	backwards  bool
	tombstones bool // deleted entries are given as well
	at         place
	lp         []byte // the node; nil before the first and behind the last
	first      ID     // master ID
	m          master
	start      int // position of the next entry; going backwards, of the element before it
	name       int // position of the next name; 0: beside the value
	value      int // position of the next value
	flags      int64
	flagsAt    int
}

// Range walks from the first ID that is not less than from to the last that is not greater than to.
func (s Stream) Range(from, to ID) Iter {
	it := Iter{s: s, t: s.nodes(), from: from, to: to}
	if it.at = it.t.floor(from); !it.at.ok() {
		it.at = it.t.first()
	}
	it.open()
	if it.lp != nil && it.first.Less(from) {
		it.approach()
	}
	return it
}

// nearEnd is how many entries of a node are looked at from its end before the walk begins at its start. Who reads what is
// new finds it there.
const nearEnd = 12

// approach skips entries before the range if the range begins near the end of the node.
func (it *Iter) approach() {
	pos := listpack.Last(it.lp)
	for range nearEnd {
		end := pos
		n := number(it.lp, pos)
		if n == 0 {
			return // the end of the master entry
		}
		for ; n > 1; n-- {
			pos = listpack.Prev(it.lp, pos)
		}
		ms := number(it.lp, pos)
		if it.first.plus(ms, number(it.lp, listpack.Next(it.lp, pos))).Less(it.from) {
			it.start = listpack.Skip(it.lp, end, 1)
			return
		}
		pos = listpack.Prev(it.lp, listpack.Prev(it.lp, pos))
	}
}

// RangeBack is Range from the end to the start.
func (s Stream) RangeBack(from, to ID) Iter {
	it := Iter{s: s, t: s.nodes(), from: from, to: to, backwards: true}
	it.at = it.t.floor(to)
	it.open()
	return it
}

// open stands before the first entry of the node at it.at, which may be none.
func (it *Iter) open() {
	if !it.at.ok() {
		it.lp = nil
		return
	}
	id, v := it.t.at(it.at)
	it.first = id
	it.lp = it.s.node(v[0])
	it.m = readMaster(it.lp)
	if it.backwards {
		it.start = listpack.Last(it.lp)
		return
	}
	it.start = it.m.entries(it.lp)
}

// Next goes to the next entry; false when there is none.
func (it *Iter) Next() bool {
	for it.lp != nil {
		if it.backwards && !it.stepBack() || !it.backwards && listpack.IsEnd(it.lp, it.start) {
			it.turn()
			continue
		}
		pos := it.readHead()
		if it.backwards && it.ID.Less(it.from) || !it.backwards && it.to.Less(it.ID) {
			it.lp = nil
			return false
		}
		outside := it.backwards && it.to.Less(it.ID) || !it.backwards && it.ID.Less(it.from)
		if !it.backwards {
			it.start = it.skipValues(pos)
		}
		if !outside && (it.tombstones || it.flags&flagDeleted == 0) {
			return true
		}
	}
	return false
}

// turn goes to the next node.
func (it *Iter) turn() {
	if it.backwards {
		it.at = it.t.prev(it.at)
	} else {
		it.at = it.t.next(it.at)
	}
	it.open()
}

// stepBack moves from the end of an entry to its start, and remembers where the one before it ends.
func (it *Iter) stepBack() bool {
	n := number(it.lp, it.start)
	if n == 0 {
		return false // the end of the master entry
	}
	pos := it.start
	for ; n > 0; n-- {
		pos = listpack.Prev(it.lp, pos)
	}
	it.flagsAt = pos
	it.start = listpack.Prev(it.lp, pos)
	return true
}

// readHead reads an entry up to its first name or value, whose position it returns.
func (it *Iter) readHead() int {
	pos := it.flagsAt
	if !it.backwards {
		pos = it.start
		it.flagsAt = pos
	}
	var ms, seq int64
	it.flags, pos = readNumber(it.lp, pos)
	ms, pos = readNumber(it.lp, pos)
	seq, pos = readNumber(it.lp, pos)
	it.ID = it.first.plus(ms, seq)
	it.Fields, it.name = it.m.fields, it.m.names
	if it.flags&flagSameFields == 0 {
		var fields int64
		fields, pos = readNumber(it.lp, pos)
		it.Fields, it.name = int(fields), 0
	}
	it.value = pos
	return pos
}

// skipValues is the position of the entry after the one whose values begin at pos, or of the end.
func (it *Iter) skipValues(pos int) int {
	n := it.Fields
	if it.name == 0 {
		n *= 2
	}
	return listpack.Skip(it.lp, pos, n+1)
}

// Pair is the next field of the entry and its value; it may be called Fields times.
func (it *Iter) Pair() (field, value listpack.Elem) {
	if it.name != 0 {
		field, it.name = listpack.Read(it.lp, it.name)
	} else {
		field, it.value = listpack.Read(it.lp, it.value)
	}
	value, it.value = listpack.Read(it.lp, it.value)
	return field, value
}

// Has says whether there is an entry with this ID.
func (s Stream) Has(id ID) bool {
	it := s.Range(id, id)
	return it.Next()
}

// Last is the ID of the last entry; false when there is none.
func (s Stream) Last() (ID, bool) {
	it := s.RangeBack(ID{}, MaxID())
	ok := it.Next()
	return it.ID, ok
}

// Edge is the ID of the first entry, or of the first tombstone if that comes earlier; MaxID when there is neither.
func (s Stream) Edge() ID { return s.edge(true) }

func (s Stream) edge(tombstones bool) ID {
	it := s.Range(ID{}, MaxID())
	it.tombstones = tombstones
	if !it.Next() {
		return MaxID()
	}
	return it.ID
}

// updateFirst finds the first entry again after some were removed.
func (s Stream) updateFirst() {
	if s.head[atLength] == 0 {
		s.setID(atFirst, ID{})
		return
	}
	s.setID(atFirst, s.edge(false))
}
