package object

import (
	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/rdb"
)

// This file holds how lists are made of what an RDB decoder reads, copied, and written.

// ListStart implements rdb.ValueBuilder.
func (b *Builder) ListStart(uint64) error {
	b.kind = keyspace.TypeList
	b.list = list.New(b.at.Part.Arena(), b.limits.fill())
	b.list.SetPlainMin(int(b.limits.ListPlain.Load()))
	return nil
}

// ListElem implements rdb.ValueBuilder.
func (b *Builder) ListElem(v []byte) error {
	b.list.PushTail(v)
	return nil
}

// nodeBytesMax is the size up to which a node with many elements is kept as it is.
const nodeBytesMax = 64 << 10

// packedList keeps a node as it is.
func (b *Builder) packedList(p rdb.Packed) (taken bool) {
	if p.Count > list.CountMax || p.Count > 1 && len(p.Bytes) > nodeBytesMax {
		return false
	}
	b.list.AppendNode(p.Bytes)
	return true
}

// endList puts the list at its place.
func (b *Builder) endList() { putList(b.at, &b.list, b.limits, b.expireAt) }

// putList sets a key to a list that belongs to none, as a listpack if it may be one.
func putList(at Place, l *list.List, limits *Limits, expireAt int64) {
	if lp, ok := packable(l, limits.fill(), 1); ok {
		at.Part.PutInline(at.DB, at.Key, keyspace.TypeList, keyspace.EncListpack, lp, expireAt)
		freeList(at.Part.Arena(), l)
		return
	}
	at.Part.PutRoot(at.DB, at.Key, keyspace.TypeList, keyspace.EncQuicklist, l.Root(), uint64(l.Len()), expireAt)
}

// freeList frees a list that belongs to no key.
func freeList(a *mem.Arena, l *list.List) {
	for done := false; !done; {
		_, done = list.FreeSome(a, l.Root(), dropAll)
	}
}

// copyList puts a copy of a quicklist at a place, node by node.
func copyList(to Place, r keyspace.Rec) {
	from := OpenList(r)
	l := list.New(to.Part.Arena(), from.big.Fill())
	from.big.EachNode(func(b []byte, plain bool) bool {
		if plain {
			l.AppendPlain(b)
		} else {
			l.AppendNode(b)
		}
		return true
	})
	to.Part.PutRoot(to.DB, to.Key, keyspace.TypeList, keyspace.EncQuicklist, l.Root(), uint64(l.Len()), r.ExpireAt())
}

// list writes a list node by node.
func (s *Saver) list(r keyspace.Rec) {
	l := OpenList(r)
	if !l.isBig {
		s.Dst = rdb.AppendListForm(rdb.AppendLen(s.Dst, 1), false)
		s.bytes(l.lp)
		return
	}
	s.Dst = rdb.AppendLen(s.Dst, uint64(l.big.Nodes()))
	l.big.EachNode(func(b []byte, plain bool) bool {
		s.Dst = rdb.AppendListForm(s.Dst, plain)
		return s.bytes(b)
	})
}

// weightOfList is Weight of a quicklist.
func weightOfList(r keyspace.Rec) (bytes int64) {
	l := OpenList(r)
	if n := l.big.Nodes(); n > weighedNodes {
		return int64(n) << 13
	}
	l.big.EachNode(func(b []byte, _ bool) bool {
		bytes += int64(len(b))
		return true
	})
	return bytes
}

// ListMaker makes a list for a key of which nothing is known before the end: SORT with STORE.
type ListMaker struct {
	at     Place
	limits *Limits
	l      list.List
}

// makerFill limits the nodes of a list that is made, whatever is configured, as in Redis: 8 KB.
const makerFill = -2

// MakeList begins a list that will replace what is at a place.
func MakeList(at Place, limits *Limits) ListMaker {
	l := list.New(at.Part.Arena(), makerFill)
	l.SetPlainMin(int(limits.ListPlain.Load()))
	return ListMaker{at, limits, l}
}

// Add adds an element at the end. It may lie in any shard.
func (m *ListMaker) Add(v []byte) { m.l.PushTail(v) }

// Put sets the key to the list, which has elements.
func (m *ListMaker) Put() { putList(m.at, &m.l, m.limits, 0) }
