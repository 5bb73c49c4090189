package object

import (
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds the comparison of sets, and sets made by it.

// EachSifted calls fn, until it returns false, for the members that all others have; with has false, for those that none of
// the others has. The order is that of Each. fn must not change the part.
func (s *Set) EachSifted(others []Set, has bool, fn func(Member) bool) {
	if s.isTableAmong(others) {
		var b table.Batch
		s.eachBatch(&b, others, has, func() bool {
			for i := range b.Len() {
				if !fn(Member{Str: b.Member(i)}) {
					return false
				}
			}
			return true
		})
		return
	}
	if s.enc == keyspace.EncIntset && len(others) == 1 {
		at := 0
		s.Each(func(m Member) bool { return others[0].hasNext(m, &at) != has || fn(m) })
		return
	}
	s.Each(func(m Member) bool {
		for i := range others {
			if others[i].Has(m) != has {
				return true
			}
		}
		return fn(m)
	})
}

// eachBatch is EachSifted with some members at a time, which b has then, where all sets are hashtables.
func (s *Set) eachBatch(b *table.Batch, others []Set, has bool, fn func() bool) {
	s.table.EachBatch(b, func() bool {
		for i := range others {
			if b.Len() > 0 && others[i].enc == keyspace.EncHashtable {
				b.Sift(&others[i].table, has)
			}
		}
		return fn()
	})
}

// AddSifted adds the members of s that all others have; with has false, those that none of the others has. The set that is
// made has none of them yet, and is no key's.
func (e *SetEdit) AddSifted(s *Set, others []Set, has bool) {
	if !s.isTableAmong(others) {
		s.EachSifted(others, has, func(m Member) bool {
			e.AddNew(m)
			return true
		})
		return
	}
	e.expected = s.Len()
	var b table.Batch
	s.eachBatch(&b, others, has, func() bool {
		e.addBatch(&b)
		return true
	})
	if e.enc == keyspace.EncHashtable {
		e.table.Fit()
	}
}

func (e *SetEdit) addBatch(b *table.Batch) {
	if e.enc == keyspace.EncHashtable {
		e.table.AddBatch(b)
		return
	}
	for i := range b.Len() {
		e.AddNew(Member{Str: b.Member(i)})
	}
}

// isTableAmong tells whether this set and all others are hashtables, but for those of no key.
func (s *Set) isTableAmong(others []Set) bool {
	if s.enc != keyspace.EncHashtable {
		return false
	}
	for i := range others {
		if others[i].enc != keyspace.EncHashtable && others[i].Len() > 0 {
			return false
		}
	}
	return true
}
