// Package num reads and writes numbers exactly as Redis does: the strict decimal integers, the doubles of scores, and the
// 80-bit long doubles of INCRBYFLOAT.
package num

import (
	"math"
	"strconv"
)

// intDigitsMax is the length of the longest text that can be an int64: 2^63 has 19 digits, and any 19 digits fit a uint64.
const intDigitsMax = 19

// ParseInt reads the canonical text of an int64: the text that AppendInt writes and no other. No sign but a minus, no zero
// in front, no blanks.
func ParseInt(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > intDigitsMax {
		return 0, false
	}
	if digits[0] == '0' {
		return 0, len(b) == 1
	}
	var v uint64
	for _, c := range digits {
		d := c - '0'
		if d > 9 {
			return 0, false
		}
		v = v*10 + uint64(d)
	}
	if len(digits) == len(b) {
		return int64(v), v <= math.MaxInt64
	}
	return -int64(v), v <= -math.MinInt64
}

// ParseUint reads an unsigned number as Redis reads the halves of stream IDs: a canonical integer that is not negative, or
// else what strtoull of the C library takes whole, which allows blanks, a plus and zeros in front, and wraps a minus
// around unless the number is a canonical one.
func ParseUint(b []byte) (uint64, bool) {
	if v, ok := ParseInt(b); ok {
		return uint64(v), v >= 0
	}
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative || len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	if len(b) == 0 {
		return 0, false
	}
	var v uint64
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || v > (math.MaxUint64-d)/10 {
			return 0, false
		}
		v = v*10 + d
	}
	if negative {
		v = -v
	}
	return v, true
}

// AppendInt appends the decimal text of n.
func AppendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

// isSpace is isspace of the C locale.
func isSpace(c byte) bool { return c == ' ' || c-'\t' < 5 }
