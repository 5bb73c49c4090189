package command

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/covey-db/covey/internal/geo"
	"github.com/covey-db/covey/internal/object"
)

// This file holds how the places that a search has found are put in order. Their exact distances take several times as long to
// compute as the rough ones by which they were found, and are looked at only where those do not tell which is nearer.

// placeKey is what a place is sorted by: of places equally far, the one met first comes first.
type placeKey struct {
	rough float64 // distance, see geo.Finder
	met   int     // how many were met before
	mark  uint64  // of the member
}

// placeOf is the place with a key.
func (q *geoQuery) placeOf(k placeKey) (p place) {
	p.member, p.score = q.zset.Marked(k.mark)
	if q.withCoord || q.withDist || q.storeDist {
		p.at = geo.At(p.score)
	}
	return p
}

// metresOf is the exact distance of a place.
func (q *geoQuery) metresOf(k placeKey) float64 {
	_, score := q.zset.Marked(k.mark)
	return q.finder.Metres(geo.At(score))
}

// compare is negative when a comes before b.
func (q *geoQuery) compare(a, b placeKey) int {
	by := 0
	switch {
	case q.order == unordered:
	case geo.Apart(a.rough, b.rough):
		by = cmp.Compare(a.rough, b.rough)
	default:
		by = cmp.Compare(q.metresOf(a), q.metresOf(b))
	}
	if q.order == farthestFirst {
		by = -by
	}
	if by == 0 {
		return a.met - b.met
	}
	return by
}

// find collects the places inside the shape: with a count only those that come first, with ANY those that are met first. With
// a count they become a heap, whose top is the last of them, when there are as many: it gives way to one that comes before it.
func (q *geoQuery) find(found []placeKey) []placeKey {
	most, met := q.most(), 0
	if n := min(int64(q.candidates()), most); n > int64(cap(found)) {
		found = make([]placeKey, 0, n)
	}
	q.each(func(p *place, it *object.ZSetIter) bool {
		key := placeKey{rough: p.rough, met: met}
		met++
		switch {
		case int64(len(found)) < most:
			key.mark = it.Mark()
			if found = append(found, key); int64(len(found)) == most {
				q.toHeap(found)
			}
		default:
			if key.mark = it.Mark(); q.compare(key, found[0]) > 0 {
				return true
			}
			found[0] = key
			q.sink(found, 0)
		}
		full := int64(len(found)) == most
		if full && q.order == nearestFirst {
			q.finder.Narrow(found[0].rough)
		}
		return !full || !q.any
	})
	return found
}

// countedMin is the size of a sorted set from which it pays to count how many of its places may be found.
const countedMin = 256

// candidates is how many places lie in the cells that the shape touches, or more.
func (q *geoQuery) candidates() (n int) {
	if n = q.zset.Len(); n < countedMin {
		return n
	}
	n = 0
	for _, cell := range q.shape.Cells() {
		if !cell.IsNone() {
			low, high := cell.Range()
			n += q.zset.RankOfScore(high, false) - q.zset.RankOfScore(low, false)
		}
	}
	return n
}

// toHeap makes a heap of places.
func (q *geoQuery) toHeap(found []placeKey) {
	for i := len(found)/2 - 1; i >= 0; i-- {
		q.sink(found, i)
	}
}

// sink moves place i down to where it belongs in the heap.
func (q *geoQuery) sink(found []placeKey, i int) {
	for child := 2*i + 1; child < len(found); child = 2*i + 1 {
		if child+1 < len(found) && q.compare(found[child+1], found[child]) > 0 {
			child++
		}
		if q.compare(found[child], found[i]) <= 0 {
			return
		}
		found[i], found[child] = found[child], found[i]
		i = child
	}
}

// The numbers of places that are sorted by way of numbers: for few it does not pay, and of many the index would take bits of
// the distance that tell which is nearer.
const (
	numberedMin = 32
	numberedMax = 1 << 16
)

// sorted is the places in their order. found is used for it.
func (q *geoQuery) sorted(found []placeKey) []placeKey {
	if len(found) < numberedMin || len(found) > numberedMax || q.order == unordered {
		slices.SortFunc(found, q.compare)
		return found
	}
	list := q.sortedRoughly(found)
	for first := 0; first < len(list); {
		next := first + 1
		for next < len(list) && !geo.Apart(list[next-1].rough, list[next].rough) {
			next++
		}
		if next > first+1 {
			slices.SortFunc(list[first:next], q.compare)
		}
		first = next
	}
	return list
}

// sortedRoughly is the places in the order of their rough distances. They are sorted as numbers, which is several times as fast
// as by comparisons that are called: the bits of a positive float are in the order of the floats, and the lowest of them give
// way to the index. What these bits tell is less than a hundredth of what Apart wants.
func (q *geoQuery) sortedRoughly(found []placeKey) []placeKey {
	index := uint64(1)<<bits.Len(uint(len(found)-1)) - 1
	turned := uint64(0)
	if q.order == farthestFirst {
		turned = math.MaxUint64
	}
	numbers := make([]uint64, len(found))
	for i, k := range found {
		numbers[i] = (math.Float64bits(k.rough)^turned)&^index | uint64(i)
	}
	slices.Sort(numbers)
	list := make([]placeKey, len(found))
	for i, n := range numbers {
		list[i] = found[n&index]
	}
	return list
}
