package stream

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// addDraws gives a fuzz target whose choices are drawn by rapid some inputs that are long enough for many of them.
func addDraws(f *testing.F) {
	f.Helper()
	for seed := range uint64(4) {
		choices := make([]byte, 1<<12)
		dice := rand.New(rand.NewPCG(seed, 0))
		for i := range choices {
			choices[i] = byte(dice.Uint32())
		}
		f.Add(choices)
	}
}

// FuzzEntries: the fuzzer chooses what is added, deleted, cut off and read.
func FuzzEntries(f *testing.F) {
	addDraws(f)
	f.Fuzz(rapid.MakeFuzz(checkEntries))
}

// FuzzGroups: the fuzzer chooses what is delivered, acknowledged and removed.
func FuzzGroups(f *testing.F) {
	addDraws(f)
	f.Fuzz(rapid.MakeFuzz(checkGroups))
}
