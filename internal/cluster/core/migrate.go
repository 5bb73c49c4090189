package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds replica migration (spec: replica migration): a replica of the best covered primary moves to one that
// has lost its last replica.

// orphanedFor is how long a primary must be without replica before one moves to it: after a failover the old primary's
// replicas need some time to say that they follow the new one.
const orphanedFor clock.Millis = 5000

// census is what a tick counts for replica migration.
type census struct {
	orphans int // primaries with slots whose replicas have all failed
	most    int // working replicas of the best covered primary
	mine    int // working replicas of this node's primary
}

// count takes one primary into the census.
func (s *census) count(n, mine *node) {
	working := n.working()
	if working == 0 && n.owned > 0 && n.flags.Has(wire.FlagMigrateTo) {
		s.orphans++
	}
	s.most = max(s.most, working)
	if n == mine {
		s.mine = working
	}
}

// maybeMigrate moves this replica to an orphaned primary if it is the one that should go.
func (c *Core) maybeMigrate(s *census) {
	if s.orphans == 0 || s.most < 2 || s.mine != s.most || !c.cfg.AllowReplicaMigration || c.state != wire.StateOK {
		return
	}
	p := c.me.primary
	if p == nil || c.spareReplicas(p) <= c.cfg.MigrationBarrier {
		return
	}
	target, goes := c.findOrphan(s.most)
	if target != nil && goes == c.me && c.now-target.orphanedAt > orphanedFor {
		c.logNode(Info, "migrating to a primary without replicas", target)
		c.follow(target)
	}
}

// spareReplicas counts the replicas of p that answer.
func (c *Core) spareReplicas(p *node) int {
	count := 0
	for _, r := range p.replicas {
		if !r.isSuspect() {
			count++
		}
	}
	return count
}

// findOrphan finds the primary to move to, and which replica goes: of the replicas of all primaries with the most, the
// one with the lowest name. It keeps account of how long each primary has been an orphan.
func (c *Core) findOrphan(most int) (target, goes *node) {
	goes = c.me
	for _, n := range c.nodes {
		working := 0
		if n.isPrimary() {
			working = n.working()
		}
		if !n.isPrimary() || n.hasFailed() || working > 0 || !n.flags.Has(wire.FlagMigrateTo) {
			n.orphanedAt = 0
		} else {
			if n.orphanedAt == 0 {
				n.orphanedAt = c.now
			}
			if n.owned > 0 && (target == nil || n.before(target)) {
				target = n
			}
		}
		if working != most {
			continue
		}
		for _, r := range n.replicas {
			if !r.hasFailed() && r.before(goes) {
				goes = r
			}
		}
	}
	return target, goes
}
