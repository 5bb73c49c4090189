package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds failure detection (spec: failure detection): one node's suspicion (PFAIL), the agreement of a majority
// of primaries (FAIL), and how both end.

const (
	// reportValidity is how long a report counts, in node timeouts.
	reportValidity = 2
	// failUndo is after how many node timeouts a primary that nobody replaced is taken back.
	failUndo = 2
)

// quorum is the number of primaries with slots that make a majority.
func (c *Core) quorum() int { return c.size/2 + 1 }

func (c *Core) setPFail(n *node) {
	if !n.flags.Has(wire.FlagPFail) {
		n.flags |= wire.FlagPFail
		c.pfails++
	}
}

func (c *Core) clearPFail(n *node) {
	if n.flags.Has(wire.FlagPFail) {
		n.flags &^= wire.FlagPFail
		c.pfails--
	}
}

// counts tells whether the opinion of n counts for a majority: that of primaries with slots, or of any primary while no
// slot has an owner.
func (c *Core) counts(n *node) bool { return n.isPrimary() && (n.owned > 0 || c.size == 0) }

// suspect notes that n does not answer.
func (c *Core) suspect(n *node) {
	if n.isSuspect() {
		return
	}
	c.setPFail(n)
	c.logNode(Debug, "node does not answer", n)
	c.todo.state = true
	c.save(saveSoon)
	c.maybeFail(n)
}

// reportFailure notes that a primary called n failing.
func (c *Core) reportFailure(n, by *node) {
	if n.reports == nil {
		n.reports = map[*node]clock.Millis{}
	}
	if _, known := n.reports[by]; !known {
		c.out.logs = append(c.out.logs, Log{Level: Debug, Text: "a primary does not reach the node", Node: n.id, By: by.id})
	}
	n.reports[by] = c.now
	c.maybeFail(n)
}

// dropReport takes back what by reported of n, and tells whether there was something.
func (n *node) dropReport(by *node) bool {
	if _, ok := n.reports[by]; !ok {
		return false
	}
	delete(n.reports, by)
	return true
}

// reportCount counts the reports about n that are still valid; the others go.
func (c *Core) reportCount(n *node) int {
	for by, at := range n.reports {
		if c.now-at > reportValidity*c.cfg.NodeTimeout {
			delete(n.reports, by)
		}
	}
	return len(n.reports)
}

// maybeFail marks n as failed if this node suspects it and a majority of the primaries does, and tells everybody.
func (c *Core) maybeFail(n *node) {
	if !n.flags.Has(wire.FlagPFail) || n.hasFailed() {
		return
	}
	needed := c.quorum()
	if c.counts(c.me) {
		needed-- // this node's own suspicion
	}
	if len(n.reports) < needed || c.reportCount(n) < needed {
		return
	}
	c.logNode(Info, "node has failed: a majority does not reach it", n)
	c.setFail(n)
	p := c.newPacket(wire.TypeFail)
	p.Fail = n.id
	c.sendAll(c.allLinks(anyNode), p)
}

func (c *Core) setFail(n *node) {
	c.clearPFail(n)
	n.flags |= wire.FlagFail
	n.failedAt = c.now
	c.todo.state = true
	c.todo.election = c.todo.election || c.me.primary == n
	c.save(saveSoon)
}

// onFail takes a member's word that a majority holds a node for failed.
func (c *Core) onFail(id wire.NodeID) {
	n := c.lookup(id)
	if n == nil || n == c.me || n.hasFailed() || n.inHandshake() {
		return
	}
	c.logNode(Info, "node has failed: told by another node", n)
	c.setFail(n)
}

// maybeClearFailure takes a failed node back that answers again: at once if it serves no slots; a primary only when it
// has had its slots for long enough that nobody seems to be going to replace it.
func (c *Core) maybeClearFailure(n *node) {
	serving := n.isPrimary() && n.owned > 0
	if serving && c.now-n.failedAt <= failUndo*c.cfg.NodeTimeout {
		return
	}
	c.logNode(Info, "failed node is reachable again", n)
	n.flags &^= wire.FlagFail
	c.todo.state = true
	c.save(saveSoon)
}
