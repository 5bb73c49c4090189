package stream

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the tree: an ordered map from IDs to a few words, off the heap. Three things of a stream are one: the
// nodes by their master IDs (a word each), what is pending in a group (three words), what a consumer owns (none).
//
//	head, four words inside the owner's block, which does not move:
//
//	  | 8 bits: height | 56: root | first leaf | last leaf | number of entries |
//
//	leaf, words:
//
//	  | count, capacity << 32 | next leaf | previous leaf | key (2 words) * capacity | value * capacity |
//
//	inner node, words; key i is not greater than any key below child i, and key 0 is not looked at:
//
//	  | count | key (2 words) * fan | child * fan |
//
// Height 0 is no entry, 1 a single leaf. That one starts small and grows; every other block has its full size. Entries that
// are added behind all others fill their leaves to the brim. A block that becomes sparse is joined with its neighbour, so
// that the tree stays in proportion to what it holds.
const (
	treeWords  = 4
	heightBits = 56
	refOfRoot  = 1<<heightBits - 1

	fan       = 62 // entries of a leaf and children of an inner node: blocks of 1 KiB to 2.5 KiB, just below a size class
	sparse    = fan / 4
	joinMax   = fan * 3 / 4 // what two blocks that are joined may have together
	leafHead  = 3
	innerHead = 1
	keyWords  = 2
	wordBytes = 8
)

// tree is a view of a tree; it lives as long as the block that the head lies in.
type tree struct {
	a     *mem.Arena
	head  []uint64
	width int // words of a value
}

// place is an entry of a tree, valid until the tree changes. The zero place is behind the end.
type place struct {
	leaf mem.Ref
	i    int
}

func (t tree) len() int        { return int(t.head[3]) }
func (t tree) height() int     { return int(t.head[0] >> heightBits) }
func (t tree) root() mem.Ref   { return mem.Ref(t.head[0] & refOfRoot) }
func (t tree) first() place    { return place{mem.Ref(t.head[1]), 0} }
func (p place) ok() bool       { return p.leaf != 0 }
func keyAt(b []uint64) ID      { return ID{b[0], b[1]} }
func putKey(b []uint64, id ID) { b[0], b[1] = id.Ms, id.Seq }

func (t tree) setRoot(r mem.Ref, height int) { t.head[0] = uint64(r) | uint64(height)<<heightBits }

func (t tree) leafWords(capacity int) int { return leafHead + (keyWords+t.width)*capacity }

// leaf is a view of a leaf.
type leaf struct {
	words           []uint64
	count, capacity int
	width           int
}

func (t tree) leaf(r mem.Ref) leaf {
	head := t.a.Words(r, leafHead)[0]
	capacity := int(head >> 32)
	return leaf{t.a.Words(r, t.leafWords(capacity)), int(uint32(head)), capacity, t.width}
}

func (l *leaf) setCount(n int)   { l.count = n; l.words[0] = uint64(n) | uint64(l.capacity)<<32 }
func (l *leaf) key(i int) ID     { return keyAt(l.words[leafHead+keyWords*i:]) }
func (l *leaf) keys() []uint64   { return l.words[leafHead : leafHead+keyWords*l.capacity] }
func (l *leaf) values() []uint64 { return l.words[leafHead+keyWords*l.capacity:] }
func (l *leaf) value(i int) []uint64 {
	at := leafHead + keyWords*l.capacity + l.width*i
	return l.words[at : at+l.width : at+l.width]
}

