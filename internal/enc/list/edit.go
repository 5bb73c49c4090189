package list

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/invariant"
)

// This file holds the changes in the midst of a list. Where an element goes, and which nodes are split and merged, is as in
// Redis.

// AppendNode adds a copy of a listpack as a node at the end. It must have elements, CountMax at most.
func (l *List) AppendNode(lp []byte) {
	n := node{count: listpack.Len(lp), size: listpack.Bytes(lp)}
	invariant.That(n.count > 0 && n.count <= CountMax, "list: a node with no or too many elements")
	copy(l.alloc(&n, slackNone), lp)
	l.append(&n)
}

// AppendPlain adds an element as a plain node at the end, however short it is.
func (l *List) AppendPlain(v []byte) {
	n := l.newPlain(v)
	l.append(&n)
}

func (l *List) append(n *node) {
	s, some := l.last()
	if some {
		s.slot++
	}
	l.add(s, n)
}

// insert adds an element beside the one at a position of a node, whose index there is given.
func (l *List) insert(s spot, pos, index int, where listpack.Where, v []byte) {
	n := l.load(s)
	after := where == listpack.After
	if l.allows(&n, len(v)) {
		l.insertHere(s, &n, pos, after, v)
		return
	}
	if edge := n.plain || after && index == n.count-1 || !after && index == 0; edge {
		l.insertBeside(s, after, v)
		return
	}
	if after {
		pos, index = pos+listpack.ElemSize(l.bytes(&n), pos), index+1
	}
	right := l.split(s, pos, index)
	if len(v) >= l.plainMin {
		n := l.newPlain(v)
		l.add(right, &n)
		return
	}
	left, _ := l.prev(right)
	if after {
		l.pushFront(right, v)
		l.mergeAround(left)
		return
	}
	l.pushBack(left, v)
	l.mergeAround(right)
}

// insertHere adds an element to a node that has room for it.
func (l *List) insertHere(s spot, n *node, pos int, after bool, v []byte) {
	if after {
		pos += listpack.ElemSize(l.bytes(n), pos)
	}
	size := listpack.EncodedSize(v)
	l.fill(n, l.splice(n, pos, 0, size, slackBoth), pos, size, v)
	l.store(s, n)
}

// insertBeside adds an element at the edge of a node that does not take it: to the neighbour, or in a node of its own.
func (l *List) insertBeside(s spot, after bool, v []byte) {
	other, some := l.prev(s)
	if after {
		other, some = l.next(s)
	}
	if some {
		if n := l.load(other); l.allows(&n, len(v)) {
			if after {
				l.pushFront(other, v)
			} else {
				l.pushBack(other, v)
			}
			return
		}
	}
	if after {
		s.slot++
	}
	n := l.newNode(v, slackBoth)
	l.add(s, &n)
}

// pushFront adds an element at the start of a node, whether it allows that or not.
func (l *List) pushFront(s spot, v []byte) {
	n := l.load(s)
	size := listpack.EncodedSize(v)
	l.fill(&n, l.splice(&n, listpack.HeadSize, 0, size, slackBoth), listpack.HeadSize, size, v)
	l.store(s, &n)
}

// pushBack adds an element at the end of a node, whether it allows that or not.
func (l *List) pushBack(s spot, v []byte) {
	n := l.load(s)
	size, at := listpack.EncodedSize(v), n.size-1
	l.fill(&n, l.splice(&n, at, 0, size, slackBoth), at, size, v)
	l.store(s, &n)
}

// split moves the elements of a node from a position and index on to a new node behind it, and returns the place of that.
func (l *List) split(s spot, pos, index int) (right spot) {
	n := l.load(s)
	lp := l.bytes(&n)
	moved := node{count: n.count - index, size: listpack.HeadSize + n.size - pos}
	fresh := l.alloc(&moved, slackSome)
	copy(fresh[listpack.HeadSize:], lp[pos:])
	listpack.SetHead(fresh, moved.count)

	lp = l.splice(&n, pos, n.size-1-pos, 0, slackBoth)
	n.count = index
	listpack.SetHead(lp, n.count)
	l.store(s, &n)
	return l.add(spot{s.page, s.slot + 1}, &moved)
}

// mergeAround merges the nodes around one, as far as the results are within the limits: the two before it, the two behind
// it, and then the node with what lies before and behind it.
func (l *List) mergeAround(s spot) {
	if p, ok := l.prev(s); ok {
		if pp, ok := l.prev(p); ok {
			if m, merged := l.merge(pp); merged {
				s, _ = l.next(m)
			}
		}
	}
	if n, ok := l.next(s); ok {
		if m, merged := l.merge(n); merged {
			s, _ = l.prev(m)
		}
	}
	if p, ok := l.prev(s); ok {
		if m, merged := l.merge(p); merged {
			s = m
		}
	}
	l.merge(s)
}

// merge moves the elements of the node behind one into it, if there is one and they fit. It returns the place of the node
// that has them, as places of nodes change.
func (l *List) merge(s spot) (at spot, merged bool) {
	t, ok := l.next(s)
	if !ok {
		return s, false
	}
	a, b := l.load(s), l.load(t)
	if a.plain || b.plain || Exceeds(l.Fill(), a.size+b.size-listpack.EmptySize, a.count+b.count) {
		return s, false
	}
	gap, more := a.size-1, b.size-listpack.EmptySize
	lp := l.splice(&a, gap, 0, more, slackSome)
	copy(lp[gap:gap+more], l.bytes(&b)[listpack.HeadSize:])
	a.count += b.count
	listpack.SetHead(lp, a.count)
	l.store(s, &a)
	at, _ = l.prev(l.dropNode(t))
	return at, true
}

// replace makes v of the element at a position of a node, whose index there is given.
func (l *List) replace(s spot, pos, index int, v []byte) {
	n := l.load(s)
	switch large := len(v) >= l.plainMin; {
	case !n.plain && !large:
		size := listpack.EncodedSize(v)
		lp := l.splice(&n, pos, listpack.ElemSize(l.bytes(&n), pos), size, slackSome)
		listpack.PutElem(lp[pos:pos+size], v)
		listpack.SetHead(lp, n.count)
		l.store(s, &n)
	case n.plain && large:
		l.free(&n)
		n = l.newPlain(v)
		l.store(s, &n)
	case n.plain:
		l.replaceNode(s, v)
	default:
		l.replaceByPlain(s, &n, pos, index, v)
	}
}

// replaceNode puts a short element in the place of a plain node: in the node behind it, or in one of its own.
func (l *List) replaceNode(s spot, v []byte) {
	s = l.dropNode(s)
	if !l.atEnd(s) {
		if n := l.load(s); l.allows(&n, len(v)) {
			l.pushFront(s, v)
			return
		}
	}
	n := l.newNode(v, slackSome)
	l.add(s, &n)
}

// replaceByPlain puts a plain node in the place of an element of a listpack.
func (l *List) replaceByPlain(s spot, n *node, pos, index int, v []byte) {
	plain := l.newPlain(v)
	if index == n.count-1 {
		if next, gone := l.cut(s, pos, 1, slackSome); gone {
			l.add(next, &plain)
			return
		}
		l.add(spot{s.page, s.slot + 1}, &plain)
		return
	}
	right := l.split(s, pos+listpack.ElemSize(l.bytes(n), pos), index+1)
	left, _ := l.prev(l.add(right, &plain))
	l.cut(left, pos, 1, slackSome)
}
