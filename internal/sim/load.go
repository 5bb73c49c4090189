package sim

import (
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the clients: they write to slots, follow redirections, and remember what was acknowledged.

// load is a steady stream of writes.
type load struct {
	w *world
	// every is the time between writes, 0 for none; round invalidates what an earlier setting has planned.
	every instant
	round int
	// next is the last value written. Values only grow, so the newest of two is known.
	next uint64
	// acked is the last acknowledged write of each slot, refused counts writes that nobody took.
	acked   map[slot.ID]uint64
	taken   int
	refused int
}

// loadSlots is how many slots the clients write to; they are spread over all.
const loadSlots = 64

// hopsMax is how often a client follows a redirection.
const hopsMax = 5

// start lets clients write once per span; 0 stops them.
func (l *load) start(every instant) {
	if l.acked == nil {
		l.acked = map[slot.ID]uint64{}
	}
	l.every = every
	l.round++
	if every > 0 {
		l.plan(l.round)
	}
}

func (l *load) plan(round int) {
	l.w.after(l.every, func() {
		if l.round == round {
			l.writeOne()
			l.plan(round)
		}
	})
}

// writeOne writes to a slot, beginning at any node and following redirections.
func (l *load) writeOne() {
	s := slot.ID(l.w.rng.IntN(loadSlots) * (slot.Count / loadSlots))
	n := l.w.nodes[l.w.rng.IntN(len(l.w.nodes))]
	asking := false
	for range hopsMax {
		if n == nil || !n.alive || n.frozen || n.paused {
			break
		}
		if n.accepts(s) || asking && n.imports(s) {
			l.next++
			n.data.write(s, l.next)
			n.data.tell()
			l.acked[s] = l.next
			l.taken++
			return
		}
		from := n
		if n, asking = n.redirect(s); n == nil || l.w.net.apart(from, n) {
			break
		}
	}
	l.refused++
}

// imports tells whether the node takes writes to a slot that is moving to it.
func (n *node) imports(s slot.ID) bool {
	_, from := n.core.Moving(s)
	return !from.IsZero() && n.core.State() == wire.StateOK
}

// redirect is where a node sends a client that wants a slot, and whether it said ASK.
func (n *node) redirect(s slot.ID) (*node, bool) {
	if to, _ := n.core.Moving(s); !to.IsZero() && n.serving.Has(s) {
		return n.w.byID(to), true
	}
	if n.core.State() != wire.StateOK {
		return nil, false
	}
	owner := n.core.Owner(s)
	if owner == n.id {
		return nil, false
	}
	return n.w.byID(owner), false
}

func (w *world) byID(id wire.NodeID) *node {
	for _, n := range w.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// lost counts the slots whose owner no longer has the last acknowledged write.
func (l *load) lost() int {
	lost := 0
	for s, value := range l.acked {
		if owner := l.w.ownerOf(s); owner == nil || owner.data.values[s] < value {
			lost++
		}
	}
	return lost
}

// ownerOf is the node that accepts writes to a slot, nil if none does.
func (w *world) ownerOf(s slot.ID) *node {
	for _, n := range w.nodes {
		if n.alive && n.serving.Has(s) {
			return n
		}
	}
	return nil
}

var _ core.KeyCounts = (*data)(nil)
