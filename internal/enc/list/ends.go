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
		var n node
		n.decode(entry)
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
		var n node
		n.decode(entry)
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

// End is an element at an end of a list, found to be read and then dropped. It lives until the list is changed.
type End struct {
	entry, page []uint64
	at          spot
	n           node
	lp          []byte // or the element, of a plain node
	pos         int
	slack       slack // where the node is to have it when the element is dropped
}

// HeadEnd makes e the first element of a list that is not empty.
func (l *List) HeadEnd(e *End) {
	e.at, e.slack = spot{}, slackBefore
	e.entry, e.page = l.both(spot{})
	e.n.decode(e.entry)
	e.lp, e.pos = l.bytes(&e.n), listpack.HeadSize
}

// TailEnd makes e the last element of a list that is not empty.
func (l *List) TailEnd(e *End) {
	invariant.That(l.Nodes() > 0, "list: the tail of an empty list")
	e.slack = slackBehind
	e.entry, e.page = l.lastBoth()
	e.at = spot{l.pages() - 1, pageWord(e.page[0]).count() - 1}
	e.n.decode(e.entry)
	e.lp, e.pos = l.bytes(&e.n), 0
	if !e.n.plain {
		e.pos = listpack.Last(e.lp)
	}
}

// Elem is the element.
func (e *End) Elem() Elem {
	if e.n.plain {
		return Elem{Str: e.lp}
	}
	return listpack.Get(e.lp, e.pos)
}

// Drop removes the element at an end.
func (l *List) Drop(e *End) {
	if e.n.count == 1 {
		l.dropNode(e.at)
		return
	}
	size := listpack.ElemSize(e.lp, e.pos)
	lp := l.splice(&e.n, e.pos, size, 0, l.endSlack(e.slack))
	e.n.count--
	listpack.SetHead(lp, e.n.count)
	l.storeAt(e.entry, e.page, &e.n)
}

// cut removes some elements of a node from a position on, or the node when nothing would be left. It returns the place of
// the node behind it, and whether the node is gone; if not, it is still at its place.
func (l *List) cut(s spot, pos, count int, end slack) (next spot, gone bool) {
	entry, page := l.both(s)
	var n node
	n.decode(entry)
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
