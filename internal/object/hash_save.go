package object

import (
	"github.com/covey-db/covey/internal/checksum"
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

// appendHash appends a hash in the form of saveHashType.
func appendHash(dst []byte, r keyspace.Rec, lzf *checksum.LZF) []byte {
	h := OpenHash(nil, r)
	if h.enc == keyspace.EncListpack {
		return rdb.AppendString(dst, h.small, lzf)
	}
	first := h.soonest()
	if first != keyspace.NotDue {
		dst = rdb.AppendMillis(dst, first)
	}
	dst = rdb.AppendLen(dst, uint64(h.Len()))
	h.Each(func(f Field) bool {
		if first != keyspace.NotDue {
			dst = rdb.AppendLen(dst, relativeExpiry(f.ExpireAt, first))
		}
		dst = appendElem(appendElem(dst, f.Name, lzf), f.Value, lzf)
		return true
	})
	return dst
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

func appendElem(dst []byte, e listpack.Elem, lzf *checksum.LZF) []byte {
	if e.IsInt {
		return rdb.AppendInt(dst, e.Int)
	}
	return rdb.AppendString(dst, e.Str, lzf)
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
