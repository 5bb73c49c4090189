// Package list holds big lists: a sequence of nodes, each a listpack of a few kilobytes, with a directory that finds the node
// of an index without a walk over all of them.
//
//	root ── top ─┬─ page ─┬─ node    | slack | listpack            | slack |
//	             │        ├─ node            | listpack            |
//	             │        └─ node            | element longer than a listpack should have |
//	             └─ page ─┬─ node
//	                      └─ ...
//
// The root is a block of seven words that never moves:
//
//	0  elements of the list
//	1  nodes of the list
//	2  mem.Ref of the top
//	3  first page in the top (32 bits) | number of pages (32 bits)
//	4  room of the top in pages (32 bits) | fill (16 bits, signed)
//	5  the top itself, as long as it has room for one page
//
// The top is an array of pages that grows at both ends, two words a page; a page is an array of up to 256 nodes, two words
// a node:
//
//	page:  | room 12 | nodes 12 | 40: mem.Ref |           | elements of the page |
//	node:  | wide 1 | plain 1 | count 16 | 40: mem.Ref |  | room 20 | start 20 | size 20 |
//	                                            if wide:  | room, in 8 bytes 32 | size 32 |
//
// A node has slack before and behind its listpack, so that pushing at either end of the list moves a few bytes and not the
// whole node. What limits a node, when one is split, and when two are merged is as in Redis (quicklist.c), so that both
// servers have the same nodes after the same commands, and the same listpacks are written to a snapshot.
package list

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
)

// Words of the root.
const (
	wLen = iota
	wNodes
	wTop
	wPages
	wRoom
	wOnlyPage
	rootWords = wOnlyPage + entryWords
)

const (
	rootBytes = rootWords * wordBytes
	wordBytes = 8
)

// PlainMin is the length from which an element lies in a node of its own as it is.
const PlainMin = 1 << 30

const (
	fillMax    = 1<<15 - 1 // elements of a node, at most
	safeBytes  = 8 << 10   // size of a node that is limited by the number of its elements
	elemSpare  = 8         // what an element takes beside its text, estimated as Redis does
	sizeLevels = 5         // sizes of nodes that a negative fill can name: 4 KiB to 64 KiB
)

// ClampFill brings list-max-listpack-size into the range that has a meaning.
func ClampFill(fill int64) int { return int(min(max(fill, -sizeLevels), fillMax)) }

// NodeLimit is what a node may have under a fill: bytes, or elements where bytes is 0.
func NodeLimit(fill int) (bytes, count int) {
	if fill >= 0 {
		return 0, max(fill, 1)
	}
	return 2 << 10 << -fill, 0
}

// Exceeds tells whether a node of a size and number of elements is beyond what the fill allows.
func Exceeds(fill, size, count int) bool {
	bytes, most := NodeLimit(fill)
	if bytes > 0 {
		return size > bytes
	}
	return size > safeBytes || count > most
}

// List is a list in an arena. It is valid until the list is freed.
type List struct {
	a        *mem.Arena
	root     mem.Ref
	h        *[rootWords]uint64
	plainMin int
}

// New makes an empty list whose nodes are limited by a fill, see NodeLimit.
func New(a *mem.Arena, fill int) List {
	root := a.Alloc(mem.ForList, rootBytes)
	l := Open(a, root)
	clear(l.h[:])
	l.h[wTop] = uint64(l.innerTop())
	l.h[wRoom] = 1<<32 | uint64(uint16(int16(fill)))
	return l
}

// NewFrom makes a list of a listpack, of which it keeps a copy as its only node.
func NewFrom(a *mem.Arena, fill int, lp []byte) List {
	l := New(a, fill)
	if listpack.First(lp) != 0 {
		l.AppendNode(lp)
	}
	return l
}

// Open is the list with a root.
func Open(a *mem.Arena, root mem.Ref) List {
	return List{a: a, root: root, h: (*[rootWords]uint64)(a.Words(root, rootWords)), plainMin: PlainMin}
}

// SetPlainMin changes the length from which an element gets a plain node, for what is done through this List.
func (l *List) SetPlainMin(n int) { l.plainMin = n }

// Root is the address that the list is opened with.
func (l *List) Root() mem.Ref { return l.root }

// Len is the number of elements.
func (l *List) Len() int64 { return int64(l.h[wLen]) }

// Nodes is the number of nodes.
func (l *List) Nodes() int { return int(l.h[wNodes]) }

// Fill is what limits the nodes.
func (l *List) Fill() int { return int(int16(l.h[wRoom])) }

// Single is the listpack of a list that has one node, which is not plain, and how many elements it has. It lives until
// the list is changed.
func (l *List) Single() (lp []byte, count int, ok bool) {
	if l.Nodes() != 1 {
		return nil, 0, false
	}
	n := l.load(spot{})
	return l.bytes(&n), n.count, !n.plain
}

// EachNode calls fn for the nodes in order: a listpack, or an element as it is. It stops when fn returns false.
func (l *List) EachNode(fn func(b []byte, plain bool) bool) {
	for s, ok := l.first(); ok; s, ok = l.next(s) {
		n := l.load(s)
		if !fn(l.bytes(&n), n.plain) {
			return
		}
	}
}

// Memory is the number of bytes that the list takes; of more nodes than samples it is estimated. 0 means all.
func (l *List) Memory(samples int) int64 {
	seen, sum := 0, int64(0)
	for s, ok := l.first(); ok && (samples == 0 || seen < samples); s, ok = l.next(s) {
		n := l.load(s)
		sum += int64(mem.Usable(n.room))
		seen++
	}
	if nodes := l.Nodes(); seen > 0 && seen < nodes {
		sum = sum / int64(seen) * int64(nodes)
	}
	sum += int64(mem.Usable(rootBytes))
	if room := l.topRoom(); room > 1 {
		sum += int64(mem.Usable(room * entryBytes))
	}
	for i := range l.pages() {
		sum += int64(mem.Usable(l.page(i).room() * entryBytes))
	}
	return sum
}

// FreeSome frees about budget elements from the end of the list; done when all of it is gone, the root too. Until then it
// has to be called again, and nothing else may be done with the list.
func FreeSome(a *mem.Arena, root mem.Ref, budget int) (spent int, done bool) {
	l := Open(a, root)
	for spent < budget && l.Nodes() > 0 {
		s, _ := l.last()
		n := l.load(s)
		spent += n.count
		l.dropNode(s)
	}
	if l.Nodes() > 0 {
		return spent, false
	}
	invariant.That(l.Len() == 0, "list: elements without a node")
	a.Free(mem.ForList, root, rootBytes)
	return spent, true
}
