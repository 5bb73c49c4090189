package testkit

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

// ciSeed is what random tests draw from where CI=true: there every run draws the same, because a change must not be refused
// for what it did not bring and chance has found. Everywhere else each run draws anew.
const ciSeed = 1

// Seed is the seed of a random test, and says it. The environment variable COVEY_SEED has the last word.
func Seed(t testing.TB) uint64 {
	t.Helper()
	seed := rand.Uint64N(1_000_000)
	if inCI() {
		seed = ciSeed
	}
	if text := os.Getenv("COVEY_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("COVEY_SEED=%d", seed)
	return seed
}

// Main is the TestMain of a package whose tests draw with rapid, which gets the same seed. Flags are parsed later, so that
// one on the command line has the last word.
func Main(m *testing.M) {
	if inCI() {
		if err := flag.Set("rapid.seed", strconv.Itoa(ciSeed)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	m.Run()
}

// inCI tells whether the tests decide on a change.
func inCI() bool { return os.Getenv("CI") == "true" }
