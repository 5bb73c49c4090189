// The long double of the x87: a sign, 64 bits of significand and 15 of exponent. Redis computes INCRBYFLOAT and
// HINCRBYFLOAT with it, and its rounding shows in the results. math/big does the arithmetic here; a number fits two words
// in between.

package num

import (
	"bytes"
	"math/big"
)

// The range of a finite number, as the exponents that math/big counts (significand from 0.5 to 1).
const (
	longDoubleBits     = 64
	longDoubleExpMax   = 16384
	longDoubleExpMin   = -16381  // of a number with all its bits; smaller ones lose bits from the right
	longDoubleCharsMax = 5 << 10 // a longer text is refused, as by Redis
)

// Decimal exponents beyond which the result is known: 10^4932 is about the largest number, 10^-4951 the smallest.
const (
	longDoubleTensMax = 4940
	longDoubleTensMin = -4960
)

// LongDouble is a long double. The zero value is 0.
type LongDouble struct {
	size     extended // magnitude, when finite
	negative bool
	class    class
}

type class uint8

const (
	finite class = iota
	infinite
	notANumber
)

// IsNaN tells whether x is no number, which comes of adding opposite infinities.
func (x LongDouble) IsNaN() bool { return x.class == notANumber }

// IsInf tells whether x is an infinity of either sign.
func (x LongDouble) IsInf() bool { return x.class == infinite }

// ParseLongDouble reads a long double as Redis does: what strtold takes from the first to the last byte, within the bounds
// that ParseFloat names.
func ParseLongDouble(b []byte) (LongDouble, bool) {
	if len(b) >= longDoubleCharsMax {
		return LongDouble{}, false
	}
	l, ok := scanLiteral(b)
	switch {
	case !ok:
		return LongDouble{}, false
	case l.infinite:
		return LongDouble{negative: l.negative, class: infinite}, true
	case l.isZero():
		return LongDouble{negative: l.negative}, true
	}
	size, ok := l.size()
	return LongDouble{size: size, negative: l.negative}, ok
}

// size is the magnitude of a literal that is not zero; false when it is out of range.
func (l *literal) size() (extended, bool) {
	before, behind, _ := bytes.Cut(l.digits, []byte{'.'})
	digits := bytes.TrimLeft(append(append(make([]byte, 0, len(l.digits)), before...), behind...), "0")
	base := 10
	exp := l.exp - len(behind)
	if l.hex {
		base = 16
		exp = l.exp - 4*len(behind)
	} else if tens := exp + len(digits); tens > longDoubleTensMax || tens < longDoubleTensMin {
		return extended{}, false
	}
	above, ok := new(big.Int).SetString(string(digits), base)
	if !ok {
		return extended{}, false
	}
	below, twos := big.NewInt(1), 0
	power := func(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
	switch {
	case l.hex:
		twos = exp
	case exp >= 0:
		above.Mul(above, power(exp))
	default:
		below = power(-exp)
	}
	return quotient(above, below, twos)
}

// quotient is above/below * 2^twos, rounded once; false when that is out of range.
func quotient(above, below *big.Int, twos int) (extended, bool) {
	exactAbove, exactBelow := new(big.Float).SetInt(above), new(big.Float).SetInt(below)
	round := func(precision uint) (*big.Float, big.Accuracy) {
		x := new(big.Float).SetPrec(precision).Quo(exactAbove, exactBelow)
		return new(big.Float).SetMantExp(x, twos), x.Acc()
	}
	x, accuracy := round(longDoubleBits)
	switch lost := longDoubleExpMin - x.MantExp(nil); {
	case lost > longDoubleBits:
		return extended{}, false
	case lost == longDoubleBits: // between half the smallest number and that number, to which all but the half are rounded
		isHalf := x.MinPrec() == 1
		return extended{1, longDoubleExpMin - longDoubleBits}, !isHalf || accuracy == big.Below
	case lost > 0:
		x, _ = round(uint(longDoubleBits - lost))
	}
	return fromBig(x)
}

// fromBig takes a positive number that has at most 64 bits; false when it is out of range.
func fromBig(x *big.Float) (extended, bool) {
	var mantissa big.Float
	exp := x.MantExp(&mantissa)
	if exp > longDoubleExpMax {
		return extended{}, false
	}
	frac, _ := mantissa.SetMantExp(&mantissa, longDoubleBits).Uint64()
	return extended{frac, exp - longDoubleBits}, true
}

// big is a finite x for math/big.
func (x LongDouble) big() *big.Float {
	f := new(big.Float).SetUint64(x.size.frac) // has 64 bits, so sums have too, and they round halves to even
	f.SetMantExp(f, x.size.exp)
	if x.negative {
		f.Neg(f)
	}
	return f
}

// Add is x + y.
func (x LongDouble) Add(y LongDouble) LongDouble {
	switch {
	case x.class == notANumber || y.class == notANumber:
		return LongDouble{class: notANumber}
	case x.class == infinite && y.class == infinite && x.negative != y.negative:
		return LongDouble{class: notANumber}
	case x.class == infinite:
		return x
	case y.class == infinite:
		return y
	}
	sum := x.big()
	sum.Add(sum, y.big())
	negative := sum.Signbit()
	if sum.Sign() == 0 {
		return LongDouble{negative: negative}
	}
	size, ok := fromBig(sum.Abs(sum))
	if !ok {
		return LongDouble{negative: negative, class: infinite}
	}
	return LongDouble{size: size, negative: negative}
}

// humanDecimals is the number of decimals of the form for people, before zeros at the end are cut: most decimal numbers
// that people type come out of it as they went in.
const humanDecimals = 17

// AppendHuman appends x without an exponent and without zeros behind its decimals: the form of INCRBYFLOAT.
func (x LongDouble) AppendHuman(dst []byte) []byte {
	switch {
	case x.class == notANumber:
		return append(dst, "nan"...)
	case x.class == infinite && x.negative:
		return append(dst, "-inf"...)
	case x.class == infinite:
		return append(dst, "inf"...)
	}
	start := len(dst)
	dst = x.big().Append(dst, 'f', humanDecimals)
	dst = bytes.TrimRight(dst, "0") // stops at the point, if not before
	dst = bytes.TrimSuffix(dst, []byte{'.'})
	if string(dst[start:]) == "-0" {
		dst = append(dst[:start], '0')
	}
	return dst
}
