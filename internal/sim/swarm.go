package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// This file makes up random scripts, and shortens those that fail.

const (
	// swarmSteps bounds the number of things that go wrong in a random script; each is followed by a while of up to
	// swarmPause milliseconds.
	swarmStepsMin, swarmStepsMax = 8, 40
	swarmPause                   = 4000
	// swarmSkew is how far clocks may be wrong, milliseconds.
	swarmSkew = 1_000_000
	// peaceLimit is how long the nodes may take to agree once nothing goes wrong any more. It covers a failover that has
	// to be tried again, after a primary that nobody could replace came back.
	peaceLimit = "90s"
)

// gambler makes up a script.
type gambler struct {
	rng   *rand.Rand
	lines []string
	nodes int
	// moved are slots that were on the move at some time.
	moved []int
	// joined are the nodes that must be told to join in the end: spare ones, and those that the others may have forgotten.
	joined map[int]bool
	spare  int
	forgot bool // a node was forgotten, and for a while it is again each time it joins
}

func (g *gambler) add(format string, args ...any) {
	g.lines = append(g.lines, fmt.Sprintf(format, args...))
}

// any picks a node that is a member from the start.
func (g *gambler) any() int { return 1 + g.rng.IntN(g.nodes) }

// some picks one to half of the nodes.
func (g *gambler) some() string {
	var list []string
	for _, i := range g.rng.Perm(g.nodes)[:1+g.rng.IntN(max(1, g.nodes/2))] {
		list = append(list, fmt.Sprint(i+1))
	}
	return strings.Join(list, ",")
}

// members lists the nodes that are members from the start.
func (g *gambler) members() string {
	list := make([]string, g.nodes)
	for i := range list {
		list[i] = fmt.Sprint(i + 1)
	}
	return strings.Join(list, ",")
}

// swarm makes up the script of a seed: a cluster of random shape, a random list of mishaps, then peace.
func swarm(seed uint64) string {
	g := &gambler{rng: rand.New(rand.NewPCG(seed, 0x5eed)), joined: map[int]bool{}}
	primaries, replicas := 2+g.rng.IntN(4), g.rng.IntN(3)
	g.nodes, g.spare = primaries*(1+replicas), g.rng.IntN(2)
	timeout := [...]int{500, 1000, 2000, 2000, 2000, 5000}[g.rng.IntN(6)]
	g.add("nodes primaries=%d replicas=%d spare=%d seed=%d timeout=%dms boot=conf", primaries, replicas, g.spare, seed, timeout)
	g.options()
	g.add("write every=%dms", 5+g.rng.IntN(50))
	for range swarmStepsMin + g.rng.IntN(swarmStepsMax-swarmStepsMin) {
		g.mishap()
		g.add("run %dms", 1+g.rng.IntN(swarmPause))
	}
	g.peace()
	return strings.Join(g.lines, "\n")
}

// options makes some configurations differ from the usual.
func (g *gambler) options() {
	for _, option := range [...]string{"validity=0", "full-coverage=no", "allow-migration=no", "barrier=0", "no-failover=yes"} {
		if g.rng.IntN(8) == 0 {
			g.add("set node=%s %s", [...]string{"*", g.some()}[g.rng.IntN(2)], option)
		}
	}
}

// mishap lets something go wrong, or right again, or an operator do something.
func (g *gambler) mishap() {
	switch g.rng.IntN(24) {
	case 0, 1, 2:
		g.add("%s node=%d", [...]string{"kill", "power"}[g.rng.IntN(2)], g.any())
	case 3, 4, 5:
		g.add("start node=%s", g.some())
	case 6:
		g.add("freeze node=%d", g.any())
	case 7:
		g.add("thaw node=*")
	case 8:
		g.add("cut nodes=%s", g.some())
	case 9:
		g.add("cut nodes=%s way=%s", g.some(), [...]string{"in", "out"}[g.rng.IntN(2)])
	case 10:
		g.add("cut nodes=%d from=%s", g.any(), g.some())
	case 11, 12:
		g.add("heal")
	case 13:
		g.network()
	case 14:
		g.add("flap a=%d b=%d every=%dms for=%dms", g.any(), g.any(), 50+g.rng.IntN(500), 1000+g.rng.IntN(10000))
	case 15:
		g.add("disk node=%s sync=%dms", g.some(), 1+g.rng.IntN(1500))
	case 16, 17:
		how := [...]string{"", " FORCE"}[g.rng.IntN(2)]
		if g.rng.IntN(10) == 0 {
			how = " TAKEOVER"
		}
		g.add("try node=%d FAILOVER%s", g.any(), how)
	case 18:
		slot, count := g.rng.IntN(16000), 1+g.rng.IntN(5)
		for s := slot; s < slot+count; s++ {
			g.moved = append(g.moved, s)
		}
		g.add("move slot=%d count=%d to=%d steps=%d may=fail", slot, count, g.any(), [...]int{1, 2, 3, 4, 4, 4}[g.rng.IntN(6)])
	case 19:
		g.add("try node=%s BUMPEPOCH", g.some())
	case 20:
		g.forget()
	case 21:
		g.add("clock node=%s skew=%dms", g.some(), g.rng.IntN(2*swarmSkew)-swarmSkew)
	case 22:
		g.cutOff()
	default:
		g.member()
	}
}

