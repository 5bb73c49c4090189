package stream

import "github.com/covey-db/covey/internal/mem"

// This file holds how IDs leave a tree: neighbours that have room for each other are joined.

func (t tree) unlink(l leaf) {
	next, prev := l.words[1], l.words[2]
	if prev == 0 {
		t.head[1] = next
	} else {
		t.a.Words(mem.Ref(prev), leafHead)[1] = next
	}
	if next == 0 {
		t.head[2] = prev
	} else {
		t.a.Words(mem.Ref(next), leafHead)[2] = prev
	}
}

// remove takes an ID out; false when it was not there.
func (t tree) remove(id ID) bool {
	if t.height() == 0 {
		return false
	}
	left, found := t.removeBelow(t.root(), t.height(), id)
	if !found {
		return false
	}
	t.head[3]--
	if left == 0 {
		t.setRoot(0, 0)
		return true
	}
	t.lower()
	return true
}

// removeBelow takes an ID out of a block or what is below it, and returns how much is left in the block; an empty one has
// been freed.
func (t tree) removeBelow(r mem.Ref, level int, id ID) (left int, found bool) {
	if level == 1 {
		return t.removeLeaf(r, id)
	}
	n := t.inner(r)
	i := n.childOf(id)
	below, found := t.removeBelow(n.child(i), level-1, id)
	switch {
	case !found:
	case below == 0:
		n.remove(i)
		if n.count() == 0 {
			t.a.Free(mem.ForStream, r, innerWords*wordBytes)
			return 0, true
		}
	case below <= sparse:
		t.joinChild(n, i, level-1)
	}
	return n.count(), found
}

func (n inner) remove(i int) {
	count := n.count()
	closeGap(n.keys(), keyWords, i, count)
	closeGap(n.children(), 1, i, count)
	n.setCount(count - 1)
}

func (t tree) removeLeaf(r mem.Ref, id ID) (left int, found bool) {
	l := t.leaf(r)
	i := lowerBound(l.keys(), l.count, id)
	if i == l.count || l.key(i) != id {
		return l.count, false
	}
	closeGap(l.keys(), keyWords, i, l.count)
	closeGap(l.values(), t.width, i, l.count)
	l.setCount(l.count - 1)
	if l.count == 0 {
		t.unlink(l)
		t.freeLeaf(r, l.capacity)
	}
	return l.count, true
}

// joinChild joins the sparse child i of n with a neighbour if the two fit into one.
func (t tree) joinChild(n inner, i, level int) {
	if i == n.count()-1 {
		i--
	}
	if i < 0 {
		return
	}
	left, right := n.child(i), n.child(i+1)
	joined := false
	if level == 1 {
		joined = t.joinLeaves(left, right)
	} else {
		joined = t.joinInner(left, right, keyAt(n.keys()[keyWords*(i+1):]))
	}
	if joined {
		n.remove(i + 1)
	}
}

func (t tree) joinLeaves(left, right mem.Ref) bool {
	l, m := t.leaf(left), t.leaf(right)
	if l.count+m.count > joinMax {
		return false
	}
	copy(l.keys()[keyWords*l.count:], m.keys()[:keyWords*m.count])
	copy(l.values()[t.width*l.count:], m.values()[:t.width*m.count])
	l.setCount(l.count + m.count)
	t.unlink(m)
	t.freeLeaf(right, m.capacity)
	return true
}

// joinInner joins two inner nodes; key is the one between them.
func (t tree) joinInner(left, right mem.Ref, key ID) bool {
	l, m := t.inner(left), t.inner(right)
	n, k := l.count(), m.count()
	if n+k > joinMax {
		return false
	}
	putKey(m.keys(), key)
	copy(l.keys()[keyWords*n:], m.keys()[:keyWords*k])
	copy(l.children()[n:], m.children()[:k])
	l.setCount(n + k)
	t.a.Free(mem.ForStream, right, innerWords*wordBytes)
	return true
}
