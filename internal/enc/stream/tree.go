package stream

import "github.com/covey-db/covey/internal/mem"

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
	head  *[treeWords]uint64
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
