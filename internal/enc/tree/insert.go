package tree

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds how entries come in. What is full is split on the way down, so that every node has room for one more
// child when the one below it is split.

// Insert adds a member with its score. The member must not be in the tree.
func (t *Tree) Insert(score float64, ref mem.Ref) {
	b := bound{key: keyOf(score), member: t.member(t.arena, ref), kind: byEntry}
	t.count++
	if t.root == 0 {
		t.root = t.newLeaf([]uint64{b.key, uint64(ref)})
		return
	}
	if t.isFull(t.root, t.height) {
		t.growRoot()
	}
	at, parent, i := t.root, inner(nil), 0
	for level := t.height; level > 0; level-- {
		parent = t.innerAt(at)
		i = t.childOf(parent, &b)
		if t.isFull(parent.child(i), level-1) {
			if level == 1 && t.insertAtEnd(parent, i, &b, ref) {
				return
			}
			i = t.split(parent, i, level-1, &b)
		}
		parent.addBelow(i, 1)
		at = parent.child(i)
	}
	t.putEntry(parent, i, &b, ref)
}

// putEntry puts an entry into child i of parent, a leaf that has room. A nil parent means that the leaf is the root.
func (t *Tree) putEntry(parent inner, i int, b *bound, ref mem.Ref) {
	at := t.root
	if parent != nil {
		at = parent.child(i)
	}
	l := t.leafAt(at)
	count := l.count()
	index := t.indexOf(l, b)
	if fresh := t.arena.Resize(mem.ForZSet, at, leafBytes(count), leafBytes(count+1)); fresh != at {
		t.moved(parent, i, fresh)
		l = t.leafAt(fresh)
	}
	copy(l.entries(index+1, count+1), l.entries(index, count))
	w := l.entries(index, index+1)
	w[0], w[1] = b.key, uint64(ref)
	l[0] = uint64(count + 1)
}

// moved notes that the node that is child i of parent, or the root, lies elsewhere now.
func (t *Tree) moved(parent inner, i int, to mem.Ref) {
	if parent == nil {
		t.root = to
		return
	}
	parent.setChild(i, to)
}

func (t *Tree) isFull(at mem.Ref, level int) bool {
	if level == 0 {
		return t.leafAt(at).count() == leafMax
	}
	return t.innerAt(at).count() == innerMax
}

// growRoot gives the root a parent. Its one child needs no first entry, and its counts do not have what is being added.
func (t *Tree) growRoot() {
	ref, n := t.newInner()
	n[0] = 1
	n.set(0, 0, 0, t.root, t.count-1)
	t.root = ref
	t.height++
	invariant.That(t.height < heightMax, "tree: higher than any tree can be")
}

// insertAtEnd puts an entry that belongs before or behind all others of a full leaf, child i of parent, into a leaf of its
// own, or to the front of the next one if that has room. So leaves become and stay full when entries come in order.
func (t *Tree) insertAtEnd(parent inner, i int, b *bound, ref mem.Ref) bool {
	l := t.leafAt(parent.child(i))
	switch t.indexOf(l, b) {
	case 0:
		parent.setFirst(i, l.key(0), l.ref(0))
	case leafMax:
		i++
		if i < parent.count() && parent.below(i) < leafMax {
			parent.setFirst(i, b.key, ref)
			parent.addBelow(i, 1)
			t.putEntry(parent, i, b, ref)
			return true
		}
	default:
		return false
	}
	t.putChild(parent, i, b.key, ref, t.newLeaf([]uint64{b.key, uint64(ref)}), 1)
	return true
}

// putChild makes a node child i of n, which has room.
func (t *Tree) putChild(n inner, i int, key uint64, ref, child mem.Ref, below int) {
	count := n.count()
	copy(n.children(i+1, count+1), n.children(i, count))
	n.set(i, key, ref, child, below)
	n[0] = uint64(count + 1)
}

// split splits child i of n, which is full and of the given level, and returns in which half the place is.
func (t *Tree) split(n inner, i, level int, b *bound) int {
	if level == 0 {
		t.splitLeaf(n, i)
	} else {
		t.splitInner(n, i, b)
	}
	if t.isBefore(b, n.key(i+1), n.ref(i+1)) {
		return i + 1
	}
	return i
}

func (t *Tree) splitLeaf(n inner, i int) {
	const cut = (leafMax + 1) / 2
	at := n.child(i)
	l := t.leafAt(at)
	right := t.newLeaf(l.entries(cut, leafMax))
	t.putChild(n, i+1, l.key(cut), l.ref(cut), right, leafMax-cut)
	n.addBelow(i, cut-leafMax)
	l[0] = cut
	n.setChild(i, t.arena.Resize(mem.ForZSet, at, leafBytes(leafMax), leafBytes(cut)))
}

// splitEdge is how many children are split off where the place is at an end.
const splitEdge = 4

// splitInner splits in the middle, but where the place is at an end, nearly all the other children stay together: entries
// that come in order shall leave full nodes behind.
func (t *Tree) splitInner(n inner, i int, b *bound) {
	left := t.innerAt(n.child(i))
	cut := innerMax / 2
	switch t.childOf(left, b) {
	case 0:
		cut = splitEdge
	case innerMax - 1:
		cut = innerMax - splitEdge
	}
	ref, right := t.newInner()
	right[0] = uint64(innerMax - cut)
	copy(right[1:], left.children(cut, innerMax))
	left[0] = uint64(cut)
	below := 0
	for j := range right.count() {
		below += right.below(j)
	}
	t.putChild(n, i+1, right.key(0), right.ref(0), ref, below)
	n.addBelow(i, -below)
}
