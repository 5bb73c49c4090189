package stream

import (
	"bytes"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds the directory: blocks that have a name, in the order of their names. The groups of a stream are one, and
// so are the consumers of a group.
//
//	head, two words inside the owner's block:  | block of the list | count, capacity << 32 |
//	list, words:                               | block * capacity |
//
// The named blocks never move. Each begins with a head of its owner's and a word for the length of the name, which follows.
const dirWords = 2

type dir struct {
	a     *mem.Arena
	head  []uint64
	words int // of a named block before the length of the name
}

func (d dir) len() int      { return int(uint32(d.head[1])) }
func (d dir) capacity() int { return int(d.head[1] >> 32) }

func (d dir) list() []uint64 {
	if d.head[0] == 0 {
		return nil
	}
	return d.a.Words(mem.Ref(d.head[0]), d.capacity())
}

func (d dir) at(i int) mem.Ref { return mem.Ref(d.list()[i]) }

// name is the name of a block.
func (d dir) name(r mem.Ref) []byte {
	n := int(d.a.Words(r, d.words+1)[d.words])
	start := (d.words + 1) * wordBytes
	return d.a.Bytes(r, start+n)[start:]
}

// search is the index of a name, or where it belongs.
func (d dir) search(name []byte) (i int, found bool) {
	low, high := 0, d.len()
	list := d.list()
	for low < high {
		mid := int(uint(low+high) >> 1)
		switch bytes.Compare(d.name(mem.Ref(list[mid])), name) {
		case 0:
			return mid, true
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return low, false
}

// add makes a named block, whose head is zero; false when the name is taken.
func (d dir) add(name []byte) (mem.Ref, bool) {
	i, found := d.search(name)
	if found {
		return 0, false
	}
	d.makeRoom()
	size := (d.words+1)*wordBytes + len(name)
	r := d.a.Alloc(mem.ForStream, size)
	w := d.a.Words(r, d.words+1)
	clear(w)
	w[d.words] = uint64(len(name))
	copy(d.name(r), name)
	n := d.len()
	openGap(d.list(), 1, i, n)
	d.list()[i] = uint64(r)
	d.head[1]++
	return r, true
}

func (d dir) makeRoom() {
	n := d.len()
	if n < d.capacity() {
		return
	}
	want := max(1, n+n/2+n%2)
	if n == 0 {
		d.head[0] = uint64(d.a.Alloc(mem.ForStream, want*wordBytes))
	} else {
		d.head[0] = uint64(d.a.Resize(mem.ForStream, mem.Ref(d.head[0]), n*wordBytes, want*wordBytes))
	}
	d.head[1] = uint64(n) | uint64(want)<<32
}

// remove takes a block out and frees it.
func (d dir) remove(i int) {
	r := d.take(i)
	d.a.Free(mem.ForStream, r, (d.words+1)*wordBytes+len(d.name(r)))
}

// take takes a block out.
func (d dir) take(i int) mem.Ref {
	r := d.at(i)
	closeGap(d.list(), 1, i, d.len())
	d.head[1]--
	if d.len() == 0 {
		d.free()
	}
	return r
}

// adopt puts a block into an empty directory.
func (d dir) adopt(r mem.Ref) {
	d.makeRoom()
	d.list()[0] = uint64(r)
	d.head[1]++
}

// free gives the list back.
func (d dir) free() {
	if d.head[0] != 0 {
		d.a.Free(mem.ForStream, mem.Ref(d.head[0]), d.capacity()*wordBytes)
	}
	clear(d.head)
}

// bytes is what the list and the named blocks take, estimated by some of the blocks.
func (d dir) bytes() int64 {
	n := d.len()
	if n == 0 {
		return 0
	}
	sampled := int64(mem.Usable((d.words+1)*wordBytes + len(d.name(d.at(n/2)))))
	return int64(mem.Usable(d.capacity()*wordBytes)) + sampled*int64(n)
}
