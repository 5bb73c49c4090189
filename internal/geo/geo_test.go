package geo

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func drawPoint(t *rapid.T, name string) Point {
	return Point{rapid.Float64Range(LonMin, LonMax).Draw(t, name+" lon"), rapid.Float64Range(LatMin, LatMax).Draw(t, name+" lat")}
}

// The well-known places of the documentation.
func TestSicily(t *testing.T) {
	palermo, catania := Point{13.361389, 38.115556}, Point{15.087269, 37.502669}
	if Score(palermo) != 3479099956230698 || Score(catania) != 3479447370796909 {
		t.Errorf("scores: %d %d", Score(palermo), Score(catania))
	}
	if p, q := Text(At(float64(Score(palermo)))), Text(At(float64(Score(catania)))); string(p[:]) != "sqc8b49rny0" || string(q[:]) != "sqdtr74hyu0" {
		t.Errorf("geohashes: %s %s", p, q)
	}
	if d := Distance(At(3479099956230698), At(3479447370796909)); math.Abs(d-166274.1516) > 0.0001 {
		t.Errorf("distance: %v", d)
	}
}

// A position comes back from its score to within its cell, and the score of that is the same again.
func TestScoreAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPoint(t, "p")
		if p.Lon == LonMax || p.Lat == LatMax {
			return // beyond the last cell: a double does not have that many bits
		}
		q := At(float64(Score(p)))
		if math.Abs(p.Lon-q.Lon) > 360.0/(1<<26) || math.Abs(p.Lat-q.Lat) > 171.0/(1<<26) {
			t.Fatalf("%v comes back as %v", p, q)
		}
		if Score(q) != Score(p) {
			t.Fatalf("%v has the score %d, then %d", p, Score(p), Score(q))
		}
	})
}

// Whatever score a member has, it is a position.
func TestAnyScore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		score := rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) }).Draw(t, "score")
		if p := At(score); !p.Valid() {
			t.Fatalf("%v is %v", score, p)
		}
	})
	for _, score := range []float64{math.Inf(1), math.Inf(-1), -1, 1 << 63, 1 << 62} {
		if !At(score).Valid() {
			t.Errorf("%v is no position", score)
		}
	}
}

// Going there and back again leads to where one was; going around the earth does too.
func TestNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPoint(t, "p")
		if p.Lon == LonMax || p.Lat == LatMax {
			return // beyond the last cell
		}
		h := hashOf(p, uint8(rapid.IntRange(1, Steps).Draw(t, "steps")))
		east, north := rapid.IntRange(-1, 1).Draw(t, "east"), rapid.IntRange(-1, 1).Draw(t, "north")
		if back := h.neighbour(east, north).neighbour(-east, -north); back != h {
			t.Fatalf("%v goes to %v and back to %v", h, h.neighbour(east, north), back)
		}
	})
	h := hashOf(Point{1, 1}, 4)
	at := h
	for range 1 << 4 {
		at = at.neighbour(1, -1)
	}
	if at != h {
		t.Errorf("around the earth, %v becomes %v", h, at)
	}
}

// What is inside a shape is in one of its cells.
func TestCellsCover(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{Center: drawPoint(t, "center")}
		s.Center.Lat *= 0.8 // near the poles, and around the date line, shapes are cut off
		s.Center.Lon *= 0.9
		if s.IsBox = rapid.Bool().Draw(t, "box"); s.IsBox {
			s.Width, s.Height = rapid.Float64Range(0, 500e3).Draw(t, "width"), rapid.Float64Range(0, 500e3).Draw(t, "height")
		} else {
			s.Radius = rapid.Float64Range(0, 500e3).Draw(t, "radius")
		}
		p := Point{s.Center.Lon + rapid.Float64Range(-8, 8).Draw(t, "east"), s.Center.Lat + rapid.Float64Range(-5, 5).Draw(t, "north")}
		score := float64(Score(p))
		if _, inside := find(&s, At(score)); !inside {
			return
		}
		for _, h := range s.Cells() {
			low, high := h.Range()
			if !h.IsNone() && score >= low && score < high {
				return
			}
		}
		t.Fatalf("%v is inside and in none of %v", p, s.Cells())
	})
}

