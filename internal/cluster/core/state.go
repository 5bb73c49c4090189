package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the cluster state: whether this node serves requests. A node in the minority must not.

const (
	// writableDelay is how long a primary waits after a start before it serves: it may have been replaced meanwhile.
	writableDelay clock.Millis = 2000
	// rejoinDelay is how long a primary waits after it was in a minority: the node timeout within these bounds.
	rejoinDelayMin clock.Millis = 500
	rejoinDelayMax clock.Millis = 5000
)

// updateState finds the state anew.
func (c *Core) updateState() {
	c.todo.state = false
	fromFail := c.me.isPrimary() && c.state == wire.StateFail
	if fromFail && c.now-c.startedAt < writableDelay {
		return
	}
	state := wire.StateOK
	if c.cfg.RequireFullCoverage && !c.covered() {
		state = wire.StateFail
	}
	if c.reachable() < c.quorum() {
		state = wire.StateFail
		c.minorityAt = c.now
	}
	if state == c.state {
		return
	}
	delay := min(max(c.cfg.NodeTimeout, rejoinDelayMin), rejoinDelayMax)
	if fromFail && c.minorityAt != 0 && c.now-c.minorityAt < delay {
		return
	}
	c.setState(state)
}

func (c *Core) setState(state wire.State) {
	c.state = state
	if state == wire.StateOK {
		c.log(Info, "cluster state is ok")
	} else {
		c.log(Warn, "cluster state is fail")
	}
	c.out.routes = true
}

// covered tells whether every slot has an owner that has not failed.
func (c *Core) covered() bool {
	if c.assigned < slot.Count {
		return false
	}
	for _, n := range c.nodes {
		if n.owned > 0 && n.hasFailed() {
			return false
		}
	}
	return true
}

// reachable counts the primaries with slots that this node reaches, itself included.
func (c *Core) reachable() int {
	count := 0
	for _, n := range c.nodes {
		if n.isPrimary() && n.owned > 0 && !n.isSuspect() {
			count++
		}
	}
	return count
}

// sleepMin is the gap between two steps from which on this process must have slept (been stopped, or starved), in which
// case the time of the gap says nothing about others.
func (c *Core) sleepMin() clock.Millis { return max(c.cfg.NodeTimeout/4, 3*TickPeriod) }

// wake handles that this process did not run for gap. Pings that were outstanding get that time back. A primary that
// slept for longer than the node timeout may have been replaced, like one that comes back from a minority.
func (c *Core) wake(gap clock.Millis) {
	c.logAbout(Warn, "this process did not run for milliseconds", c.me.id, 0, int64(gap))
	for _, n := range c.nodes {
		if n.pingSent != 0 {
			n.pingSent = min(n.pingSent+gap, c.now)
		}
		n.createdAt = min(n.createdAt+gap, c.now)
		n.dataReceived = min(n.dataReceived+gap, c.now)
		n.claim = claim{}
	}
	if gap > c.cfg.NodeTimeout && c.me.isPrimary() && c.state == wire.StateOK {
		c.minorityAt = c.now
		c.setState(wire.StateFail)
	}
}
