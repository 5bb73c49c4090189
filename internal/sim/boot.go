package sim

import (
	"fmt"
	"strconv"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file makes clusters: by commands, as the standard tool does, or from nodes.conf files as if it had run before.

// shape is what a cluster is made of. The first nodes are the primaries; then come the replicas, dealt round.
type shape struct {
	primaries, replicas, spare int
	timeout                    instant
	// conf says that the cluster is made from files.
	conf bool
}

// slotsOf are the first and last slot of a primary.
func (s *shape) slotsOf(primary int) (first, last slot.ID) {
	share := func(i int) slot.ID { return slot.ID(i * slot.Count / s.primaries) }
	return share(primary), share(primary+1) - 1
}

// boot makes the nodes and the cluster.
func (w *world) boot(s shape) error {
	w.timeout, w.everySlot, w.shape = s.timeout, true, s
	members := s.primaries * (1 + s.replicas)
	for i := range members + s.spare {
		n := w.newNode()
		n.spare = i >= members
	}
	if s.conf {
		w.writeConfs(&s, w.nodes[:members])
	}
	for _, n := range w.nodes {
		n.start()
	}
	if !s.conf {
		if err := w.build(&s, w.nodes[:members]); err != nil {
			return err
		}
	}
	return w.settle(bootLimit)
}

// bootLimit is how long a cluster may take until it is ready.
const bootLimit = 120 * second

// settle lets time pass until the nodes agree.
func (w *world) settle(limit instant) error {
	return w.wait(limit, w.unstable)
}

// pollPeriod is how often a condition is looked at.
const pollPeriod = 50 * millisecond

// wait lets time pass until why gives no more reason to wait.
func (w *world) wait(limit instant, why func() string) error {
	end := w.now + limit
	for {
		if err := w.runFor(pollPeriod); err != nil {
			return err
		}
		reason := why()
		if reason == "" {
			return nil
		}
		if w.now >= end {
			w.fail("after %s: %s", limit, reason)
			return w.failure
		}
	}
}

// build makes a cluster by commands.
func (w *world) build(s *shape, members []*node) error {
	for i, n := range members {
		if err := w.order(n, "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
		if i < s.primaries {
			first, last := s.slotsOf(i)
			if err := w.order(n, "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(last)); err != nil {
				return err
			}
		}
	}
	for _, n := range members[1:] {
		if err := w.order(members[0], "MEET", n.host, strconv.Itoa(clientPort)); err != nil {
			return err
		}
	}
	if err := w.wait(bootLimit, func() string { return w.strangers(members) }); err != nil {
		return err
	}
	for i, n := range members[s.primaries:] {
		if err := w.order(n, "REPLICATE", members[i%s.primaries].id.String()); err != nil {
			return err
		}
	}
	return nil
}

// strangers says which node does not know all others yet.
func (w *world) strangers(members []*node) string {
	for _, n := range members {
		if known := n.core.Stats().KnownNodes; known != len(members) {
			return fmt.Sprintf("node %s knows %d nodes", n.name(), known)
		}
	}
	return ""
}

// writeConfs gives every member a nodes.conf with the whole cluster.
func (w *world) writeConfs(s *shape, members []*node) {
	conf := wire.Conf{CurrentEpoch: wire.Epoch(s.primaries)}
	for i, n := range members {
		line := wire.NodeLine{TCPPort: clientPort, BusPort: busPort, PongReceivedMillis: 1}
		line.ID = w.randomID()
		line.IP, _ = wire.ParseHost(n.host)
		if i < s.primaries {
			line.Flags, line.ShardID, line.ConfigEpoch = wire.FlagPrimary, w.randomID(), wire.Epoch(i+1)
			line.Slots.AddRange(s.slotsOf(i))
		} else {
			primary := &conf.Nodes[(i-s.primaries)%s.primaries]
			line.Flags, line.ShardID, line.Primary = wire.FlagReplica, primary.ShardID, primary.ID
		}
		conf.Nodes = append(conf.Nodes, line)
	}
	for i, n := range members {
		conf.Nodes[i].Flags |= wire.FlagMyself
		n.disk.written = conf.Append(nil)
		n.disk.durable = n.disk.written
		conf.Nodes[i].Flags &^= wire.FlagMyself
	}
}

func (w *world) randomID() (id wire.NodeID) {
	const digits = "0123456789abcdef"
	for i := range id {
		id[i] = digits[w.rng.IntN(len(digits))]
	}
	return id
}

// orderLimit is how long a command may take.
const orderLimit = 10 * second

// ask runs a command and waits for the answer; it gives false if none came.
func (w *world) ask(n *node, words ...string) (r core.Reply, answered bool) {
	if !n.alive || n.frozen {
		return r, false
	}
	n.command(func(answer core.Reply) { r, answered = answer, true }, words...)
	_ = w.runUntil(w.now+orderLimit, func() bool { return answered || !n.alive })
	return r, answered
}

// order runs a command that must work.
func (w *world) order(n *node, words ...string) error {
	r, answered := w.ask(n, words...)
	switch {
	case w.failure != nil:
	case !answered:
		w.fail("node %s does not answer %v", n.name(), words)
	case r.Kind == core.Failure:
		w.fail("node %s answers %v: %s", n.name(), words, r.Text)
	}
	return w.failure
}
