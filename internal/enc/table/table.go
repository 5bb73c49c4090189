// Package table holds many byte strings outside the Go heap: the fields of a big hash, the members of a big set, and the
// members of a big sorted set with their scores.
//
// A table is named by the Ref of its header, which never moves. Open gives the methods to it; what it returns is a small
// value that is made anew for each command:
//
//	root := table.New(arena, mem.ForSet, table.Members)
//	t := table.Open(arena, root)
//	added := t.Add(part.HashMember(m), m)   // Members
//	added = t.Set(hash, field, value, 0)    // Fields
//	e, added := t.Put(hash, m, score)       // Scores; the score of one that is there stays: e.SetScore
//	e, ok := t.Find(hash, m)                // e.Member() e.Value() e.Score() e.ExpireAt() e.Ref()
//	ok = t.Delete(hash, m)
//	cursor = t.Scan(cursor, count, fn)      // 0 begins and ends the walk
//	t.Each(fn), t.Random(dice), t.Len(), t.Bytes()
//	spent, done := t.Free(budget)           // again and again until it is done
//
// The caller hashes (keyspace.Part.HashMember, which is seeded, so that clients cannot choose strings that collide), and
// must pass the same hash for the same string. An empty table may be kept, but the caller frees one it does not need.
//
//	header ─┬─ segment ──────────── cells of 8 bytes, in the order of their tags ── entry
//	        └─ directory ─ segment  (more entries than one segment takes)
//	                     ─ segment
//
//	header:  | segment or directory 8 | count, purpose, layout 8 | bytes 8 | with expiry 8 | bound 8 | mark 8 |
//	cell:    | 23 bits: tag, the top of the hash | 1: entry begins with 8 fixed bytes | 40: mem.Ref of the entry |
//	entry:   | fixed 0 or 8 | member length 1 or 5 | value length 1 or 5, of Fields only | member | value |
//
// The fixed bytes are the score of Scores and the expiry, in milliseconds, of a field that has one. The last three words of
// the header exist only in a table of Fields. segment.go says how cells lie.
//
// An entry stays where it is while its member is there, except in a table of Fields when its value or expiry changes; so
// another structure may point at it. An insertion or removal moves no more cells than one segment has, 2048 at most,
// however big the table is.
package table

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// Layout is what the entries of a table have.
type Layout uint8

const (
	Members Layout = iota // a member: sets
	Fields                // a field, a value, and an expiry if it has one: hashes
	Scores                // a member and a score: sorted sets
)

// The words of the header.
const (
	headSegment  = iota // segWord, 0 while the table is empty
	headCount           // entries in the low 40 bits, purpose in 8 above, layout in 8 above
	headBytes           // bytes of all blocks; while the table is being freed, the tag up to which it is gone
	headVolatile        // fields with an expiry
	headBound           // no field expires before this time, in milliseconds
	headMark            // a time of the owner's
	headWords

	headWordsShort = headVolatile // of a table that is not of Fields

	countBits    = 40
	purposeShift = countBits
	layoutShift  = countBits + 8
	countMask    = 1<<countBits - 1

	tagBits    = 23
	tagShift   = 64 - tagBits // of a hash and of a cell alike
	tagMask    = 1<<tagBits - 1
	noDeadline = 1<<63 - 1 // bound of a table or segment without an expiry, in milliseconds
)

// Table is a table that was opened. It is valid until the table is freed; the arena's owner guards it.
type Table struct {
	arena   *mem.Arena
	head    []uint64
	root    mem.Ref
	purpose mem.Purpose
	layout  Layout
	// wordsMax is the size above which a segment is split: it bounds the pause of an insertion. Tests make it small.
	wordsMax int
	moved    int // cells moved by growing and shrinking since Open: what tests bound the longest pause by
}

// New makes an empty table, all of whose blocks are for one purpose.
func New(a *mem.Arena, p mem.Purpose, l Layout) mem.Ref {
	root := a.Alloc(p, headerWords(l)*8)
	head := a.Words(root, headerWords(l))
	head[headSegment] = 0
	head[headCount] = uint64(p)<<purposeShift | uint64(l)<<layoutShift
	head[headBytes] = uint64(mem.Usable(headerWords(l) * 8))
	if l == Fields {
		head[headVolatile], head[headBound], head[headMark] = 0, noDeadline, noDeadline
	}
	return root
}

func headerWords(l Layout) int {
	if l == Fields {
		return headWords
	}
	return headWordsShort
}

// Open is the table with the given root.
func Open(a *mem.Arena, root mem.Ref) (t Table) {
	t.Open(a, root)
	return t
}

// Open makes a zero t what the function Open returns. It is too large to be handed about in registers.
func (t *Table) Open(a *mem.Arena, root mem.Ref) {
	t.arena, t.root, t.wordsMax = a, root, wordsMax
	t.head = a.Words(root, headWordsShort)
	t.purpose, t.layout = mem.Purpose(t.head[headCount]>>purposeShift), Layout(t.head[headCount]>>layoutShift)
	if t.layout == Fields {
		t.head = a.Words(root, headWords)
	}
}

// Root is what Open was given.
func (t *Table) Root() mem.Ref { return t.root }

// Len is the number of entries.
func (t *Table) Len() int { return int(t.head[headCount] & countMask) }

// Bytes is the memory that the table takes, headers and entries included.
func (t *Table) Bytes() int64 { return int64(t.head[headBytes]) }

func (t *Table) addCount(n int) { t.head[headCount] += uint64(int64(n)) }

// alloc is a block that counts as the table's.
func (t *Table) alloc(n int) mem.Ref {
	t.head[headBytes] += uint64(mem.Usable(n))
	return t.arena.Alloc(t.purpose, n)
}

