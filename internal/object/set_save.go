package object

import (
	"github.com/covey-db/covey/internal/checksum"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how sets are written into RDB files and how they are copied. Version 10 of the format has a form for
// intsets and one for members one by one.

// saveSetType is the form of a set.
func saveSetType(r keyspace.Rec) rdb.Type {
	if r.Encoding() == keyspace.EncIntset {
		return rdb.TypeSetIntset
	}
	return rdb.TypeSet
}

// appendSet appends a set in the form of saveSetType.
func appendSet(dst []byte, r keyspace.Rec, lzf *checksum.LZF) []byte {
	if r.Encoding() == keyspace.EncIntset {
		return rdb.AppendString(dst, r.Value(), lzf)
	}
	s := OpenSet(nil, r)
	dst = rdb.AppendLen(dst, uint64(s.Len()))
	s.Each(func(m Member) bool {
		if m.IsInt {
			dst = rdb.AppendInt(dst, m.Int)
		} else {
			dst = rdb.AppendString(dst, m.Str, lzf)
		}
		return true
	})
	return dst
}

// copySet puts a copy of a set with many members at a place, which stays a hashtable.
func copySet(to Place, r keyspace.Rec, limits *Limits) {
	from := OpenSet(nil, r)
	var e SetEdit
	e.BeginAs(keyspace.EncHashtable, to, limits, nil)
	from.Each(func(m Member) bool { return e.Add(m.Str) })
	e.PutAt(to, r.ExpireAt())
}
