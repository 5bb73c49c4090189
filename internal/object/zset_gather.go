package object

import (
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds how sorted sets are put together of others: unions, intersections and differences. Their inputs are sorted
// sets or sets, whose members all have the score 1.

// ZSource is an input. The zero value is an empty one.
type ZSource struct {
	zset  ZSet
	set   Set
	isSet bool
}

// OpenZSource is the value of a record of the given part; false when it is neither a sorted set nor a set.
func OpenZSource(p *keyspace.Part, r keyspace.Rec) (s ZSource, ok bool) {
	switch r.Type() {
	case keyspace.TypeZSet:
		return ZSource{zset: OpenZSet(p, r)}, true
	case keyspace.TypeSet:
		return ZSource{set: OpenSet(p, r), isSet: true}, true
	}
	return s, false
}

// Len is the number of members.
func (s *ZSource) Len() int {
	if s.isSet {
		return s.set.Len()
	}
	return s.zset.Len()
}

// Score is the score of a member.
func (s *ZSource) Score(member []byte) (score float64, found bool) {
	if s.isSet {
		return 1, s.set.Contains(member)
	}
	return s.zset.Score(member)
}

// Each calls fn for all members until it returns false; what it gets lives until it returns. fn must not change the part.
func (s *ZSource) Each(fn func(member []byte, score float64) bool) {
	if s.isSet {
		s.set.EachText(func(text []byte) bool { return fn(text, 1) })
		return
	}
	var digits [intTextMax]byte
	if s.zset.isBig { // in whatever order is quickest
		s.zset.big.table.Each(func(e table.Entry) bool { return fn(e.Member(), e.Score()) })
		return
	}
	s.zset.Each(func(m Member, score float64) bool { return fn(m.Text(digits[:0]), score) })
}

// GatherZSet begins to put a sorted set together by Gather and Settle. at is where its memory comes from, and where Commit
// would put it.
func GatherZSet(at Place, limits *Limits, scratch []byte) ZSetEdit {
	return newBigZSet(at, limits, scratch)
}

// Gather adds a member; what it has for a score when it is there already is joined with the new one.
func (e *ZSetEdit) Gather(member []byte, score float64, join func(has, gets float64) float64) {
	entry, added := e.big.table.Put(e.at.Part.HashMember(member), member, score)
	if added {
		e.longest = max(e.longest, len(member))
		return
	}
	entry.SetScore(join(entry.Score(), score))
}

// Settle puts in order what was gathered. Before that nothing of it can be read.
func (e *ZSetEdit) Settle() {
	e.changed = true
	e.big.table.Each(func(x table.Entry) bool {
		e.big.tree.Insert(x.Score(), x.Ref())
		return true
	})
}
