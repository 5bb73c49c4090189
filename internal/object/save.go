package object

import (
	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how values are written into RDB files and DUMP payloads: in the lowest version that can hold them.

// AppendTyped appends the type of a value and the value.
func AppendTyped(dst []byte, r keyspace.Rec, lzf *checksum.LZF) []byte {
	return AppendValue(rdb.AppendType(dst, SaveType(r)), r, lzf)
}

// SaveType is the byte that tells how AppendValue writes the value.
func SaveType(r keyspace.Rec) rdb.Type {
	switch r.Type() {
	case keyspace.TypeString:
		return rdb.TypeString
	case keyspace.TypeSet:
		return saveSetType(r)
	case keyspace.TypeZSet:
		return saveZSetType(r)
	case keyspace.TypeHash:
		return saveHashType(r)
	case keyspace.TypeList:
		return rdb.TypeListListpacks
	case keyspace.TypeStream:
		return rdb.TypeStream2
	}
	invariant.That(false, "object: a type that cannot be saved")
	return 0
}

// AppendValue appends a value as it stands behind its type. lzf compresses long strings; nil leaves them as they are.
func AppendValue(dst []byte, r keyspace.Rec, lzf *checksum.LZF) []byte {
	switch r.Type() {
	case keyspace.TypeString:
		if r.Encoding() == keyspace.EncInt {
			return rdb.AppendInt(dst, r.Int())
		}
		return rdb.AppendString(dst, r.Value(), lzf)
	case keyspace.TypeSet:
		return appendSet(dst, r, lzf)
	case keyspace.TypeZSet:
		return appendZSet(dst, r, lzf)
	case keyspace.TypeHash:
		return appendHash(dst, r, lzf)
	case keyspace.TypeList:
		return appendList(dst, r, lzf)
	case keyspace.TypeStream:
		return appendStream(dst, OpenStream(r), lzf)
	}
	invariant.That(false, "object: a type that cannot be saved")
	return dst
}
