package hll

import (
	"slices"
	"strconv"
)

// This file holds the sparse form: runs of equal registers, one behind the other.
//
//	00nnnnnn            n+1 registers (up to 64) of rank 0
//	01nnnnnn nnnnnnnn   n+1 registers (up to 16384) of rank 0, the high bits first
//	1rrrrrnn            n+1 registers (up to 4) of rank r+1 (up to 32)

const (
	longBit  = 0x40
	rankBit  = 0x80
	shortMax = 64 // registers of the one-byte run of zeros
	ranksMax = 4  // registers of a run of a rank

	sparseRankMax = 32

	// joinSteps is how many runs are looked at after a change, from the one before it on, for neighbours to join. More would
	// give shorter sketches than those of Redis.
	joinSteps = 5
)

// run is a run of equal registers.
type run struct {
	length int   // registers
	rank   uint8 // 0: empty ones
	size   int   // bytes of it
	long   bool  // the two-byte form
}

// readRun reads the run at a position. The second byte of a long run that is cut off counts as 0.
func readRun(b []byte, at int) run {
	x := b[at]
	switch {
	case x&rankBit != 0:
		return run{length: int(x&3) + 1, rank: x>>2&31 + 1, size: 1}
	case x&longBit == 0:
		return run{length: int(x&63) + 1, size: 1}
	}
	n := int(x&63) << 8
	if at+1 < len(b) {
		n |= int(b[at+1])
	}
	return run{length: n + 1, size: 2, long: true}
}

// appendZeros appends a run of empty registers, if it has any.
func appendZeros(dst []byte, n int) []byte {
	switch {
	case n == 0:
		return dst
	case n <= shortMax:
		return append(dst, byte(n-1))
	}
	return append(dst, longBit|byte((n-1)>>8), byte(n-1))
}

// appendRanks appends a run of registers of a rank, if it has any.
func appendRanks(dst []byte, rank uint8, n int) []byte {
	if n == 0 {
		return dst
	}
	return append(dst, rankBit|(rank-1)<<2|byte(n-1))
}

// locate finds the run that holds a register: its position, that of the run before it (or its own), and its first register.
func locate(b []byte, index int) (before, at, first int, r run, err error) {
	before, at = headerBytes, headerBytes
	for at < len(b) {
		r = readRun(b, at)
		if index < first+r.length {
			return before, at, first, r, nil
		}
		before = at
		at += r.size
		first += r.length
	}
	return 0, 0, 0, run{}, ErrCorrupt
}

// raiseSparse is Raise for a sparse sketch.
func raiseSparse(b []byte, index int, rank uint8, sparseMax int64) (out []byte, raised bool, err error) {
	if rank > sparseRankMax {
		return promote(b, index, rank)
	}
	before, at, first, r, err := locate(b, index)
	if err != nil || r.rank >= rank {
		return b, false, err
	}
	var room [5]byte // a long run is split into a long run, a rank and a long run
	fresh := split(room[:0], r, index-first, rank)
	growth := len(fresh) - r.size
	if growth > 0 && int64(len(b)+growth) > sparseMax {
		return promote(b, index, rank)
	}
	length := len(b) + growth
	b = slices.Replace(b, at, min(at+r.size, len(b)), fresh...)[:length]
	b = join(b, before)
	Forget(b)
	return b, true, nil
}

// split appends what takes the place of a run when its i-th register gets another rank.
func split(dst []byte, r run, i int, rank uint8) []byte {
	if r.rank == 0 {
		dst = appendZeros(dst, i)
		dst = appendRanks(dst, rank, 1)
		return appendZeros(dst, r.length-1-i)
	}
	dst = appendRanks(dst, r.rank, i)
	dst = appendRanks(dst, rank, 1)
	return appendRanks(dst, r.rank, r.length-1-i)
}

// join makes one run of neighbours of the same rank, as far as one run has room for them.
func join(b []byte, at int) []byte {
	for step := 0; step < joinSteps && at < len(b); step++ {
		r := readRun(b, at)
		if r.rank != 0 && at+1 < len(b) {
			if next := readRun(b, at+1); next.rank == r.rank && next.length+r.length <= ranksMax {
				b[at+1] = rankBit | (r.rank-1)<<2 | byte(r.length+next.length-1)
				b = slices.Delete(b, at, at+1)
				continue // the joined run may be joined with the next one
			}
		}
		at += r.size
	}
	return b
}

// promote makes a sketch dense, because a register is to get a rank that the sparse form has no room for.
func promote(b []byte, index int, rank uint8) (out []byte, raised bool, err error) {
	out, err = AppendDense(make([]byte, 0, DenseBytes), b)
	if err != nil {
		return b, false, err
	}
	setRegister(out, index, max(rank, Register(out, index)))
	return out, true, nil
}

// histogramOfSparse counts the registers by their ranks.
func histogramOfSparse(b []byte) (*histogram, error) {
	var h histogram
	total := 0
	for at := headerBytes; at < len(b); {
		r := readRun(b, at)
		at += r.size
		total += r.length
		h[r.rank] += uint32(r.length)
	}
	if total != Registers {
		return nil, ErrCorrupt
	}
	return &h, nil
}

// AppendRuns appends the runs of a sparse sketch as text: z:n for short runs of zeros, Z:n for long ones, v:rank,n for the
// others.
func AppendRuns(dst, b []byte) []byte {
	for at := headerBytes; at < len(b); {
		r := readRun(b, at)
		if at > headerBytes {
			dst = append(dst, ' ')
		}
		switch {
		case r.rank != 0:
			dst = append(strconv.AppendInt(append(dst, "v:"...), int64(r.rank), 10), ',')
		case r.long:
			dst = append(dst, "Z:"...)
		default:
			dst = append(dst, "z:"...)
		}
		dst = strconv.AppendInt(dst, int64(r.length), 10)
		at += r.size
	}
	return dst
}
