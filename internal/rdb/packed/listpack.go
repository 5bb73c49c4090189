package packed

import "encoding/binary"

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
const (
	listpackHead        = 6
	listpackCountHidden = 1<<16 - 1 // the count did not fit

	lpStr32 = 0xf0
	lpInt16 = 0xf1
	lpInt24 = 0xf2
	lpInt32 = 0xf3
	lpInt64 = 0xf4
)

// What can be wrong with a listpack.
const (
	ErrListpackHead     Damage = "listpack: head or end byte is wrong"
	ErrListpackEncoding Damage = "listpack: unknown kind of element"
	ErrListpackElement  Damage = "listpack: element reaches beyond the end"
	ErrListpackBackward Damage = "listpack: backward length is wrong"
	ErrListpackCount    Damage = "listpack: number of elements is wrong"
)

// Listpack reads the elements of a listpack in order, checking each.
type Listpack struct {
	b    []byte // from the next element to the end byte
	left int    // elements still to come as the head says; negative if it does not say
	err  error
}

// OpenListpack checks the frame of a listpack and stands before its first element.
func OpenListpack(b []byte) (Listpack, error) {
	if len(b) <= listpackHead || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)) || b[len(b)-1] != endByte {
		return Listpack{}, ErrListpackHead
	}
	left := int(binary.LittleEndian.Uint16(b[4:]))
	if left == listpackCountHidden {
		left = -1
	}
	return Listpack{b: b[listpackHead:], left: left}, nil
}

// Next gives the next element; false at the end or at an error.
func (l *Listpack) Next() (Elem, bool) {
	// What most elements are, in short: the head is one byte, and so is the backward length.
	if b := l.b; len(b) > 2 && b[0] < 0xc0 && l.left > 0 {
		n := 1
		if b[0] >= 0x80 {
			n += int(b[0] & 0x3f)
		}
		if n+1 < len(b) && b[n] == byte(n) {
			l.b = b[n+1:]
			l.left--
			if b[0] < 0x80 {
				return Elem{Int: int64(b[0]), IsInt: true}, true
			}
			return Elem{Str: b[1:n:n]}, true
		}
	}
	return l.nextOfAny()
}

// nextOfAny is Next for every kind of element, and for what is none.
func (l *Listpack) nextOfAny() (Elem, bool) {
	if len(l.b) <= 1 { // only the end byte, or nothing after an error
		if len(l.b) == 1 && l.left > 0 {
			l.fail(ErrListpackCount)
		}
		return Elem{}, false
	}
	e, n, err := listpackElem(l.b)
	switch {
	case err != nil:
		return l.fail(err)
	case l.left == 0:
		return l.fail(ErrListpackCount)
	}
	back := backwardSize(n)
	if n+back >= len(l.b) {
		return l.fail(ErrListpackElement)
	}
	if !isBackward(l.b[n:n+back], n) {
		return l.fail(ErrListpackBackward)
	}
	l.b = l.b[n+back:]
	l.left--
	return e, true
}

// Err tells why Next gave no more elements; nil at the regular end.
func (l *Listpack) Err() error { return l.err }

func (l *Listpack) fail(err error) (Elem, bool) {
	l.err, l.b = err, nil
	return Elem{}, false
}

// listpackElem reads the head and the data of the element that b starts with. b holds at least two bytes.
func listpackElem(b []byte) (e Elem, n int, err error) {
	head := b[0]
	switch {
	case head < 0x80:
		return Elem{Int: int64(head), IsInt: true}, 1, nil
	case head < 0xc0:
		return listpackString(b, 1, uint64(head&0x3f))
	case head < 0xe0:
		v := int64(head&0x1f)<<8 | int64(b[1])
		return Elem{Int: v << 51 >> 51, IsInt: true}, 2, nil
	case head < lpStr32:
		return listpackString(b, 2, uint64(head&0x0f)<<8|uint64(b[1]))
	case head == lpStr32:
		if len(b) < 5 {
			return Elem{}, 0, ErrListpackElement
		}
		return listpackString(b, 5, uint64(binary.LittleEndian.Uint32(b[1:])))
	case head <= lpInt64:
		return wideNumber(b, listpackWidth(head), ErrListpackElement)
	}
	return Elem{}, 0, ErrListpackEncoding
}

func listpackString(b []byte, head int, n uint64) (Elem, int, error) {
	if uint64(head)+n > uint64(len(b)) {
		return Elem{}, 0, ErrListpackElement
	}
	end := head + int(n)
	return Elem{Str: b[head:end:end]}, end, nil
}

func listpackWidth(head byte) int {
	if head == lpInt64 {
		return 8
	}
	return int(head-lpInt16) + 2
}

// wideNumber reads a number of width bytes that follows the byte b[0].
func wideNumber(b []byte, width int, short Damage) (Elem, int, error) {
	if len(b) < 1+width {
		return Elem{}, 0, short
	}
	var v uint64
	for i := width; i > 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	unused := 64 - 8*width
	return Elem{Int: int64(v<<unused) >> unused, IsInt: true}, 1 + width, nil
}

// backwardSize is the number of bytes that the backward length of n bytes takes: seven bits a byte, except that the
// greatest number of two, three and four bytes is written with one byte more.
func backwardSize(n int) int {
	switch {
	case n <= 127:
		return 1
	case n < 1<<14-1:
		return 2
	case n < 1<<21-1:
		return 3
	case n < 1<<28-1:
		return 4
	}
	return 5
}

// isBackward tells whether b, read from its end, says n. All bytes but the first carry the mark that one more follows.
func isBackward(b []byte, n int) bool {
	for i := len(b) - 1; i >= 0; i-- {
		want := byte(n & 0x7f)
		if i > 0 {
			want |= 0x80
		}
		if b[i] != want {
			return false
		}
		n >>= 7
	}
	return n == 0
}
