package object

import (
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how sorted sets are written.

func saveZSetType(r keyspace.Rec) rdb.Type {
	if r.Encoding() == keyspace.EncSkiplist {
		return rdb.TypeZSet
	}
	return rdb.TypeZSetListpack
}

// zset writes a small sorted set as it is, and a big one from the highest member on, as Redis does: a reader that puts
// every member in front of the others is quick.
func (s *Saver) zset(r keyspace.Rec) {
	if r.Encoding() != keyspace.EncSkiplist {
		s.bytes(r.Value())
		return
	}
	root, _ := r.Root()
	a := r.Arena()
	z := openRanked(a, root)
	n := z.tree.Len()
	s.Dst = rdb.AppendLen(s.Dst, uint64(n))
	for c := z.tree.At(n - 1); c.Valid() && s.bytes(table.ScoredMember(a, c.Ref())); c.Prev() {
		s.Dst = rdb.AppendDouble(s.Dst, table.ScoreAt(a, c.Ref()))
	}
}

// copyZSet copies a skiplist, which the copy is too, however small it has become.
func copyZSet(to Place, r keyspace.Rec, limits *Limits) {
	from := OpenZSet(nil, r)
	e := newBigZSet(to, limits, nil)
	from.Each(func(m Member, score float64) bool {
		e.big.insert(to.Part.HashMember(m.Str), m.Str, score)
		return true
	})
	e.PutAt(to, r.ExpireAt())
}
