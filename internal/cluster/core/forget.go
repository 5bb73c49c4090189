package core

import (
	"slices"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds how nodes are removed: CLUSTER FORGET, which heartbeats carry on to the other nodes, and the time in
// which gossip cannot bring a forgotten node back.

// forgottenFor is how long a forgotten node is not added again, time enough to tell all nodes to forget it.
const forgottenFor clock.Millis = 60000

// forgottenMax bounds the list, which every heartbeat carries at 56 bytes an entry; the oldest go first.
const forgottenMax = 512

type forgotten struct {
	id    wire.NodeID
	until clock.Millis
}

// forget removes n and keeps it out until then.
func (c *Core) forget(n *node, until clock.Millis) {
	c.forgotten = slices.DeleteFunc(c.forgotten, func(f forgotten) bool { return f.id == n.id || f.until <= c.now })
	if len(c.forgotten) >= forgottenMax {
		c.forgotten = slices.Delete(c.forgotten, 0, 1)
	}
	c.forgotten = append(c.forgotten, forgotten{id: n.id, until: until})
	c.logNode(Info, "node forgotten", n)
	c.dropNode(n)
}

// forgetAsTold does what another node was told. Neither this node, nor its primary, nor the one who says so is forgotten.
func (c *Core) forgetAsTold(sender *node, f *wire.Forgotten) {
	n := c.lookup(f.ID)
	if n == nil || n == c.me || n == sender || c.me.primary == n {
		return
	}
	ttl := clock.Millis(min(f.TTLSeconds, uint64(forgottenFor/1000))) * 1000
	c.forget(n, c.now+ttl)
	c.save(saveSoon)
}

// isForgotten tells whether a node must not be added.
func (c *Core) isForgotten(id wire.NodeID) bool {
	for i := range c.forgotten {
		if c.forgotten[i].id == id && c.forgotten[i].until > c.now {
			return true
		}
	}
	return false
}
