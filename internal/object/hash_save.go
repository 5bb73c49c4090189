package object

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how hashes are written into RDB files and how they are copied. Version 10 of the format has a form for
// listpacks and one for fields one by one; only a hash with a field that expires needs version 12.

// saveHashType is the form of a hash.
func saveHashType(r keyspace.Rec) rdb.Type {
	h := OpenHash(nil, r)
	switch {
	case h.enc == keyspace.EncListpack:
		return rdb.TypeHashListpack
	case h.NextExpiry() != keyspace.NotDue:
		return rdb.TypeHashTTL
	}
	return rdb.TypeHash
}

// hash writes a hash in the form of saveHashType.
func (s *Saver) hash(r keyspace.Rec) {
	h := OpenHash(nil, r)
	if h.enc == keyspace.EncListpack {
		s.bytes(h.small)
		return
	}
	first := h.soonest()
	if first != keyspace.NotDue {
		s.Dst = rdb.AppendMillis(s.Dst, first)
	}
	s.Dst = rdb.AppendLen(s.Dst, uint64(h.Len()))
	h.Each(func(f Field) bool {
		if first != keyspace.NotDue {
			s.Dst = rdb.AppendLen(s.Dst, relativeExpiry(f.ExpireAt, first))
		}
		return s.elem(f.Name) && s.elem(f.Value)
	})
}

// soonest is when the first field expires, exactly; keyspace.NotDue when none does.
func (h *Hash) soonest() int64 {
	at := h.NextExpiry()
	if at == keyspace.NotDue {
		return at
	}
	at = keyspace.NotDue
	h.Each(func(f Field) bool {
		if f.ExpireAt != 0 {
			at = min(at, f.ExpireAt)
		}
		return true
	})
	return at
}

// relativeExpiry is how an expiry is written: counted from the first one, which is 1; 0 is none.
func relativeExpiry(at, first int64) uint64 {
	if at == 0 {
		return 0
	}
	return uint64(at - first + 1)
}

func (s *Saver) elem(e listpack.Elem) bool {
	if e.IsInt() {
		s.Dst = rdb.AppendInt(s.Dst, e.Int)
		return s.goesOn()
	}
	return s.bytes(e.Str)
}

// copyHash puts a copy of a hash at a place.
func copyHash(to Place, r keyspace.Rec, limits *Limits) {
	from := OpenHash(nil, r)
	e := NewHash(to, limits, nil)
	if from.enc == keyspace.EncHashtable {
		e.toTable(from.Len())
		from.Each(func(f Field) bool { return e.Set(f.Name.Str, f.Value.Str, f.ExpireAt) })
	} else {
		e.hash.small = append(e.hash.small[:0], from.small...)
		e.hash.enc = from.enc
	}
	e.PutAt(to, r.ExpireAt())
}
