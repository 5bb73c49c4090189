package listpack

import "encoding/binary"

// Damage says what is wrong with a listpack.
type Damage string

func (d Damage) Error() string { return string(d) }

// What can be wrong with a listpack.
const (
	ErrHead     Damage = "listpack: head or end byte is wrong"
	ErrEncoding Damage = "listpack: unknown kind of element"
	ErrElement  Damage = "listpack: element reaches beyond the end"
	ErrBackward Damage = "listpack: backward length is wrong"
	ErrCount    Damage = "listpack: number of elements is wrong"
)

// Validate checks bytes that came from outside: all of lp must be one listpack. Only a deep check looks at the elements,
// without which nothing but Bytes may be asked.
func Validate(lp []byte, deep bool) error {
	if len(lp) < EmptySize || uint64(binary.LittleEndian.Uint32(lp)) != uint64(len(lp)) || lp[len(lp)-1] != endByte {
		return ErrHead
	}
	if !deep {
		return nil
	}
	end, n := len(lp)-1, 0
	for pos := headSize; pos < end; n++ {
		size, err := checkElem(lp[pos:end])
		if err != nil {
			return err
		}
		pos += size
	}
	if known := int(binary.LittleEndian.Uint16(lp[4:])); known != countHidden && known != n {
		return ErrCount
	}
	return nil
}

// checkElem checks the element that b, which is not empty, begins with. It gives its whole size.
func checkElem(b []byte) (int, error) {
	head, n := b[0], uint64(1)
	switch {
	case head < 0x80:
	case head < 0xc0:
		n = 1 + uint64(head&0x3f)
	case head < 0xe0:
		n = 2
	case head < headStr:
		if len(b) < 2 {
			return 0, ErrElement
		}
		n = 2 + (uint64(head&0x0f)<<8 | uint64(b[1]))
	case head == headStr:
		if len(b) < 5 {
			return 0, ErrElement
		}
		n = 5 + uint64(binary.LittleEndian.Uint32(b[1:]))
	case head < head64:
		n = uint64(head-head16) + 3
	case head == head64:
		n = 9
	default:
		return 0, ErrEncoding
	}
	if n >= uint64(len(b)) {
		return 0, ErrElement
	}
	size := withBack(int(n))
	if size > len(b) {
		return 0, ErrElement
	}
	if !isBack(b[n:size], int(n)) {
		return 0, ErrBackward
	}
	return size, nil
}

// isBack tells whether b, read from its end, says n. All bytes but the first carry the mark that one more follows.
func isBack(b []byte, n int) bool {
	for i := len(b) - 1; i > 0; i-- {
		if b[i] != byte(n)&0x7f|0x80 {
			return false
		}
		n >>= 7
	}
	return int(b[0]) == n
}
