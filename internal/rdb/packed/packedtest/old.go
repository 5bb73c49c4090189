// Package packedtest writes the compact encodings that only old servers wrote, for tests.
package packedtest

import (
	"encoding/binary"
	"math"

	"github.com/covey-db/covey/internal/num"
)

const endByte = 0xff

// Ziplist writes a ziplist as Redis up to 6.2 did.
func Ziplist(elems []string) []byte {
	b := make([]byte, 10)
	before, last := 0, 10
	for _, s := range elems {
		last = len(b)
		if before < 0xfe {
			b = append(b, byte(before))
		} else {
			b = binary.LittleEndian.AppendUint32(append(b, 0xfe), uint32(before))
		}
		b = appendZiplistElem(b, s)
		before = len(b) - last
	}
	b = append(b, endByte)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	binary.LittleEndian.PutUint32(b[4:], uint32(last))
	binary.LittleEndian.PutUint16(b[8:], uint16(min(len(elems), math.MaxUint16)))
	return b
}

func appendZiplistElem(b []byte, s string) []byte {
	v, isInt := num.ParseInt([]byte(s))
	switch n := len(s); {
	case isInt && v >= 0 && v <= 12:
		return append(b, 0xf1+byte(v))
	case isInt && v >= math.MinInt8 && v <= math.MaxInt8:
		return append(b, 0xfe, byte(v))
	case isInt && v >= math.MinInt16 && v <= math.MaxInt16:
		return binary.LittleEndian.AppendUint16(append(b, 0xc0), uint16(v))
	case isInt && v >= -1<<23 && v < 1<<23:
		return append(b, 0xf0, byte(v), byte(v>>8), byte(v>>16))
	case isInt && v >= math.MinInt32 && v <= math.MaxInt32:
		return binary.LittleEndian.AppendUint32(append(b, 0xd0), uint32(v))
	case isInt:
		return binary.LittleEndian.AppendUint64(append(b, 0xe0), uint64(v))
	case n < 1<<6:
		return append(append(b, byte(n)), s...)
	case n < 1<<14:
		return append(append(b, 0x40|byte(n>>8), byte(n)), s...)
	default:
		return append(binary.BigEndian.AppendUint32(append(b, 0x80), uint32(n)), s...)
	}
}

// Zipmap writes a zipmap as Redis up to 2.4 did, with unused bytes behind every value.
func Zipmap(pairs []string, unused int) []byte {
	b := []byte{byte(min(len(pairs)/2, 0xfe))}
	for i, s := range pairs {
		if len(s) < 0xfe {
			b = append(b, byte(len(s)))
		} else {
			b = binary.LittleEndian.AppendUint32(append(b, 0xfe), uint32(len(s)))
		}
		if i%2 == 1 {
			b = append(b, byte(unused))
		}
		b = append(b, s...)
		if i%2 == 1 {
			b = append(b, make([]byte, unused)...)
		}
	}
	return append(b, endByte)
}
