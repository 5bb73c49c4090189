package tree

// This file holds the end of a tree. The members' blocks are not its business.

// FreeSome frees nodes for about budget entries. It returns how many are spent, and whether the tree is gone. Nothing else
// can be done with the tree afterwards, as its counts are wrong, but to call FreeSome again, with the State it has then.
func (t *Tree) FreeSome(budget int) (spent int, done bool) {
	for t.root != 0 {
		if spent >= budget {
			return spent, false
		}
		spent += t.freeLast()
	}
	t.height, t.count = 0, 0
	return spent, true
}

// freeLast frees the last leaf and returns how many entries it had.
func (t *Tree) freeLast() (held int) {
	at, parent := t.root, inner(nil)
	level := t.height
	for ; level > 0; level-- {
		n := t.innerAt(at)
		if n.count() == 0 {
			t.freeInner(at)
			t.forgetLast(parent)
			return 1
		}
		at, parent = n.child(n.count()-1), n
	}
	held = t.leafAt(at).count()
	t.freeLeaf(at, held)
	t.forgetLast(parent)
	return held
}

// forgetLast takes the last child off a node; nil means that the root is gone.
func (t *Tree) forgetLast(parent inner) {
	if parent == nil {
		t.root = 0
		return
	}
	parent[0]--
}
