package packed

import "encoding/binary"

// An intset, numbers in little endian:
//
//	width (4): 2, 4 or 8 | elements (4) | the numbers, each of that width, ascending
const intsetHead = 8

// What can be wrong with an intset.
const (
	ErrIntsetHead  Damage = "intset: width or number of elements is wrong"
	ErrIntsetOrder Damage = "intset: numbers are not in ascending order"
)

// Intset is a checked intset.
type Intset struct {
	b     []byte // the numbers
	width int    // bytes of one number
}

// OpenIntset checks a whole intset. An empty one is allowed.
func OpenIntset(b []byte) (Intset, error) {
	if len(b) < intsetHead {
		return Intset{}, ErrIntsetHead
	}
	width := binary.LittleEndian.Uint32(b)
	count := uint64(binary.LittleEndian.Uint32(b[4:]))
	if width != 2 && width != 4 && width != 8 || intsetHead+count*uint64(width) != uint64(len(b)) {
		return Intset{}, ErrIntsetHead
	}
	s := Intset{b: b[intsetHead:], width: int(width)}
	for i := 1; i < s.Len(); i++ {
		if s.At(i-1) >= s.At(i) {
			return Intset{}, ErrIntsetOrder
		}
	}
	return s, nil
}

// Len is the number of elements.
func (s Intset) Len() int {
	if s.width == 0 {
		return 0
	}
	return len(s.b) / s.width
}

// At is the i-th smallest element.
func (s Intset) At(i int) int64 {
	b := s.b[i*s.width:]
	switch s.width {
	case 2:
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return int64(int32(binary.LittleEndian.Uint32(b)))
	}
	return int64(binary.LittleEndian.Uint64(b))
}

// AppendIntset writes an intset in the narrowest width. The numbers are in ascending order, without repetition.
func AppendIntset(dst []byte, numbers []int64) []byte {
	width := 2
	if n := len(numbers); n > 0 {
		for width < 8 && !(fitsBits(numbers[0], uint(8*width)) && fitsBits(numbers[n-1], uint(8*width))) {
			width *= 2
		}
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(width))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(numbers)))
	for _, v := range numbers {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(v))
		dst = dst[:len(dst)-8+width]
	}
	return dst
}
