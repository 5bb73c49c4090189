package object

import (
	"github.com/covey-db/covey/internal/enc/intset"
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/num"
)

// This file holds what can be read of a set, whatever its encoding.

// intTextMax is the length of the longest text of a number.
const intTextMax = 20

// Member is a member of a set: a number, or bytes. What it points to lives until the part is changed. A member that is the
// text of a number may be either.
type Member = listpack.Elem

// Set is a set as it is read. The zero value is an empty one. It lives until the part is changed.
type Set struct {
	part  *keyspace.Part
	small []byte // listpack or intset
	table table.Table
	enc   keyspace.Encoding
}

// OpenSet is the set of a record of the given part.
func OpenSet(p *keyspace.Part, r keyspace.Rec) Set {
	if r.Encoding() == keyspace.EncHashtable {
		root, _ := r.Root()
		return Set{part: p, table: table.Open(r.Arena(), root), enc: keyspace.EncHashtable}
	}
	return Set{part: p, small: r.Value(), enc: r.Encoding()}
}

// Encoding is how the set is held.
func (s *Set) Encoding() keyspace.Encoding { return s.enc }

// Len is the number of members.
func (s *Set) Len() int {
	switch s.enc {
	case keyspace.EncIntset:
		return intset.Len(s.small)
	case keyspace.EncListpack:
		return listpack.Len(s.small)
	case keyspace.EncHashtable:
		return s.table.Len()
	}
	return 0
}

// Contains tells whether a text is a member.
func (s *Set) Contains(text []byte) bool {
	switch s.enc {
	case keyspace.EncIntset:
		v, ok := num.ParseInt(text)
		return ok && intset.Contains(s.small, v)
	case keyspace.EncListpack:
		return listpack.Find(s.small, listpack.First(s.small), 0, text) != 0
	case keyspace.EncHashtable:
		_, found := s.table.Find(s.part.HashMember(text), text)
		return found
	}
	return false
}

// Has tells whether m, which may come from another set, is a member.
func (s *Set) Has(m Member) bool {
	if !m.IsInt() {
		return s.Contains(m.Str)
	}
	switch s.enc {
	case keyspace.EncIntset:
		return intset.Contains(s.small, m.Int)
	case keyspace.EncListpack:
		return listpack.FindInt(s.small, listpack.First(s.small), 0, m.Int) != 0
	}
	var text [intTextMax]byte
	return s.Contains(num.AppendInt(text[:0], m.Int))
}

// hasNext is Has for members that are asked for in ascending order. at is 0 before the first.
func (s *Set) hasNext(m Member, at *int) (found bool) {
	if s.enc != keyspace.EncIntset {
		return s.Has(m)
	}
	*at, found = intset.FindFrom(s.small, *at, m.Int)
	return found
}

// Each calls fn for all members until it returns false: numbers in ascending order in an intset, in the order in which they
// came in a listpack, in no order otherwise. fn must not change the part.
func (s *Set) Each(fn func(Member) bool) {
	switch s.enc {
	case keyspace.EncIntset:
		for i := range intset.Len(s.small) {
			if !fn(Member{Int: intset.At(s.small, i)}) {
				return
			}
		}
	case keyspace.EncListpack:
		for pos := listpack.First(s.small); pos != 0; pos = listpack.Next(s.small, pos) {
			if !fn(listpack.Get(s.small, pos)) {
				return
			}
		}
	case keyspace.EncHashtable:
		s.table.Each(func(e table.Entry) bool { return fn(Member{Str: e.Member()}) })
	}
}

// EachText is Each for who wants every member as bytes, which live until fn returns.
func (s *Set) EachText(fn func(text []byte) bool) {
	var digits [intTextMax]byte
	s.Each(func(m Member) bool { return fn(m.Text(digits[:0])) })
}

// isNumbers tells whether all members are texts of numbers.
func (s *Set) isNumbers() (all bool) {
	all = true
	s.EachText(func(text []byte) bool {
		_, all = num.ParseInt(text)
		return all
	})
	return all
}

// Random is a member chosen by chance. The set must not be empty.
func (s *Set) Random(d *table.Dice) Member {
	switch s.enc {
	case keyspace.EncIntset:
		return Member{Int: intset.At(s.small, int(d.Below(uint64(s.Len()))))}
	case keyspace.EncListpack:
		return listpack.Get(s.small, listpack.Seek(s.small, int(d.Below(uint64(s.Len())))))
	}
	e := s.table.Random(d)
	return Member{Str: e.Member()}
}

// Sample calls fn for n members chosen by chance, none twice, in the order of Each. n is at most the number of members. It
// looks at all of them: it is for small sets.
func (s *Set) Sample(d *table.Dice, n int, fn func(Member)) {
	left := s.Len()
	s.Each(func(m Member) bool {
		if d.Below(uint64(left)) < uint64(n) {
			fn(m)
			n--
		}
		left--
		return n > 0
	})
}

// sampleRatio is how many times as many members a hashtable has as are wanted when they are found by trying.
const sampleRatio = 3

// RandomDistinct calls fn for n members chosen by chance, none twice, in no order. n is at most the number of members.
func (s *Set) RandomDistinct(d *table.Dice, n int, fn func(Member)) {
	if s.enc != keyspace.EncHashtable || s.Len() < sampleRatio*n {
		s.Sample(d, n, fn)
		return
	}
	seen := make(map[mem.Ref]struct{}, n)
	for len(seen) < n {
		e := s.table.Random(d)
		if _, again := seen[e.Ref()]; !again {
			seen[e.Ref()] = struct{}{}
			fn(Member{Str: e.Member()})
		}
	}
}

// Scan calls fn for about count members from the cursor on, and returns the cursor to go on with, 0 at the end. A small set
// is done at once. A member that is there from the first call to the last is met, whatever happens between.
func (s *Set) Scan(cursor uint64, count int, fn func(Member)) (next uint64) {
	if s.enc == keyspace.EncHashtable {
		return s.table.Scan(cursor, count, func(e table.Entry) { fn(Member{Str: e.Member()}) })
	}
	s.Each(func(m Member) bool {
		fn(m)
		return true
	})
	return 0
}
