// Package tree holds the order of a big sorted set: a counted B+ tree in a mem.Arena, ordered by score, then by the bytes
// of the member.
//
// The members themselves lie elsewhere (package enc/table), in blocks that do not move as long as they are in the tree; a
// leaf has their scores and addresses. Every inner node knows how many entries lie below each of its children, so that
// ranks are found and followed on one way down.
//
//	leaf:   | 8: number of entries | entry | entry | ...      at most 63 entries of 16 bytes
//	entry:  | 8: key of the score  | 8: mem.Ref of the member |
//
//	inner:  | 8: number of children | child | child | ...     at most 31 children of 32 bytes
//	child:  | 8: key, 8: mem.Ref of its first entry | 8: mem.Ref of its node | 8: number of entries below |
//
// The key of a score is a number without sign in the order of the scores (keyOf). The block of a leaf grows and shrinks with
// its entries in steps of four, so little of it lies idle; the block of an inner node has its full size at once.
//
// The first entry that a child tells is what the search compares with. Of the first child of a node it is never looked at
// and may be out of date.
//
// A full node is split in the middle; where entries come in order, it stays nearly full and another one is begun. A node
// that has become less than a quarter full is merged with a neighbour when both fit in one.
//
// Sources: D. Comer, "The Ubiquitous B-Tree", 1979; the counts are those of order statistic trees.
package tree

import (
	"bytes"
	"math"

	"github.com/covey-db/covey/internal/mem"
)

const (
	leafMax    = 63 // entries of a leaf: with its head 1016 bytes
	innerMax   = 31 // children of an inner node: with its head 1000 bytes
	entryWords = 2
	childWords = 4
	sparse     = 4  // a node with less than one part in so many of what fits looks for a neighbour to merge with
	heightMax  = 16 // levels; a split leaves at least 4 children on either side, so this is never reached

	innerBytes = (1 + innerMax*childWords) * 8
	heightBits = 8
)

// MemberOf returns the bytes of the member whose block ref is. It must not allocate.
type MemberOf func(a *mem.Arena, ref mem.Ref) []byte

// Tree is a handle of a tree. It is a value that is made for an operation or some; State is what has to be kept of it.
type Tree struct {
	arena  *mem.Arena
	member MemberOf
	root   mem.Ref // a leaf when height is 0
	height int     // inner levels
	count  int     // entries
}

// State is what has to be kept of a tree, in whatever block its owner likes: the root's address with the height, and the
// number of entries. The zero State is an empty tree.
type State struct {
	Root  uint64
	Count uint64
}

// Open makes a handle. member is how the tree gets to the bytes of its members.
func Open(a *mem.Arena, s State, member MemberOf) (t Tree) {
	t.Open(a, s, member)
	return t
}

// Open makes t what the function Open returns.
func (t *Tree) Open(a *mem.Arena, s State, member MemberOf) {
	t.arena, t.member = a, member
	t.root, t.height = mem.Ref(s.Root&mem.RefMask), int(s.Root>>mem.RefBits&(1<<heightBits-1))
	t.count = int(s.Count)
}

// State is what the tree is to be opened with the next time.
func (t *Tree) State() State {
	return State{Root: uint64(t.root) | uint64(t.height)<<mem.RefBits, Count: uint64(t.count)}
}

// Len is the number of entries.
func (t *Tree) Len() int { return t.count }

const signBit = 1 << 63

// keyOf is a number that is in the order of the scores. Minus zero is zero. A score is never NaN.
func keyOf(score float64) uint64 {
	if score == 0 {
		return signBit
	}
	bits := math.Float64bits(score)
	if bits&signBit != 0 {
		return ^bits
	}
	return bits | signBit
}

// scoreOf is the score of a key; minus zero has become zero.
func scoreOf(key uint64) float64 {
	if key&signBit != 0 {
		return math.Float64frombits(key &^ signBit)
	}
	return math.Float64frombits(^key)
}

// leaf is the words of a leaf. They live until the next change of the tree.
type leaf []uint64

func (l leaf) count() int        { return int(l[0]) }
func (l leaf) key(i int) uint64  { return l[1+i*entryWords] }
func (l leaf) ref(i int) mem.Ref { return mem.Ref(l[2+i*entryWords]) }

// entries are the words of the entries i to j, without j.
func (l leaf) entries(i, j int) []uint64 { return l[1+i*entryWords : 1+j*entryWords] }

// inner is the words of an inner node. They live as long as the node, as the block never moves.
type inner []uint64

func (n inner) count() int          { return int(n[0]) }
func (n inner) key(i int) uint64    { return n[1+i*childWords] }
func (n inner) ref(i int) mem.Ref   { return mem.Ref(n[2+i*childWords]) }
func (n inner) child(i int) mem.Ref { return mem.Ref(n[3+i*childWords]) }
func (n inner) below(i int) int     { return int(n[4+i*childWords]) }

// children are the words of the children i to j, without j.
func (n inner) children(i, j int) []uint64 { return n[1+i*childWords : 1+j*childWords] }

func (n inner) set(i int, key uint64, ref, child mem.Ref, below int) {
	w := n.children(i, i+1)
	w[0], w[1], w[2], w[3] = key, uint64(ref), uint64(child), uint64(below)
}

func (n inner) setFirst(i int, key uint64, ref mem.Ref) {
	w := n.children(i, i+1)
	w[0], w[1] = key, uint64(ref)
}

