package object

import (
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how sets are made of what an RDB decoder reads.

// setBuild is the set that a Builder has begun.
type setBuild struct {
	edit SetEdit
	big  bool // it comes out of a small form that had too many members
}

// packedSet keeps a small set as it is. One with too many members becomes a hashtable, whatever they are.
func (b *Builder) packedSet(p rdb.Packed) (taken bool) {
	limit := b.limits.SetEntries.Load()
	if p.Form == rdb.Intset {
		limit = b.limits.SetIntset.Load()
	}
	if int64(p.Count) > limit {
		b.set.big = true
		return false
	}
	b.putPacked(keyspace.TypeSet, p)
	return true
}

// SetStart implements rdb.ValueBuilder.
func (b *Builder) SetStart(count uint64) error {
	enc := keyspace.EncIntset
	if b.set.big || count > uint64(min(b.limits.SetIntset.Load(), intsetMax)) {
		enc = keyspace.EncHashtable
	}
	b.kind = keyspace.TypeSet
	b.set.edit.BeginAs(enc, b.at, b.limits, b.scratch)
	return nil
}

// SetElem implements rdb.ValueBuilder.
func (b *Builder) SetElem(v []byte) error {
	if !b.set.edit.Add(v) {
		return rdb.ErrDuplicate
	}
	return nil
}

// endSet puts the set at its place.
func (b *Builder) endSet() {
	b.set.edit.PutAt(b.at, b.expireAt)
	b.scratch = b.set.edit.Scratch()
}
