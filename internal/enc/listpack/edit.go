package listpack

import (
	"encoding/binary"
	"slices"

	"github.com/covey-db/covey/internal/num"
)

// This file holds the edits. What is put in must not lie in the listpack itself.

// Where says on which side of an element another one is put.
type Where uint8

// The sides of an element.
const (
	Before Where = iota
	After
)

// New appends an empty listpack to dst. The others take a listpack that begins at the start of the slice.
func New(dst []byte) []byte {
	return append(dst, EmptySize, 0, 0, 0, 0, 0, endByte)
}

// EncodedSize is how many bytes a listpack grows by when b is added.
func EncodedSize(b []byte) int {
	if v, ok := num.ParseInt(b); ok {
		return EncodedIntSize(v)
	}
	return strSize(len(b))
}

// EncodedIntSize is how many bytes a listpack grows by when a number is added.
func EncodedIntSize(v int64) int {
	switch {
	case v >= 0 && v < 1<<7:
		return 2
	case fitsBits(v, 13):
		return 3
	case fitsBits(v, 16):
		return 4
	case fitsBits(v, 24):
		return 5
	case fitsBits(v, 32):
		return 6
	}
	return 10
}

// MayGrow tells whether n bytes can be added without exceeding BytesMax.
func MayGrow(lp []byte, n int) bool { return n <= BytesMax && Bytes(lp)+n <= BytesMax }

// Append adds an element at the end, as a number if b is the text of one.
func Append(lp, b []byte) []byte { return put(lp, Bytes(lp)-1, 0, b, 1) }

// AppendInt adds a number at the end.
func AppendInt(lp []byte, v int64) []byte { return putInt(lp, Bytes(lp)-1, 0, v, 1) }

// Prepend adds an element at the start.
func Prepend(lp, b []byte) []byte { return put(lp, headSize, 0, b, 1) }

// Insert adds an element before or after the one at pos.
func Insert(lp []byte, pos int, where Where, b []byte) []byte {
	return put(lp, side(lp, pos, where), 0, b, 1)
}

// InsertInt adds a number before or after the element at pos.
func InsertInt(lp []byte, pos int, where Where, v int64) []byte {
	return putInt(lp, side(lp, pos, where), 0, v, 1)
}

func side(lp []byte, pos int, where Where) int {
	if where == After {
		pos += elemSize(lp[pos:])
	}
	return pos
}

// Replace makes b of the element at pos. The new element is at the same position.
func Replace(lp []byte, pos int, b []byte) []byte { return put(lp, pos, elemSize(lp[pos:]), b, 0) }

// ReplaceInt makes a number of the element at pos.
func ReplaceInt(lp []byte, pos int, v int64) []byte { return putInt(lp, pos, elemSize(lp[pos:]), v, 0) }

// Delete removes up to count elements from the one at pos on. What followed them is at pos then, or the end is (IsEnd).
func Delete(lp []byte, pos, count int) []byte {
	end, n := pos, 0
	for n < count && lp[end] != endByte {
		end += elemSize(lp[end:])
		n++
	}
	lp = splice(lp, pos, end-pos, 0)
	addCount(lp, -n)
	return lp
}

// put replaces old bytes at a place by the element b; added is how many elements that makes more.
func put(lp []byte, at, old int, b []byte, added int) []byte {
	if v, ok := num.ParseInt(b); ok {
		return putInt(lp, at, old, v, added)
	}
	size := strSize(len(b))
	lp = splice(lp, at, old, size)
	addCount(lp, added)
	writeStr(lp[at:at+size], b)
	return lp
}

// putInt is put for a number.
func putInt(lp []byte, at, old int, v int64, added int) []byte {
	size := EncodedIntSize(v)
	lp = splice(lp, at, old, size)
	addCount(lp, added)
	writeInt(lp[at:at+size], v)
	return lp
}

// splice makes old bytes at a place size bytes wide and sets the total.
func splice(lp []byte, at, old, size int) []byte {
	n := Bytes(lp)
	lp = lp[:n]
	if more := size - old; more > 0 {
		lp = slices.Grow(lp, more)
	}
	if rest := at + old; rest < n-1 {
		all := lp[:max(n, n-old+size)]
		copy(all[at+size:], all[rest:n])
	}
	n += size - old
	lp = lp[:n]
	lp[n-1] = endByte
	binary.LittleEndian.PutUint32(lp, uint32(n))
	return lp
}

func setCount(lp []byte, n int) {
	binary.LittleEndian.PutUint16(lp[4:], uint16(min(n, countHidden)))
}

// addCount counts n elements more. A number that was too great once stays hidden.
func addCount(lp []byte, n int) {
	if old := int(binary.LittleEndian.Uint16(lp[4:])); old != countHidden {
		setCount(lp, old+n)
	}
}

// strSize is the size of a string of n bytes as an element.
func strSize(n int) int {
	switch {
	case n < 1<<6:
		return n + 2
	case n < 1<<12:
		return withBack(n + 2)
	}
	return withBack(n + 5)
}

// writeStr writes a string over all of dst, which has its size.
func writeStr(dst, s []byte) {
	head := 1
	switch n := len(s); {
	case n < 1<<6:
		dst[0] = 0x80 | byte(n)
	case n < 1<<12:
		head = 2
		dst[0], dst[1] = 0xe0|byte(n>>8), byte(n)
	default:
		head = 5
		dst[0] = headStr
		binary.LittleEndian.PutUint32(dst[1:], uint32(n))
	}
	copy(dst[head:], s)
	writeBack(dst, head+len(s))
}

// writeInt writes a number over all of dst, which has its size.
func writeInt(dst []byte, v int64) {
	n := len(dst) - 1
	dst[n] = byte(n)
	switch n {
	case 1:
		dst[0] = byte(v)
	case 2:
		dst[0], dst[1] = 0xc0|byte(v>>8)&0x1f, byte(v)
	case 3:
		dst[0], dst[1], dst[2] = head16, byte(v), byte(v>>8)
	case 4:
		dst[0], dst[1], dst[2], dst[3] = head24, byte(v), byte(v>>8), byte(v>>16)
	case 5:
		dst[0] = head32
		binary.LittleEndian.PutUint32(dst[1:], uint32(v))
	default:
		dst[0] = head64
		binary.LittleEndian.PutUint64(dst[1:], uint64(v))
	}
}

// writeBack writes the backward length n behind the first n bytes of an element, to its end.
func writeBack(elem []byte, n int) {
	first := n
	for i := len(elem) - 1; i > first; i-- {
		elem[i] = byte(n)&0x7f | 0x80
		n >>= 7
	}
	elem[first] = byte(n)
}

// fitsBits tells whether v is a signed number of so many bits.
func fitsBits(v int64, bits uint) bool {
	unused := 64 - bits
	return v<<unused>>unused == v
}
