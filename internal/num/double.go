package num

import (
	"bytes"
	"math"
	"strconv"
)

// integerBound is the magnitude up to which Redis prints a whole double as an integer, with all its digits.
const integerBound = math.MaxInt64 / 2

// AppendFloat appends a double as Redis 7.2 prints scores, RESP3 doubles and the like: the fewest digits that read back as
// the same double.
func AppendFloat(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "nan"...)
	case math.IsInf(f, 1):
		return append(dst, "inf"...)
	case math.IsInf(f, -1):
		return append(dst, "-inf"...)
	case f == 0 && math.Signbit(f):
		return append(dst, "-0"...)
	case f >= -integerBound && f <= integerBound && f == math.Trunc(f):
		return AppendInt(dst, int64(f))
	}
	return appendShortest(dst, f)
}

// significandMax is the room for the shortest form "-d.dddddddddddddddde-ddd" of any double.
const significandMax = 24

// appendShortest appends the digits of a finite double other than 0 in the layout that fits them.
func appendShortest(dst []byte, f float64) []byte {
	var room [significandMax]byte
	text := strconv.AppendFloat(room[:0], f, 'e', -1, 64)
	if text[0] == '-' {
		dst = append(dst, '-')
		text = text[1:]
	}
	mark := bytes.IndexByte(text, 'e')
	exp := signedExponent(text[mark+1:])
	digits := text[:1]
	if mark > 1 {
		text[1] = text[0] // over the point, so that the digits are in one piece
		digits = text[1:mark]
	}
	return layOut(dst, digits, exp)
}

// signedExponent reads the exponent that strconv wrote, which has always a sign.
func signedExponent(b []byte) int {
	exp := 0
	for _, c := range b[1:] {
		exp = exp*10 + int(c-'0')
	}
	if b[0] == '-' {
		return -exp
	}
	return exp
}

// layOut writes the number d.ddd * 10^exp. Whole numbers get up to six zeros behind their digits, small ones are written
// out down to six decimals, or as far as the digits go from 0.001 on; the rest has an exponent, with a sign and without
// zeros in front.
func layOut(dst, digits []byte, exp int) []byte {
	last := exp - len(digits) + 1 // the power of ten that the last digit counts
	switch {
	case last >= 0 && abs(exp) < len(digits)+7:
		return appendZeros(append(dst, digits...), last)
	case last < 0 && (last > -7 || abs(exp) < 4):
		if exp < 0 {
			dst = appendZeros(append(dst, "0."...), -exp-1)
			return append(dst, digits...)
		}
		dst = append(append(dst, digits[:exp+1]...), '.')
		return append(dst, digits[exp+1:]...)
	}
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(append(dst, '.'), digits[1:]...)
	}
	if exp < 0 {
		return AppendInt(append(dst, 'e'), int64(exp))
	}
	return AppendInt(append(dst, "e+"...), int64(exp))
}

func abs(n int) int { return max(n, -n) }

func appendZeros(dst []byte, n int) []byte {
	const zeros = "00000000"
	for ; n > len(zeros); n -= len(zeros) {
		dst = append(dst, zeros...)
	}
	return append(dst, zeros[:n]...)
}

// AppendFixed17 appends a double as "%.17g" of the C library does: the form of ZSCAN.
func AppendFixed17(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return AppendFloat(dst, f)
	}
	return strconv.AppendFloat(dst, f, 'g', 17, 64)
}
