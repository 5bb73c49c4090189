// Package invariant holds the checks of what must be true whatever a client, a peer or a disk does. A broken invariant is
// our own mistake, so it stops the node instead of being answered.
package invariant

import "fmt"

// That stops the node when cond is false. It is always on: keep it for checks that cost no more than a comparison.
func That(cond bool, what string) {
	if !cond {
		panic("invariant broken: " + what)
	}
}

// Check runs an expensive check, only in builds with the tag invariants.
func Check(check func() error) {
	if !Enabled {
		return
	}
	if err := check(); err != nil {
		panic(fmt.Sprintf("invariant broken: %v", err))
	}
}
