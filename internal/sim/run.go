package sim

import (
	"maps"
	"strings"

	"github.com/covey-db/covey/internal/cluster/core"
)

// This file runs the commands of a script against a world.

// ready is what a run says once the cluster has been made.
const ready = "ready"

// play makes the cluster and runs the commands.
func (w *world) play(s *script, size shape) error {
	if err := w.boot(size); err != nil {
		return err
	}
	w.trace.say(w, "%s: %d nodes", ready, len(w.nodes))
	for i := range s.commands[1:] {
		c := &s.commands[1+i]
		w.trace.say(w, "> %s", c.text)
		if err := w.perform(c); err != nil {
			return err
		}
		if w.failure != nil {
			return w.failure
		}
	}
	return nil
}

// perform runs one command.
func (w *world) perform(c *command) error {
	switch c.verb {
	case "run":
		return w.doRun(c)
	case "expect":
		return w.doExpect(c)
	case "kill", "power", "start", "freeze", "thaw":
		return w.doProcess(c)
	case "twin":
		return w.doTwin(c)
	case "cut", "heal", "delay", "loss", "slow", "flap", "disk":
		return w.doWorld(c)
	case "write":
		return w.doWrite(c)
	case "cluster", "refused", "try":
		return w.doCluster(c)
	case "move":
		return w.doMove(c)
	case "forget":
		return w.doForget(c)
	case "join":
		return w.doJoin(c)
	case "set":
		return w.doSet(c)
	case "seeds":
		return w.doSeeds(c)
	case "reset":
		return w.doReset(c)
	case "expel":
		return w.doExpel(c)
	case "clock":
		return w.doClock(c)
	}
	return c.errorf("unknown verb")
}

// doRun lets time pass: "run 5s", or "run until <condition> limit=20s".
func (w *world) doRun(c *command) error {
	if len(c.words) == 0 {
		return c.errorf("run what?")
	}
	if c.words[0] != "until" {
		d, err := c.parseSpan(c.words[0])
		if err != nil {
			return err
		}
		return w.runFor(d)
	}
	limit, err := c.span("limit", 20*second)
	if err != nil {
		return err
	}
	why, err := w.condition(c, c.words[1:])
	if err != nil {
		return err
	}
	return w.wait(limit, why)
}

// doExpect looks at a condition now.
func (w *world) doExpect(c *command) error {
	why, err := w.condition(c, c.words)
	if err != nil {
		return err
	}
	if reason := why(); reason != "" {
		w.fail("line %d: %s: %s", c.line, c.text, reason)
	}
	return w.failure
}

// doWrite starts or stops the clients: "write every=5ms", "write off".
func (w *world) doWrite(c *command) error {
	every, err := c.span("every", 0)
	w.load.start(every)
	return err
}

// doProcess ends, starts, stops and continues processes.
func (w *world) doProcess(c *command) error {
	list, err := c.nodes(w, "node")
	if err != nil {
		return err
	}
	for _, n := range list {
		switch c.verb {
		case "kill", "power":
			n.stop(c.verb == "power")
		case "start":
			if n.alive {
				continue
			}
			if c.args["address"] == "new" {
				n.moved++
				n.setHost(n.moved)
			}
			n.start()
		case "freeze":
			if n.alive {
				n.freeze()
			}
		case "thaw":
			n.thaw()
		}
	}
	return w.failure
}

// doTwin starts a process on another machine with a copy of a node's disk: "twin node=p1". From then on two have one name. With
// announce=yes it tells its address in its packets.
func (w *world) doTwin(c *command) error {
	of, err := c.node(w, "node")
	if err != nil {
		return err
	}
	n := w.newNode()
	n.spare = true
	n.disk.written, n.disk.durable = of.disk.written, of.disk.durable
	n.data.values, n.data.offset, n.data.history = maps.Clone(of.data.values), of.data.offset, of.data.history
	if c.args["announce"] == "yes" {
		n.config.AnnounceIP = n.hostText()
	}
	n.start()
	return w.failure
}

// doCluster runs a CLUSTER command: "cluster node=4 FAILOVER FORCE". "@3" stands for the name of node 3. "cluster" must
// work, "refused" must not, "try" may.
func (w *world) doCluster(c *command) error {
	list, err := c.nodes(w, "node")
	if err != nil {
		return err
	}
	words := make([]string, len(c.words))
	for i, word := range c.words {
		words[i] = w.substitute(word)
	}
	for _, n := range list {
		r, answered := w.ask(n, words...)
		if c.verb == "try" || w.failure != nil {
			continue
		}
		failed := !answered || r.Kind == core.Failure
		if failed != (c.verb == "refused") {
			w.fail("line %d: %s: node %s answers %q", c.line, c.text, n.name(), r.Text)
		}
		if failed {
			w.trace.say(w, "  %s", r.Text)
		}
	}
	return w.failure
}

