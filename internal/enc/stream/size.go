package stream

import (
	"math/bits"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds what a stream says of its own shape: how much memory it takes, and how it would look in Redis.

// Bytes is the memory that the stream takes. Of the nodes, and of the consumers of a group, only so many samples are looked
// at; 0 looks at all.
func (s Stream) Bytes(samples int) int64 {
	total := int64(mem.Usable(headWords * wordBytes))
	total += s.nodes().bytes() + s.nodeBytes(samples)
	d := s.groups()
	total += d.bytes()
	for i := range d.len() {
		g := s.GroupAt(i)
		total += g.pending().bytes() + g.consumers().bytes() + g.ownedBytes(samples)
	}
	return total
}

// nodeBytes is what the blocks of the nodes take. The last node, which may be far from full, is always looked at.
func (s Stream) nodeBytes(samples int) int64 {
	t := s.nodes()
	sum, n := int64(0), 0
	block := func(p place) int64 {
		_, v := t.at(p)
		return int64(mem.Usable(len(s.node(v[0]))))
	}
	for p := t.first(); p.ok() && (samples == 0 || n < samples); p = t.next(p) {
		sum += block(p)
		n++
	}
	if n == t.len() {
		return sum
	}
	return sum/int64(n)*int64(t.len()-1) + block(t.last())
}

func (g Group) ownedBytes(samples int) int64 {
	count := g.Consumers()
	sum, n := int64(0), 0
	for ; n < count && (samples == 0 || n < samples); n++ {
		sum += g.ConsumerAt(n).owned().bytes()
	}
	if n == 0 {
		return 0
	}
	return sum * int64(count) / int64(n)
}

// RadixNodes is the number of nodes of the compressed trie in which Redis would keep the nodes: XINFO shows it. A leaf is
// one, so is a place where keys part, and so is a run of bytes that all keys below share.
func (s Stream) RadixNodes() int64 {
	t := s.nodes()
	n := t.len()
	if n == 0 {
		return 1 // the root
	}
	count := int64(n)
	var r radix
	before := noBranch
	prev := ID{}
	for p := t.first(); p.ok(); p = t.next(p) {
		id, _ := t.at(p)
		if p != t.first() {
			depth := sharedBytes(prev, id)
			count += run(max(before, depth), idBytes)
			r.branch(depth)
			before = depth
		}
		prev = id
	}
	return count + run(before, idBytes) + r.finish()
}

const (
	idBytes  = 16
	noBranch = -1 // above the root
)

// radix counts the places where keys part, and the runs above them. Keys come in order.
type radix struct {
	depths [idBytes]int // of the places above the last key that may get more children, ascending
	n      int
	count  int64
}

// branch notes at which depth the next key parts from the last one.
func (r *radix) branch(depth int) {
	r.popTo(depth)
	if r.n == 0 || r.depths[r.n-1] < depth {
		r.depths[r.n] = depth
		r.n++
	}
}

// popTo counts the places deeper than depth, which are finished.
func (r *radix) popTo(depth int) {
	for r.n > 0 && r.depths[r.n-1] > depth {
		above := depth
		if r.n > 1 {
			above = max(above, r.depths[r.n-2])
		}
		r.n--
		r.count += 1 + run(above, r.depths[r.n])
	}
}

func (r *radix) finish() int64 {
	r.popTo(noBranch)
	return r.count
}

// run is 1 if there are bytes between a place and the next one below, which keys all share.
func run(above, below int) int64 {
	if below > above+1 {
		return 1
	}
	return 0
}

// sharedBytes is how many bytes at the start two IDs share, which are not equal.
func sharedBytes(a, b ID) int {
	if x := a.Ms ^ b.Ms; x != 0 {
		return bits.LeadingZeros64(x) / 8
	}
	return idBytes/2 + bits.LeadingZeros64(a.Seq^b.Seq)/8
}
