package geo

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exact is a number with so many digits that rounding it to a double is rounding the truth.
func exact(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }

// exactSine is the sine of x by its series; with start 0 the cosine.
func exactSine(x *big.Float, start int) *big.Float {
	total, term := exact(0), exact(1)
	for n := 0; n < 80; n++ {
		if n > 0 {
			term = exact(0).Quo(exact(0).Mul(term, x), exact(float64(n)))
		}
		if n%2 != start {
			continue
		}
		if n%4 < 2 {
			total.Add(total, term)
		} else {
			total.Sub(total, term)
		}
	}
	return total
}

func round(x *big.Float) float64 {
	f, _ := x.Float64()
	return f
}

// Sines and cosines are rounded correctly but for very few, which are off by one unit of the last digit.
func TestSineAndCosine(t *testing.T) {
	const tries, mayFail = 4000, 3
	r := rand.New(rand.NewPCG(1, 2))
	failed := 0
	check := func(name string, x, got, want float64) {
		if got == want {
			return
		}
		failed++
		if got != math.Nextafter(want, 2) && got != math.Nextafter(want, -2) {
			t.Errorf("%s(%v) is %v, want %v", name, x, got, want)
		}
	}
	for i := range tries {
		x := (r.Float64() - 0.5) * 2 * math.Pi
		if i%4 == 0 {
			x *= math.Pow(2, -float64(i%40))
		}
		check("sin", x, sin(x), round(exactSine(exact(x), 1)))
		check("cos", x/2, cos(x/2), round(exactSine(exact(x/2), 0)))
	}
	if failed > mayFail {
		t.Errorf("%d of %d are not rounded correctly", failed, 2*tries)
	}
}

// The arcsine is a double whose sine is nearer to what was asked for than those of its neighbours.
func TestArcsine(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 1500 {
		x := r.Float64()
		if i%2 == 0 {
			x *= math.Pow(2, -float64(i%30))
		}
		got := asin(x)
		below := exact(0).Add(exact(got), exact(math.Nextafter(got, 0)))
		above := exact(0).Add(exact(got), exact(math.Nextafter(got, 2)))
		half := exact(0.5)
		if exactSine(below.Mul(below, half), 1).Cmp(exact(x)) > 0 || exactSine(above.Mul(above, half), 1).Cmp(exact(x)) < 0 {
			t.Errorf("asin(%v) is not %v", x, got)
		}
	}
	if asin(0) != 0 || asin(1) != math.Pi/2 || asin(1.0000000001) != math.Pi/2 {
		t.Error("the ends of the arcsine are wrong")
	}
}

func BenchmarkDistance(b *testing.B) {
	p, q := Point{13.361389, 38.115556}, Point{15.087269, 37.502669}
	for range b.N {
		q.Lat = 37 + Distance(p, q)*1e-9
	}
}

func BenchmarkFind(b *testing.B) {
	s := Shape{Center: Point{13.361389, 38.115556}, Radius: 20000}
	f := s.Finder()
	p := Point{13, 38}
	for range b.N {
		p.Lat += 1e-9
		f.Find(p, false)
	}
}
