package tree

import (
	"bytes"
	"fmt"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds the check that tests run.

// Check walks the whole tree and is an error when its parts contradict each other.
func (t *Tree) Check() error {
	if t.root == 0 {
		if t.count != 0 || t.height != 0 {
			return fmt.Errorf("tree: no root, but height %d and %d entries", t.height, t.count)
		}
		return nil
	}
	w := walker{tree: t}
	count, err := w.node(t.root, t.height, false)
	if err == nil && count != t.count {
		err = fmt.Errorf("tree: %d entries, counted %d", t.count, count)
	}
	return err
}

// walker remembers the last entry it has seen.
type walker struct {
	tree   *Tree
	key    uint64
	member []byte
	any    bool
}

// node checks a node and what is below it. inside says that it has a parent.
func (w *walker) node(at mem.Ref, level int, inside bool) (count int, err error) {
	t := w.tree
	if level == 0 {
		return w.checkLeaf(t.leafAt(at))
	}
	n := t.innerAt(at)
	if n.count() < 1 || n.count() > innerMax || !inside && n.count() < 2 {
		return 0, fmt.Errorf("tree: an inner node of %d children", n.count())
	}
	for i := range n.count() {
		below, err := w.node(n.child(i), level-1, true)
		if err != nil {
			return 0, err
		}
		if below != n.below(i) {
			return 0, fmt.Errorf("tree: %d entries below a child, counted %d", n.below(i), below)
		}
		if i > 0 {
			if first := t.firstOf(n.child(i), level-1); n.ref(i) != first.ref(0) || n.key(i) != first.key(0) {
				return 0, fmt.Errorf("tree: the first entry of a child is another one")
			}
		}
		count += below
	}
	return count, nil
}

// firstOf is the first leaf below a node.
func (t *Tree) firstOf(at mem.Ref, level int) leaf {
	for ; level > 0; level-- {
		at = t.innerAt(at).child(0)
	}
	return t.leafAt(at)
}

func (w *walker) checkLeaf(l leaf) (count int, err error) {
	if l.count() < 1 || l.count() > leafMax {
		return 0, fmt.Errorf("tree: a leaf of %d entries", l.count())
	}
	for i := range l.count() {
		member := w.tree.member(w.tree.arena, l.ref(i))
		if w.any && (l.key(i) < w.key || l.key(i) == w.key && bytes.Compare(member, w.member) <= 0) {
			return 0, fmt.Errorf("tree: %q is out of order", member)
		}
		w.key, w.member, w.any = l.key(i), member, true
	}
	return l.count(), nil
}
