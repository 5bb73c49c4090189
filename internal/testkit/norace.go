//go:build !race

package testkit

// Race says that the race detector watches.
const Race = false
