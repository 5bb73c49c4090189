package geo

import (
	"math"
	"math/big"
)

// This file holds sine, cosine and arcsine, rounded correctly but for about one argument of ten thousand. Package math is
// off by a unit of the last digit now and then, which shows where a distance is kept as a score.
//
// The sine is computed from a table: sin(x+t) = sin(x) cos(t) + cos(x) sin(t), where x is the nearest multiple of 1/64,
// whose sine and cosine are known to twice the digits of a double, and t is so small that few terms of its series do.

// double2 is a number as the sum of two doubles, of which low is what hi is off by.
type double2 struct{ hi, low float64 }

const (
	tableStep  = 64 // entries for 1
	tableCount = 102
	tableBits  = 160 // precision with which the table is computed
)

// sineEntry is what is known of a multiple of 1/64.
type sineEntry struct{ sin, cos double2 }

// sines go from 0 to a little more than a quarter of a circle. Never written after start.
var sines = makeSines()

// makeSines goes from entry to entry by the sum of angles.
func makeSines() (table [tableCount]sineEntry) {
	f := func(x float64) *big.Float { return new(big.Float).SetPrec(tableBits).SetFloat64(x) }
	mul := func(a, b *big.Float) *big.Float { return f(0).Mul(a, b) }
	stepSin, stepCos := f(0), f(1)
	term := f(1)
	for n := 1; n <= 20; n++ { // the series of both for 1/64, whose terms shrink by at least 64
		term = f(0).Quo(term, f(float64(n*tableStep)))
		target := stepSin
		if n%2 == 0 {
			target = stepCos
		}
		if n%4 < 2 {
			target.Add(target, term)
		} else {
			target.Sub(target, term)
		}
	}
	s, c := f(0), f(1)
	for i := range table {
		table[i] = sineEntry{split(s), split(c)}
		s, c = f(0).Add(mul(s, stepCos), mul(c, stepSin)), f(0).Sub(mul(c, stepCos), mul(s, stepSin))
	}
	return table
}

func split(x *big.Float) double2 {
	hi, _ := x.Float64()
	rest := new(big.Float).SetPrec(tableBits).SetFloat64(hi)
	low, _ := rest.Sub(x, rest).Float64()
	return double2{hi, low}
}

// sum is hi+low as a double2, where low is the smaller one.
func sum(hi, low float64) double2 {
	s := hi + low
	return double2{s, low - (s - hi)}
}

// near is the entry of the table that is next to x, how far x is from it, and what the sine and the cosine of that have
// beside it and 1.
func near(x float64) (e *sineEntry, t, sinRest, cosRest float64) {
	i := int(x*tableStep + 0.5)
	t = x - float64(i)/tableStep // exact
	t2 := t * t
	sinRest = t * t2 * (-1.0/6 + t2*(1.0/120-t2*(1.0/5040)))
	cosRest = t2 * (-0.5 + t2*(1.0/24-t2*(1.0/720)))
	return &sines[i], t, sinRest, cosRest
}

// sineOf is the sine of x+low, where x is from 0 to about a quarter of a circle, and low is tiny.
func sineOf(x, low float64) double2 {
	e, t, sinRest, cosRest := near(x)
	return e.sin.turn(e.cos, t, low, sinRest, cosRest)
}

// cosineOf is the cosine of x, which is from 0 to about a quarter of a circle.
func cosineOf(x float64) double2 {
	e, t, sinRest, cosRest := near(x)
	return e.cos.turn(double2{-e.sin.hi, -e.sin.low}, t, 0, sinRest, cosRest)
}

// turn is a cos(t+low) + b sin(t+low), when the rests are what sin(t) and cos(t) have beside t and 1.
func (a double2) turn(b double2, t, low, sinRest, cosRest float64) double2 {
	product := b.hi * t
	off := math.FMA(b.hi, t, -product)
	first := sum(a.hi, product)
	if math.Abs(product) > math.Abs(a.hi) {
		first = sum(product, a.hi)
	}
	rest := first.low + off + a.low + b.low*t + (b.hi-a.hi*t)*low + a.hi*cosRest + b.hi*sinRest
	return sum(first.hi, rest)
}

// The digits of pi behind those of a double.
const (
	piLow     = 1.2246467991473532e-16
	halfPiLow = piLow / 2
)

// sin is the sine of an angle of at most half a circle, in either direction.
func sin(x float64) float64 {
	at, low := math.Abs(x), 0.0
	if at > math.Pi/2 {
		at, low = math.Pi-at, piLow
	}
	return math.Copysign(sineOf(at, low).hi, x)
}

// cos is the cosine of an angle of at most a quarter of a circle, in either direction.
func cos(x float64) float64 {
	return cosineOf(math.Abs(x)).hi
}

// asin is the angle from 0 to a quarter of a circle whose sine x is: what package math finds, brought nearer by one step of
// Newton's method.
func asin(x float64) float64 {
	if x >= 1 {
		return math.Pi / 2
	}
	y := math.Asin(x)
	s := sineOf(y, 0)
	return y + (x-s.hi-s.low)/cosineOf(y).hi
}

// roughSine is the sine of an angle of at most half a circle, good to all digits but the last.
func roughSine(x float64) float64 {
	at := math.Abs(x)
	if at > math.Pi/2 {
		at = math.Pi - at
	}
	i := int(at*tableStep + 0.5)
	e := &sines[i]
	t := at - float64(i)/tableStep
	t2 := t * t
	s := e.sin.hi + (e.cos.hi*(t+t*t2*(-1.0/6+t2*(1.0/120))) + e.sin.hi*t2*(-0.5+t2*(1.0/24-t2*(1.0/720))))
	return math.Copysign(s, x)
}

// roughCosine is the cosine of an angle of at most a quarter of a circle, good to all digits but the last ones.
func roughCosine(x float64) float64 { return roughSine(math.Pi/2 - math.Abs(x)) }
