package object

import (
	"errors"

	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how values are made of what an RDB decoder reads. Each type has its part in a file of its own.

// ErrUnknownType says that the input holds a type that this server cannot keep.
var ErrUnknownType = errors.New("value of a type that is not supported")

// Builder implements rdb.ValueBuilder: it puts one value at a place whose key it replaces. The lock of the place must be
// held from Begin until End or Abort.
type Builder struct {
	refuse
	at       Place
	expireAt int64
	limits   *Limits
	kind     keyspace.Type // what is being built; TypeString while nothing is
	set      setBuild
	zset     ZSetEdit
	hash     HashEdit
	stream   streamBuild
	list     list.List
	scratch  []byte // kept from value to value
}

var _ rdb.ValueBuilder = (*Builder)(nil)

// Begin starts a value.
func (b *Builder) Begin(at Place, expireAt int64, limits *Limits) {
	*b = Builder{at: at, expireAt: expireAt, limits: limits, scratch: b.scratch}
}

// End implements rdb.ValueBuilder: the value is put at its place.
func (b *Builder) End() error {
	switch b.kind {
	case keyspace.TypeSet:
		b.endSet()
	case keyspace.TypeZSet:
		b.endZSet()
	case keyspace.TypeHash:
		b.endHash()
	case keyspace.TypeList:
		b.endList()
	case keyspace.TypeStream:
		if err := b.endStream(); err != nil {
			return err // Abort follows
		}
	}
	b.kind = keyspace.TypeString
	return nil
}

// Abort gives up a value whose input was wrong: what was built of it is freed.
func (b *Builder) Abort() {
	switch b.kind {
	case keyspace.TypeSet:
		b.set.edit.Discard()
	case keyspace.TypeZSet:
		b.zset.Discard()
	case keyspace.TypeHash:
		b.hash.Discard()
	case keyspace.TypeList:
		freeList(b.at.Part.Arena(), &b.list)
	case keyspace.TypeStream:
		b.abortStream()
	}
	b.kind = keyspace.TypeString
}

// String implements rdb.ValueBuilder.
func (b *Builder) String(v []byte) error {
	b.at.Part.SetString(b.at.DB, b.at.Key, v, b.expireAt)
	return nil
}

// Int implements rdb.ValueBuilder.
func (b *Builder) Int(n int64) error {
	b.at.Part.SetInt(b.at.DB, b.at.Key, n, b.expireAt)
	return nil
}

// Packed implements rdb.ValueBuilder. A compact value within the limits is kept as it is.
func (b *Builder) Packed(p rdb.Packed) (taken bool, err error) {
	switch p.Kind {
	case rdb.KindHash:
		return b.packedHash(p), nil
	case rdb.KindZSet:
		return b.packedZSet(p), nil
	case rdb.KindSet:
		return b.packedSet(p), nil
	case rdb.KindList:
		return b.packedList(p), nil
	}
	return false, nil
}

// refuse refuses what no file of this package takes.
type refuse struct{}

func (refuse) Module(rdb.ModuleID) error { return ErrUnknownType }

// putPacked keeps a compact value as it is.
func (b *Builder) putPacked(t keyspace.Type, p rdb.Packed) {
	e := keyspace.EncListpack
	if p.Form == rdb.Intset {
		e = keyspace.EncIntset
	}
	b.at.Part.PutInline(b.at.DB, b.at.Key, t, e, p.Bytes, b.expireAt)
}
