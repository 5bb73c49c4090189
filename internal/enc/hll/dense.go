package hll

import "encoding/binary"

// This file holds the dense form: 6 bits a register, the first register in the low bits of the first byte.
//
//	+--------+--------+--------+--------
//	|11000000|22221111|33333322|55444444 ...
//	+--------+--------+--------+--------

const (
	registerBits = 6
	// DenseBytes is the length of a dense sketch.
	DenseBytes = headerBytes + Registers*registerBits/8

	stepBytes = 6 // this many bytes have whole registers
	stepRanks = 8
)

// Register is the rank of a register of a dense sketch.
func Register(b []byte, index int) uint8 {
	at, shift := headerBytes+index*registerBits/8, index*registerBits%8
	w := b[at] >> shift
	if shift > 8-registerBits {
		w |= b[at+1] << (8 - shift)
	}
	return w & registerMax
}

// setRegister changes the rank of a register of a dense sketch.
func setRegister(b []byte, index int, rank uint8) {
	at, shift := headerBytes+index*registerBits/8, index*registerBits%8
	b[at] = b[at]&^(registerMax<<shift) | rank<<shift
	if shift > 8-registerBits {
		b[at+1] = b[at+1]&^(registerMax>>(8-shift)) | rank>>(8-shift)
	}
}

// eightRanks has the registers of the first stepBytes bytes, each in 6 bits, from the lowest on.
func eightRanks(b []byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b)) | uint64(binary.LittleEndian.Uint16(b[4:]))<<32
}

// histogramOfDense counts in four tables, because neighbours are often equal and a counter that was just written is slow to
// read.
func histogramOfDense(b []byte) *histogram {
	var h [4]histogram
	for r := b[headerBytes:DenseBytes]; len(r) >= stepBytes; r = r[stepBytes:] {
		w := eightRanks(r)
		h[0][w&registerMax]++
		h[1][w>>6&registerMax]++
		h[2][w>>12&registerMax]++
		h[3][w>>18&registerMax]++
		h[0][w>>24&registerMax]++
		h[1][w>>30&registerMax]++
		h[2][w>>36&registerMax]++
		h[3][w>>42&registerMax]++
	}
	for rank := range h[0] {
		h[0][rank] += h[1][rank] + h[2][rank] + h[3][rank]
	}
	return &h[0]
}

const (
	lanes    = 0x0101010101010101
	laneTops = 0x80 * lanes
)

// spread moves eight ranks of 6 bits into a byte each.
func spread(w uint64) uint64 {
	w = w&0xffffff | w>>24&0xffffff<<32
	w = w&0x00000fff00000fff | w&0x00fff00000fff000<<4
	return w&0x003f003f003f003f | w&0x0fc00fc00fc00fc0<<2
}

// laneMax is the greater of each two bytes; none has its highest bit.
func laneMax(a, b uint64) uint64 {
	notLess := (a | laneTops) - b&^laneTops
	take := notLess & laneTops >> 7 * 0xff // all bits of the bytes where a is not less
	return a&take | b&^take
}

// mergeDense raises eight registers at a time.
func (m *Ranks) mergeDense(b []byte) {
	r := b[headerBytes:DenseBytes]
	for i := 0; i < Registers; i += stepRanks {
		eight := m[i : i+stepRanks]
		w := spread(eightRanks(r[i/stepRanks*stepBytes:]))
		binary.LittleEndian.PutUint64(eight, laneMax(binary.LittleEndian.Uint64(eight), w))
	}
}

// AppendDense appends the dense form of a sparse sketch, which must not overlap dst. The estimate stays.
func AppendDense(dst, b []byte) ([]byte, error) {
	var ranks Ranks
	if err := ranks.Merge(b); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = append(dst, b[:headerBytes]...)
	dst[start+encodingAt] = dense
	for i := 0; i < Registers; i += stepRanks {
		var w uint64
		for j := range stepRanks {
			w |= uint64(ranks[i+j]) << (registerBits * j)
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(w))
		dst = binary.LittleEndian.AppendUint16(dst, uint16(w>>32))
	}
	return dst, nil
}
