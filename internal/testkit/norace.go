//go:build !race

package testkit

// Race says that the race detector watches.
const Race = false

// Slowness is what bounds of time are multiplied by.
const Slowness = 1
