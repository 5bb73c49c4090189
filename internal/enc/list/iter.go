package list

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/num"
)

// This file holds walks over the elements, and the changes at where a walk is.

// Iter walks over the elements of a list, from one index towards either end.
type Iter struct {
	l    List
	back bool
	done bool
	open bool // lp is the node at the place
	at   spot
	n    node
	lp   []byte
	pos  int // of the next element in its listpack, 0 when the node is finished
	cur  int // of the element that Next has returned
	left int // elements of the node that are still to come, the next one included
}

// Iter starts a walk at an index, which may be that of no element. back goes towards the start of the list.
func (l *List) Iter(index int64, back bool) Iter {
	i := Iter{l: *l, back: back}
	if index < 0 || index >= l.Len() {
		i.done = true
		return i
	}
	var offset int
	i.at, offset = l.seek(index)
	i.load()
	if !i.n.plain {
		i.pos = listpack.Seek(i.lp, offset)
	}
	i.left = i.n.count - offset
	if back {
		i.left = offset + 1
	}
	return i
}

// load reads the node at the place.
func (i *Iter) load() {
	i.n = i.l.load(i.at)
	i.lp = i.l.bytes(&i.n)
	i.open = true
}

// enter goes to the start of a node, as seen in the direction of the walk.
func (i *Iter) enter() {
	i.load()
	i.left = i.n.count
	switch {
	case i.n.plain:
	case i.back:
		i.pos = listpack.Last(i.lp)
	default:
		i.pos = listpack.HeadSize
	}
}

// Next is the next element, false at the end.
func (i *Iter) Next() (Elem, bool) {
	if i.left == 0 || i.done {
		if !i.nextNode() {
			return Elem{}, false
		}
	}
	i.left--
	if i.n.plain {
		return Elem{Str: i.lp}, true
	}
	i.cur = i.pos
	e := listpack.Get(i.lp, i.pos)
	if i.left > 0 {
		if i.back {
			i.pos = listpack.Prev(i.lp, i.pos)
		} else {
			i.pos += listpack.ElemSize(i.lp, i.pos)
		}
	}
	return e, true
}

// nextNode goes on with the next node; false when there is none.
func (i *Iter) nextNode() bool {
	if i.done {
		return false
	}
	if i.open {
		var ok bool
		if i.back {
			i.at, ok = i.l.prev(i.at)
		} else {
			i.at, ok = i.l.next(i.at)
		}
		if !ok {
			i.done = true
			return false
		}
	}
	i.enter()
	return true
}

// Run is the rest of a node as a listpack, the position of the next element in it, and how many elements of the node are
// still to come in the direction of the walk; the walk goes on behind them. A plain node is a run of one element whose
// position is 0. ok is false at the end.
func (i *Iter) Run() (lp []byte, pos, count int, ok bool) {
	if i.left == 0 || i.done {
		if !i.nextNode() {
			return nil, 0, 0, false
		}
	}
	count, i.left = i.left, 0
	if i.n.plain {
		return i.lp, 0, 1, true
	}
	return i.lp, i.pos, count, true
}

// Find goes on to the next element that equals v, as Next does, and is false when there is none. Towards the end of the list
// a node is searched as a whole.
func (i *Iter) Find(v []byte) bool {
	if i.back {
		return i.findBack(v)
	}
	for {
		if i.left == 0 || i.done {
			if !i.nextNode() {
				return false
			}
		}
		if i.n.plain {
			i.left = 0
			if string(i.lp) == string(v) {
				return true
			}
			continue
		}
		if at := listpack.Find(i.lp, i.pos, 0, v); at != 0 {
			for i.pos != at { // what is passed over is counted
				i.pos += listpack.ElemSize(i.lp, i.pos)
				i.left--
			}
			_, ok := i.Next()
			return ok
		}
		i.left = 0
	}
}

// findBack is Find towards the start: element by element.
func (i *Iter) findBack(v []byte) bool {
	n, isInt := num.ParseInt(v)
	for e, ok := i.Next(); ok; e, ok = i.Next() {
		switch {
		case e.IsInt():
			if isInt && e.Int == n {
				return true
			}
		case string(e.Str) == string(v):
			return true
		}
	}
	return false
}

// index is the index in its node of the element that Next has returned.
func (i *Iter) index() int {
	if i.back {
		return i.left
	}
	return i.n.count - i.left - 1
}

// Delete removes the element that Next has returned. The walk goes on with the one that would have come.
func (i *Iter) Delete() {
	next, gone := i.l.cut(i.at, i.cur, 1, slackSome)
	if !gone {
		left, pos := i.left, i.pos
		i.load()
		if i.left = left; left > 0 {
			if i.pos = pos; !i.back {
				i.pos = i.cur
			}
		}
		return
	}
	i.left, i.open = 0, false
	ok := !i.l.atEnd(next)
	if i.back {
		next, ok = i.l.prev(next)
	}
	i.at, i.done = next, !ok
}

// Insert adds an element beside the one that Next has returned, and ends the walk. The element must not lie in the list.
func (i *Iter) Insert(where listpack.Where, v []byte) {
	i.l.insert(i.at, i.cur, i.index(), where, v)
	i.done = true
}

// Replace puts another element in the place of the one that Next has returned, and ends the walk. It must not lie in the
// list.
func (i *Iter) Replace(v []byte) {
	i.l.replace(i.at, i.cur, i.index(), v)
	i.done = true
}

// DeleteRange removes count elements from an index on; there must be as many.
func (l *List) DeleteRange(index, count int64) {
	if count <= 0 {
		return
	}
	s, offset := l.seek(index)
	for count > 0 {
		n := l.load(s)
		some := min(int64(n.count-offset), count)
		count -= some
		if int(some) == n.count {
			s = l.dropNode(s)
			continue
		}
		pos := listpack.Seek(l.bytes(&n), offset)
		end := slackBefore
		if offset > 0 {
			end = slackBehind
		}
		l.cut(s, pos, int(some), end)
		s, _ = l.next(s)
		offset = 0
	}
}
