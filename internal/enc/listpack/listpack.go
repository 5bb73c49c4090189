// Package listpack reads and edits listpacks, the compact form of small lists, hashes, sets and sorted sets and of the nodes
// of big lists and streams. All functions work on plain bytes, which may lie inside an arena block: an edit takes a slice
// and returns it grown or shrunk, as append does, and allocates only when the capacity does not suffice.
//
// A listpack, numbers in little endian:
//
//	total bytes (4) | elements (2), 65535 = must be counted | element ... | 0xff
//
// An element is a head with its data, followed by the length of both once more, to be read from the right:
//
//	0nnnnnnn                      number 0..127
//	10nnnnnn data                 string of n bytes
//	110nnnnn nnnnnnnn             13-bit number (big endian, the only one)
//	1110nnnn nnnnnnnn data        string of n bytes (big endian)
//	0xf0 length (4) data          string
//	0xf1..0xf4                    number of 2, 3, 4 or 8 bytes
//
// A position is the offset of an element's head. No element is at 0, which stands for "none". Only Validate takes bytes
// that nobody has checked; everything else expects a listpack that is sound, and may panic when it is not.
package listpack

import (
	"bytes"
	"encoding/binary"

	"github.com/covey-db/covey/internal/num"
)

const (
	headSize    = 6         // total bytes, elements
	countHidden = 1<<16 - 1 // the number of elements did not fit
	endByte     = 0xff

	headStr = 0xf0
	head16  = 0xf1
	head24  = 0xf2
	head32  = 0xf3
	head64  = 0xf4
)

// EmptySize is the number of bytes of a listpack without elements.
const EmptySize = headSize + 1

// BytesMax is the size beyond which a listpack must not grow: far below what its head can express.
const BytesMax = 1 << 30

// intTextMax is the length of the longest text of a number.
const intTextMax = 20

// Elem is one element: a number, or bytes that point into the listpack and live until it is edited. It is four words, so that
// the compiler keeps it in registers.
type Elem struct {
	Str []byte // the bytes; nil for a number
	Int int64  // the number
}

// BytesElem is the element of some bytes, which may be nil.
func BytesElem(b []byte) Elem {
	if b == nil {
		b = []byte{}
	}
	return Elem{Str: b}
}

// IsInt says whether the element is stored as a number.
func (e Elem) IsInt() bool { return e.Str == nil }

// Append appends the element's text.
func (e Elem) Append(dst []byte) []byte {
	if e.IsInt() {
		return num.AppendInt(dst, e.Int)
	}
	return append(dst, e.Str...)
}

// Text is the element's text. A number is written to the scratch space, which may be nil; the result lives until the
// space or the listpack is used again.
func (e Elem) Text(scratch []byte) []byte {
	if e.IsInt() {
		return num.AppendInt(scratch[:0], e.Int)
	}
	return e.Str
}

// Len is the length of the element's text.
func (e Elem) Len() int {
	if e.IsInt() {
		return intLen(e.Int)
	}
	return len(e.Str)
}

// Equal tells whether the element's text is b.
func (e Elem) Equal(b []byte) bool {
	if !e.IsInt() {
		return bytes.Equal(e.Str, b)
	}
	if len(b) == 0 || len(b) > intTextMax {
		return false
	}
	v, ok := num.ParseInt(b)
	return ok && v == e.Int
}

// intLen is the length of a number's text.
func intLen(v int64) int {
	n, u := 1, uint64(v)
	if v < 0 {
		n, u = 2, -u
	}
	for ; u >= 10; u /= 10 {
		n++
	}
	return n
}

// Bytes is the size of the listpack that lp begins with.
func Bytes(lp []byte) int { return int(binary.LittleEndian.Uint32(lp)) }

// Len is the number of elements. Only beyond 65,534 of them they have to be counted.
func Len(lp []byte) int {
	if n := int(binary.LittleEndian.Uint16(lp[4:])); n != countHidden {
		return n
	}
	n := 0
	for pos := First(lp); pos != 0; pos = Next(lp, pos) {
		n++
	}
	return n
}

// First is the position of the first element, 0 if there is none.
func First(lp []byte) int {
	if lp[headSize] == endByte {
		return 0
	}
	return headSize
}

