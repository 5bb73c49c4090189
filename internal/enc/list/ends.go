package list

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/invariant"
)

// This file holds what is done at the ends of a list. None of it moves more than a few bytes, most of the time.

// Elem is an element. It lives until the list is changed.
type Elem = listpack.Elem

// allows tells whether an element of a length may be added to a node.
func (l *List) allows(n *node, length int) bool {
	return !n.plain && length < l.plainMin && !Exceeds(l.Fill(), n.size+length+elemSpare, n.count+1)
}

// endSlack is where a node at the given end is to have its slack: at that end, but the only node has both.
func (l *List) endSlack(end slack) slack {
	if l.Nodes() == 1 {
		return slackBoth
	}
	return end
}

// PushTail adds an element at the end. It must not lie in the list.
func (l *List) PushTail(v []byte) {
	s := spot{}
	if l.Nodes() > 0 {
		entry, page := l.lastBoth()
		n := decodeNode(entry)
		if l.allows(&n, len(v)) {
			size := listpack.EncodedSize(v)
			at := n.size - 1
			l.fill(&n, l.splice(&n, at, 0, size, l.endSlack(slackBehind)), at, size, v)
			l.storeAt(entry, page, &n)
			return
		}
		s, _ = l.last()
		l.trim(s)
		s.slot++
	}
	n := l.newNode(v, slackBehind)
	l.add(s, &n)
}

// PushHead adds an element at the start. It must not lie in the list.
func (l *List) PushHead(v []byte) {
	if l.Nodes() > 0 {
		entry, page := l.both(spot{})
		n := decodeNode(entry)
		if l.allows(&n, len(v)) {
			size := listpack.EncodedSize(v)
			l.fill(&n, l.splice(&n, listpack.HeadSize, 0, size, l.endSlack(slackBefore)), listpack.HeadSize, size, v)
			l.storeAt(entry, page, &n)
			return
		}
		l.trim(spot{})
	}
	n := l.newNode(v, slackBefore)
	l.add(spot{}, &n)
}

// fill writes one more element into the gap that splice has made.
func (l *List) fill(n *node, lp []byte, at, size int, v []byte) {
	listpack.PutElem(lp[at:at+size], v)
	n.count++
	listpack.SetHead(lp, n.count)
}

// Head is the first element of a list that is not empty.
func (l *List) Head() Elem {
	n := l.load(spot{})
	b := l.bytes(&n)
	if n.plain {
		return Elem{Str: b}
	}
	return listpack.Get(b, listpack.HeadSize)
}

// Tail is the last element of a list that is not empty.
func (l *List) Tail() Elem {
	s, some := l.last()
	invariant.That(some, "list: the tail of an empty list")
	n := l.load(s)
	b := l.bytes(&n)
	if n.plain {
		return Elem{Str: b}
	}
	return listpack.Get(b, listpack.Last(b))
}

// DropHead removes the first element of a list that is not empty.
func (l *List) DropHead() { l.cut(spot{}, listpack.HeadSize, 1, slackBefore) }

// DropTail removes the last element of a list that is not empty.
func (l *List) DropTail() {
	s, some := l.last()
	invariant.That(some, "list: the tail of an empty list")
	pos := 0
	if n := l.load(s); !n.plain {
		pos = listpack.Last(l.bytes(&n))
	}
	l.cut(s, pos, 1, slackBehind)
}

// cut removes some elements of a node from a position on, or the node when nothing would be left. It returns the place of
// the node behind it, and whether the node is gone; if not, it is still at its place.
func (l *List) cut(s spot, pos, count int, end slack) (next spot, gone bool) {
	entry, page := l.both(s)
	n := decodeNode(entry)
	if count >= n.count {
		return l.dropNode(s), true
	}
	lp := l.bytes(&n)
	to := pos
	for range count {
		to += listpack.ElemSize(lp, to)
	}
	lp = l.splice(&n, pos, to-pos, 0, l.endSlack(end))
	n.count -= count
	listpack.SetHead(lp, n.count)
	l.storeAt(entry, page, &n)
	return s, false
}
