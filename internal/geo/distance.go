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

// Distance is the length of the great circle between two positions, in metres, by the haversine formula.
func Distance(p, q Point) float64 {
	v := sin((radians(q.Lon) - radians(p.Lon)) / 2)
	if v == 0 {
		return latDistance(p.Lat, q.Lat)
	}
	lat1, lat2 := radians(p.Lat), radians(q.Lat)
	u := sin((lat2 - lat1) / 2)
	a := float64(u*u) + float64(float64(cos(lat1)*cos(lat2))*v)*v
	return 2 * earthRadius * asin(math.Sqrt(a))
}
