package geo

import "math"

// This file holds distances.

// earthRadius is the quadratic mean of the earth's radii, in metres.
const earthRadius = 6372797.560856

const degree = math.Pi / 180

func radians(deg float64) float64 { return deg * degree }
func degrees(rad float64) float64 { return rad / degree }

// latDistance is the distance of two positions on one meridian, in metres.
func latDistance(lat1, lat2 float64) float64 {
	return earthRadius * math.Abs(radians(lat2)-radians(lat1))
}

// origin is a position that distances are measured from, in radians.
type origin struct{ lon, lat, cosLat float64 }

func originOf(p Point) origin {
	lat := radians(p.Lat)
	return origin{radians(p.Lon), lat, cos(lat)}
}

// Distance is the length of the great circle between two positions, in metres, by the haversine formula.
func Distance(p, q Point) float64 {
	o := originOf(p)
	return o.distance(q)
}

func (o *origin) distance(p Point) float64 {
	lat := radians(p.Lat)
	v := sin((radians(p.Lon) - o.lon) / 2)
	if v == 0 {
		return earthRadius * math.Abs(lat-o.lat)
	}
	u := sin((lat - o.lat) / 2)
	a := float64(u*u) + float64(float64(o.cosLat*cos(lat))*v)*v
	return 2 * earthRadius * asin(math.Sqrt(a))
}

// haversine is about the haversine of the angle between two positions: the square of the sine of its half. It grows with
// the distance.
func (o *origin) haversine(p Point) float64 {
	lat := radians(p.Lat)
	u, v := roughSine((lat-o.lat)/2), roughSine((radians(p.Lon)-o.lon)/2)
	return u*u + o.cosLat*roughCosine(lat)*v*v
}

// haversineOf is the haversine of a distance in metres; beyond the other side of the earth more than any can be.
func haversineOf(metres float64) float64 {
	half := metres / (2 * earthRadius)
	if half >= math.Pi/2 {
		return 2
	}
	s := math.Sin(half)
	return s * s
}
