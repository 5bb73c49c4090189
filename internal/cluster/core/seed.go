package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file holds the use of seed addresses: a new node joins through them, and a cluster whose nodes all came back under
// other addresses finds itself again.

// seedsMax bounds the list.
const seedsMax = 256

func (c *Core) onSeeds(list []Address) {
	c.seeds = append(c.seeds[:0], list[:min(len(list), seedsMax)]...)
}

// lookAtSeeds meets the nodes at the seeds if this node knows no other. If it knows some but does not reach all, it asks
// at the seeds who is there: a ping, which adds nobody, but tells each side the other's address if they know each other.
func (c *Core) lookAtSeeds() {
	if len(c.seeds) == 0 {
		return
	}
	alone := len(c.nodes) == 1
	if !alone && !c.missesNodes() {
		return
	}
	for _, a := range c.seeds {
		if a.Host == c.me.ip && a.BusPort == c.me.busPort || c.reaches(a) {
			continue
		}
		if alone {
			c.startHandshake(a, 0, wire.FlagMeet)
		} else {
			c.probe(a)
		}
	}
}

// missesNodes tells whether there is a member that this node cannot reach.
func (c *Core) missesNodes() bool {
	for _, n := range c.nodes {
		if n != c.me && !n.inHandshake() && (n.isSuspect() || !n.hasAddress() || n.link == nil) {
			return true
		}
	}
	return false
}

// reaches tells whether a member with a working link has this address.
func (c *Core) reaches(a Address) bool {
	for _, n := range c.nodes {
		if n.ip == a.Host && n.busPort == a.BusPort && n.link != nil && n.link.up && !n.isSuspect() {
			return true
		}
	}
	return false
}
