package stream

import "github.com/covey-db/covey/internal/mem"

// This file holds how a tree is measured, and freed in slices.

// freeInner frees the inner nodes, after which only the chain of leaves is left: freeLeaves goes on.
func (t tree) freeInner() {
	if t.height() > 1 {
		t.freeInnerBelow(t.root(), t.height())
	}
	t.setRoot(0, 0)
}

func (t tree) freeInnerBelow(r mem.Ref, level int) {
	n := t.inner(r)
	if level > 2 {
		for i := range n.count() {
			t.freeInnerBelow(n.child(i), level-1)
		}
	}
	t.a.Free(mem.ForStream, r, innerWords*wordBytes)
}

// freeLeaves frees leaves after freeInner, calling each (if not nil) for every value, until about budget entries are gone.
func (t tree) freeLeaves(budget int, each func(v []uint64)) (spent int, done bool) {
	for t.head[1] != 0 {
		if spent >= budget {
			return spent, false
		}
		r := mem.Ref(t.head[1])
		l := t.leaf(r)
		if each != nil {
			for i := range l.count {
				each(l.value(i))
			}
			spent += l.count
		}
		spent++
		t.head[1] = l.words[1]
		t.head[3] -= uint64(l.count)
		t.freeLeaf(r, l.capacity)
	}
	t.head[2] = 0
	return spent, true
}

// bytes is what the tree takes, estimated from the number of its leaves' entries.
func (t tree) bytes() int64 {
	if t.height() == 0 {
		return 0
	}
	if t.height() == 1 {
		l := t.leaf(t.root())
		return int64(mem.Usable(t.leafWords(l.capacity) * wordBytes))
	}
	return t.blockBytes(t.root(), t.height())
}

// blockBytes counts the blocks from r on by the inner nodes alone.
func (t tree) blockBytes(r mem.Ref, level int) int64 {
	n := t.inner(r)
	total := int64(mem.Usable(innerWords * wordBytes))
	for i := range n.count() {
		if level > 2 {
			total += t.blockBytes(n.child(i), level-1)
		} else {
			total += int64(mem.Usable(t.leafWords(fan) * wordBytes))
		}
	}
	return total
}
