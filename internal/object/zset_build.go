package object

import (
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how sorted sets are made of what an RDB decoder reads.

// packedZSet keeps a small sorted set as it is. One with too many members becomes a skiplist; how long they are does not
// matter.
func (b *Builder) packedZSet(p rdb.Packed) (taken bool) {
	if int64(p.Count) > b.limits.ZSetEntries.Load() {
		return false
	}
	b.putPacked(keyspace.TypeZSet, p)
	return true
}

// ZSetStart implements rdb.ValueBuilder. The members come in any order, so the set is a skiplist until all are there.
func (b *Builder) ZSetStart(uint64) error {
	b.kind = keyspace.TypeZSet
	b.zset = newBigZSet(b.at, b.limits, b.scratch)
	return nil
}

// ZSetElem implements rdb.ValueBuilder.
func (b *Builder) ZSetElem(member []byte, score float64) error {
	if _, what := b.zset.Add(member, score, AddNX); what != AddedNew {
		return rdb.ErrDuplicate
	}
	return nil
}

// endZSet puts the sorted set at its place.
func (b *Builder) endZSet() {
	b.zset.Compact()
	b.zset.PutAt(b.at, b.expireAt)
	b.scratch = b.zset.Scratch()
}
