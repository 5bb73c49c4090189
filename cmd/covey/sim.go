package main

import (
	"fmt"
	"io"

	"github.com/covey-db/covey/internal/sim"
)

// simCommand is "covey sim": the cluster's state machine in a virtual world. A run that breaks a promise prints its seed
// and the command that replays it.
type simCommand struct {
	Scenario string `help:"Scenario to run; a random history when empty."`
	Nodes    int    `help:"Number of nodes of a scenario; 0 is what it says."`
	Seed     uint64 `help:"Seed of the first run; 0 is what the scenario says."`
	Swarm    int    `help:"Number of random histories, from the seed on."`
	List     bool   `help:"List the scenarios."`
	Verbose  bool   `help:"Show everything the nodes log."`
}

func (s *simCommand) Run(out io.Writer) error {
	if s.List {
		for _, name := range sim.Scenarios() {
			fmt.Fprintln(out, name)
		}
		return nil
	}
	o := sim.Options{Scenario: s.Scenario, Nodes: s.Nodes, Seed: s.Seed, Runs: s.Swarm, Verbose: s.Verbose}
	if s.Swarm > 0 {
		o.Scenario = ""
		o.Seed = max(o.Seed, 1)
		o.Quiet = !s.Verbose
	}
	return sim.Run(o, out)
}
