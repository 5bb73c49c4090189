package num

import (
	"math"
	"strconv"
)

// integerBound is the magnitude up to which Redis prints a whole double as an integer, with all its digits.
const integerBound = math.MaxInt64 / 2

// AppendFloat appends a double as Redis 7.2 prints scores, RESP3 doubles and the like: with few digits that read back as
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
	return appendDigits(dst, f)
}

// appendDigits appends a finite double other than 0 in the layout that fits its digits. Numbers without decimals get up to
// seven zeros behind their digits. Others are written out when the last digit is one of the first six decimals, or the
// number is from 0.001 to 10000. The rest has an exponent, with a sign and without zeros in front.
func appendDigits(dst []byte, f float64) []byte {
	if f < 0 {
		dst = append(dst, '-')
	}
	d := shortestDigits(math.Abs(f))
	digits, last := d.digits[:d.count], d.last
	exp := last + len(digits) - 1
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

// appendZeros appends up to eight zeros.
func appendZeros(dst []byte, n int) []byte { return append(dst, "00000000"[:n]...) }

// AppendFixed17 appends a double as "%.17g" of the C library does: the form of ZSCAN.
func AppendFixed17(dst []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return AppendFloat(dst, f)
	}
	return strconv.AppendFloat(dst, f, 'g', 17, 64)
}

// ParseFloat reads a double as Redis reads scores and other doubles: what strtod takes from the first to the last byte,
// hexadecimal forms and infinities too, but neither a blank in front nor a NaN, nor a number too big or too small for a
// double.
func ParseFloat(b []byte) (float64, bool) {
	if n, ok := ParseInt(b); ok {
		return float64(n), true
	}
	l, ok := scanLiteral(b)
	switch {
	case !ok:
		return 0, false
	case l.infinite && l.negative:
		return math.Inf(-1), true
	case l.infinite:
		return math.Inf(1), true
	}
	var f float64
	var err error
	if l.hex && !l.marked {
		f, err = strconv.ParseFloat(string(b)+"p0", 64) // strconv insists on the exponent
	} else {
		f, err = strconv.ParseFloat(string(b), 64)
	}
	if err != nil || f == 0 && !l.isZero() {
		return 0, false
	}
	return f, true
}