// free frees a block of alloc.
func (t *Table) free(ref mem.Ref, n int) {
	t.head[headBytes] -= uint64(mem.Usable(n))
	t.arena.Free(t.purpose, ref, n)
}

// Find is the entry of a member.
func (t *Table) Find(hash uint64, member []byte) (Entry, bool) {
	tag := hash >> tagShift
	w := t.segmentOf(tag)
	if w == 0 {
		return Entry{}, false
	}
	cells := t.arena.TailWords(w.ref())
	for i := w.home(tag); ; i++ {
		cell := cells[i]
		if cellTag(cell) < tag {
			continue
		}
		if cellTag(cell) != tag || cell == emptyCell {
			return Entry{}, false
		}
		if e := t.entry(cell); string(e.Member()) == string(member) {
			return e, true
		}
	}
}

// Value is the value of a field and its expiry in milliseconds, 0 for never, in a table of Fields.
func (t *Table) Value(hash uint64, field []byte) (value []byte, expireAt int64, found bool) {
	e, found := t.Find(hash, field)
	if !found {
		return nil, 0, false
	}
	return e.Value(), e.ExpireAt(), true
}

// At is the entry that Entry.Ref named, in a table of Members or Scores.
func (t *Table) At(ref mem.Ref) Entry {
	return decode(t.arena.Tail(ref), ref, t.layout, t.layout == Scores)
}

// Add adds a member to a table of Members; false when it is there already.
func (t *Table) Add(hash uint64, member []byte) (added bool) {
	at := t.locate(hash>>tagShift, member)
	if at.found {
		return false
	}
	t.insertNew(&at, hash, shape{member: member})
	return true
}

// Put adds a member with a score to a table of Scores. One that is there already is returned with the score it has.
func (t *Table) Put(hash uint64, member []byte, score float64) (e Entry, added bool) {
	at := t.locate(hash>>tagShift, member)
	if at.found {
		return at.entry, false
	}
	ref := t.insertNew(&at, hash, shape{member, nil, scoreBits(score), Scores, true})
	return t.At(ref), true
}

// Set gives a field of a table of Fields a value, and an expiry unless it is 0. added is false when the field was there.
// The value may be part of the entry that it replaces, the field must not.
func (t *Table) Set(hash uint64, field, value []byte, expireAt int64) (added bool) {
	at := t.locate(hash>>tagShift, field)
	s := shape{field, value, uint64(expireAt), Fields, expireAt != 0}
	if !at.found {
		t.insertNew(&at, hash, s)
		t.noteExpiry(&at, expireAt)
		return true
	}
	t.overwrite(&at, s)
	t.noteExpiry(&at, expireAt)
	return false
}

// insertNew puts a new entry where a search for its member has ended.
func (t *Table) insertNew(at *place, hash uint64, s shape) mem.Ref {
	invariant.That(t.layout == s.layout, "table: an entry of another layout than the table's")
	n := s.size()
	ref := t.alloc(n)
	s.write(t.arena.Bytes(ref, n))
	t.insert(at, makeCell(hash>>tagShift, ref, s.hasFixed))
	return ref
}

// overwrite gives the entry at a place another value and expiry.
func (t *Table) overwrite(at *place, s shape) {
	old, n := at.entry, s.size()
	ref := old.ref
	if mem.Fits(old.Size(), n) {
		s.write(old.b)
	} else {
		ref = t.alloc(n)
		s.write(t.arena.Bytes(ref, n))
		t.free(old.ref, old.Size())
	}
	cell := at.seg[at.i]
	fresh := makeCell(cellTag(cell), ref, s.hasFixed)
	at.seg[at.i] = fresh
	t.addVolatile(at.seg, int(fresh>>mem.RefBits&1)-int(cell>>mem.RefBits&1))
}

// Delete removes a member; false when it is not there.
func (t *Table) Delete(hash uint64, member []byte) bool {
	at := t.locate(hash>>tagShift, member)
	if !at.found {
		return false
	}
	t.free(at.entry.ref, at.entry.Size())
	t.remove(&at)
	return true
}

// freeEach is how much of an entry is freed for one unit of Free's budget: the system takes a big block back at some 2 KiB
// in the time that a small one takes.
const freeEach = 1 << 11

// Free frees about budget entries, fewer when they are big, and at last the table itself. Until it is done it has to be
// called again; nothing else may be done with a table that is being freed.
func (t *Table) Free(budget int) (spent int, done bool) {
	next := t.head[headBytes]
	if t.head[headCount]>>freeingShift == 0 {
		t.head[headCount] |= 1 << freeingShift
		next = 0
	}
	for t.head[headSegment] != 0 && next <= tagMask {
		w := t.segmentOf(next)
		seg := t.segment(w)
		for i := cellsAt; i < len(seg)-1; i++ {
			if ahead := i + batchMax; ahead < len(seg)-1 && seg[ahead] != emptyCell {
				t.arena.Prefetch(cellRef(seg[ahead]), 0, false)
			}
			if seg[i] == emptyCell {
				continue
			}
			if spent >= budget {
				t.head[headBytes] = next
				return spent, false
			}
			e := t.entry(seg[i])
			spent += 1 + e.Size()/freeEach
			t.arena.Free(t.purpose, e.ref, e.Size())
			seg[i] = emptyCell
		}
		next = w.end(next)
		t.arena.Free(t.purpose, w.ref(), len(seg)*8)
	}
	if w := segWord(t.head[headSegment]); w.isDirectory() {
		t.arena.Free(t.purpose, w.ref(), 8<<w.depth())
	}
	t.arena.Free(t.purpose, t.root, headerWords(t.layout)*8)
	return spent, true
}

// freeingShift is where headCount says that Free has begun.
const freeingShift = layoutShift + 8
