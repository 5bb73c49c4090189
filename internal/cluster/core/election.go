package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds the election from the replica's side (spec: replica election and promotion); vote.go has the voters'.

const (
	electionDelay  clock.Millis = 500  // lets the news of the failure reach the voters
	electionJitter clock.Millis = 500  // random addition, so that replicas do not ask at once
	rankDelay      clock.Millis = 1000 // for each replica with a better claim
	// electionTimeoutMin is how long votes are waited for at least; an election that failed is tried again after twice
	// the timeout.
	electionTimeoutMin clock.Millis = 2000
)

// election is this replica's attempt to replace its primary. The zero value: none is planned.
type election struct {
	at    clock.Millis // when votes are (or were) asked for; 0 if no election is planned
	rank  int          // how many replicas had a better claim when at was last set
	sent  bool         // votes were asked for
	epoch wire.Epoch   // the epoch they were asked for in
	votes int          // how many came
}

// runElection takes the next step of an election if it is time for one. Every tick and every vote calls it.
func (c *Core) runElection() {
	if !c.mayStand() {
		return
	}
	e := &c.election
	timeout := max(2*c.cfg.NodeTimeout, electionTimeoutMin)
	if e.at == 0 || c.now-e.at > 2*timeout {
		c.planElection()
	}
	if !e.sent && c.manual.end == 0 {
		c.adjustRank()
	}
	switch {
	case c.now < e.at:
	case c.now-e.at > timeout: // too old for votes to count; the next one is planned later
	case !e.sent:
		c.askForVotes()
	case e.votes >= c.quorum():
		c.winElection()
	}
}

// ordered tells whether an operator ordered this replica to take over and it may begin.
func (c *Core) ordered() bool { return c.manual.end != 0 && c.manual.canStart }

// mayStand tells whether this node has to replace its primary: it is a replica, the primary serves slots and has failed,
// and the data is good enough; or an operator said so.
func (c *Core) mayStand() bool {
	p := c.me.primary
	if c.me.isPrimary() || p == nil || p.owned == 0 {
		return false
	}
	if c.ordered() {
		return true
	}
	return p.hasFailed() && !c.cfg.ReplicaNoFailover && c.dataGoodEnough()
}

// dataGoodEnough tells whether the data may replace the primary's: it is that of this shard, and not too old by
// cluster-replica-validity-factor. Data of unknown origin will do only where any age does.
func (c *Core) dataGoodEnough() bool {
	factor := clock.Millis(c.cfg.ReplicaValidityFactor)
	switch {
	case c.repl.data == dataForeign:
		return false
	case factor == 0:
		return true
	case c.repl.data == dataUnknown || c.repl.contact == 0:
		return false
	}
	age := c.now - c.repl.contact
	if age > c.cfg.NodeTimeout {
		age -= c.cfg.NodeTimeout // which it takes to notice the failure
	}
	return age <= c.cfg.ReplicaPingPeriod+c.cfg.NodeTimeout*factor
}

// planElection sets the time at which votes are asked for, and tells the other replicas of the shard our offset, by
// which they rank themselves.
func (c *Core) planElection() {
	e := &c.election
	*e = election{at: c.now, rank: c.rank()}
	if c.manual.end != 0 {
		e.rank = 0
	} else {
		e.at += electionDelay + clock.Millis(c.rng.below(int(electionJitter))) + clock.Millis(e.rank)*rankDelay
	}
	c.logAbout(Info, "election planned, rank", c.me.primary.id, c.currentEpoch, int64(e.rank))
	c.pongAll(c.isSibling)
}

// isSibling tells whether n is a replica of this replica's primary, or of this node.
func (c *Core) isSibling(n *node) bool {
	return n.isReplica() && n.primary != nil && (n.primary == c.me || n.primary == c.me.primary)
}

// rank counts the replicas with a better claim: a greater offset or, so that no two of them ask at once, the same offset
// and a lower name. Replicas that have failed or do not stand do not count.
func (c *Core) rank() int {
	rank := 0
	for _, r := range c.me.primary.replicas {
		if r == c.me || r.flags.Has(wire.FlagNoFailover|wire.FlagFail) {
			continue
		}
		if r.offset > c.repl.Offset || r.offset == c.repl.Offset && r.before(c.me) {
			rank++
		}
	}
	return rank
}

// adjustRank puts the election off when better replicas have turned up since it was planned.
func (c *Core) adjustRank() {
	e := &c.election
	rank := c.rank()
	if rank <= e.rank {
		return
	}
	e.at += clock.Millis(rank-e.rank) * rankDelay
	e.rank = rank
	c.logAbout(Info, "election put off: better replicas, rank", c.me.primary.id, c.currentEpoch, int64(rank))
}

// yield puts off an election that is planned because a sibling asks for votes right now.
func (c *Core) yield(sibling *node) {
	e := &c.election
	if sibling.primary != nil && sibling.primary == c.me.primary && e.at != 0 && !e.sent && c.manual.end == 0 {
		e.at = max(e.at, c.now+rankDelay)
		c.logNode(Debug, "election put off: a sibling asks for votes", sibling)
	}
}

// askForVotes opens an election in a new epoch, which is durable before anybody hears of it. A candidate counts as having
// voted in its own epoch: its primary, whose seat it takes if it wins, may have voted for somebody else in it, and a shard
// must not vote twice.
func (c *Core) askForVotes() {
	c.currentEpoch++
	c.lastVote = c.currentEpoch
	c.election.sent = true
	c.election.epoch = c.currentEpoch
	c.election.votes = 0
	c.logAbout(Info, "asking for votes", c.me.primary.id, c.currentEpoch, 0)
	c.save(saveSynced)
	p := c.newPacket(wire.TypeVoteRequest)
	if c.manual.end != 0 {
		p.MsgFlags |= wire.MsgForceAck
	}
	c.sendAll(c.allLinks(anyNode), p)
}

// onVote counts a vote: each primary with slots has one, for the election that runs.
func (c *Core) onVote(voter *node, p *wire.Packet) {
	e := &c.election
	if !e.sent || p.CurrentEpoch != e.epoch || !voter.isPrimary() || voter.owned == 0 || voter.voteEpoch == e.epoch {
		return
	}
	voter.voteEpoch = e.epoch
	e.votes++
	c.todo.election = true
}

// maybeLose ends an election whose epoch another primary has won. A voter has one vote an epoch, so none of the votes that
// are out will make a majority here; the next attempt is planned now and not when they are too old, which matters when
// several primaries fail at once.
func (c *Core) maybeLose(winner *node) {
	e := &c.election
	if !e.sent || winner.isReplica() || winner.configEpoch != e.epoch {
		return
	}
	c.logAbout(Info, "election lost to another shard", winner.id, e.epoch, int64(e.votes))
	c.election = election{}
	c.todo.election = true
}

// winElection takes over under the epoch of the election.
func (c *Core) winElection() {
	epoch := c.election.epoch
	c.logAbout(Info, "election won", c.me.primary.id, epoch, int64(c.election.votes))
	c.electedIn = epoch
	if c.me.configEpoch < epoch {
		c.me.configEpoch = epoch
	}
	c.lead()
}