func (n inner) setChild(i int, child mem.Ref) { n[3+i*childWords] = uint64(child) }
func (n inner) addBelow(i int, delta int)     { n[4+i*childWords] += uint64(delta) }
func (t *Tree) leafAt(ref mem.Ref) leaf       { return leaf(t.arena.TailWords(ref)) }
func (t *Tree) innerAt(ref mem.Ref) inner     { return inner(t.arena.Words(ref, innerBytes/8)) }
func (t *Tree) newInner() (mem.Ref, inner) {
	r := t.arena.Alloc(mem.ForZSet, innerBytes)
	return r, t.innerAt(r)
}
func (t *Tree) freeInner(ref mem.Ref)          { t.arena.Free(mem.ForZSet, ref, innerBytes) }
func (t *Tree) freeLeaf(ref mem.Ref, held int) { t.arena.Free(mem.ForZSet, ref, leafBytes(held)) }

// leafBytes is the size of the block of a leaf with so many entries.
func leafBytes(count int) int { return (1 + (count|3)*entryWords) * 8 }

// newLeaf is a leaf with the given entries. They must not lie in a block that Alloc could move, which none is.
func (t *Tree) newLeaf(entries []uint64) mem.Ref {
	count := len(entries) / entryWords
	ref := t.arena.Alloc(mem.ForZSet, leafBytes(count))
	l := t.leafAt(ref)
	l[0] = uint64(count)
	copy(l[1:], entries)
	return ref
}

// bound is a place between entries: what it is compared with is before it or behind it.
type bound struct {
	key    uint64
	member []byte
	kind   boundKind
	after  bool // what is equal is before the place
}

type boundKind uint8

const (
	byEntry  boundKind = iota // score, then member
	byScore                   // score alone
	byMember                  // member alone: all scores are the same
)

// isBefore says whether an entry is before the place.
func (t *Tree) isBefore(b *bound, key uint64, ref mem.Ref) bool {
	if b.kind != byMember {
		if key != b.key {
			return key < b.key
		}
		if b.kind == byScore {
			return b.after
		}
	}
	order := bytes.Compare(t.member(t.arena, ref), b.member)
	return order < 0 || order == 0 && b.after
}

// childOf is the child in which the place is.
func (t *Tree) childOf(n inner, b *bound) int {
	low, high := 1, n.count() // the children before low begin before the place, those from high on do not
	for low < high {
		mid := int(uint(low+high) >> 1)
		if t.isBefore(b, n.key(mid), n.ref(mid)) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1
}

// indexOf is the number of entries of a leaf that are before the place.
func (t *Tree) indexOf(l leaf, b *bound) int {
	low, high := 0, l.count()
	for low < high {
		mid := int(uint(low+high) >> 1)
		if t.isBefore(b, l.key(mid), l.ref(mid)) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// rank is the number of entries before the place.
func (t *Tree) rank(b *bound) (before int) {
	if t.root == 0 {
		return 0
	}
	at := t.root
	for range t.height {
		n := t.innerAt(at)
		i := t.childOf(n, b)
		for j := range i {
			before += n.below(j)
		}
		at = n.child(i)
	}
	return before + t.indexOf(t.leafAt(at), b)
}

// Rank is the number of entries before the one with this score and member, or where it would be.
func (t *Tree) Rank(score float64, member []byte) int {
	return t.rank(&bound{key: keyOf(score), member: member, kind: byEntry})
}

// RankOfScore is the number of entries with a lower score; with after, or the same one.
func (t *Tree) RankOfScore(score float64, after bool) int {
	return t.rank(&bound{key: keyOf(score), kind: byScore, after: after})
}

// RankOfMember is the number of entries with a lower member; with after, or the same one. It makes sense only when all
// scores are the same.
func (t *Tree) RankOfMember(member []byte, after bool) int {
	return t.rank(&bound{member: member, kind: byMember, after: after})
}

// path is the way down to a leaf.
type path struct {
	node  [heightMax]mem.Ref // from the root on
	index [heightMax]int     // of the child that was taken
	leaf  mem.Ref
}

// toEntry goes down to the leaf in which an entry is, or would be, and returns its index there.
func (t *Tree) toEntry(p *path, key uint64, member []byte) (index int) {
	b := bound{key: key, member: member, kind: byEntry, after: true} // a child begins with the very entry it tells
	at := t.root
	for level := range t.height {
		n := t.innerAt(at)
		p.node[level], p.index[level] = at, t.childOf(n, &b)
		at = n.child(p.index[level])
	}
	p.leaf = at
	b.after = false
	return t.indexOf(t.leafAt(at), &b)
}

// toRank goes down to the leaf of the entry with a rank below Len, and returns its index there.
func (t *Tree) toRank(p *path, rank int) (index int) {
	at := t.root
	for level := range t.height {
		n := t.innerAt(at)
		i := 0
		for ; rank >= n.below(i); i++ {
			rank -= n.below(i)
		}
		p.node[level], p.index[level] = at, i
		at = n.child(i)
	}
	p.leaf = at
	return rank
}

// Bytes is about what the nodes take: a leaf has about three quarters of what fits, and its block little to spare.
func (t *Tree) Bytes() int64 {
	return int64(t.count)*entryWords*8*9/8 + int64(t.height+1)*innerBytes
}