// substitute puts names in the place of "@3".
func (w *world) substitute(word string) string {
	number, ok := strings.CutPrefix(word, "@")
	if !ok {
		return word
	}
	c := command{args: map[string]string{"node": number}}
	n, err := c.node(w, "node")
	if err != nil {
		return word
	}
	return n.id.String()
}

// doForget makes the cluster forget a node: it is told to all others.
func (w *world) doForget(c *command) error {
	n, err := c.node(w, "node")
	if err != nil {
		return err
	}
	n.gone = true
	told := w.nodes
	if c.args["at"] != "" {
		if told, err = c.nodes(w, "at"); err != nil {
			return err
		}
	}
	for _, other := range told {
		if other != n && other.takesPart() {
			if err := w.order(other, "FORGET", n.id.String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// doJoin lets a spare node meet the cluster through another: "join node=s1 at=p1". With by=seed it is on its way already.
func (w *world) doJoin(c *command) error {
	n, err := c.node(w, "node")
	if err != nil {
		return err
	}
	at, err := c.node(w, "at")
	if err != nil {
		return err
	}
	if c.args["may"] == "fail" {
		if !n.spare && c.args["again"] != "yes" {
			return nil
		}
		if r, answered := w.ask(at, "MEET", n.host, "6379"); answered && r.Kind == core.Status {
			n.spare, n.gone = false, false
		}
		return w.failure
	}
	n.spare, n.gone = false, false
	if c.args["by"] == "seed" {
		return nil
	}
	return w.order(at, "MEET", n.host, "6379")
}

// doReset makes a replica a new node that knows nobody. Of a node that is none, or not there, nothing happens.
func (w *world) doReset(c *command) error {
	n, err := c.node(w, "node")
	if err != nil {
		return err
	}
	if !n.alive || n.frozen || n.says("replica", nil) != "" {
		return nil
	}
	if r, answered := w.ask(n, "RESET", "HARD"); answered && r.Kind == core.Status {
		n.spare = true
	}
	return w.failure
}

// doExpel has nodes forget a replica, of which it is not told. Of a node that is none, or not there, nothing happens: who
// forgets the owner of slots may give them to another one while the owner still serves them.
func (w *world) doExpel(c *command) error {
	n, err := c.node(w, "node")
	if err != nil {
		return err
	}
	told, err := c.nodes(w, "at")
	if err != nil || !n.alive || n.frozen || n.says("replica", nil) != "" {
		return err
	}
	for _, other := range told {
		if r, answered := w.ask(other, "FORGET", n.id.String()); answered && r.Kind == core.Status {
			n.spare = true
		}
	}
	return w.failure
}

// doSet changes the configuration: "set node=* no-failover=yes".
func (w *world) doSet(c *command) error {
	list, err := c.nodes(w, "node")
	if err != nil {
		return err
	}
	for _, n := range list {
		for name, value := range c.args {
			if err := n.set(c, name, value); err != nil {
				return err
			}
		}
		n.deliver(n.life, func() { n.step(core.Configure{Config: n.config}) })
	}
	return w.failure
}

func (n *node) set(c *command, name, value string) (err error) {
	yes, cfg := value == "yes", &n.config
	switch name {
	case "node":
	case "no-failover":
		cfg.ReplicaNoFailover = yes
	case "full-coverage":
		cfg.RequireFullCoverage = yes
	case "allow-migration":
		cfg.AllowReplicaMigration = yes
	case "barrier":
		cfg.MigrationBarrier, err = c.number(name, 1)
	case "validity":
		var factor int
		factor, err = c.number(name, 10)
		cfg.ReplicaValidityFactor = int64(factor)
	case "hostname":
		cfg.Hostname = value
	default:
		err = c.errorf("there is no option %q", name)
	}
	return err
}

// doClock sets the wall clocks of machines: "clock node=2 skew=-5m". A process that runs does not see it.
func (w *world) doClock(c *command) error {
	list, err := c.nodes(w, "node")
	if err != nil {
		return err
	}
	skew, err := c.span("skew", 0)
	for _, n := range list {
		n.nextSkew = skew.millis()
	}
	return err
}

// doSeeds gives nodes the addresses of others as seeds: "seeds node=* at=1,2".
func (w *world) doSeeds(c *command) error {
	list, err := c.nodes(w, "node")
	if err != nil {
		return err
	}
	at, err := c.nodes(w, "at")
	if err != nil {
		return err
	}
	for _, n := range list {
		n.seeds = nil
		for _, other := range at {
			if other != n {
				n.seeds = append(n.seeds, core.Address{Host: other.hostText(), Port: clientPort, BusPort: busPort})
			}
		}
		n.deliver(n.life, func() { n.step(core.Seeds{Addresses: n.seeds}) })
	}
	return w.failure
}
