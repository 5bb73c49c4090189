package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file holds the configuration epoch of this node: the rank of its claims.

// maxEpoch is the highest epoch this node knows of.
func (c *Core) maxEpoch() wire.Epoch {
	highest := c.currentEpoch
	for _, n := range c.nodes {
		highest = max(highest, n.configEpoch)
	}
	return highest
}

// bumpEpoch gives this node the highest epoch of all without asking anybody, and tells whether that was needed. It is
// for what an operator orders; if two nodes do so at once, resolveCollision parts them.
func (c *Core) bumpEpoch() bool {
	highest := c.maxEpoch()
	if c.me.configEpoch != 0 && c.me.configEpoch == highest {
		return false
	}
	c.currentEpoch = highest + 1
	c.setEpoch(c.currentEpoch)
	return true
}

// setEpoch makes e the configuration epoch of this node. Nothing leaves before it is durable.
func (c *Core) setEpoch(e wire.Epoch) {
	c.me.configEpoch = e
	c.logAbout(Info, "configuration epoch set", c.me.id, e, 0)
	c.save(saveSynced)
}

// resolveCollision parts two primaries with the same epoch: the one with the lower name takes a new epoch (spec:
// configEpoch conflicts resolution algorithm).
func (c *Core) resolveCollision(other *node) {
	if !c.me.before(other) {
		return
	}
	c.logAbout(Info, "epoch collides with that of another primary", other.id, c.me.configEpoch, 0)
	c.currentEpoch = c.maxEpoch() + 1
	c.setEpoch(c.currentEpoch)
}
