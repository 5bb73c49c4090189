package list

import (
	"math/bits"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds the node: its entry in the directory, and its block with the slack.

const (
	countShift = mem.RefBits
	countMask  = 1<<16 - 1
	plainBit   = 1 << (countShift + 16)
	wideBit    = 1 << (countShift + 17)

	// A node that is not wide has three numbers of 20 bits, a wide one two of 32 bits.
	narrowMax  = 64 << 10 // room up to which a node is not wide
	fieldMask  = 1<<20 - 1
	startShift = 20
	roomShift  = 40
	wideShift  = 32
	roomUnit   = 8
)

// CountMax is the number of elements up to which a node can have them.
const CountMax = countMask - 1

// node is what the directory says of a node. It is a copy: what was changed has to be stored.
type node struct {
	ref   mem.Ref
	count int
	start int // where the listpack, or the plain element, begins in the block
	size  int // how long it is
	room  int // what the block has
	plain bool
}

// entryCount is the number of elements in the first word of a node.
func entryCount(word uint64) int { return int(word >> countShift & countMask) }

// decode fills a node in its place, as it is too large to be handed about in registers.
func (n *node) decode(e []uint64) {
	n.ref, n.count, n.plain = mem.Ref(e[0]&mem.RefMask), entryCount(e[0]), e[0]&plainBit != 0
	if e[0]&wideBit != 0 {
		n.size, n.start, n.room = int(uint32(e[1])), 0, int(e[1]>>wideShift)*roomUnit
		return
	}
	n.size, n.start, n.room = int(e[1]&fieldMask), int(e[1]>>startShift&fieldMask), int(e[1]>>roomShift)
}

func (n *node) encode(e []uint64) {
	e[0] = uint64(n.ref) | uint64(n.count)<<countShift
	if n.plain {
		e[0] |= plainBit
	}
	if n.room > narrowMax {
		e[0] |= wideBit
		e[1] = uint64(n.size) | uint64(n.room/roomUnit)<<wideShift
	} else {
		e[1] = uint64(n.size) | uint64(n.start)<<startShift | uint64(n.room)<<roomShift
	}
}

// bytes is the listpack of a node, or its plain element.
func (l *List) bytes(n *node) []byte {
	return l.a.Bytes(n.ref, n.room)[n.start : n.start+n.size : n.start+n.size]
}

// slack says where a block that is made has the bytes that it does not need yet.
type slack uint8

const (
	slackBehind slack = iota
	slackBefore
	slackBoth
	slackSome // a little, on both sides: nodes in the midst of a list
	slackNone
)

// firstRoom is the least room of the first node behind or before others: it will grow, most likely.
const firstRoom = 512

// roomFor is the room for a node of a size: more than it needs, so that a node that grows is moved a few times only, but no
// more than the fill allows a node to have.
func (l *List) roomFor(size int, s slack) int {
	switch s {
	case slackNone:
		return mem.Usable(size)
	case slackSome:
		return mem.Usable(size + size/8)
	}
	limit, _ := NodeLimit(l.Fill())
	if limit == 0 {
		limit = safeBytes
	}
	least := 0
	if l.Nodes() > 0 {
		least = firstRoom
	}
	return mem.Usable(max(size, min(limit, max(growing(size), least))))
}

// halfStepMin is the least room that lies halfway between two powers of two.
const halfStepMin = 3 << 10

// growing is the room for a node of a size that grows: the power of two, or of a large node also what lies halfway to it,
// which leaves it a sixteenth to grow, at least. The sizes are few, as a shard has some blocks of each to spare, and the
// pages of the arena are full of them.
func growing(size int) int {
	want := size + size/16
	room := 1 << bits.Len(uint(want-1))
	if half := room / 4 * 3; half >= halfStepMin && want <= half {
		return half
	}
	return room
}

// place is where bytes of a size begin in a room.
func place(s slack, room, size int) int {
	switch {
	case room > narrowMax:
		return 0
	case s == slackBefore:
		return room - size
	case s == slackBoth, s == slackSome:
		return (room - size) / 2
	}
	return 0
}

// alloc gives a node a block for its size. What is in it is arbitrary.
func (l *List) alloc(n *node, s slack) []byte {
	n.room = l.roomFor(n.size, s)
	n.ref = l.a.Alloc(mem.ForList, n.room)
	n.start = place(s, n.room, n.size)
	return l.bytes(n)
}

// newNode makes a node with one element, which is not in the directory yet.
func (l *List) newNode(v []byte, s slack) node {
	if len(v) >= l.plainMin {
		return l.newPlain(v)
	}
	n := node{count: 1, size: listpack.EmptySize + listpack.EncodedSize(v)}
	lp := l.alloc(&n, s)
	listpack.PutElem(lp[listpack.HeadSize:n.size-1], v)
	listpack.SetHead(lp, 1)
	return n
}

func (l *List) newPlain(v []byte) node {
	n := node{count: 1, size: len(v), plain: true}
	copy(l.alloc(&n, slackNone), v)
	return n
}

// free gives a node's block back.
func (l *List) free(n *node) { l.a.Free(mem.ForList, n.ref, n.room) }

// dropNode frees a node and takes it out. It returns the place of the node behind it.
func (l *List) dropNode(s spot) spot {
	n := l.load(s)
	l.free(&n)
	return l.remove(s)
}

// splice makes old bytes at a place of a node's listpack size bytes wide, and returns the listpack, whose head and the new
// bytes are the caller's to write. What lies before the place or behind it is moved, whichever is less, as long as there
// is slack on that side. s says where a new block is to have its slack.
func (l *List) splice(n *node, at, old, size int, s slack) []byte {
	more, behind := size-old, n.size-at-old
	total := n.size + more
	block := l.a.Bytes(n.ref, n.room)[:n.room]
	front := n.room <= narrowMax && n.start >= more
	switch {
	case front && (at < behind || n.start+total > n.room):
		copy(block[n.start-more:], block[n.start:n.start+at])
		n.start -= more
	case n.start+total <= n.room:
		copy(block[n.start+at+size:], block[n.start+at+old:n.start+n.size])
	default:
		return l.rebuild(n, at, old, size, s)
	}
	n.size = total
	if total*3 <= n.room && n.room > firstRoom {
		return l.fit(n, s)
	}
	return block[n.start : n.start+total]
}

// rebuild is splice by way of a new block.
func (l *List) rebuild(n *node, at, old, size int, s slack) []byte {
	was := *n
	lp := l.bytes(&was)
	n.size += size - old
	fresh := l.alloc(n, s)
	copy(fresh, lp[:at])
	copy(fresh[at+size:], lp[at+old:])
	l.free(&was)
	return fresh
}

// fit gives a node that has become small a smaller block, with some slack where it is wanted.
func (l *List) fit(n *node, s slack) []byte {
	was := *n
	n.room = mem.Usable(n.size + n.size/4)
	n.ref = l.a.Alloc(mem.ForList, n.room)
	n.start = place(s, n.room, n.size)
	copy(l.bytes(n), l.bytes(&was))
	l.free(&was)
	return l.bytes(n)
}

// trim takes the slack of a node at an end of the list, before another node comes behind it.
func (l *List) trim(s spot) {
	n := l.load(s)
	if mem.Fits(n.room, n.size) {
		return
	}
	was := n
	copy(l.alloc(&n, slackNone), l.bytes(&was))
	l.free(&was)
	l.store(s, &n)
}
