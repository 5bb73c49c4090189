package object

import (
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds the comparison of sets.

// EachSifted calls fn, until it returns false, for the members that all others have; with has false, for those that none of
// the others has. The order is that of Each. fn must not change the part.
func (s *Set) EachSifted(others []Set, has bool, fn func(Member) bool) {
	if s.enc == keyspace.EncHashtable && allTables(others) {
		var b table.Batch
		s.table.EachBatch(&b, func() bool {
			for i := range others {
				if b.Len() > 0 && others[i].enc == keyspace.EncHashtable {
					b.Sift(&others[i].table, has)
				}
			}
			for i := range b.Len() {
				if !fn(Member{Str: b.Member(i)}) {
					return false
				}
			}
			return true
		})
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

// allTables tells whether all sets are hashtables, but for those of no key.
func allTables(sets []Set) bool {
	for i := range sets {
		if sets[i].enc != keyspace.EncHashtable && sets[i].Len() > 0 {
			return false
		}
	}
	return true
}
