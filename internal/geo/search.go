package geo

import "math"

// This file holds the shapes that are searched, and which cells they touch.

// Shape is a circle, or a box whose sides lie along the parallels and meridians.
type Shape struct {
	Center        Point
	Radius        float64 // metres; of a circle
	Width, Height float64 // metres; of a box
	IsBox         bool
}

// mapHalf is half the width of the square map of the web, in metres.
const mapHalf = 20037726.37

// farNorth and fartherNorth are latitudes from which on cells are so narrow that bigger ones are taken.
const (
	farNorth     = 66
	fartherNorth = 80
)

// Finder tells which positions are inside a shape.
type Finder struct {
	shape  Shape
	center origin
	limit  float64 // haversine of the radius, or of half the width
	reach  float64 // haversine of the distance from the center beyond which nothing is looked for
}

// Finder is the finder of the shape.
func (s *Shape) Finder() Finder {
	limit := s.Radius
	if s.IsBox {
		limit = s.Width / 2
	}
	return Finder{*s, originOf(s.Center), haversineOf(limit), everywhere}
}

// everywhere is more than any haversine.
const everywhere = 2

// Narrow makes Find pass over what is clearly farther from the center than something of a rough distance, inside the shape or
// not.
func (f *Finder) Narrow(rough float64) { f.reach = rough }

// clearly is the part of a haversine by which it has to differ from another one, so that the distances differ for sure.
const clearly = 1e-9

// Apart tells whether two rough distances say for sure which of the exact ones is the greater.
func Apart(a, b float64) bool { return a < b*(1-clearly) || b < a*(1-clearly) }

// Find says whether a position is inside the shape, and how far it is from the center, roughly: a number that grows with the
// distance. Without measure that is not told. As a rule a rough look is enough to see whether it is inside.
func (f *Finder) Find(p Point, measure bool) (rough float64, inside bool) {
	if f.shape.IsBox {
		if latDistance(p.Lat, f.shape.Center.Lat) > f.shape.Height/2 || !f.insideWidth(p) {
			return 0, false
		}
		if measure {
			rough = f.center.haversine(p)
		}
		return rough, rough <= f.reach*(1+clearly)
	}
	rough = f.center.haversine(p)
	switch {
	case rough > min(f.limit, f.reach)*(1+clearly):
		return 0, false
	case rough < f.limit*(1-clearly):
		return rough, true
	}
	return rough, f.Metres(p) <= f.shape.Radius
}

// Metres is the distance of a position from the center.
func (f *Finder) Metres(p Point) float64 { return f.center.distance(p) }

// insideWidth says whether the position is no more than half the width away from the meridian of the center.
func (f *Finder) insideWidth(p Point) bool {
	middle := Point{f.shape.Center.Lon, p.Lat}
	lat := radians(p.Lat)
	o := origin{radians(p.Lon), lat, roughCosine(lat)}
	switch rough := o.haversine(middle); {
	case rough > f.limit*(1+clearly):
		return false
	case rough < f.limit*(1-clearly):
		return true
	}
	return Distance(p, middle) <= f.shape.Width/2
}

// reach is how far from the center the shape goes, in metres.
func (s *Shape) reach() float64 {
	if !s.IsBox {
		return s.Radius
	}
	half, high := s.Width/2, s.Height/2
	return math.Sqrt(float64(half*half) + float64(high*high))
}

// bounds is what the shape covers. Its sides are bent on the map: they are measured where they are farthest apart, at the
// side that is nearer to a pole.
func (s *Shape) bounds() area {
	width, height := s.Width/2, s.Height/2
	if !s.IsBox {
		width, height = s.Radius, s.Radius
	}
	lat := degrees(height / earthRadius)
	widest := s.Center.Lat + lat
	if s.Center.Lat < 0 {
		widest = s.Center.Lat - lat
	}
	lon := degrees(width / earthRadius / math.Cos(radians(widest)))
	return area{
		lon: span{s.Center.Lon - lon, s.Center.Lon + lon},
		lat: span{s.Center.Lat - lat, s.Center.Lat + lat},
	}
}

// stepsFor is how small cells can be so that nine of them cover the shape, as a rule.
func (s *Shape) stepsFor() uint8 {
	metres, lat := s.reach(), math.Abs(s.Center.Lat)
	if metres == 0 {
		return Steps
	}
	steps := -1
	for ; metres < mapHalf; metres *= 2 {
		steps++
	}
	if lat > farNorth {
		steps--
	}
	if lat > fartherNorth {
		steps--
	}
	return uint8(min(max(steps, 1), Steps))
}

// Cells are the cells to be searched: the one of the center and its neighbours, north, south, east, west and at the
// corners. Where the shape does not reach, and where it is the cell before once more, there is none.
func (s *Shape) Cells() [9]Hash {
	steps, bounds := s.stepsFor(), s.bounds()
	home := hashOf(s.Center, steps)
	if steps > 1 && home.overrun(bounds) {
		steps--
		home = hashOf(s.Center, steps)
	}
	a := home.area()
	leaveOut := func(east, north int) bool {
		return steps >= 2 && (north < 0 && a.lat.min < bounds.lat.min || north > 0 && a.lat.max > bounds.lat.max ||
			east < 0 && a.lon.min < bounds.lon.min || east > 0 && a.lon.max > bounds.lon.max)
	}
	cells := [9]Hash{home}
	last := Hash{}
	for i, way := range [8][2]int{{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}} {
		if leaveOut(way[0], way[1]) {
			continue
		}
		if h := home.neighbour(way[0], way[1]); h != last {
			cells[i+1], last = h, h
		}
	}
	return cells
}

// overrun says whether an area reaches beyond the nearest neighbours of a cell.
func (h Hash) overrun(a area) bool {
	return h.neighbour(0, 1).area().lat.max < a.lat.max || h.neighbour(0, -1).area().lat.min > a.lat.min ||
		h.neighbour(1, 0).area().lon.max < a.lon.max || h.neighbour(-1, 0).area().lon.min > a.lon.min
}

// IsNone says that there is no cell.
func (h Hash) IsNone() bool { return h == Hash{} }
