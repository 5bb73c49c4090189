// Package geo holds the arithmetic of places on the earth: how a position becomes the score of a sorted set and comes back,
// how far two positions are from each other, and which ranges of scores an area covers.
//
// A position is hashed by halving the ranges of latitude and longitude again and again; the bits that say in which half it
// is, longitude first, make the hash (G. Niemeyer's geohash, 2008). With 26 halvings of each that are 52 bits, which a
// double holds exactly. Positions near each other mostly have hashes near each other, so an area is a few ranges of scores.
//
// Results are meant to have the same last bit as those of Redis, so sums and products are rounded one by one, in its order,
// and the functions of trigonometry are rounded correctly (trig.go).
package geo

// The positions that can be hashed: all longitudes, and the latitudes that fit the square map of the web.
const (
	LonMin, LonMax = -180.0, 180.0
	LatMin, LatMax = -85.05112878, 85.05112878
)

// Steps is how often each range is halved for a score.
const Steps = 26

// Point is a position in degrees.
type Point struct{ Lon, Lat float64 }

// Valid says whether the position can be hashed.
func (p Point) Valid() bool {
	return p.Lon >= LonMin && p.Lon <= LonMax && p.Lat >= LatMin && p.Lat <= LatMax
}

// span is a range of degrees.
type span struct{ min, max float64 }

func lonSpan() span { return span{LonMin, LonMax} }
func latSpan() span { return span{LatMin, LatMax} }

// cell is the number of the cell that v is in when the span is cut into 2^steps.
func (s span) cell(v float64, steps uint8) uint32 {
	return uint32((v - s.min) / (s.max - s.min) * float64(uint64(1)<<steps))
}

// edges are where a cell begins and ends, when there are so many: a power of two. The number after the last of 32 bits is 0.
func (s span) edges(cell uint32, parts float64) span {
	width := s.max - s.min
	return span{
		min: s.min + float64(float64(cell)/parts*width),
		max: s.min + float64(float64(cell+1)/parts*width),
	}
}

// Hash is a cell of the earth. The zero Hash is none.
type Hash struct {
	bits  uint64
	steps uint8
}

func hashOf(p Point, steps uint8) Hash {
	return Hash{spread(latSpan().cell(p.Lat, steps)) | spread(lonSpan().cell(p.Lon, steps))<<1, steps}
}

// area is the cell in degrees.
type area struct{ lon, lat span }

func (h Hash) area() area {
	parts := float64(uint64(1) << h.steps)
	return area{lonSpan().edges(gather(h.bits>>1), parts), latSpan().edges(gather(h.bits), parts)}
}

// Score is the score of a position, a whole number.
func Score(p Point) uint64 { return hashOf(p, Steps).bits }

// At is the position that a score stands for: the middle of its cell. Any score stands for some position.
func At(score float64) Point {
	const parts = 1 << Steps // a constant: the processor need not divide
	bits := toBits(score)
	lon, lat := lonSpan().edges(gather(bits>>1), parts), latSpan().edges(gather(bits), parts)
	return Point{clamp((lon.min+lon.max)/2, LonMin, LonMax), clamp((lat.min+lat.max)/2, LatMin, LatMax)}
}

func clamp(v, low, high float64) float64 { return max(min(v, high), low) }

// toBits is a score without its decimals, of which the lowest 64 bits count. Scores that no position has are turned into
// what an x86 processor makes of them.
func toBits(score float64) uint64 {
	const two63 = 1 << 63
	switch {
	case score >= 2*two63:
		return 0
	case score < -two63:
		return two63
	case score >= two63:
		return uint64(int64(score-two63)) ^ two63
	}
	return uint64(int64(score))
}

// Range is the scores of all positions in the cell: from min to max, without max.
func (h Hash) Range() (min, max float64) {
	unused := 2 * (Steps - h.steps)
	return float64(h.bits << unused), float64((h.bits + 1) << unused)
}

// spread puts a zero behind every bit.
func spread(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & lowBits
}

// gather takes every other bit.
func gather(x uint64) uint32 {
	x &= lowBits
	x = (x | x>>1) & 0x3333333333333333
	x = (x | x>>2) & 0x0f0f0f0f0f0f0f0f
	x = (x | x>>4) & 0x00ff00ff00ff00ff
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

const (
	lowBits  = 0x5555555555555555 // of the latitude
	highBits = lowBits << 1       // of the longitude
)

// neighbour is the cell so many to the east and to the north, each -1, 0 or 1. Beyond the last cell the first one follows.
func (h Hash) neighbour(east, north int) Hash {
	own := uint64(1)<<(2*h.steps) - 1
	return Hash{shift(h.bits&highBits, lowBits, own, east) | shift(h.bits&lowBits, highBits, own, north), h.steps}
}

// shift adds to a number that has every other bit of own; those of gaps are not its own and pass the carry on. What is not
// moved keeps a bit too many, as the very last longitude and latitude have it.
func shift(v, gaps, own uint64, by int) uint64 {
	switch by {
	case 1:
		return ((v | gaps) + 1) &^ gaps & own
	case -1:
		return (v - 1) &^ gaps & own
	}
	return v
}

const alphabet = "0123456789bcdefghjkmnpqrstuvwxyz"

// Text is the usual geohash of a position, 11 letters. The last one is always 0: there are no bits for it.
func Text(p Point) [11]byte {
	lat := span{-90, 90}
	bits := spread(lat.cell(p.Lat, Steps)) | spread(lonSpan().cell(p.Lon, Steps))<<1
	var text [11]byte
	for i := range text {
		text[i] = alphabet[0]
		if i < 10 {
			text[i] = alphabet[bits>>(52-5*(i+1))&31]
		}
	}
	return text
}
