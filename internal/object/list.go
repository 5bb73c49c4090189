package object

import (
	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
)

// This file holds lists as they are read. list_edit.go has the changes.

// Elem is an element of a list. It lives until the shard is changed.
type Elem = listpack.Elem

// List is the list of a key. It is valid until the shard is changed.
type List struct {
	lp    []byte // of a list that is a listpack
	big   list.List
	isBig bool
}

// OpenList is the list that a record has.
func OpenList(r keyspace.Rec) List {
	if r.Encoding() == keyspace.EncQuicklist {
		root, _ := r.Root()
		return List{big: list.Open(r.Arena(), root), isBig: true}
	}
	return List{lp: r.Value()}
}

// Len is the number of elements.
func (l *List) Len() int64 {
	if l.isBig {
		return l.big.Len()
	}
	return int64(listpack.Len(l.lp))
}

// ListIter walks over elements of a list, node by node.
type ListIter struct {
	lp    []byte // the node
	pos   int    // of the next element in it
	left  int    // elements of the node that are still to come
	back  bool
	plain bool // the node is an element
	big   list.Iter
	isBig bool
}

// Iter starts a walk at an index, which may be that of no element: towards the end, or back, towards the start.
func (l *List) Iter(index int64, back bool) ListIter {
	if l.isBig {
		return ListIter{big: l.big.Iter(index, back), back: back, isBig: true}
	}
	it := ListIter{lp: l.lp, back: back}
	n := int64(listpack.Len(l.lp))
	if index < 0 || index >= n {
		return it
	}
	it.pos = listpack.Seek(l.lp, int(index))
	it.left = int(n - index)
	if back {
		it.left = int(index) + 1
	}
	return it
}

// Next is the next element, false at the end.
func (i *ListIter) Next() (Elem, bool) {
	if i.left == 0 && !i.nextNode() {
		return Elem{}, false
	}
	i.left--
	if i.plain {
		return Elem{Str: i.lp}, true
	}
	if !i.back {
		e, next := listpack.Read(i.lp, i.pos)
		i.pos = next
		return e, true
	}
	e := listpack.Get(i.lp, i.pos)
	if i.left > 0 {
		i.pos = listpack.Prev(i.lp, i.pos)
	}
	return e, true
}

func (i *ListIter) nextNode() bool {
	if !i.isBig {
		return false
	}
	var ok bool
	i.lp, i.pos, i.left, ok = i.big.Run()
	i.plain = i.pos == 0
	return ok
}

// Match is a text that elements are compared with.
type Match struct {
	text  []byte
	n     int64
	isInt bool
}

// MatchOf prepares a text for comparisons.
func MatchOf(text []byte) Match {
	n, isInt := num.ParseInt(text)
	return Match{text, n, isInt}
}

// Is tells whether an element has the text.
func (m *Match) Is(e Elem) bool {
	if e.IsInt() {
		return m.isInt && m.n == e.Int
	}
	return string(e.Str) == string(m.text)
}
