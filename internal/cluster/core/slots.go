package core

import (
	"math/bits"

	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds who owns which slot, and how claims of others are merged (spec: hash slots configuration propagation):
// the claim with the highest configuration epoch wins.

// setOwner gives a slot to n, or to nobody if n is nil.
func (c *Core) setOwner(s slot.ID, n *node) {
	old := c.owners[s]
	if old == n {
		return
	}
	if old != nil {
		old.slots.Remove(s)
		if old.owned--; old.owned == 0 {
			c.size--
		}
		c.assigned--
		c.disowned.Remove(s)
		if old == c.me {
			delete(c.migrating, s)
		}
	}
	if c.owners[s] = n; n != nil {
		if n.slots == nil {
			n.slots = &slot.Set{}
		}
		n.slots.Add(s)
		if n.owned++; n.owned == 1 {
			c.size++
			c.firstSlot(n)
		}
		c.assigned++
	}
	c.touch(s)
	c.todo.state = true
}

// firstSlot marks a primary that has got its first slot as one that replicas may migrate to, if the cluster has any.
func (c *Core) firstSlot(n *node) {
	for _, other := range c.nodes {
		if len(other.replicas) > 0 {
			n.flags |= wire.FlagMigrateTo
			return
		}
	}
}

// disown leaves all slots of n without owner.
func (c *Core) disown(n *node) {
	if n.owned == 0 {
		return
	}
	for first, last := range n.slots.Ranges {
		for s := first; s <= last; s++ {
			c.setOwner(s, nil)
		}
	}
}

// unclaimed tells whether nobody claims a slot: it has no owner, or its owner has stopped to claim it.
func (c *Core) unclaimed(s slot.ID) bool { return c.owners[s] == nil || c.disowned.Has(s) }

// learnClaim compares the slots in a heartbeat with what this node knows, and corrects whichever of the two is behind.
func (c *Core) learnClaim(sender *node, p *wire.Packet) {
	leader := sender
	if sender.isReplica() {
		if leader = sender.primary; leader == nil {
			return
		}
	}
	if leader.slotSet().Equal(&p.Slots) {
		return
	}
	if sender.isPrimary() {
		c.mergeSlots(sender, p.ConfigEpoch, &p.Slots)
	}
	c.correct(sender, p)
}

// mergeSlots takes in that owner claims slots under a configuration epoch. This node, or its primary, may lose slots by
// that; with the last slot it loses its place in the shard and follows the new owner.
func (c *Core) mergeSlots(owner *node, epoch wire.Epoch, claimed *slot.Set) {
	if owner == c.me {
		return
	}
	leader, taken := c.me.leader(), 0
	var lost slot.Set
	for w, word := range claimed {
		held := owner.slotSet()[w]
		c.disowned[w] = c.disowned[w]&^(word&held) | held&^word
		for fresh := word &^ held; fresh != 0; fresh &= fresh - 1 {
			s := slot.ID(w<<6 + bits.TrailingZeros64(fresh))
			if !c.mayTake(s, owner, epoch) {
				continue
			}
			switch old := c.owners[s]; {
			case old == nil:
			case old == leader:
				taken++
				fallthrough
			case old == c.me:
				lost.Add(s)
			}
			c.setOwner(s, owner)
			c.save(saveSoonSync)
		}
	}
	if taken > 0 {
		c.afterLoss(owner, leader, taken, claimed, &lost)
	}
	c.leaveChain()
}

// mayTake tells whether a claim of owner under epoch beats what is known of the slot. A slot that this node is importing
// stays as it is until the operator says so, except that a replica which replaces the source takes its place.
func (c *Core) mayTake(s slot.ID, owner *node, epoch wire.Epoch) bool {
	if from := c.importing[s]; from != nil {
		old := c.owners[s]
		if old == nil || old != from || old.shard != owner.shard || old.configEpoch >= epoch {
			return false
		}
		c.importing[s] = owner
		return true
	}
	return c.unclaimed(s) || c.owners[s].configEpoch < epoch
}

// afterLoss decides what this node does after its leader (itself or its primary) has lost slots to owner.
func (c *Core) afterLoss(owner, leader *node, taken int, claimed, lost *slot.Set) {
	switch {
	case leader.owned == 0 && (c.cfg.AllowReplicaMigration || claimed.Len() == taken):
		heir := c.heir(owner)
		c.logNode(Info, "last slot lost: following the new owner", heir)
		c.follow(heir)
	case leader == c.me:
		for w := range lost {
			c.out.purge[w] |= lost[w]
		}
		c.save(saveNow)
	}
}

// heir is whom to follow when the last slot went to owner: whoever serves slots in this node's own shard, whose data it
// has, and only then owner. Slots of one node may go to several, and news of them come in any order.
func (c *Core) heir(owner *node) *node {
	heir := owner
	for _, n := range c.nodes {
		if n != c.me && n.isPrimary() && n.owned > 0 && n.shard == c.me.shard && !n.hasFailed() &&
			(heir.shard != n.shard || n.configEpoch > heir.configEpoch) {
			heir = n
		}
	}
	return heir
}

// chainMax bounds how many primaries up a chain of replicas is followed.
const chainMax = 8

// leaveChain makes a replica of a replica follow the primary at the head of the chain, once that is known to be one.
func (c *Core) leaveChain() {
	p := c.me.primary
	if p == nil || p.isPrimary() || p.primary == nil {
		return
	}
	head := p
	for range chainMax {
		if head = head.primary; head == nil || head == c.me {
			return
		}
		if head.isPrimary() {
			c.logNode(Info, "primary has become a replica: following its primary", head)
			c.follow(head)
			return
		}
	}
}

// correct tells a sender with an old claim who owns its slots now: one Update for each owner.
func (c *Core) correct(sender *node, p *wire.Packet) {
	to := sender.path()
	if to == nil {
		return
	}
	for w, word := range p.Slots {
		for ; word != 0; word &= word - 1 {
			s := slot.ID(w<<6 + bits.TrailingZeros64(word))
			owner := c.owners[s]
			if c.unclaimed(s) || owner == sender || owner.configEpoch <= p.ConfigEpoch || owner.updated == c.steps {
				continue
			}
			owner.updated = c.steps
			c.logNode(Debug, "node has an old claim: telling it of this owner", owner)
			c.sendUpdate(to, owner)
		}
	}
}

// sendUpdate tells of the slots of n, without those it no longer claims.
func (c *Core) sendUpdate(to *link, n *node) {
	p := c.newPacket(wire.TypeUpdate)
	p.Update.ConfigEpoch, p.Update.ID, p.Update.Slots = n.configEpoch, n.id, *n.slotSet()
	for w := range p.Update.Slots {
		p.Update.Slots[w] &^= c.disowned[w]
	}
	c.send(to, p)
}

// onUpdate takes a member's word on what another node owns.
func (c *Core) onUpdate(u *wire.Update) {
	n := c.lookup(u.ID)
	if n != nil && !n.inHandshake() {
		c.learnUpdate(n, u.ConfigEpoch, &u.Slots)
	}
}

// learnUpdate takes in what n is said to own under an epoch, if that is newer than what is known of n. What this node
// owns itself it knows best.
func (c *Core) learnUpdate(n *node, epoch wire.Epoch, slots *slot.Set) {
	if n == c.me || n.configEpoch >= epoch {
		return
	}
	c.makePrimary(n)
	n.configEpoch = epoch
	c.save(saveSoonSync)
	c.mergeSlots(n, epoch, slots)
}

// dropMoves ends all moves of slots to or from n.
func (c *Core) dropMoves(n *node) {
	for _, moves := range []map[slot.ID]*node{c.migrating, c.importing} {
		for s, other := range moves {
			if other == n {
				delete(moves, s)
				c.touch(s)
			}
		}
	}
}

// closeMoves ends all moves of slots.
func (c *Core) closeMoves() {
	for _, moves := range []map[slot.ID]*node{c.migrating, c.importing} {
		for s := range moves {
			c.touch(s)
		}
		clear(moves)
	}
}

// onLoaded makes slots and data agree after a start (see Loaded).
func (c *Core) onLoaded(keys *slot.Set) {
	if !c.me.isPrimary() {
		return // the stream of the primary decides
	}
	for first, last := range keys.Ranges {
		for s := first; s <= last; s++ {
			c.adopt(s)
		}
	}
}

// adopt finds an explanation for keys in slot s.
func (c *Core) adopt(s slot.ID) {
	owner := c.owners[s]
	if owner == c.me || c.importing[s] != nil {
		return
	}
	if owner == nil {
		c.logAbout(Info, "keys in a slot without owner: taking the slot", c.me.id, 0, int64(s))
		c.setOwner(s, c.me)
	} else {
		c.logAbout(Info, "keys in a slot of another node: marking it as importing", owner.id, 0, int64(s))
		c.importing[s] = owner
		c.touch(s)
	}
	c.save(saveSynced)
}
