package object

import (
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

// set writes a set in the form of saveSetType.
func (s *Saver) set(r keyspace.Rec) {
	if r.Encoding() == keyspace.EncIntset {
		s.bytes(r.Value())
		return
	}
	members := OpenSet(nil, r)
	s.Dst = rdb.AppendLen(s.Dst, uint64(members.Len()))
	members.Each(s.elem)
}

// copySet puts a copy of a set with many members at a place, which stays a hashtable.
func copySet(to Place, r keyspace.Rec, limits *Limits) {
	from := OpenSet(nil, r)
	var e SetEdit
	e.BeginAs(keyspace.EncHashtable, to, limits, nil)
	from.Each(func(m Member) bool { return e.Add(m.Str) })
	e.PutAt(to, r.ExpireAt())
}
