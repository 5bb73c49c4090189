package packed

import "encoding/binary"

// A zipmap, the form of small hashes before RDB version 4:
//
//	pairs (1), 254 = must be counted | pair ... | 0xff
//
// A pair is: length, field, length, unused bytes (1), value, the unused bytes. A length is one byte below 254, else 0xfe
// and four bytes in little endian.
const (
	zipmapLong        = 0xfe
	zipmapCountHidden = 0xfe
)

// What can be wrong with a zipmap.
const (
	ErrZipmapHead    Damage = "zipmap: head or end byte is wrong"
	ErrZipmapElement Damage = "zipmap: field or value reaches beyond the end"
	ErrZipmapCount   Damage = "zipmap: number of pairs is wrong"
)

// Zipmap reads the pairs of a zipmap in order, checking each.
type Zipmap struct {
	b    []byte // from the next pair to the end byte
	left int    // pairs still to come as the head says; negative if it does not say
	err  error
}

// OpenZipmap checks the frame of a zipmap and stands before its first pair.
func OpenZipmap(b []byte) (Zipmap, error) {
	if len(b) < 2 || b[len(b)-1] != endByte {
		return Zipmap{}, ErrZipmapHead
	}
	left := int(b[0])
	if left == zipmapCountHidden {
		left = -1
	}
	return Zipmap{b: b[1:], left: left}, nil
}

// Next gives the next pair; false at the end or at an error.
func (z *Zipmap) Next() (field, value []byte, ok bool) {
	if len(z.b) == 0 {
		return nil, nil, false
	}
	if z.b[0] == endByte {
		switch {
		case len(z.b) != 1:
			z.fail(ErrZipmapElement)
		case z.left > 0:
			z.fail(ErrZipmapCount)
		}
		return nil, nil, false
	}
	if z.left == 0 {
		return z.fail(ErrZipmapCount)
	}
	field, rest, ok := zipmapItem(z.b, 0)
	if !ok {
		return z.fail(ErrZipmapElement)
	}
	value, rest, ok = zipmapItem(rest, 1)
	if !ok {
		return z.fail(ErrZipmapElement)
	}
	z.b = rest
	z.left--
	return field, value, true
}

// Err tells why Next gave no more pairs; nil at the regular end.
func (z *Zipmap) Err() error { return z.err }

func (z *Zipmap) fail(err error) (field, value []byte, ok bool) {
	z.err, z.b = err, nil
	return nil, nil, false
}

// zipmapItem reads a field, or a value: that one has a byte with the number of unused bytes behind its length. At least
// one byte (the end byte) must remain.
func zipmapItem(b []byte, unusedBytes int) (item, rest []byte, ok bool) {
	head, n := 1, uint64(b[0])
	if b[0] >= zipmapLong {
		head = 5
		if len(b) < head {
			return nil, nil, false
		}
		n = uint64(binary.LittleEndian.Uint32(b[1:]))
	}
	if len(b) <= head+unusedBytes {
		return nil, nil, false
	}
	unused := 0
	if unusedBytes == 1 {
		unused = int(b[head])
		head++
	}
	if uint64(head)+n+uint64(unused) >= uint64(len(b)) {
		return nil, nil, false
	}
	end := head + int(n)
	return b[head:end:end], b[end+unused:], true
}
