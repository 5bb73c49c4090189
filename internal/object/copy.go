package object

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// Copy puts a copy of a record's value and expiry at a place, which may be of the same part. scratch is used for big
// values; what it has become is returned.
func Copy(to Place, r keyspace.Rec, limits *Limits, scratch []byte) []byte {
	if r.Type() == keyspace.TypeHash {
		copyHash(to, r, limits)
		return scratch
	}
	if !r.IsRoot() {
		to.Part.PutInline(to.DB, to.Key, r.Type(), r.Encoding(), r.Value(), r.ExpireAt())
		return scratch
	}
	if r.Encoding() == keyspace.EncQuicklist {
		copyList(to, r)
		return scratch
	}
	if r.Encoding() == keyspace.EncStream {
		copyStream(to, r)
		return scratch
	}
	if r.Type() == keyspace.TypeSet {
		copySet(to, r, limits)
		return scratch
	}
	if r.Type() == keyspace.TypeZSet {
		copyZSet(to, r, limits)
		return scratch
	}
	scratch = AppendTyped(scratch[:0], r, nil)
	var b Builder
	b.Begin(to, r.ExpireAt(), limits)
	err := rdb.DecodeValue(scratch, &b)
	invariant.That(err == nil, "object: what was written cannot be read")
	return scratch
}
