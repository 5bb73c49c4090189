package sim

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// swarmSeeds is how many seeds the swarm test runs; COVEY_SEEDS says another number and COVEY_SEED where to begin.
const swarmSeeds = 200

func envNumber(t *testing.T, name string, without int) int {
	text := os.Getenv(name)
	if text == "" {
		return without
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Clusters of random shape survive random mishaps.
func TestSwarm(t *testing.T) {
	first, count := envNumber(t, "COVEY_SEED", 1), envNumber(t, "COVEY_SEEDS", swarmSeeds)
	if testkit.Race {
		count = min(count, swarmSeeds/10)
	}
	const groups = 8
	for g := range groups {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for seed := first + g; seed < first+count; seed += groups {
				var out bytes.Buffer
				if err := Run(Options{Seed: uint64(seed), Quiet: true}, &out); err != nil {
					t.Error(out.String())
				}
			}
		})
	}
}

// The same seed gives the same story, to the letter.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		var first, second bytes.Buffer
		for _, out := range []*bytes.Buffer{&first, &second} {
			if err := Run(Options{Seed: 1000 + seed, Verbose: true}, out); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("seed %d tells two stories", 1000+seed)
		}
	}
}

// Scenarios run with other seeds and other numbers of nodes than their own.
func TestScenariosVaried(t *testing.T) {
	for _, name := range Scenarios() {
		if name == Swarm || name == "hundred-nodes" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(4) {
				var out bytes.Buffer
				if err := Run(Options{Scenario: name, Seed: 100 + seed}, &out); err != nil {
					t.Errorf("%v\n%s", err, out.String())
				}
			}
		})
	}
}

// A run that fails says so, prints the seed and the command that plays it again, and a shorter script.
func TestFailureIsReported(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := Run(Options{Script: "nodes primaries=3 seed=5\nkill node=p1\nexpect failed node=p1\n", Quiet: true}, &out)
	if err == nil || !strings.Contains(out.String(), "FAILED seed=5") || !strings.Contains(out.String(), "replay: covey sim --seed 5") {
		t.Fatalf("%v: %s", err, out.String())
	}
	for _, bad := range []string{"", "kill node=1", "nodes primaries=0", "nodes\nfly node=1", "nodes\nkill node=99"} {
		if err := Run(Options{Script: bad + "\n"}, &out); err == nil {
			t.Errorf("script %q runs", bad)
		}
	}
	if err := Run(Options{Scenario: "nosuch"}, &out); err == nil {
		t.Error("a scenario that does not exist runs")
	}
}