// lowerBound is the number of the n keys that are less than id.
func lowerBound(keys []uint64, n int, id ID) int {
	low, high := 0, n
	for low < high {
		mid := int(uint(low+high) >> 1)
		if keyAt(keys[keyWords*mid:]).Less(id) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

func (t tree) newLeaf(capacity int) (mem.Ref, leaf) {
	r := t.a.Alloc(mem.ForStream, t.leafWords(capacity)*wordBytes)
	l := leaf{t.a.Words(r, t.leafWords(capacity)), 0, capacity, t.width}
	l.setCount(0)
	l.words[1], l.words[2] = 0, 0
	return r, l
}

func (t tree) freeLeaf(r mem.Ref, capacity int) {
	t.a.Free(mem.ForStream, r, t.leafWords(capacity)*wordBytes)
}

// inner is a view of an inner node.
type inner struct{ words []uint64 }

const innerWords = innerHead + keyWords*fan + fan

func (t tree) inner(r mem.Ref) inner { return inner{t.a.Words(r, innerWords)} }
func (n inner) count() int           { return int(n.words[0]) }
func (n inner) setCount(c int)       { n.words[0] = uint64(c) }
func (n inner) keys() []uint64       { return n.words[innerHead : innerHead+keyWords*fan] }
func (n inner) children() []uint64   { return n.words[innerHead+keyWords*fan:] }
func (n inner) child(i int) mem.Ref  { return mem.Ref(n.children()[i]) }
func (n inner) set(i int, k ID, c mem.Ref) {
	putKey(n.keys()[keyWords*i:], k)
	n.children()[i] = uint64(c)
}

// childOf is the index of the child under which id is, or would be.
func (n inner) childOf(id ID) int {
	// Key 0 counts as less than everything.
	count := n.count()
	low := lowerBound(n.keys()[keyWords:], count-1, id)
	if low < count-1 && keyAt(n.keys()[keyWords*(low+1):]) == id {
		low++
	}
	return low
}

// openGap makes room for an entry at i among n, of keys and values of the given width.
func openGap(words []uint64, width, i, n int) {
	copy(words[width*(i+1):width*(n+1)], words[width*i:width*n])
}

func closeGap(words []uint64, width, i, n int) {
	copy(words[width*i:width*(n-1)], words[width*(i+1):width*n])
}

// leafOf is the leaf in which id is, or would be. The tree is not empty.
func (t tree) leafOf(id ID) mem.Ref {
	r := t.root()
	for level := t.height(); level > 1; level-- {
		n := t.inner(r)
		r = n.child(n.childOf(id))
	}
	return r
}

// find is the value of an ID, nil when it is not there. A tree without values gives an empty slice.
func (t tree) find(id ID) (v []uint64, ok bool) {
	if t.height() == 0 {
		return nil, false
	}
	l := t.leaf(t.leafOf(id))
	i := lowerBound(l.keys(), l.count, id)
	if i == l.count || l.key(i) != id {
		return nil, false
	}
	return l.value(i), true
}

// seek is the first entry whose ID is not less than id.
func (t tree) seek(id ID) place {
	if t.height() == 0 {
		return place{}
	}
	r := t.leafOf(id)
	l := t.leaf(r)
	i := lowerBound(l.keys(), l.count, id)
	if i == l.count {
		return place{mem.Ref(l.words[1]), 0}
	}
	return place{r, i}
}

// floor is the last entry whose ID is not greater than id.
func (t tree) floor(id ID) place {
	if t.height() == 0 {
		return place{}
	}
	r := t.leafOf(id)
	l := t.leaf(r)
	i := lowerBound(l.keys(), l.count, id)
	if i < l.count && l.key(i) == id {
		return place{r, i}
	}
	if i > 0 {
		return place{r, i - 1}
	}
	return t.endOf(mem.Ref(l.words[2]))
}

// last is the last entry.
func (t tree) last() place { return t.endOf(mem.Ref(t.head[2])) }

// endOf is the last entry of a leaf, which may be none.
func (t tree) endOf(r mem.Ref) place {
	if r == 0 {
		return place{}
	}
	l := t.leaf(r)
	return place{r, l.count - 1}
}

// at is the entry at a place.
func (t tree) at(p place) (ID, []uint64) {
	l := t.leaf(p.leaf)
	return l.key(p.i), l.value(p.i)
}

func (t tree) next(p place) place {
	l := t.leaf(p.leaf)
	if p.i++; p.i < l.count {
		return p
	}
	return place{mem.Ref(l.words[1]), 0}
}

func (t tree) prev(p place) place {
	if p.i > 0 {
		p.i--
		return p
	}
	l := t.leaf(p.leaf)
	return t.endOf(mem.Ref(l.words[2]))
}

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

func (t tree) unlink(l leaf) {
	next, prev := l.words[1], l.words[2]
	if prev == 0 {
		t.head[1] = next
	} else {
		t.a.Words(mem.Ref(prev), leafHead)[1] = next
	}
	if next == 0 {
		t.head[2] = prev
	} else {
		t.a.Words(mem.Ref(next), leafHead)[2] = prev
	}
}

// remove takes an ID out; false when it was not there.
func (t tree) remove(id ID) bool {
	if t.height() == 0 {
		return false
	}
	left, found := t.removeBelow(t.root(), t.height(), id)
	if !found {
		return false
	}
	t.head[3]--
	if left == 0 {
		t.setRoot(0, 0)
		return true
	}
	for t.height() > 1 {
		root := t.root()
		n := t.inner(root)
		if n.count() > 1 {
			break
		}
		t.setRoot(n.child(0), t.height()-1)
		t.a.Free(mem.ForStream, root, innerWords*wordBytes)
	}
	return true
}

// removeBelow takes an ID out of a block or what is below it, and returns how much is left in the block; an empty one has
// been freed.
func (t tree) removeBelow(r mem.Ref, level int, id ID) (left int, found bool) {
	if level == 1 {
		return t.removeLeaf(r, id)
	}
	n := t.inner(r)
	i := n.childOf(id)
	below, found := t.removeBelow(n.child(i), level-1, id)
	switch {
	case !found:
	case below == 0:
		n.remove(i)
		if n.count() == 0 {
			t.a.Free(mem.ForStream, r, innerWords*wordBytes)
			return 0, true
		}
	case below <= sparse:
		t.joinChild(n, i, level-1)
	}
	return n.count(), found
}

func (n inner) remove(i int) {
	count := n.count()
	closeGap(n.keys(), keyWords, i, count)
	closeGap(n.children(), 1, i, count)
	n.setCount(count - 1)
}

func (t tree) removeLeaf(r mem.Ref, id ID) (left int, found bool) {
	l := t.leaf(r)
	i := lowerBound(l.keys(), l.count, id)
	if i == l.count || l.key(i) != id {
		return l.count, false
	}
	closeGap(l.keys(), keyWords, i, l.count)
	closeGap(l.values(), t.width, i, l.count)
	l.setCount(l.count - 1)
	if l.count == 0 {
		t.unlink(l)
		t.freeLeaf(r, l.capacity)
	}
	return l.count, true
}

// joinChild joins the sparse child i of n with a neighbour if the two fit into one.
func (t tree) joinChild(n inner, i, level int) {
	if i == n.count()-1 {
		i--
	}
	if i < 0 {
		return
	}
	left, right := n.child(i), n.child(i+1)
	joined := false
	if level == 1 {
		joined = t.joinLeaves(left, right)
	} else {
		joined = t.joinInner(left, right, keyAt(n.keys()[keyWords*(i+1):]))
	}
	if joined {
		n.remove(i + 1)
	}
}

func (t tree) joinLeaves(left, right mem.Ref) bool {
	l, m := t.leaf(left), t.leaf(right)
	if l.count+m.count > joinMax {
		return false
	}
	copy(l.keys()[keyWords*l.count:], m.keys()[:keyWords*m.count])
	copy(l.values()[t.width*l.count:], m.values()[:t.width*m.count])
	l.setCount(l.count + m.count)
	t.unlink(m)
	t.freeLeaf(right, m.capacity)
	return true
}

// joinInner joins two inner nodes; key is the one between them.
func (t tree) joinInner(left, right mem.Ref, key ID) bool {
	l, m := t.inner(left), t.inner(right)
	n, k := l.count(), m.count()
	if n+k > joinMax {
		return false
	}
	putKey(m.keys(), key)
	copy(l.keys()[keyWords*n:], m.keys()[:keyWords*k])
	copy(l.children()[n:], m.children()[:k])
	l.setCount(n + k)
	t.a.Free(mem.ForStream, right, innerWords*wordBytes)
	return true
}

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
