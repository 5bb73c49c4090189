package packed

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/num"
)

// AppendListpackHead opens a listpack at the end of dst; FinishListpack closes it.
func AppendListpackHead(dst []byte) []byte {
	return append(dst, make([]byte, listpackHead)...)
}

// FinishListpack closes the listpack that begins at start and holds count elements.
func FinishListpack(dst []byte, start, count int) []byte {
	dst = append(dst, endByte)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	binary.LittleEndian.PutUint16(dst[start+4:], uint16(min(count, listpackCountHidden)))
	return dst
}

// AppendListpackString adds an element, as a number if it is the text of one.
func AppendListpackString(dst, s []byte) []byte {
	if v, ok := num.ParseInt(s); ok {
		return AppendListpackInt(dst, v)
	}
	start := len(dst)
	switch n := len(s); {
	case n < 1<<6:
		dst = append(dst, 0x80|byte(n))
	case n < 1<<12:
		dst = append(dst, 0xe0|byte(n>>8), byte(n))
	default:
		dst = binary.LittleEndian.AppendUint32(append(dst, lpStr32), uint32(n))
	}
	dst = append(dst, s...)
	return appendBackward(dst, len(dst)-start)
}

// AppendListpackInt adds a number in its shortest form.
func AppendListpackInt(dst []byte, v int64) []byte {
	start := len(dst)
	switch {
	case v >= 0 && v < 1<<7:
		dst = append(dst, byte(v))
	case fitsBits(v, 13):
		dst = append(dst, 0xc0|byte(v>>8)&0x1f, byte(v))
	case fitsBits(v, 16):
		dst = append(dst, lpInt16, byte(v), byte(v>>8))
	case fitsBits(v, 24):
		dst = append(dst, lpInt24, byte(v), byte(v>>8), byte(v>>16))
	case fitsBits(v, 32):
		dst = binary.LittleEndian.AppendUint32(append(dst, lpInt32), uint32(v))
	default:
		dst = binary.LittleEndian.AppendUint64(append(dst, lpInt64), uint64(v))
	}
	return appendBackward(dst, len(dst)-start)
}

// AppendListpackElem adds an element read from another compact value.
func AppendListpackElem(dst []byte, e Elem) []byte {
	if e.IsInt {
		return AppendListpackInt(dst, e.Int)
	}
	return AppendListpackString(dst, e.Str)
}

// fitsBits tells whether v is a signed number of so many bits.
func fitsBits(v int64, bits uint) bool {
	unused := 64 - bits
	return v<<unused>>unused == v
}

func appendBackward(dst []byte, n int) []byte {
	size := backwardSize(n)
	for i := size - 1; i >= 0; i-- {
		b := byte(n>>(7*i)) & 0x7f
		if i < size-1 {
			b |= 0x80
		}
		dst = append(dst, b)
	}
	return dst
}
