// Package sim runs whole clusters in virtual time: hundreds of cluster/core state machines over a network that delays,
// loses, partitions and breaks connections, on machines that crash, lose power, freeze and have slow disks. While it runs
// it checks what must always be true (one winner an epoch, one vote a node and epoch, one node that accepts writes for a
// slot among those that can talk to each other); when the world is left in peace everybody must agree again. A run depends
// on nothing but its script, its number of nodes and its seed, so every failure can be played again.
//
// The world is in world.go, network.go and disk.go; a machine and its toy data in node.go and data.go; what must be true
// in safety.go and converge.go; scripts and their verbs in script.go and run*.go; random scripts in swarm.go.
package sim

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/covey-db/covey/internal/cluster/core"
)

//go:embed testdata/*.txt
var scenarioFiles embed.FS

// Swarm is the name of the scenario that makes up a script from the seed.
const Swarm = "swarm"

// Options says what to run.
type Options struct {
	// Scenario is one of Scenarios, Swarm if empty.
	Scenario string
	// Script is the text of a script to run instead of a scenario.
	Script string
	// Nodes is the number of nodes, 0 for what the script says. A script names nodes, so there cannot be fewer than it says; a
	// random history has its own number.
	Nodes int
	// Seed is the seed, 0 for what the script says.
	Seed uint64
	// Runs is how many seeds are run, from Seed on; 0 is one.
	Runs int
	// Verbose writes down everything the nodes log, Quiet nothing but the results.
	Verbose, Quiet bool
}

// Scenarios lists the names of the scenarios.
func Scenarios() []string {
	names := []string{Swarm}
	files, err := scenarioFiles.ReadDir("testdata")
	if err != nil {
		return names
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".txt"))
	}
	slices.Sort(names)
	return names
}

// Run runs what o says and writes the story to out. The error tells how many runs failed.
func Run(o Options, out io.Writer) error {
	failed := 0
	for i := range max(o.Runs, 1) {
		one := o
		if o.Runs > 1 || o.Seed != 0 {
			one.Seed = o.Seed + uint64(i)
		}
		if err := runOne(one, out); err != nil {
			if errors.Is(err, errScript) {
				return err
			}
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("sim: %d of %d runs failed", failed, max(o.Runs, 1))
	}
	return nil
}

// errScript marks errors of the script itself.
var errScript = errors.New("sim")

// runOne runs one seed and reports.
func runOne(o Options, out io.Writer) error {
	s, err := o.script()
	if err != nil {
		return fmt.Errorf("%w: %w", errScript, err)
	}
	size, seed, err := o.size(s)
	if err != nil {
		return fmt.Errorf("%w: %w", errScript, err)
	}
	story := out
	if o.Quiet {
		story = nil
	}
	w, err := execute(s, size, seed, story, o.level())
	if err == nil {
		fmt.Fprintf(out, "ok seed=%d nodes=%d virtual=%s elections=%d votes=%d writes=%d\n", seed, len(w.nodes), w.clock(),
			w.safety.elections, w.safety.votesCast, w.load.taken)
		return nil
	}
	fmt.Fprintf(out, "FAILED seed=%d: %v\nreplay: %s\n", seed, err, o.replay(seed))
	if o.isSwarm() {
		fmt.Fprintf(out, "shortest script that fails:\n%s", reduce(s, size, seed, err))
	}
	return err
}

func (o *Options) isSwarm() bool { return o.Script == "" && (o.Scenario == "" || o.Scenario == Swarm) }

func (o *Options) level() core.Level {
	if o.Verbose {
		return core.Debug
	}
	return core.Info
}

// script finds or makes the script.
func (o *Options) script() (*script, error) {
	switch {
	case o.Script != "":
		return parseScript(o.Script)
	case o.isSwarm():
		return parseScript(swarm(max(o.Seed, 1)))
	}
	text, err := scenarioFiles.ReadFile(path.Join("testdata", o.Scenario+".txt"))
	if err != nil {
		return nil, fmt.Errorf("there is no scenario %q; there are %s", o.Scenario, strings.Join(Scenarios(), ", "))
	}
	return parseScript(string(text))
}

// size finds the shape of the cluster and the seed.
func (o *Options) size(s *script) (shape, uint64, error) {
	size, number, err := s.commands[0].shape()
	if err != nil {
		return size, 0, err
	}
	seed := uint64(number)
	if o.Seed != 0 {
		seed = o.Seed
	}
	if o.Nodes != 0 {
		err = o.resize(&size)
	}
	return size, seed, err
}

// nodesMax bounds a simulated cluster: every node tells all others, and a step looks at all of them.
const nodesMax = 1000

// resize gives the cluster the number of nodes that is asked for.
func (o *Options) resize(size *shape) error {
	each := 1 + size.replicas // nodes of one primary
	switch least := size.primaries * each; {
	case o.isSwarm():
		return errors.New("a random history chooses its number of nodes; --nodes is for a --scenario")
	case o.Nodes < least || o.Nodes > nodesMax:
		return fmt.Errorf("--nodes %d: this scenario runs with %d to %d nodes", o.Nodes, least, nodesMax)
	}
	size.primaries = o.Nodes / each
	return nil
}

// replay is the command that runs a seed again.
func (o *Options) replay(seed uint64) string {
	words := []string{"covey sim"}
	if o.Nodes > 0 {
		words = append(words, fmt.Sprintf("--nodes %d", o.Nodes))
	}
	words = append(words, fmt.Sprintf("--seed %d", seed))
	switch {
	case o.Script != "":
		words = append(words, "--script FILE")
	case o.isSwarm():
		words = append(words, "--scenario "+Swarm)
	default:
		words = append(words, "--scenario "+o.Scenario)
	}
	return strings.Join(words, " ")
}

// execute runs a script in a new world. A panic of the code under test is a failure like any other.
func execute(s *script, size shape, seed uint64, out io.Writer, level core.Level) (w *world, err error) {
	w = newWorld(seed, out)
	w.trace.level = level
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("t=%s: panic: %v", w.clock(), p)
		}
	}()
	return w, w.play(s, size)
}
