package stream

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds how IDs come into a tree: full leaves and nodes are split.

// put is the value of an ID, which is added when it is not there; its value is arbitrary then.
func (t tree) put(id ID) (v []uint64, added bool) {
	if t.height() == 0 {
		r, _ := t.newLeaf(1)
		t.setRoot(r, 1)
		t.head[1], t.head[2] = uint64(r), uint64(r)
	}
	if l := t.leaf(mem.Ref(t.head[2])); l.count > 0 && l.count < l.capacity && l.key(l.count-1).Less(id) {
		t.head[3]++
		return l.insert(l.count, id), true
	}
	s := t.putBelow(t.root(), t.height(), id)
	if s.right != 0 {
		r := t.a.Alloc(mem.ForStream, innerWords*wordBytes)
		n := t.inner(r)
		n.setCount(2)
		n.set(0, ID{}, t.root())
		n.set(1, s.key, s.right)
		t.setRoot(r, t.height()+1)
	}
	if s.added {
		t.head[3]++
	}
	return s.value, s.added
}

func (l *leaf) insert(i int, id ID) []uint64 {
	openGap(l.keys(), keyWords, i, l.count)
	openGap(l.values(), l.width, i, l.count)
	putKey(l.keys()[keyWords*i:], id)
	l.setCount(l.count + 1)
	return l.value(i)
}

// split is the outcome of an insertion below a block: where the value is, and the new block to the right, if there is one.
type split struct {
	value []uint64
	added bool
	right mem.Ref
	key   ID // from here on
}

func (t tree) putBelow(r mem.Ref, level int, id ID) split {
	if level == 1 {
		return t.putLeaf(r, id)
	}
	n := t.inner(r)
	i := n.childOf(id)
	s := t.putBelow(n.child(i), level-1, id)
	if s.right == 0 {
		return s
	}
	key, right := s.key, s.right
	s.right = 0
	if n.count() < fan {
		n.insert(i+1, key, right)
		return s
	}
	s.right = t.a.Alloc(mem.ForStream, innerWords*wordBytes)
	m := t.inner(s.right)
	cut := fan / 2
	if i+1 == fan {
		cut = fan // behind everything: the left one stays full
	}
	copy(m.keys(), n.keys()[keyWords*cut:])
	copy(m.children(), n.children()[cut:])
	m.setCount(fan - cut)
	n.setCount(cut)
	if i+1 >= cut {
		m.insert(i+1-cut, key, right)
	} else {
		n.insert(i+1, key, right)
	}
	s.key = keyAt(m.keys())
	return s
}

func (n inner) insert(i int, k ID, c mem.Ref) {
	count := n.count()
	openGap(n.keys(), keyWords, i, count)
	openGap(n.children(), 1, i, count)
	n.set(i, k, c)
	n.setCount(count + 1)
}

func (t tree) putLeaf(r mem.Ref, id ID) split {
	l := t.leaf(r)
	i := lowerBound(l.keys(), l.count, id)
	switch {
	case i < l.count && l.key(i) == id:
		return split{value: l.value(i)}
	case l.count < l.capacity:
		return split{value: l.insert(i, id), added: true}
	case l.capacity < fan:
		invariant.That(t.height() == 1, "stream: a small leaf that is not the only one")
		l = t.growLeaf(r, l)
		return split{value: l.insert(i, id), added: true}
	}
	cut := fan / 2
	if i == fan && l.words[1] == 0 {
		cut = fan // behind everything: the left one stays full
	}
	right, m := t.newLeaf(fan)
	copy(m.keys(), l.keys()[keyWords*cut:])
	copy(m.values(), l.values()[t.width*cut:])
	m.setCount(fan - cut)
	l.setCount(cut)
	t.linkAfter(r, l, right, m)
	s := split{added: true, right: right}
	if i >= cut {
		s.value = m.insert(i-cut, id)
	} else {
		s.value = l.insert(i, id)
	}
	s.key = m.key(0)
	return s
}

// growLeaf makes the only leaf larger.
func (t tree) growLeaf(r mem.Ref, l leaf) leaf {
	fresh, m := t.newLeaf(min(2*l.capacity, fan))
	copy(m.keys(), l.keys())
	copy(m.values(), l.values())
	m.setCount(l.count)
	t.freeLeaf(r, l.capacity)
	t.setRoot(fresh, 1)
	t.head[1], t.head[2] = uint64(fresh), uint64(fresh)
	return m
}

// linkAfter puts the leaf right into the chain behind r.
func (t tree) linkAfter(r mem.Ref, l leaf, right mem.Ref, m leaf) {
	next := l.words[1]
	m.words[1], m.words[2] = next, uint64(r)
	l.words[1] = uint64(right)
	if next == 0 {
		t.head[2] = uint64(right)
		return
	}
	t.a.Words(mem.Ref(next), leafHead)[2] = uint64(right)
}
