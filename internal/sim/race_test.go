//go:build race

package sim

// The race detector makes a run some ten times slower, and there is one goroutine to watch.
const underRace = true
