// Package hll holds HyperLogLogs: estimates of how many different elements were seen, as a string of bytes that is the same,
// byte for byte, as that of Redis.
//
//	0      4          5         8                      16
//	+------+----------+---------+----------------------+------------
//	| HYLL | encoding | 3 zeros | estimate, 8 bytes    | registers
//	|      | 0 dense  |         | little-endian; top   |
//	|      | 1 sparse |         | bit set: out of date |
//	+------+----------+---------+----------------------+------------
//
// There are 16384 registers. An element's hash names one and a rank for it; the register keeps the highest rank it was
// given. The dense form (dense.go) has 6 bits for every register; the sparse form (sparse.go) has runs of equal ones and is
// made dense when it grows too long or a rank too high.
//
// The hash is MurmurHash64A; the estimate is that of Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog
// sketches", arXiv:1702.01284.
package hll

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
)

const (
	indexBits = 14
	// Registers is the number of registers of a sketch.
	Registers = 1 << indexBits
	// rankMax is the highest rank of an element: all the bits of its hash that do not name the register are zero.
	rankMax = 64 - indexBits + 1
	// registerMax is the highest rank that a register has room for.
	registerMax = 63

	headerBytes = 16
	encodingAt  = 4
	estimateAt  = 8
	staleAt     = 15 // the byte with the bit that says that the estimate is out of date
	staleBit    = 1 << 7

	dense  = 0
	sparse = 1

	magic = "HYLL"
)

// ErrCorrupt is what is said of a sparse sketch whose runs do not cover the registers exactly.
var ErrCorrupt = errors.New("the runs of the sketch do not cover its registers")

// Valid tells whether a string has the head of a sketch and, if it is dense, the length of one.
func Valid(b []byte) bool {
	if len(b) < headerBytes || string(b[:len(magic)]) != magic {
		return false
	}
	return b[encodingAt] == sparse || b[encodingAt] == dense && len(b) == DenseBytes
}

// IsDense tells the encoding of a valid sketch.
func IsDense(b []byte) bool { return b[encodingAt] == dense }

// AppendEmpty appends a sketch that has seen nothing.
func AppendEmpty(dst []byte) []byte {
	dst = append(append(dst, magic...), sparse, 0, 0, 0)
	dst = append(dst, make([]byte, headerBytes-estimateAt)...)
	return appendZeros(dst, Registers)
}

// Place is the register that an element belongs to, and its rank.
func Place(element []byte) (index int, rank uint8) {
	h := hash(element)
	rest := h>>indexBits | 1<<(64-indexBits)
	return int(h & (Registers - 1)), uint8(bits.TrailingZeros64(rest) + 1)
}

const (
	hashSeed  = 0xadc83b19
	hashMul   = 0xc6a4a7935bd1e995
	hashShift = 47
)

// hash is MurmurHash64A.
func hash(b []byte) uint64 {
	h := hashSeed ^ uint64(len(b))*hashMul
	for ; len(b) >= 8; b = b[8:] {
		k := binary.LittleEndian.Uint64(b) * hashMul
		k ^= k >> hashShift
		h = (h ^ k*hashMul) * hashMul
	}
	if len(b) > 0 {
		var tail uint64
		for i, x := range b {
			tail |= uint64(x) << (8 * i)
		}
		h = (h ^ tail) * hashMul
	}
	h = (h ^ h>>hashShift) * hashMul
	return h ^ h>>hashShift
}

// Estimate is the estimate that a sketch remembers; false when it is out of date.
func Estimate(b []byte) (n uint64, fresh bool) {
	return binary.LittleEndian.Uint64(b[estimateAt:]), b[staleAt]&staleBit == 0
}

// SetEstimate makes a sketch remember an estimate.
func SetEstimate(b []byte, n uint64) { binary.LittleEndian.PutUint64(b[estimateAt:], n) }

// Forget marks the estimate that a sketch remembers as out of date.
func Forget(b []byte) { b[staleAt] |= staleBit }

// Raises tells whether Raise would change a sketch.
func Raises(b []byte, index int, rank uint8) (bool, error) {
	if IsDense(b) {
		return rank > Register(b, index), nil
	}
	if rank > sparseRankMax {
		return true, nil
	}
	_, _, _, r, err := locate(b, index)
	return err == nil && r.rank < rank, err
}

// Raise gives a register a rank if it has a lower one. What is returned is b, changed in place, or what took its place: a
// sparse sketch grows as by append, and becomes dense when it would be longer than sparseMax.
func Raise(b []byte, index int, rank uint8, sparseMax int64) (out []byte, raised bool, err error) {
	if !IsDense(b) {
		return raiseSparse(b, index, rank, sparseMax)
	}
	if rank <= Register(b, index) {
		return b, false, nil
	}
	setRegister(b, index, rank)
	return b, true, nil
}

// Ranks are the registers of a sketch, one a byte.
type Ranks [Registers]uint8

// Merge raises the ranks to those of a sketch.
func (m *Ranks) Merge(b []byte) error {
	if IsDense(b) {
		m.mergeDense(b)
		return nil
	}
	index := 0
	for at := headerBytes; at < len(b); {
		r := readRun(b, at)
		at += r.size
		if index+r.length > Registers {
			return ErrCorrupt
		}
		if r.rank == 0 {
			index += r.length
			continue
		}
		for ; r.length > 0; r.length-- {
			m[index] = max(m[index], r.rank)
			index++
		}
	}
	if index != Registers {
		return ErrCorrupt
	}
	return nil
}

// histogram counts the registers by their ranks.
type histogram [registerMax + 1]uint32

// Count is the estimate for the ranks.
func (m *Ranks) Count() uint64 {
	var h [2]histogram // as in histogramOfDense
	for i := 0; i < Registers; i += stepRanks {
		w := binary.LittleEndian.Uint64(m[i:])
		if w == 0 {
			h[0][0] += stepRanks
			continue
		}
		for range stepRanks / 2 {
			h[0][w&registerMax]++
			h[1][w>>8&registerMax]++
			w >>= 16
		}
	}
	for rank, n := range h[1] {
		h[0][rank] += n
	}
	return h[0].estimate()
}

// Count computes the estimate of a sketch.
func Count(b []byte) (uint64, error) {
	if IsDense(b) {
		return histogramOfDense(b).estimate(), nil
	}
	h, err := histogramOfSparse(b)
	if err != nil {
		return 0, err
	}
	return h.estimate(), nil
}

const alphaInf = 0.721347520444481703680 // 1 / (2 ln 2)

// estimate is algorithm 6 of the paper. The products have a type so that no machine fuses them with a sum.
func (h *histogram) estimate() uint64 {
	const m = float64(Registers)
	z := float64(m * tau((m-float64(h[rankMax]))/m))
	for rank := rankMax - 1; rank >= 1; rank-- {
		z += float64(h[rank])
		z *= 0.5
	}
	z += float64(m * sigma(float64(h[0])/m))
	return uint64(math.Round(alphaInf * m * m / z))
}

// sigma corrects for registers that are empty.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += float64(x * y)
		y += y
		if before == z {
			return z
		}
	}
}

// tau corrects for registers that are full.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		z -= float64(float64((1-x)*(1-x)) * y)
		if before == z {
			return z / 3
		}
	}
}
