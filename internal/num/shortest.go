// The digits of a double by the Grisu2 algorithm (F. Loitsch, "Printing floating-point numbers quickly and accurately with
// integers", 2010), which is what Redis 7.2 uses. Its digits always read back as the same double, but in about one case of a
// thousand they are not the fewest, or not the nearest of the fewest. Clients see these digits, so an algorithm that does
// better would not do.

package num

import (
	"math"
	"math/big"
	"math/bits"
)

// extended is the number frac * 2^exp.
type extended struct {
	frac uint64
	exp  int
}

// The powers of ten that bring any double into the range where digits can be generated: 10^-348, 10^-340, ... 10^340.
const (
	powerFirst = -348
	powerStep  = 8
	powerCount = 87
)

// The exponents of a scaled double: the integer part has then 4 to 32 bits.
const (
	scaledExpMin = -60
	scaledExpMax = -32
)

// powers are the powers of ten, each rounded to 64 bits of which the highest is set. Never written after start.
var powers = makePowers()

func makePowers() (table [powerCount]extended) {
	one := big.NewFloat(1)
	for i := range table {
		k := int64(powerFirst + i*powerStep)
		whole := new(big.Float).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(max(k, -k)), nil)) // exact
		rounded := new(big.Float).SetPrec(64)
		if k < 0 {
			rounded.Quo(one, whole)
		} else {
			rounded.Set(whole)
		}
		exp := rounded.MantExp(rounded) // now from 0.5 to 1
		frac, _ := rounded.SetMantExp(rounded, 64).Uint64()
		table[i] = extended{frac, exp - 64}
	}
	return table
}

// powerFor is a power of ten 10^k that brings numbers of the binary exponent exp, of 64 bits, into the range of digits.
func powerFor(exp int) (power extended, k int) {
	// Where two powers would do, the estimate decides; it is part of what makes the digits the same as those of Redis.
	i := (log10Of2(-(exp + powerCount)) - powerFirst) / powerStep
	for exp+powers[i].exp+64 < scaledExpMin {
		i++
	}
	for exp+powers[i].exp+64 > scaledExpMax {
		i--
	}
	return powers[i], powerFirst + i*powerStep
}

// log10Of2 is n*log10(2) without its decimals, for the exponents of doubles.
func log10Of2(n int) int { return n * 315653 / (1 << 20) }

// times multiplies by a power of ten and rounds to 64 bits, halves up.
func (x extended) times(power extended) extended {
	high, low := bits.Mul64(x.frac, power.frac)
	return extended{high + low>>63, x.exp + power.exp + 64}
}

// shortestDigits makes the digits of a finite double above 0.
func shortestDigits(f float64) (d decimal) {
	const fractionBits = 52
	frac := math.Float64bits(f) & (1<<fractionBits - 1)
	exp := int(math.Float64bits(f) >> fractionBits & 0x7ff)
	if exp == 0 {
		exp = 1 // a denormal
	} else {
		frac |= 1 << fractionBits
	}
	exp -= 1023 + fractionBits

	// The double, and the ends of the interval of numbers that read back as it, with one exponent.
	unused := bits.LeadingZeros64(frac)
	exp -= unused
	upper := extended{(frac<<1 + 1) << (unused - 1), exp}
	lower := extended{(frac<<1 - 1) << (unused - 1), exp}
	if frac == 1<<fractionBits { // below it, doubles are twice as dense
		lower.frac = (frac<<2 - 1) << (unused - 2)
	}
	power, k := powerFor(exp)
	scaled := extended{frac << unused, exp}.times(power)
	upper, lower = upper.times(power), lower.times(power)
	upper.frac-- // the products may be off by one: stay inside
	lower.frac++
	g := generator{
		shift:  -scaled.exp,
		delta:  upper.frac - lower.frac,
		beyond: upper.frac - scaled.frac,
	}
	g.run(upper.frac, &d)
	d.last -= k
	return d
}

// decimal is the number digits * 10^last.
type decimal struct {
	digits [20]byte // a double has at most 17
	count  int
	last   int
}

// add adds a digit, unless it is a zero in front.
func (d *decimal) add(digit uint64) {
	if digit != 0 || d.count > 0 {
		d.digits[d.count] = '0' + byte(digit)
		d.count++
	}
}

// generator makes the digits of the upper end of an interval until the rest is inside it. Its numbers are fixed-point, with
// shift bits behind the point.
type generator struct {
	shift  int
	delta  uint64 // width of the interval
	beyond uint64 // from the number that is meant to the upper end
}

// tenPowers are the powers of ten that fit 32 bits. Never written.
var tenPowers = [...]uint64{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000}

// run makes the digits of upper.
func (g *generator) run(upper uint64, d *decimal) {
	one := uint64(1) << g.shift
	whole, fraction := upper>>g.shift, upper&(one-1)
	for d.last = len(tenPowers) - 1; d.last >= 0; d.last-- {
		unit := tenPowers[d.last]
		if whole < unit && d.count == 0 {
			continue
		}
		d.add(whole / unit)
		whole %= unit
		if rest := whole<<g.shift + fraction; rest <= g.delta {
			g.approach(d, rest, unit<<g.shift)
			return
		}
	}
	for ; ; d.last-- {
		fraction *= 10
		g.delta *= 10
		g.beyond *= 10
		d.add(fraction >> g.shift)
		fraction &= one - 1
		if fraction < g.delta {
			g.approach(d, fraction, one)
			return
		}
	}
}

// approach counts the last digit down as long as the number comes nearer to the one that is meant and stays in the
// interval. rest is how far it is below the upper end, unit what one count of the last digit is worth.
func (g *generator) approach(d *decimal, rest, unit uint64) {
	for rest < g.beyond && g.delta-rest >= unit &&
		(rest+unit < g.beyond || g.beyond-rest > rest+unit-g.beyond) {
		d.digits[d.count-1]--
		rest += unit
	}
}