func find(s *Shape, p Point) (metres float64, inside bool) {
	f := s.Finder()
	_, inside = f.Find(p, true)
	return f.Metres(p), inside
}

// A rough look finds the same as an exact one.
func TestFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{Center: drawPoint(t, "center"), IsBox: rapid.Bool().Draw(t, "box")}
		p := drawPoint(t, "p")
		if rapid.Bool().Draw(t, "near") {
			p = At(float64(Score(s.Center)) + float64(rapid.IntRange(0, 1<<30).Draw(t, "off")))
		}
		d := Distance(s.Center, p)
		var want bool
		if s.IsBox {
			across, up := Distance(p, Point{s.Center.Lon, p.Lat}), latDistance(p.Lat, s.Center.Lat)
			s.Width, s.Height = across*rapid.SampledFrom([]float64{1, 2, 3}).Draw(t, "width"), up*rapid.SampledFrom([]float64{1.5, 2, 3}).Draw(t, "height")
			want = across <= s.Width/2 && up <= s.Height/2
		} else {
			s.Radius = d * rapid.SampledFrom([]float64{0.5, 1 - 1e-15, 1, 1 + 1e-15, 2}).Draw(t, "radius")
			want = d <= s.Radius
		}
		f := s.Finder()
		_, inside := f.Find(p, true)
		metres := f.Metres(p)
		if _, rough := f.Find(p, false); inside != want || rough != want || inside && metres != d {
			t.Fatalf("%v in %+v: %v and %v, at %v m; want %v, %v m", p, s, inside, rough, metres, want, d)
		}
	})
}

// Rough sines are good enough for a rough look.
func TestRoughSine(t *testing.T) {
	for x := -math.Pi; x <= math.Pi; x += 0.00037 {
		if got, want := roughSine(x), math.Sin(x); math.Abs(got-want) > 1e-14*math.Abs(want)+1e-15 {
			t.Errorf("sine of %v: %v, want %v", x, got, want)
		}
		if got, want := roughCosine(x/2), math.Cos(x/2); math.Abs(got-want) > 1e-14*math.Abs(want)+1e-15 {
			t.Errorf("cosine of %v: %v, want %v", x/2, got, want)
		}
	}
}

// A finder that was narrowed finds what is not clearly farther away.
func TestNarrow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{Center: drawPoint(t, "center"), IsBox: rapid.Bool().Draw(t, "box"), Radius: 3e6, Width: 4e6, Height: 4e6}
		p := At(float64(Score(s.Center)) + float64(rapid.IntRange(0, 1<<46).Draw(t, "off")))
		f := s.Finder()
		rough, inside := f.Find(p, true)
		if !inside {
			return
		}
		reach := rough * rapid.SampledFrom([]float64{0, 0.5, 1 - 1e-8, 1 - 1e-15, 1, 1 + 1e-15, 2}).Draw(t, "reach")
		f.Narrow(reach)
		if _, inside := f.Find(p, true); inside == (Apart(rough, reach) && reach < rough) {
			t.Fatalf("%v in %+v at %v, reach %v: found %v", p, s, rough, reach, inside)
		}
	})
}

// What rough distances tell apart is in the order of the exact ones.
func TestApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Shape{Center: drawPoint(t, "center"), Radius: 3e7}
		p, q := drawPoint(t, "p"), drawPoint(t, "q")
		if rapid.Bool().Draw(t, "near") {
			p = At(float64(Score(s.Center)) + float64(rapid.IntRange(0, 1<<20).Draw(t, "off")))
		}
		if rapid.Bool().Draw(t, "next") {
			q = At(float64(Score(p)) + float64(rapid.IntRange(0, 100).Draw(t, "step")))
		}
		f := s.Finder()
		a, _ := f.Find(p, true)
		b, _ := f.Find(q, true)
		if Apart(a, b) && (a < b) != (f.Metres(p) < f.Metres(q)) {
			t.Fatalf("from %v: %v at %v (%v m), %v at %v (%v m)", s.Center, p, a, f.Metres(p), q, b, f.Metres(q))
		}
	})
}