// forget has some nodes forget a replica, which soon nobody knows any more.
func (g *gambler) forget() {
	n := g.any()
	g.add("expel node=%d at=%s", n, g.some())
	g.joined[n], g.forgot = true, true
}

// cutOff has an operator do something while a part of the cluster cannot be reached, and slots move meanwhile.
func (g *gambler) cutOff() {
	g.add("cut nodes=%s way=%s", g.some(), [...]string{"in", "out", "both"}[g.rng.IntN(3)])
	g.add("run %dms", g.rng.IntN(swarmPause))
	for range 1 + g.rng.IntN(3) {
		switch g.rng.IntN(3) {
		case 0:
			g.add("try node=%d FAILOVER%s", g.any(), [...]string{"", " FORCE", " TAKEOVER"}[g.rng.IntN(3)])
		case 1:
			slot := g.rng.IntN(16000)
			g.moved = append(g.moved, slot)
			g.add("move slot=%d to=%d may=fail", slot, g.any())
		default:
			g.add("try node=%d BUMPEPOCH", g.any())
		}
	}
}

func (g *gambler) network() {
	switch g.rng.IntN(3) {
	case 0:
		g.add("delay min=%dms max=%dms", g.rng.IntN(5), 5+g.rng.IntN(200))
	case 1:
		g.add("loss rate=0.%02d", g.rng.IntN(20))
	default:
		g.add("slow node=%d factor=%d", g.any(), 1+g.rng.IntN(100))
	}
}

// member lets a spare node join, or a replica change its primary.
func (g *gambler) member() {
	switch n := g.any(); g.rng.IntN(6) {
	case 0, 1:
		g.add("kill node=%d", n)
		g.add("run %dms", g.rng.IntN(swarmPause))
		g.add("start node=%d address=new", n)
	case 2:
		g.add("reset node=%d", n)
		g.joined[n] = true
		g.add("run %dms", g.rng.IntN(swarmPause))
		g.add("join node=%d at=%d may=fail", n, g.any())
	case 3:
		g.add("set node=%d hostname=host-%d", n, g.rng.IntN(9))
	case 4:
		if g.spare > 0 {
			n = g.nodes + 1 + g.rng.IntN(g.spare)
			g.joined[n] = true
			g.add("join node=%d at=%d may=fail", n, g.any())
		}
	default:
		g.add("try node=%d REPLICATE @%d", n, g.any())
	}
}

// peace ends all mishaps and asks for agreement, twice: it must also last.
func (g *gambler) peace() {
	g.add("heal")
	g.add("delay min=1ms max=3ms")
	g.add("loss rate=0")
	g.add("slow node=* factor=1")
	g.add("disk node=* sync=2ms")
	g.add("thaw node=*")
	g.add("start node=*")
	for _, s := range g.moved {
		g.add("try node=* SETSLOT %d STABLE", s)
	}
	g.add("set node=* full-coverage=yes no-failover=no")
	g.add("seeds node=%s at=*", g.members())
	if g.forgot {
		g.add("run 61s")
	}
	for n := range g.nodes + g.spare {
		if g.joined[n+1] { // through a node that is no stranger itself
			at := 1
			for g.joined[at] && at < g.nodes {
				at++
			}
			g.add("join node=%d at=%d may=fail again=yes", n+1, at)
		}
	}
	g.add("run until stable limit=%s", peaceLimit)
	g.add("run 10s")
	g.add("run until stable limit=10s")
}

// reduceRuns bounds how often a failing script is run to find a shorter one.
const reduceRuns = 150

// reduce takes mishaps out of a script as long as it goes on failing as it failed before, and gives what is left. What
// makes peace in the end stays.
func reduce(s *script, size shape, seed uint64, failure error) string {
	runs := 0
	fails := func(commands []command) bool {
		runs++
		_, err := execute(&script{commands: commands}, size, seed, nil, 0)
		return err != nil && kindOf(err) == kindOf(failure)
	}
	commands := s.commands
	peace := len(commands) - 1
	for peace > 1 && commands[peace].text != "heal" {
		peace--
	}
	for chunk := max(1, peace/4); chunk > 0; chunk /= 2 {
		for at := 1; at < peace && runs < reduceRuns; {
			end := min(at+chunk, peace)
			shorter := append(append([]command(nil), commands[:at]...), commands[end:]...)
			if fails(shorter) {
				commands = shorter
				peace -= end - at
			} else {
				at = end
			}
		}
	}
	var b strings.Builder
	for i := range commands {
		fmt.Fprintln(&b, commands[i].text)
	}
	return b.String()
}

// kindOf gives what failures of one kind have in common: the text without time, numbers and names.
func kindOf(err error) string {
	_, text, _ := strings.Cut(err.Error(), ": ")
	words := strings.FieldsFunc(text, func(c rune) bool { return c < 'a' || c > 'z' })
	return strings.Join(words[:min(len(words), kindWords)], " ")
}

// kindWords is how many words tell kinds of failures apart.
const kindWords = 6
