package tree

import "github.com/covey-db/covey/internal/mem"

// This file holds the walk along the entries, in both directions.

// Cursor is at an entry of a tree, or beyond its ends. A change of the tree ends its life.
type Cursor struct {
	tree  *Tree
	leaf  leaf // nil beyond the ends
	index int
	path  path
}

// At is a cursor at the entry with the given rank; when there is none, it is not valid.
func (t *Tree) At(rank int) Cursor {
	c := Cursor{tree: t}
	if rank >= 0 && rank < t.count {
		c.index = t.toRank(&c.path, rank)
		c.leaf = t.leafAt(c.path.leaf)
	}
	return c
}

// Valid says whether the cursor is at an entry.
func (c *Cursor) Valid() bool { return c.leaf != nil }

// Score is the score of the entry. Minus zero is told as zero: the member's block has the score as it was given.
func (c *Cursor) Score() float64 { return scoreOf(c.leaf.key(c.index)) }

// Ref is the block of the entry's member.
func (c *Cursor) Ref() mem.Ref { return c.leaf.ref(c.index) }

// Next goes to the next higher entry.
func (c *Cursor) Next() {
	c.index++
	if c.index == c.leaf.count() {
		c.index = 0
		c.turn(1)
	}
}

// Prev goes to the next lower entry.
func (c *Cursor) Prev() {
	c.index--
	if c.index < 0 {
		c.turn(-1)
		if c.leaf != nil {
			c.index = c.leaf.count() - 1
		}
	}
}

// turn goes to the next leaf, or with step -1 to the one before.
func (c *Cursor) turn(step int) {
	t, p := c.tree, &c.path
	level := t.height - 1
	for level >= 0 {
		i := p.index[level] + step
		if i >= 0 && i < t.innerAt(p.node[level]).count() {
			p.index[level] = i
			break
		}
		level--
	}
	if level < 0 {
		c.leaf = nil
		return
	}
	for ; ; level++ {
		at := t.innerAt(p.node[level]).child(p.index[level])
		if level == t.height-1 {
			p.leaf = at
			c.leaf = t.leafAt(at)
			return
		}
		p.node[level+1], p.index[level+1] = at, 0
		if step < 0 {
			p.index[level+1] = t.innerAt(at).count() - 1
		}
	}
}
