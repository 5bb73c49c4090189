package listpack

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/num"
)

// This file holds what is needed by owners of a listpack that make room in it themselves, nodes of big lists, which have room
// before their listpack too, and by who reads many elements in a row.

// HeadSize is the number of bytes before the first element.
const HeadSize = headSize

// ElemSize is the size of the element at pos, with the length behind it.
func ElemSize(lp []byte, pos int) int { return elemSize(lp[pos:]) }

// PutElem writes an element over all of dst, which has its EncodedSize.
func PutElem(dst, b []byte) {
	if v, ok := num.ParseInt(b); ok {
		writeInt(dst, v)
		return
	}
	writeStr(dst, b)
}

// PutInt writes a number over all of dst, which has its EncodedIntSize.
func PutInt(dst []byte, v int64) { writeInt(dst, v) }

// SetHead makes a listpack of all of lp, whose elements have been written: it sets the total, the count and the end.
func SetHead(lp []byte, count int) {
	binary.LittleEndian.PutUint32(lp, uint32(len(lp)))
	setCount(lp, count)
	lp[len(lp)-1] = endByte
}

// Read is the element at pos and the position behind it, which may be that of the end.
func Read(lp []byte, pos int) (e Elem, next int) {
	b := lp[pos:]
	if head := b[0]; head&0xc0 == 0x80 {
		end := 1 + int(head&0x3f)
		return Elem{Str: b[1:end:end]}, pos + end + 1
	}
	return Get(lp, pos), pos + elemSize(b)
}

// ReadInt is Read for an element that should be a number; ok is false when it is none.
func ReadInt(lp []byte, pos int) (v int64, next int, ok bool) {
	if head := lp[pos]; head < 0x80 {
		return int64(head), pos + 2, true
	}
	return readInt(lp, pos)
}

func readInt(lp []byte, pos int) (v int64, next int, ok bool) {
	e, next := Read(lp, pos)
	return e.Int, next, e.IsInt()
}

// Skip is the position n elements behind pos, which may be that of the end. There must be so many.
func Skip(lp []byte, pos, n int) int {
	for ; n > 0; n-- {
		switch head := lp[pos]; {
		case head < 0x80:
			pos += 2
		case head < 0xc0:
			pos += 2 + int(head&0x3f)
		default:
			pos += elemSize(lp[pos:])
		}
	}
	return pos
}
