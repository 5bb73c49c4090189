package tree

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds how entries leave or change their place: a node that has become sparse is merged with a neighbour.

// Delete takes out the entry of a member, which is in the tree with this score. The block of the member is needed for that
// and may be freed afterwards.
func (t *Tree) Delete(score float64, member []byte) {
	var p path
	i := t.toEntry(&p, keyOf(score), member)
	l := t.leafAt(p.leaf)
	invariant.That(i < l.count() && l.key(i) == keyOf(score), "tree: an entry is deleted that is not there")
	t.cut(&p, i, i+1)
}

// Move gives a member that is in the tree another score.
func (t *Tree) Move(from, to float64, ref mem.Ref) {
	member := t.member(t.arena, ref)
	var p path
	i := t.toEntry(&p, keyOf(from), member)
	l := t.leafAt(p.leaf)
	invariant.That(i < l.count() && l.ref(i) == ref, "tree: an entry is moved that is not there")
	if i > 0 && i < l.count()-1 { // what is first is also told elsewhere
		b := bound{key: keyOf(to), member: member, kind: byEntry}
		if t.isBefore(&b, l.key(i-1), l.ref(i-1)) && !t.isBefore(&b, l.key(i+1), l.ref(i+1)) {
			l.entries(i, i+1)[0] = b.key
			return
		}
	}
	t.cut(&p, i, i+1)
	t.Insert(to, ref)
}

// DeleteRange takes out the entries with the ranks from low to high, without high, in order. gone is called for some at a
// time, when they are out of the tree and their blocks are no longer looked at. gone must not use the tree.
func (t *Tree) DeleteRange(low, high int, gone func(refs []mem.Ref)) {
	for left := high - low; left > 0; {
		var p path
		i := t.toRank(&p, low)
		l := t.leafAt(p.leaf)
		n := min(left, l.count()-i)
		var refs [leafMax]mem.Ref
		for j := range n {
			refs[j] = l.ref(i + j)
		}
		t.cut(&p, i, i+n)
		gone(refs[:n])
		left -= n
	}
}

// cut takes the entries i to j, without j, out of the leaf at the end of a path.
func (t *Tree) cut(p *path, i, j int) {
	l := t.leafAt(p.leaf)
	count := l.count()
	left := count - (j - i)
	t.count -= j - i
	for level := range t.height {
		t.innerAt(p.node[level]).addBelow(p.index[level], i-j)
	}
	if left == 0 {
		t.freeLeaf(p.leaf, count)
		t.dropChild(p, t.height-1)
		return
	}
	copy(l.entries(i, left), l.entries(j, count))
	l[0] = uint64(left)
	if i == 0 {
		t.tellFirst(p, t.height-1, l.key(0), l.ref(0))
	}
	fresh := t.arena.Resize(mem.ForZSet, p.leaf, leafBytes(count), leafBytes(left))
	if t.height == 0 {
		t.root = fresh
		return
	}
	n := t.innerAt(p.node[t.height-1])
	n.setChild(p.index[t.height-1], fresh)
	if left < leafMax/sparse && t.mergeLeaf(n, p.index[t.height-1]) {
		t.settle(p, t.height-1)
	}
}

// tellFirst notes another first entry of the node at the end of a path that ends at a level: where it is not the first
// child of its parent.
func (t *Tree) tellFirst(p *path, level int, key uint64, ref mem.Ref) {
	for ; level >= 0; level-- {
		if p.index[level] > 0 {
			t.innerAt(p.node[level]).setFirst(p.index[level], key, ref)
			return
		}
	}
}

// dropChild forgets the child that the path takes at a level, whose node has been freed. At level -1 that is the root.
func (t *Tree) dropChild(p *path, level int) {
	if level < 0 {
		t.root, t.height = 0, 0
		return
	}
	n, i := t.innerAt(p.node[level]), p.index[level]
	t.takeChild(n, i)
	if n.count() == 0 {
		t.freeInner(p.node[level])
		t.dropChild(p, level-1)
		return
	}
	if i == 0 {
		t.tellFirst(p, level-1, n.key(0), n.ref(0))
	}
	t.settle(p, level)
}

// takeChild closes the gap of child i of n.
func (t *Tree) takeChild(n inner, i int) {
	count := n.count()
	copy(n.children(i, count-1), n.children(i+1, count))
	n[0] = uint64(count - 1)
}

// settle looks whether the node of a path at a level, which has lost a child, is to be merged, and those above it.
func (t *Tree) settle(p *path, level int) {
	for ; level > 0; level-- {
		if t.innerAt(p.node[level]).count() >= innerMax/sparse || !t.mergeInner(t.innerAt(p.node[level-1]), p.index[level-1]) {
			return
		}
	}
	for t.height > 0 {
		n := t.innerAt(t.root)
		if n.count() > 1 {
			return
		}
		child := n.child(0)
		t.freeInner(t.root)
		t.root = child
		t.height--
	}
}

// mergeLeaf merges child i of n with a neighbour when both fit in one leaf.
func (t *Tree) mergeLeaf(n inner, i int) bool {
	fits := func(i int) bool { return i >= 0 && i+1 < n.count() && n.below(i)+n.below(i+1) <= leafMax }
	if !fits(i) {
		if i--; !fits(i) {
			return false
		}
	}
	right := t.leafAt(n.child(i + 1))
	held, more := n.below(i), n.below(i+1)
	left := t.arena.Resize(mem.ForZSet, n.child(i), leafBytes(held), leafBytes(held+more))
	l := t.leafAt(left)
	copy(l.entries(held, held+more), right.entries(0, more))
	l[0] = uint64(held + more)
	n.setChild(i, left)
	n.addBelow(i, more)
	t.freeLeaf(n.child(i+1), more)
	t.takeChild(n, i+1)
	return true
}

// mergeInner merges child i of n, an inner node, with a neighbour when both fit in one node.
func (t *Tree) mergeInner(n inner, i int) bool {
	fits := func(i int) bool {
		return i >= 0 && i+1 < n.count() && t.innerAt(n.child(i)).count()+t.innerAt(n.child(i+1)).count() <= innerMax
	}
	if !fits(i) {
		if i--; !fits(i) {
			return false
		}
	}
	left, right := t.innerAt(n.child(i)), t.innerAt(n.child(i+1))
	held, more := left.count(), right.count()
	copy(left.children(held, held+more), right.children(0, more))
	left.setFirst(held, n.key(i+1), n.ref(i+1)) // nobody has kept that of a first child
	left[0] = uint64(held + more)
	n.addBelow(i, n.below(i+1))
	t.freeInner(n.child(i + 1))
	t.takeChild(n, i+1)
	return true
}
