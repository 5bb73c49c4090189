package sim

import (
	"math/bits"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds what must be true at every moment of a run, whatever goes wrong in the world.

// safety watches a world.
type safety struct {
	w *world
	// winners says who won the election of each epoch.
	winners map[wire.Epoch]wire.NodeID
	// voted says whom each node gave its vote in each epoch, across restarts.
	voted map[ballot]*node
	// dirty are nodes that have stepped since the last check.
	dirty []*node
	// announced is the highest configuration epoch under which each node has claimed slots. What it claimed must be on its
	// disk.
	announced map[wire.NodeID]wire.Epoch
	// rivals are pairs of nodes that both accept writes for a slot, and since when they could have known better.
	rivals map[[2]int]instant
	// servers counts the nodes that serve each slot, shared the slots that more than one serves.
	servers [slot.Count]uint8
	shared  int
	// forced says that an operator made a primary without a vote. From then on there may be one more primary on one side of
	// a cut than the other side knows of, and both sides a majority: that is what TAKEOVER means.
	forced bool
	// votesCast and elections count, for the report.
	votesCast, elections int
}

// ballot is one node's vote of one epoch.
type ballot struct {
	voter wire.NodeID
	epoch wire.Epoch
}

func (s *safety) init(w *world) {
	s.w = w
	s.winners = map[wire.Epoch]wire.NodeID{}
	s.voted = map[ballot]*node{}
	s.rivals = map[[2]int]instant{}
	s.announced = map[wire.NodeID]wire.Epoch{}
}

// claims notes that a primary tells others its epoch.
func (s *safety) claims(id wire.NodeID, epoch wire.Epoch) {
	s.announced[id] = max(s.announced[id], epoch)
}

// starts looks whether a node that starts still knows what it has told others.
func (s *safety) starts(n *node) {
	if v := n.core.View(); v.Me().Flags.Has(wire.FlagPrimary) && v.Me().ConfigEpoch < s.announced[n.id] {
		s.w.fail("node %s starts with epoch %d but has told others %d", n.name(), v.Me().ConfigEpoch, s.announced[n.id])
	}
}

// votes notes a vote that leaves: a node has one an epoch.
func (s *safety) votes(voter, candidate *node, epoch wire.Epoch) {
	s.votesCast++
	key := ballot{voter.id, epoch}
	if before := s.voted[key]; before != nil && before != candidate {
		s.w.fail("node %s votes for %s and %s in epoch %d", voter.name(), before.name(), candidate.name(), epoch)
	}
	s.voted[key] = candidate
}

// leads notes a node that becomes primary: an epoch has one winner, who got a majority.
func (s *safety) leads(n *node, e core.Lead) {
	s.w.trace.event(n, "becomes primary epoch=%d", e.Epoch)
	if !e.Elected {
		s.forced = true
		return
	}
	s.elections++
	if before, ok := s.winners[e.Epoch]; ok && before != n.id && !s.forced {
		s.w.fail("two nodes win the election of epoch %d: %s and %s", e.Epoch, before, n.id)
	}
	s.winners[e.Epoch] = n.id
}

func (s *safety) stepped(n *node) {
	if len(s.dirty) == 0 || s.dirty[len(s.dirty)-1] != n {
		s.dirty = append(s.dirty, n)
	}
}

// grace is how long two nodes that can talk to each other may both accept writes for a slot: until news of the new owner
// has reached the old one.
func (s *safety) grace() instant { return s.w.timeout + second }

// serve notes which slots a node serves from now on.
func (s *safety) serve(n *node, set slot.Set) {
	for w := range set {
		for word := set[w] ^ n.serving[w]; word != 0; word &= word - 1 {
			at := w<<6 + bits.TrailingZeros64(word)
			if set[w]>>(at&63)&1 != 0 {
				if s.servers[at]++; s.servers[at] == 2 {
					s.shared++
				}
			} else {
				if s.servers[at]--; s.servers[at] == 1 {
					s.shared--
				}
			}
		}
	}
	n.serving = set
}

// check runs after every event.
func (s *safety) check() {
	if s.shared == 0 {
		clear(s.rivals)
		s.dirty = s.dirty[:0]
		return
	}
	for _, n := range s.dirty {
		for _, other := range s.w.nodes {
			if other != n {
				s.compare(n, other)
			}
		}
	}
	s.dirty = s.dirty[:0]
}

// isStranger says that the node does not know the other one: it was told to forget it, and hears nothing from it.
func (n *node) isStranger(other *node) bool { return n.alive && !n.core.Knows(other.id) }

// compare looks whether two nodes both accept writes for a slot.
func (s *safety) compare(a, b *node) {
	if a.index > b.index {
		a, b = b, a
	}
	pair := [2]int{a.index, b.index}
	where, both := sharedSlot(a, b)
	if !both || s.w.net.apart(a, b) || a.isStranger(b) || b.isStranger(a) {
		delete(s.rivals, pair)
		return
	}
	since, known := s.rivals[pair]
	if !known {
		s.rivals[pair] = s.w.now
		return
	}
	if since = max(since, s.w.net.changed); s.w.now-since > s.grace() {
		s.w.fail("nodes %s and %s have both accepted writes to slot %d for %s", a.name(), b.name(), where, s.w.now-since)
	}
}

// sharedSlot finds a slot for which both nodes accept writes.
func sharedSlot(a, b *node) (slot.ID, bool) {
	for w, word := range a.serving {
		for word &= b.serving[w]; word != 0; word &= word - 1 {
			if s := slot.ID(w<<6 + bits.TrailingZeros64(word)); a.accepts(s) && b.accepts(s) {
				return s, true
			}
		}
	}
	return 0, false
}
