package command

import (
	"encoding/binary"
	"math/bits"
)

// This file holds the loops over bits, which take 64 at a time. Words are big-endian, so that the first bit of a string is
// the highest of its first word.

// countBits is the number of ones in a range.
func countBits(b []byte, r bitRange) (n int64) {
	if r.from > r.to {
		return 0
	}
	b = b[r.from>>3 : r.to>>3+1]
	n = popCount(b)
	n -= int64(bits.OnesCount8(b[0] &^ (0xff >> (r.from & 7))))
	n -= int64(bits.OnesCount8(b[len(b)-1] & (0x7f >> (r.to & 7))))
	return n
}

func popCount(b []byte) (n int64) {
	var sums [4]int
	for ; len(b) >= 32; b = b[32:] {
		sums[0] += bits.OnesCount64(binary.BigEndian.Uint64(b))
		sums[1] += bits.OnesCount64(binary.BigEndian.Uint64(b[8:]))
		sums[2] += bits.OnesCount64(binary.BigEndian.Uint64(b[16:]))
		sums[3] += bits.OnesCount64(binary.BigEndian.Uint64(b[24:]))
	}
	n = int64(sums[0] + sums[1] + sums[2] + sums[3])
	for _, x := range b {
		n += int64(bits.OnesCount8(x))
	}
	return n
}

// findBit is the position of the first one, or of the first zero, in a range; -1 if there is none.
func findBit(b []byte, r bitRange, one bool) int64 {
	if r.from > r.to {
		return -1
	}
	flip := byte(0)
	if !one {
		flip = 0xff // from here on the first one is looked for
	}
	last := r.to >> 3
	at := r.from >> 3
	x := (b[at] ^ flip) & (0xff >> (r.from & 7))
	if x == 0 {
		at = skipBytes(b[:last+1], at+1, flip)
		if at > last {
			return -1
		}
		x = b[at] ^ flip
	}
	pos := at*8 + int64(bits.LeadingZeros8(x))
	if pos > r.to {
		return -1
	}
	return pos
}

// skipBytes is the first position from at on where the string has another byte than x.
func skipBytes(b []byte, at int64, x byte) int64 {
	word := uint64(x) * 0x0101010101010101
	for at+8 <= int64(len(b)) && binary.BigEndian.Uint64(b[at:]) == word {
		at += 8
	}
	for at < int64(len(b)) && b[at] == x {
		at++
	}
	return at
}

// getField reads an unsigned field of 1 to 64 bits.
func getField(b []byte, offset int64, width uint) uint64 {
	var window [9]byte // the most bytes that a field touches
	if at := offset >> 3; at < int64(len(b)) {
		copy(window[:], b[at:])
	}
	shift := uint(offset & 7)
	w := binary.BigEndian.Uint64(window[:])<<shift | uint64(window[8])>>(8-shift)
	return w >> (64 - width)
}

// setField writes a field of 1 to 64 bits, all of which lie within the string.
func setField(b []byte, offset int64, width uint, value uint64) {
	for width > 0 {
		free := 8 - uint(offset&7) // bits of this byte from offset on
		n := min(free, width)
		part := byte(value>>(width-n)) & (0xff >> (8 - n))
		shift := free - n
		cell := &b[offset>>3]
		*cell = *cell&^(0xff>>(8-n)<<shift) | part<<shift
		offset += int64(n)
		width -= n
	}
}
