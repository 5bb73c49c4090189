package manager

import (
	"fmt"

	"github.com/covey-db/covey/internal/slot"
)

// Range is a run of slots, both ends included.
type Range struct{ First, Last slot.ID }

// Plan says who serves what in a new cluster. Nodes are numbered in the order they were given.
type Plan struct {
	Ranges   []Range // by primary: nodes 0 to len(Ranges)-1
	Replicas []int   // by replica: node len(Ranges)+i follows primary Replicas[i]
}

// primariesMin is the fewest primaries that can agree on a failure.
const primariesMin = 3

// NewPlan deals the slots to the primaries, as even as can be, and the replicas to the primaries in turn.
func NewPlan(primaries, replicas int) (Plan, error) {
	if primaries < primariesMin {
		return Plan{}, fmt.Errorf("a cluster needs at least %d primaries to survive the loss of one", primariesMin)
	}
	if primaries > slot.Count {
		return Plan{}, fmt.Errorf("%d primaries are more than there are slots", primaries)
	}
	var p Plan
	for i := range primaries {
		first, last := boundary(i, primaries), boundary(i+1, primaries)-1
		p.Ranges = append(p.Ranges, Range{First: slot.ID(first), Last: slot.ID(last)})
	}
	for i := range replicas {
		p.Replicas = append(p.Replicas, i%primaries)
	}
	return p, nil
}

// boundary is the first slot of the i-th of n primaries, rounded to the nearest as redis-cli does it.
func boundary(i, n int) int { return (2*i*slot.Count + n) / (2 * n) }
