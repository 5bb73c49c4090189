package core

import (
	"math/bits"

	"github.com/covey-db/covey/internal/cluster/wire"
)

// rng is the generator xoshiro256** (Blackman and Vigna, 2018): small, seedable, good enough for delays and for ids whose
// uniqueness rests on the seed.
type rng struct{ s [4]uint64 }

// newRNG starts the generator. All-zero state would stay zero, so it is avoided.
func newRNG(seed [4]uint64) rng {
	if seed == [4]uint64{} {
		seed[0] = 1
	}
	r := rng{s: seed}
	for range rngWarmUp {
		r.next()
	}
	return r
}

// rngWarmUp is how many numbers are thrown away at the start, so that seeds that differ in few bits diverge.
const rngWarmUp = 16

func (r *rng) next() uint64 {
	s := &r.s
	result := bits.RotateLeft64(s[1]*5, 7) * 9
	t := s[1] << 17
	s[2] ^= s[0]
	s[3] ^= s[1]
	s[1] ^= s[2]
	s[0] ^= s[3]
	s[2] ^= t
	s[3] = bits.RotateLeft64(s[3], 45)
	return result
}

// below gives a number from 0 to n-1; the bias is below n/2^64.
func (r *rng) below(n int) int {
	high, _ := bits.Mul64(r.next(), uint64(n))
	return int(high)
}

// nodeID makes a name: 160 bits in hex.
func (r *rng) nodeID() (id wire.NodeID) {
	const digits, perWord = "0123456789abcdef", 16
	var word uint64
	for i := range id {
		if i%perWord == 0 {
			word = r.next()
		}
		id[i] = digits[word&15]
		word >>= 4
	}
	return id
}
