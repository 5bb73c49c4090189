package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file holds the election from the voter's side (spec: masters reply to replica vote request).

// voteSpacing is how long a voter does not vote again about the same primary, in node timeouts. It gives the winner time
// to tell everybody.
const voteSpacing = 2

// onVoteRequest votes for a replica that wants to replace its primary, if it may.
func (c *Core) onVoteRequest(candidate *node, p *wire.Packet) {
	c.yield(candidate)
	if !c.me.isPrimary() || c.me.owned == 0 {
		return // no right to vote
	}
	if why := c.refusal(candidate, p); why != "" {
		c.logAbout(Debug, why, candidate.id, p.CurrentEpoch, 0)
		return
	}
	to := candidate.path()
	if to == nil {
		return // the vote would be lost
	}
	c.lastVote = c.currentEpoch
	candidate.primary.votedAt = c.now
	c.save(saveSynced)
	c.logAbout(Info, "vote granted", candidate.id, c.currentEpoch, 0)
	c.send(to, c.newPacket(wire.TypeVote))
}

// refusal says why a candidate does not get the vote, "" if it does. The request has raised our current epoch already if
// its own was higher.
func (c *Core) refusal(candidate *node, p *wire.Packet) string {
	primary := candidate.primary
	switch {
	case p.CurrentEpoch < c.currentEpoch:
		return "vote refused: the epoch is over"
	case c.lastVote >= c.currentEpoch:
		return "vote refused: already voted in this epoch"
	case candidate.isPrimary():
		return "vote refused: the candidate is a primary"
	case primary == nil:
		return "vote refused: the primary of the candidate is unknown"
	case !primary.hasFailed() && p.MsgFlags&wire.MsgForceAck == 0:
		return "vote refused: the primary is up"
	case primary.votedAt != 0 && c.now-primary.votedAt < voteSpacing*c.cfg.NodeTimeout:
		return "vote refused: voted about this primary a moment ago"
	case c.claimIsOld(p):
		return "vote refused: a slot has an owner with a higher epoch"
	}
	return ""
}

// claimIsOld tells whether a slot the candidate wants is served under a higher epoch than the candidate knows of.
func (c *Core) claimIsOld(p *wire.Packet) bool {
	for first, last := range p.Slots.Ranges {
		for s := first; s <= last; s++ {
			if !c.unclaimed(s) && c.owners[s].configEpoch > p.ConfigEpoch {
				return true
			}
		}
	}
	return false
}
