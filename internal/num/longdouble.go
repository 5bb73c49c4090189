// The long double of the x87: a sign, 64 bits of significand and 15 of exponent. Redis computes INCRBYFLOAT and
// HINCRBYFLOAT with it, and its rounding shows in the results. Numbers as people use them are read and written with a few
// machine words; math/big takes the rest, and the tests compare the two.

package num

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"strconv"
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
	exp := l.exp - len(behind)
	if l.hex {
		exp = l.exp - 4*len(behind)
	}
	if !l.hex && len(before)+len(behind) <= shortDigitsMax && abs(exp) <= shortTensMax {
		return shortSize(before, behind, exp), true
	}
	digits := bytes.TrimLeft(append(append(make([]byte, 0, len(l.digits)), before...), behind...), "0")
	return l.longSize(digits, exp)
}

// Numbers that shortSize takes: their digits fit a word, and so does the power of five that their exponent comes to.
const (
	shortDigitsMax = 19
	shortTensMax   = 27
)

// shortSize is the number of the digits before and behind the point times 10^exp; not all of them are zeros.
func shortSize(before, behind []byte, exp int) extended {
	var above, fives uint64 = 0, 1
	for _, digits := range [2][]byte{before, behind} {
		for _, c := range digits {
			above = above*10 + uint64(c-'0')
		}
	}
	for range abs(exp) {
		fives *= 5
	}
	if exp >= 0 {
		high, low := bits.Mul64(above, fives)
		return normalized(high, low, exp+64)
	}
	x, y := extended{above, exp}.normal(), extended{fives, 0}.normal()
	high, low, twos := x.frac, uint64(0), x.exp-y.exp-64
	if high >= y.frac { // the quotient must not have more than 64 bits
		high, low, twos = high>>1, high<<63, twos+1
	}
	q, remainder := bits.Div64(high, low, y.frac)
	return rounded(q, compareHalf(remainder, y.frac), twos)
}

// compareHalf is a word that stands for the fraction remainder/divisor in rounding: 1<<63 when it is just a half.
func compareHalf(remainder, divisor uint64) uint64 {
	switch rest := divisor - remainder; {
	case remainder > rest:
		return 1<<63 + 1
	case remainder == rest:
		return 1 << 63
	}
	return 0
}

