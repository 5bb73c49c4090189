package sim

import (
	"fmt"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds what must become true once the world is left in peace: everybody agrees, no slot is lost, every replica
// follows a primary.

// unstable says why the live nodes have not settled, "" if they have.
func (w *world) unstable() string {
	var first *core.View
	for _, n := range w.nodes {
		if !n.takesPart() {
			continue
		}
		if n.core.State() != wire.StateOK {
			return fmt.Sprintf("the cluster state of node %s is %s", n.name(), n.core.State())
		}
		v := n.core.View()
		if why := w.unsettled(n, v); why != "" {
			return why
		}
		if first == nil {
			first = v
		}
		if why := w.disagree(n, first, v); why != "" {
			return why
		}
	}
	if first == nil {
		return "no node is alive"
	}
	return w.badEpochs(first)
}

// takesPart tells whether a node is one of those that have to agree.
func (n *node) takesPart() bool { return n.alive && !n.frozen && !n.spare && !n.gone }

// unsettled says what in one node's view is still on the move.
func (w *world) unsettled(n *node, v *core.View) string {
	for i := range v.Nodes {
		other := &v.Nodes[i]
		peer := w.byID(other.ID)
		switch {
		case other.Flags.Has(wire.FlagHandshake):
			return fmt.Sprintf("node %s is still in a handshake", n.name())
		case peer == nil || !peer.takesPart():
			if other.Slots > 0 {
				return fmt.Sprintf("node %s gives slots to %s, which is down", n.name(), w.nameOf(other.ID))
			}
		case other.Flags.Has(wire.FlagFail | wire.FlagPFail | wire.FlagNoAddr):
			return fmt.Sprintf("node %s sees node %s as %s", n.name(), peer.name(), other.Flags)
		case other.IP.String() != peer.host && (peer != n || !other.IP.IsZero()):
			return fmt.Sprintf("node %s has an old address of node %s", n.name(), peer.name())
		}
	}
	me := v.Me()
	if me.Primary < 0 {
		return ""
	}
	primary := &v.Nodes[me.Primary]
	if !primary.Flags.Has(wire.FlagPrimary) {
		return fmt.Sprintf("node %s follows a replica", n.name())
	}
	if !n.data.up || n.data.primary != primary.ID {
		return fmt.Sprintf("node %s is not synchronised", n.name())
	}
	return ""
}

// disagree says in what the view of a node differs from that of the first.
func (w *world) disagree(n *node, first, v *core.View) string {
	for s := range slot.ID(slot.Count) {
		a, b := first.OwnerOf(s), v.OwnerOf(s)
		switch {
		case a == nil && b == nil:
			if w.everySlot {
				return fmt.Sprintf("slot %d has no owner", s)
			}
		case a == nil || b == nil || a.ID != b.ID:
			return fmt.Sprintf("node %s sees another owner of slot %d than the first node", n.name(), s)
		case a.ConfigEpoch != b.ConfigEpoch:
			return fmt.Sprintf("node %s sees another epoch of the owner of slot %d", n.name(), s)
		}
	}
	for _, peer := range w.nodes {
		if peer.takesPart() && find(v, peer.id) == nil {
			return fmt.Sprintf("node %s does not know node %s", n.name(), peer.name())
		}
	}
	return ""
}

func find(v *core.View, id wire.NodeID) *core.NodeView {
	for i := range v.Nodes {
		if v.Nodes[i].ID == id {
			return &v.Nodes[i]
		}
	}
	return nil
}

// badEpochs says which two primaries with slots have the same epoch.
func (w *world) badEpochs(v *core.View) string {
	seen := map[wire.Epoch]int{}
	for i := range v.Nodes {
		if n := &v.Nodes[i]; n.Slots > 0 {
			if other, ok := seen[n.ConfigEpoch]; ok {
				return fmt.Sprintf("nodes %s and %s have the same epoch", w.nameOf(v.Nodes[other].ID), w.nameOf(n.ID))
			}
			seen[n.ConfigEpoch] = i
		}
	}
	return ""
}
