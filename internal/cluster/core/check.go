package core

import (
	"errors"
	"fmt"

	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds what must be true after every step. It runs in builds with the tag invariants.

func (c *Core) check() error {
	for _, err := range []error{c.checkSlots(), c.checkTable()} {
		if err != nil {
			return err
		}
	}
	if c.me.isReplica() && c.me.owned > 0 {
		return errors.New("a replica owns slots")
	}
	if c.me.configEpoch > c.currentEpoch || c.lastVote > c.currentEpoch {
		return fmt.Errorf("epochs: own %d, vote %d, current %d", c.me.configEpoch, c.lastVote, c.currentEpoch)
	}
	return nil
}

// checkSlots compares the two forms of ownership.
func (c *Core) checkSlots() error {
	assigned, size := 0, 0
	for s, n := range &c.owners {
		if n == nil {
			if c.disowned[s>>6]>>(s&63)&1 != 0 {
				return fmt.Errorf("slot %d is disowned without owner", s)
			}
			continue
		}
		assigned++
		if c.byID[n.id] != n || n.slots[s>>6]>>(s&63)&1 == 0 {
			return fmt.Errorf("slot %d belongs to a node that does not know", s)
		}
	}
	total := 0
	for _, n := range c.nodes {
		total += n.owned
		if n.owned > 0 {
			size++
		}
		if n.slotSet().Len() != n.owned {
			return fmt.Errorf("node %s owns %d slots, counts %d", n.id, n.slotSet().Len(), n.owned)
		}
	}
	if assigned != c.assigned || total != assigned || size != c.size {
		return fmt.Errorf("%d slots assigned, %d counted, %d at nodes; size %d, %d counted", assigned, c.assigned, total, size, c.size)
	}
	return nil
}

// checkTable compares the table of nodes with the links and with itself.
func (c *Core) checkTable() error {
	pfails, handshakes := 0, 0
	for i, n := range c.nodes {
		if n.place != i || c.byID[n.id] != n {
			return fmt.Errorf("node %s is not where it says", n.id)
		}
		if n.flags.Has(wire.FlagPFail) {
			pfails++
		}
		if n.inHandshake() {
			handshakes++
		}
		for _, r := range n.replicas {
			if r.primary != n || c.byID[r.id] != r {
				return fmt.Errorf("replica %s does not know its primary", r.id)
			}
		}
		for _, l := range [...]*link{n.link, n.inbound} {
			if l != nil && (c.links[l.id] != l || l.node != n) {
				return fmt.Errorf("node %s has a link that is not its own", n.id)
			}
		}
		if n.isPrimary() == n.isReplica() && !n.inHandshake() || n.isPrimary() && n.primary != nil {
			return fmt.Errorf("node %s has the role %s", n.id, n.flags)
		}
	}
	if len(c.byID) != len(c.nodes) || pfails != c.pfails || handshakes != c.handshakes {
		return fmt.Errorf("%d nodes, %d names, %d of %d may have failed, %d of %d in handshake", len(c.nodes), len(c.byID),
			c.pfails, pfails, c.handshakes, handshakes)
	}
	return nil
}
