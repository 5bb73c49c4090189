package packed

import "encoding/binary"

// A ziplist, the listpack's predecessor (RDB versions up to 9), numbers in little endian:
//
//	total bytes (4) | offset of the last element (4) | elements (2), 65535 = must be counted | element ... | 0xff
//
// An element starts with the size of the one before it (one byte below 254, else 0xfe and four bytes), then:
//
//	00nnnnnn data                  string of n bytes
//	01nnnnnn nnnnnnnn data         string of n bytes (big endian)
//	10xxxxxx length (4) data       string (big endian)
//	0xc0, 0xd0, 0xe0, 0xf0, 0xfe   number of 2, 4, 8, 3 or 1 bytes
//	0xf1..0xfd                     number 0..12
const (
	ziplistHead        = 10
	ziplistCountHidden = 1<<16 - 1
	ziplistLongBefore  = 0xfe
)

// What can be wrong with a ziplist.
const (
	ErrZiplistHead     Damage = "ziplist: head or end byte is wrong"
	ErrZiplistEncoding Damage = "ziplist: unknown kind of element"
	ErrZiplistElement  Damage = "ziplist: element reaches beyond the end"
	ErrZiplistBackward Damage = "ziplist: size of the previous element is wrong"
	ErrZiplistTail     Damage = "ziplist: offset of the last element is wrong"
	ErrZiplistCount    Damage = "ziplist: number of elements is wrong"
)

// Ziplist reads the elements of a ziplist in order, checking each.
type Ziplist struct {
	b      []byte // the whole ziplist; nil after an error
	at     int    // where the next element starts
	before int    // size of the element before it
	left   int    // elements still to come as the head says; negative if it does not say
	err    error
}

// OpenZiplist checks the frame of a ziplist and stands before its first element.
func OpenZiplist(b []byte) (Ziplist, error) {
	if len(b) <= ziplistHead || uint64(binary.LittleEndian.Uint32(b)) != uint64(len(b)) || b[len(b)-1] != endByte {
		return Ziplist{}, ErrZiplistHead
	}
	if uint64(binary.LittleEndian.Uint32(b[4:])) > uint64(len(b)-1) {
		return Ziplist{}, ErrZiplistTail
	}
	left := int(binary.LittleEndian.Uint16(b[8:]))
	if left == ziplistCountHidden {
		left = -1
	}
	return Ziplist{b: b, at: ziplistHead, left: left}, nil
}

// Next gives the next element; false at the end or at an error.
func (z *Ziplist) Next() (Elem, bool) {
	if z.b == nil {
		return Elem{}, false
	}
	rest := z.b[z.at:]
	if rest[0] == endByte {
		return z.finish(len(rest))
	}
	before, used := ziplistBefore(rest)
	if used == 0 {
		return z.fail(ErrZiplistElement)
	}
	if before != uint64(z.before) {
		return z.fail(ErrZiplistBackward)
	}
	e, n, err := ziplistElem(rest[used:])
	switch {
	case err != nil:
		return z.fail(err)
	case used+n >= len(rest):
		return z.fail(ErrZiplistElement)
	case z.left == 0:
		return z.fail(ErrZiplistCount)
	}
	z.before = used + n
	z.at += used + n
	z.left--
	return e, true
}

// Err tells why Next gave no more elements; nil at the regular end.
func (z *Ziplist) Err() error { return z.err }

// finish checks what can only be known at the end byte.
func (z *Ziplist) finish(rest int) (Elem, bool) {
	tail := int64(binary.LittleEndian.Uint32(z.b[4:]))
	switch {
	case rest != 1:
		return z.fail(ErrZiplistElement)
	case z.left > 0:
		return z.fail(ErrZiplistCount)
	case z.before > 0 && tail != int64(z.at-z.before):
		return z.fail(ErrZiplistTail)
	}
	return Elem{}, false
}

func (z *Ziplist) fail(err error) (Elem, bool) {
	z.err, z.b = err, nil
	return Elem{}, false
}

// ziplistBefore reads the size of the previous element; used is 0 if b is too short for it and one byte more.
func ziplistBefore(b []byte) (size uint64, used int) {
	if b[0] < ziplistLongBefore {
		if len(b) < 2 {
			return 0, 0
		}
		return uint64(b[0]), 1
	}
	if len(b) < 6 {
		return 0, 0
	}
	return uint64(binary.LittleEndian.Uint32(b[1:])), 5
}

// ziplistElem reads the head and the data of an element, without the size that stands before it. b is not empty.
func ziplistElem(b []byte) (Elem, int, error) {
	head := b[0]
	switch {
	case head < 0x40:
		return ziplistString(b, 1, uint64(head))
	case head < 0x80:
		if len(b) < 2 {
			return Elem{}, 0, ErrZiplistElement
		}
		return ziplistString(b, 2, uint64(head&0x3f)<<8|uint64(b[1]))
	case head < 0xc0:
		if len(b) < 5 {
			return Elem{}, 0, ErrZiplistElement
		}
		return ziplistString(b, 5, uint64(binary.BigEndian.Uint32(b[1:])))
	case head >= 0xf1 && head <= 0xfd:
		return Elem{Int: int64(head - 0xf1), IsInt: true}, 1, nil
	}
	width := ziplistWidth(head)
	if width == 0 {
		return Elem{}, 0, ErrZiplistEncoding
	}
	return wideNumber(b, width, ErrZiplistElement)
}

func ziplistString(b []byte, head int, n uint64) (Elem, int, error) {
	if uint64(head)+n > uint64(len(b)) {
		return Elem{}, 0, ErrZiplistElement
	}
	end := head + int(n)
	return Elem{Str: b[head:end:end]}, end, nil
}

func ziplistWidth(head byte) int {
	switch head {
	case 0xc0:
		return 2
	case 0xd0:
		return 4
	case 0xe0:
		return 8
	case 0xf0:
		return 3
	case 0xfe:
		return 1
	}
	return 0
}