// longSize is size for any number; digits are without the point and zeros in front, exp is that of the last digit.
func (l *literal) longSize(digits []byte, exp int) (extended, bool) {
	base := 10
	if l.hex {
		base = 16
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
	switch {
	case x.size.frac == 0 && y.size.frac == 0:
		return LongDouble{negative: x.negative && y.negative}
	case x.size.frac == 0:
		return y
	case y.size.frac == 0:
		return x
	}
	x.size, y.size = x.size.normal(), y.size.normal()
	if x.size.less(y.size) {
		x, y = y, x
	}
	if x.negative != y.negative {
		x.size = x.size.minus(y.size)
		x.negative = x.negative && x.size.frac != 0
	} else if x.size = x.size.plus(y.size); x.size.exp+longDoubleBits > longDoubleExpMax {
		return LongDouble{negative: x.negative, class: infinite}
	}
	return x
}

// CeilTimes is the least whole number that is not below x*n, the product being a long double too; false when the product is
// beyond the largest int64. One beyond the smallest is the smallest.
func (x LongDouble) CeilTimes(n uint64) (whole int64, ok bool) {
	high, low := bits.Mul64(x.size.frac, n)
	size := normalized(high, low, x.size.exp+64)
	switch {
	case x.class != finite || size.exp >= 0 && size.frac != 0:
		return math.MinInt64, x.negative
	case size.exp <= -64 && x.negative || size.frac == 0:
		return 0, true
	case size.exp <= -64:
		return 1, true
	}
	whole = int64(size.frac >> -size.exp)
	switch isWhole := size.frac<<(64+size.exp) == 0; {
	case x.negative:
		return -whole, true
	case isWhole:
		return whole, true
	}
	return whole + 1, whole < math.MaxInt64
}

// normal is x with the highest bit set; x is not zero.
func (x extended) normal() extended {
	unused := bits.LeadingZeros64(x.frac)
	return extended{x.frac << unused, x.exp - unused}
}

// less compares normal numbers.
func (x extended) less(y extended) bool {
	return x.exp < y.exp || x.exp == y.exp && x.frac < y.frac
}

// plus is x + y for normal numbers of which x is not the smaller one.
func (x extended) plus(y extended) extended {
	high, low := shifted(y.frac, x.exp-y.exp)
	high, carry := bits.Add64(x.frac, high, 0)
	if carry != 0 {
		low = high<<63 | low>>1 | low&1
		high = high>>1 | 1<<63
		x.exp++
	}
	return rounded(high, low, x.exp)
}

// minus is x - y for normal numbers of which x is not the smaller one.
func (x extended) minus(y extended) extended {
	high, low := shifted(y.frac, x.exp-y.exp)
	low, borrow := bits.Sub64(0, low, 0)
	high, _ = bits.Sub64(x.frac, high, borrow)
	return normalized(high, low, x.exp)
}

// shifted is frac with n bits less, of which 64 go to low; what falls off there too leaves its trace in the lowest bit.
func shifted(frac uint64, n int) (high, low uint64) {
	switch {
	case n < 64:
		return frac >> n, frac << (64 - n)
	case n > 127:
		return 0, 1
	}
	low = frac >> (n - 64)
	if low<<(n-64) != frac {
		low |= 1
	}
	return 0, low
}

// normalized is the number high,low * 2^exp, where exp counts the bits of high, rounded to 64 bits of which the highest is
// set.
func normalized(high, low uint64, exp int) extended {
	if high == 0 {
		high, low, exp = low, 0, exp-64
	}
	if high == 0 {
		return extended{}
	}
	unused := bits.LeadingZeros64(high)
	return rounded(high<<unused|low>>(64-unused), low<<unused, exp-unused)
}

// rounded adds to high what low, the bits behind it, are worth.
func rounded(high, low uint64, exp int) extended {
	high += roundUp(high, low)
	if high == 0 {
		return extended{1 << 63, exp + 1}
	}
	return extended{high, exp}
}

// roundUp is 1 when a number with the bits rest behind it rounds up: to the nearest, and to the even one of two.
func roundUp(n, rest uint64) uint64 {
	if rest > 1<<63 || rest == 1<<63 && n&1 != 0 {
		return 1
	}
	return 0
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
	whole, decimals, ok := x.size.split()
	if !ok {
		return x.appendLong(dst)
	}
	if x.negative && whole|decimals != 0 {
		dst = append(dst, '-')
	}
	dst = strconv.AppendUint(dst, whole, 10)
	if decimals == 0 {
		return dst
	}
	point := len(dst)
	dst = strconv.AppendUint(dst, humanUnit+decimals, 10) // the 1 in front keeps the zeros
	dst[point] = '.'
	return bytes.TrimRight(dst, "0")
}

// appendLong is AppendHuman for any finite number.
func (x LongDouble) appendLong(dst []byte) []byte {
	start := len(dst)
	f := new(big.Float).SetUint64(x.size.frac)
	f.SetMantExp(f, x.size.exp)
	if x.negative {
		f.Neg(f)
	}
	dst = f.Append(dst, 'f', humanDecimals)
	dst = bytes.TrimRight(dst, "0") // stops at the point, if not before
	dst = bytes.TrimSuffix(dst, []byte{'.'})
	if string(dst[start:]) == "-0" {
		dst = append(dst[:start], '0')
	}
	return dst
}

// humanUnit is 10^humanDecimals.
const humanUnit = 1e17

// split is the whole part of x and its decimals, rounded to humanDecimals digits; false when it has 64 bits or more before
// the point.
func (x extended) split() (whole, decimals uint64, ok bool) {
	behind := -x.exp // bits behind the point
	switch {
	case x.frac == 0:
		return 0, 0, true
	case behind <= 0:
		return x.frac, 0, behind == 0
	case behind < 64:
		whole = x.frac >> behind
		x.frac &= 1<<behind - 1
	case behind >= 128: // far below the last decimal
		return 0, 0, true
	}
	high, low := bits.Mul64(x.frac, humanUnit)
	var rest uint64
	if behind < 64 {
		decimals, rest = high<<(64-behind)|low>>behind, low<<(64-behind)
	} else {
		n := behind - 64
		decimals, rest = high>>n, high<<(64-n)|low>>n
		if low<<(64-n) != 0 {
			rest |= 1
		}
	}
	decimals += roundUp(decimals, rest)
	if decimals == humanUnit {
		return whole + 1, 0, true
	}
	return whole, decimals, true
}
