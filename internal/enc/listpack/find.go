package listpack

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/num"
)

// This file holds the search for an element.

// shortMax is the length of the longest string whose head is one byte.
const shortMax = 1<<6 - 1

// Find is the position of the first element that equals want, 0 if there is none. The search begins at pos, and skip
// elements are passed over after each one that is compared: 1 looks at every other element.
func Find(lp []byte, pos, skip int, want []byte) int {
	if v, ok := num.ParseInt(want); ok {
		return FindInt(lp, pos, skip, v)
	}
	switch n := len(want); {
	case pos == 0:
		return 0
	case n > shortMax || n == 0:
		return findString(lp, pos, skip, want)
	default:
		return findShort(lp, pos, skip, want, 0x80|byte(n), want[n-1])
	}
}

// findShort is Find for a short string, of which the head and the last byte are known: it looks at nothing else of most
// elements.
func findShort(lp []byte, pos, skip int, want []byte, head, last byte) int {
	for left := 0; ; left-- {
		b := lp[pos]
		if left <= 0 {
			if b == head {
				if end := pos + len(want); lp[end] == last && string(lp[pos+1:end+1]) == string(want) {
					return pos
				}
			}
			left = skip + 1
		}
		switch {
		case b < 0x80:
			pos += 2
		case b < 0xc0:
			pos += 2 + int(b&0x3f)
		case b == endByte:
			return 0
		default:
			pos += elemSize(lp[pos:])
		}
	}
}

// findString is Find for any string.
func findString(lp []byte, pos, skip int, want []byte) int {
	for left := 0; lp[pos] != endByte; left-- {
		size := elemSize(lp[pos:])
		if left <= 0 {
			if holds(lp[pos:pos+size], want) {
				return pos
			}
			left = skip + 1
		}
		pos += size
	}
	return 0
}

// holds tells whether an element is a string that equals want.
func holds(b, want []byte) bool {
	head, data := b[0], 1
	switch {
	case head >= 0x80 && head < 0xc0:
		if int(head&0x3f) != len(want) {
			return false
		}
	case head >= 0xe0 && head < headStr:
		data = 2
		if int(head&0x0f)<<8|int(b[1]) != len(want) {
			return false
		}
	case head == headStr:
		data = 5
		if int(binary.LittleEndian.Uint32(b[1:])) != len(want) {
			return false
		}
	default:
		return false
	}
	return string(b[data:data+len(want)]) == string(want)
}

// FindInt is Find for a number.
func FindInt(lp []byte, pos, skip int, want int64) int {
	if pos == 0 {
		return 0
	}
	for left := 0; ; left-- {
		var v int64
		size, isInt := 2, true
		switch b := lp[pos]; {
		case b < 0x80:
			v = int64(b)
		case b < 0xc0:
			size, isInt = 2+int(b&0x3f), false
		case b < 0xe0:
			v, size = narrow(b, lp[pos+1]), 3
		case b == endByte:
			return 0
		case b <= headStr:
			size, isInt = elemSize(lp[pos:]), false
		default:
			v, size = wide(lp[pos:]), elemSize(lp[pos:])
		}
		if left <= 0 {
			if isInt && v == want {
				return pos
			}
			left = skip + 1
		}
		pos += size
	}
}
