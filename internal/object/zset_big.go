package object

import (
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/enc/tree"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the big sorted set: a table that finds the score of a member, and a tree that has the members in order.
// The tree names the entries of the table, which do not move.
//
//	root:  | 8: root and height of the tree | 8: number of members | 8: mem.Ref of the table |

const (
	rankedTree = iota
	rankedCount
	rankedTable
	rankedWords
)

// ranked is a big sorted set that was opened. What changes is in the handle until save.
type ranked struct {
	head  []uint64
	table table.Table
	tree  tree.Tree
	root  mem.Ref
}

// memberOf is how a tree gets to its members.
func memberOf(a *mem.Arena, ref mem.Ref) []byte { return table.ScoredMember(a, ref) }

func newRanked(a *mem.Arena) ranked {
	root := a.Alloc(mem.ForZSet, rankedWords*8)
	head := a.Words(root, rankedWords)
	head[rankedTree], head[rankedCount] = 0, 0
	head[rankedTable] = uint64(table.New(a, mem.ForZSet, table.Scores))
	return openRanked(a, root)
}

func openRanked(a *mem.Arena, root mem.Ref) (z ranked) {
	z.open(a, root)
	return z
}

// open is openRanked in its place.
func (z *ranked) open(a *mem.Arena, root mem.Ref) {
	z.root, z.head = root, a.Words(root, rankedWords)
	z.table.Open(a, mem.Ref(z.head[rankedTable]))
	z.tree.Open(a, tree.State{Root: z.head[rankedTree], Count: z.head[rankedCount]}, memberOf)
}

// save writes into the root what has changed.
func (z *ranked) save() {
	s := z.tree.State()
	z.head[rankedTree], z.head[rankedCount] = s.Root, s.Count
}

// insert puts in a member that is not there.
func (z *ranked) insert(hash uint64, member []byte, score float64) {
	e, _ := z.table.Put(hash, member, score)
	z.tree.Insert(score, e.Ref())
}

// setScore gives another score to a member that is there.
func (z *ranked) setScore(e table.Entry, score float64) {
	z.tree.Move(e.Score(), score, e.Ref())
	e.SetScore(score)
}

// remove takes a member out; false when it is not there.
func (z *ranked) remove(hash uint64, member []byte) bool {
	e, found := z.table.Find(hash, member)
	if !found {
		return false
	}
	z.tree.Delete(e.Score(), member)
	z.table.Delete(hash, member)
	return true
}

// bytes is about what the set takes.
func (z *ranked) bytes() int64 {
	return z.table.Bytes() + z.tree.Bytes() + int64(mem.Usable(rankedWords*8))
}

// freeRanked frees about budget members of a big sorted set: first the tree, which does not look at them, then the table.
// When it is not done it has to be called again; nothing else may be done with the set then.
func freeRanked(a *mem.Arena, root mem.Ref, budget int) (spent int, done bool) {
	z := openRanked(a, root)
	budget = min(budget, dropAll/freeNodesAtOnce)
	nodes, gone := z.tree.FreeSome(budget * freeNodesAtOnce)
	z.save()
	spent = nodes / freeNodesAtOnce
	if !gone {
		return spent, false
	}
	entries, gone := z.table.Free(max(budget-spent, 1))
	spent += entries
	if gone {
		a.Free(mem.ForZSet, root, rankedWords*8)
	}
	return spent, gone
}

// freeNodesAtOnce is how many entries of a tree are freed in the time that one of the table takes: they go by nodes.
const freeNodesAtOnce = 16