// Next is the position of the element after the one at pos, 0 at the end.
func Next(lp []byte, pos int) int {
	pos += elemSize(lp[pos:])
	if lp[pos] == endByte {
		return 0
	}
	return pos
}

// Prev is the position of the element before the one at pos, 0 at the start.
func Prev(lp []byte, pos int) int {
	if pos <= headSize {
		return 0
	}
	return before(lp, pos)
}

// Last is the position of the last element, 0 if there is none.
func Last(lp []byte) int { return Prev(lp, Bytes(lp)-1) }

// IsEnd tells that no element is at pos but the end: it is for the position at which something was deleted.
func IsEnd(lp []byte, pos int) bool { return lp[pos] == endByte }

// before is where the element ends that begins at pos has its predecessor's head.
func before(lp []byte, pos int) int {
	pos--
	size, shift, back := 0, 0, 1
	for lp[pos]&0x80 != 0 {
		size |= int(lp[pos]&0x7f) << shift
		shift += 7
		pos--
		back++
	}
	size |= int(lp[pos]) << shift
	return pos - size
}

// Seek is the position of the element with an index; a negative index counts from the end, -1 is the last. It is 0 if there
// is no such element.
func Seek(lp []byte, index int) int {
	known := int(binary.LittleEndian.Uint16(lp[4:]))
	if known != countHidden {
		switch {
		case index < -known || index >= known:
			return 0
		case index >= 0 && index > known/2:
			index -= known
		case index < -known/2-1:
			index += known
		}
	}
	if index < 0 {
		pos := Last(lp)
		for ; index < -1 && pos != 0; index++ {
			pos = Prev(lp, pos)
		}
		return pos
	}
	pos := First(lp)
	for ; index > 0 && pos != 0; index-- {
		pos = Next(lp, pos)
	}
	return pos
}

// Get is the element at pos.
func Get(lp []byte, pos int) Elem {
	b := lp[pos:]
	head := b[0]
	switch {
	case head < 0x80:
		return Elem{Int: int64(head)}
	case head < 0xc0:
		end := 1 + int(head&0x3f)
		return Elem{Str: b[1:end:end]}
	case head < 0xe0:
		return Elem{Int: narrow(head, b[1])}
	case head < headStr:
		end := 2 + (int(head&0x0f)<<8 | int(b[1]))
		return Elem{Str: b[2:end:end]}
	case head == headStr:
		end := 5 + int(binary.LittleEndian.Uint32(b[1:]))
		return Elem{Str: b[5:end:end]}
	}
	return Elem{Int: wide(b)}
}

// narrow is a number of 13 bits.
func narrow(head, low byte) int64 { return int64(uint64(head&0x1f)<<59|uint64(low)<<51) >> 51 }

// wide is a number of two to eight bytes behind its head.
func wide(b []byte) int64 {
	switch b[0] {
	case head16:
		return int64(binary.LittleEndian.Uint16(b[1:])) << 48 >> 48
	case head24:
		return (int64(binary.LittleEndian.Uint16(b[1:])) | int64(b[3])<<16) << 40 >> 40
	case head32:
		return int64(binary.LittleEndian.Uint32(b[1:])) << 32 >> 32
	}
	return int64(binary.LittleEndian.Uint64(b[1:]))
}

// elemSize is the size of the element that b begins with, including the length behind it.
func elemSize(b []byte) int {
	head := b[0]
	switch {
	case head < 0x80:
		return 2
	case head < 0xc0:
		return 2 + int(head&0x3f)
	case head < 0xe0:
		return 3
	case head < headStr:
		return withBack(2 + (int(head&0x0f)<<8 | int(b[1])))
	case head == headStr:
		return withBack(5 + int(binary.LittleEndian.Uint32(b[1:])))
	case head == head64:
		return 10
	}
	return int(head) - head16 + 4
}

// withBack is n and the number of bytes of the backward length n: seven bits a byte, except that the greatest number of two,
// three and four bytes is written with one byte more.
func withBack(n int) int {
	switch {
	case n <= 127:
		return n + 1
	case n < 1<<14-1:
		return n + 2
	case n < 1<<21-1:
		return n + 3
	case n < 1<<28-1:
		return n + 4
	}
	return n + 5
}
