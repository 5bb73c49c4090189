// Package packed reads the compact encodings that RDB files carry inside a string: listpack, ziplist, zipmap and intset.
// The bytes come from a disk or from another node and are not trusted: every reader checks what it reads, stops with an
// error at the first byte that is wrong, and reads each byte at most a few times. Old forms can be turned into a listpack,
// the only one (with the intset) that is still written.
package packed

import "strconv"

// Damage says what is wrong with a compact value.
type Damage string

func (d Damage) Error() string { return string(d) }

const endByte = 0xff // closes a listpack, a ziplist and a zipmap

// Elem is one element: a number, or bytes that point into the value they were read from.
type Elem struct {
	Str   []byte // the bytes; nil for a number
	Int   int64  // the number
	IsInt bool   // the element is stored as a number
}

// Text gives the element as bytes. A number is written to the scratch space, which may be nil; the result lives until the
// space is used again.
func (e Elem) Text(scratch []byte) []byte {
	if !e.IsInt {
		return e.Str
	}
	return strconv.AppendInt(scratch[:0], e.Int, 10)
}

// integerDigitsMax is the length of the longest number that a listpack stores as one: -9223372036854775808.
const integerDigitsMax = 20

// Integer reads a number that is written as Redis writes numbers: no space, no plus sign, no leading zero, no minus zero.
// Only such text may be stored as a number, since nothing else comes back the same.
func Integer(s []byte) (int64, bool) {
	digits := s
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		digits = s[1:]
	}
	if len(digits) == 0 || len(s) > integerDigitsMax || digits[0] == '0' {
		return 0, len(s) == 1 && s[0] == '0'
	}
	var n uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (1<<63)/10 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	switch {
	case negative && n <= 1<<63:
		return -int64(n), true // NB: -1<<63 is its own negative
	case !negative && n < 1<<63:
		return int64(n), true
	}
	return 0, false
}
