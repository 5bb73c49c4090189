package stream

import "github.com/covey-db/covey/internal/mem"

// This file holds how very much is removed at once: nodes, or a group with what is pending in it, are hung on a husk, a
// stream that nobody reads, which is freed in slices (FreeSome).

// removeAtOnce is the number of blocks up to which they are freed at once: about 5 µs.
const removeAtOnce = 64

// cutFront takes the entries before a place, n of them, out of the tree, and returns the first of their leaves, which are
// only linked to each other. What is before the place in its own leaf is forgotten, no more than a leaf has.
func (t tree) cutFront(p place, n int) (leaves mem.Ref) {
	l := t.leaf(p.leaf)
	if prev := mem.Ref(l.words[2]); prev != 0 {
		leaves, t.head[1] = mem.Ref(t.head[1]), uint64(p.leaf)
		t.a.Words(prev, leafHead)[1], l.words[2] = 0, 0
	}
	copy(l.keys(), l.keys()[keyWords*p.i:keyWords*l.count])
	copy(l.values(), l.values()[t.width*p.i:t.width*l.count])
	l.setCount(l.count - p.i)
	t.head[3] -= uint64(n)
	t.cutInner(l.key(0))
	return leaves
}

// cutInner frees the inner nodes of which all keys are below that of the first leaf, and takes their places out of others.
func (t tree) cutInner(first ID) {
	r := t.root()
	for level := t.height(); level > 1; level-- {
		n := t.inner(r)
		i, count := n.childOf(first), n.count()
		for j := 0; j < i && level > 2; j++ {
			t.freeInnerBelow(n.child(j), level-1)
		}
		copy(n.keys(), n.keys()[keyWords*i:keyWords*count])
		copy(n.children(), n.children()[i:count])
		n.setCount(count - i)
		r = n.child(0)
	}
	t.lower()
}

// lower takes inner nodes away at the top that have one child.
func (t tree) lower() {
	for t.height() > 1 {
		root := t.root()
		n := t.inner(root)
		if n.count() > 1 {
			break
		}
		t.setRoot(n.child(0), t.height()-1)
		t.a.Free(mem.ForStream, root, innerWords*wordBytes)
	}
}

// dropFront removes the first nodes, which have no entries any more that count. When there are many it returns a husk.
func (s Stream) dropFront(nodes int) (husk mem.Ref) {
	t := s.nodes()
	if nodes <= removeAtOnce {
		for range nodes {
			first, v := t.at(t.first())
			s.dropNode(v[0])
			t.remove(first)
		}
		return 0
	}
	h := New(s.a)
	if nodes == t.len() {
		*h.nodes().head = *t.head
		clear(t.head[:])
		return h.root
	}
	p, before := t.first(), nodes
	for n := t.leaf(p.leaf); before >= n.count; n = t.leaf(p.leaf) {
		before -= n.count
		p.leaf = mem.Ref(n.words[1])
	}
	for p.i = 0; p.i < before; p.i++ { // the rest of this leaf stays, so these are not on the husk
		_, v := t.at(p)
		s.dropNode(v[0])
	}
	h.nodes().head[1] = uint64(t.cutFront(p, nodes))
	h.nodes().head[3] = uint64(nodes - before)
	return h.root
}

// RemoveGroup removes a group with all that is pending in it; false when there is none of that name. When much is pending it
// returns a husk, 0 otherwise.
func (s Stream) RemoveGroup(name []byte) (husk mem.Ref, found bool) {
	d := s.groups()
	i, ok := d.search(name)
	if !ok {
		return 0, false
	}
	if _, done := s.group(d.at(i)).freeSome(removeAtOnce); done {
		d.remove(i)
		return 0, true
	}
	h := New(s.a)
	h.groups().adopt(d.take(i))
	return h.root, true
}
