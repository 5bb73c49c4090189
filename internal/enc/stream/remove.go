package stream

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the removal of entries. One entry is marked as deleted in its node; a node without live entries goes.

// Delete removes the entries with the given IDs and returns how many there were.
func (s Stream) Delete(ids []ID) (deleted int) {
	first := false
	for _, id := range ids {
		if !s.deleteOne(id) {
			continue
		}
		deleted++
		first = first || id == s.FirstID()
		if s.MaxDeletedID().Less(id) {
			s.SetMaxDeletedID(id)
		}
	}
	if deleted > 0 && (first || s.head[atLength] == 0) {
		s.updateFirst()
	}
	return deleted
}

func (s Stream) deleteOne(id ID) bool {
	it := s.Range(id, id)
	if !it.Next() {
		return false
	}
	_, v := it.t.at(it.at)
	s.head[atLength]--
	if it.m.live <= 1 {
		s.dropNode(v[0])
		it.t.remove(it.first)
		return true
	}
	lp := s.setNumber(&v[0], it.lp, it.flagsAt, it.flags|flagDeleted)
	s.setCounts(&v[0], lp, it.m.live-1, it.m.deleted+1)
	return true
}

// setCounts sets the counts of a node.
func (s Stream) setCounts(word *uint64, lp []byte, live, deleted int64) {
	pos := listpack.First(lp)
	lp = s.setNumber(word, lp, pos, live)
	s.setNumber(word, lp, listpack.Next(lp, pos), deleted)
}

// Trim says what is cut off at the start of a stream.
type Trim struct {
	ByID    bool
	MinID   ID    // entries before it go
	MaxLen  int64 // so many entries stay
	Approx  bool  // only whole nodes go
	AtMost  int64 // no more entries go than that; 0 is no bound
	entries int64 // of the node that is looked at
}

// Trim cuts entries off at the start, and returns how many. When that is very many, their nodes hang on a husk.
func (s Stream) Trim(o Trim) (deleted int64, husk mem.Ref) {
	t := s.nodes()
	p, nodes, partly := t.first(), 0, false
	for ; p.ok(); p = t.next(p) {
		if !o.ByID && s.Len()-deleted <= o.MaxLen {
			break
		}
		first, v := t.at(p)
		lp := s.node(v[0])
		o.entries = number(lp, listpack.First(lp))
		if o.AtMost != 0 && deleted+o.entries > o.AtMost {
			break
		}
		if !o.goesWhole(s.Len()-deleted, first, lp) {
			partly = !o.Approx
			break
		}
		deleted += o.entries
		nodes++
	}
	s.head[atLength] -= uint64(deleted)
	if nodes > 0 {
		husk = s.dropFront(nodes)
	}
	if partly {
		first, v := t.at(t.first())
		deleted += s.trimNode(&o, first, &v[0], s.node(v[0]))
	}
	if deleted > 0 || s.head[atLength] == 0 {
		s.updateFirst()
	}
	return deleted, husk
}

// goesWhole says whether no entry of the first node stays, of a stream that has so many entries.
func (o *Trim) goesWhole(length int64, first ID, lp []byte) bool {
	if !o.ByID {
		return length-o.entries >= o.MaxLen
	}
	return lastOf(first, lp).Less(o.MinID)
}

// lastOf is the last ID of a node, deleted ones included.
func lastOf(first ID, lp []byte) ID {
	pos := listpack.Last(lp)
	n := number(lp, pos)
	if n == 0 {
		return ID{}
	}
	for ; n > 1; n-- {
		pos = listpack.Prev(lp, pos)
	}
	ms := number(lp, pos)
	return first.plus(ms, number(lp, listpack.Next(lp, pos)))
}

// trimNode marks entries at the start of the first node as deleted.
func (s Stream) trimNode(o *Trim, first ID, word *uint64, lp []byte) (deleted int64) {
	it := Iter{lp: lp, first: first, m: readMaster(lp)}
	for it.start = it.m.entries(lp); !listpack.IsEnd(it.lp, it.start); {
		next := it.skipValues(it.readHead())
		if o.ByID && !it.ID.Less(o.MinID) || !o.ByID && s.Len() <= o.MaxLen {
			break
		}
		if it.flags&flagDeleted == 0 {
			size := len(it.lp)
			it.lp = s.setNumber(word, it.lp, it.flagsAt, it.flags|flagDeleted)
			next += len(it.lp) - size
			s.head[atLength]--
			deleted++
		}
		it.start = next
	}
	s.setCounts(word, it.lp, it.m.live-deleted, it.m.deleted+deleted)
	return deleted
}

// FreeSome frees a stream, or goes on with it, until about budget blocks are gone. After done nothing of it is left.
func FreeSome(a *mem.Arena, root mem.Ref, budget int) (spent int, done bool) {
	s := Open(a, root)
	t := s.nodes()
	t.freeInner()
	spent, done = t.freeLeaves(budget, func(v []uint64) { s.dropNode(v[0]) })
	for done && s.Groups() > 0 {
		if spent >= budget {
			return spent, false
		}
		var n int
		n, done = s.GroupAt(s.Groups() - 1).freeSome(budget - spent)
		spent += n
		if done {
			s.dropLastGroup()
		}
	}
	if !done {
		return spent, false
	}
	s.groups().free()
	a.Free(mem.ForStream, root, headWords*wordBytes)
	return spent + 1, true
}
