package object

import (
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how hashes are made of what an RDB decoder reads.

// packedHash keeps a small hash as it is.
func (b *Builder) packedHash(p rdb.Packed) (taken bool) {
	if int64(p.Count) > b.limits.HashEntries.Load() || int64(p.Longest) > b.limits.HashValue.Load() {
		return false
	}
	b.putPacked(keyspace.TypeHash, p)
	return true
}

// HashStart implements rdb.ValueBuilder.
func (b *Builder) HashStart(count uint64) error {
	b.kind = keyspace.TypeHash
	b.hash = NewHash(b.at, b.limits, b.scratch)
	if count > uint64(b.limits.HashEntries.Load()) {
		b.hash.toTable(int(min(count, 1<<16)))
	}
	return nil
}

// HashField implements rdb.ValueBuilder.
func (b *Builder) HashField(field, value []byte, expireAt int64) error {
	if !b.hash.Set(field, value, expireAt) {
		return rdb.ErrDuplicate
	}
	return nil
}

// endHash puts the hash at its place.
func (b *Builder) endHash() {
	b.hash.PutAt(b.at, b.expireAt)
	b.scratch = b.hash.Scratch()
}
