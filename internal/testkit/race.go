//go:build race

package testkit

// Race says that the race detector watches: a run is some ten times slower then, and pools drop what is put into them now and
// then.
const Race = true

// Slowness is what bounds of time are multiplied by.
const Slowness = 20
