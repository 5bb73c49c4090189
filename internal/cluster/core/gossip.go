package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds the gossip section of heartbeats (spec: gossip): a sample of what this node knows of others, and what
// others say.

const (
	// gossipMin and gossipShare give the size of the sample: a tenth of the nodes but at least three. With a tenth, each
	// node hears within twice the node timeout from most primaries about any one node.
	gossipMin, gossipShare = 3, 10
	// gossipTries bounds how often a node is picked at random for each entry wanted.
	gossipTries = 3
	// gossipMax bounds the entries of one packet; the count field could say more, but the packet must stay below the
	// limit for control packets.
	gossipMax = 4096
	// pongAhead is how far in the future another node's clock may put a pong.
	pongAhead clock.Millis = 500
)

// addGossip puts a sample of the nodes into p, and every node that may have failed, so that reports meet quickly.
func (c *Core) addGossip(p *wire.Packet) {
	c.gossipRound++
	fresh := len(c.nodes) - 2 // neither this node nor the receiver is of use
	wanted := min(max(len(c.nodes)/gossipShare, gossipMin), fresh, gossipMax)
	for tries := gossipTries * wanted; fresh > 0 && len(p.Gossip) < wanted && tries > 0; tries-- {
		n := c.nodes[c.rng.below(len(c.nodes))]
		if n == c.me || n.flags.Has(wire.FlagPFail) || n.gossiped == c.gossipRound {
			continue
		}
		fresh--
		if n.inHandshake() || !n.hasAddress() || n.link == nil && n.owned == 0 {
			continue
		}
		c.addEntry(p, n)
	}
	if c.pfails == 0 {
		return
	}
	for _, n := range c.nodes {
		if n.flags.Has(wire.FlagPFail) && !n.inHandshake() && len(p.Gossip) < gossipMax {
			c.addEntry(p, n)
		}
	}
}

func (c *Core) addEntry(p *wire.Packet, n *node) {
	n.gossiped = c.gossipRound
	g := wire.Gossip{
		ID:           n.id,
		PingSent:     uint32(n.pingSent / 1000),
		PongReceived: uint32(n.pongReceived / 1000),
		IP:           n.ip,
		Port:         n.tcpPort,
		SecondPort:   n.tlsPort,
		BusPort:      n.busPort,
		Flags:        n.flags,
	}
	if c.cfg.TLSCluster {
		g.Port, g.SecondPort = g.SecondPort, g.Port
	}
	p.Gossip = append(p.Gossip, g)
}

// mergeGossip takes in what a member says of others.
func (c *Core) mergeGossip(sender *node, entries []wire.Gossip) {
	for i := range entries {
		g := &entries[i]
		switch n := c.lookup(g.ID); {
		case n == nil:
			c.learnNode(g)
		case n != c.me && n != sender && !n.inHandshake():
			c.hearOf(sender, n, g)
		}
	}
}

// hearOf takes in what sender says of a node that is known.
func (c *Core) hearOf(sender, n *node, g *wire.Gossip) {
	bad := g.Flags.Has(wire.FlagFail | wire.FlagPFail)
	if bad {
		if c.counts(sender) {
			c.reportFailure(n, sender)
		}
		return
	}
	if n.dropReport(sender) {
		c.logNode(Debug, "a primary reaches the node again", n)
	}
	if n.pingSent == 0 && c.reportCount(n) == 0 {
		if pong := clock.Millis(g.PongReceived) * 1000; pong > n.pongReceived && pong <= c.now+pongAhead {
			n.pongReceived = pong
		}
	}
	// A node that we cannot reach but the sender can may have moved.
	if (n.isSuspect() || !n.hasAddress()) && !g.Flags.Has(wire.FlagNoAddr) {
		c.moveNode(n, g)
	}
}

// learnNode adds a node that a member told of under its own name. Names that no node can have made for itself are not
// believed, nor are nodes that were forgotten a moment ago. Whether it has failed is told by its flag; whether it may
// have, this node finds out itself.
func (c *Core) learnNode(g *wire.Gossip) {
	if g.Flags.Has(wire.FlagNoAddr|wire.FlagHandshake) || g.IP.IsZero() || g.BusPort == 0 || !g.ID.IsHex() ||
		c.isForgotten(g.ID) || len(c.nodes) >= nodesMax {
		return
	}
	const kept = wire.FlagPrimary | wire.FlagReplica | wire.FlagFail | wire.FlagMigrateTo | wire.FlagNoFailover
	flags := g.Flags & kept
	if flags.Has(wire.FlagPrimary) {
		flags &^= wire.FlagReplica
	}
	n := c.addNode(g.ID, flags)
	if n.hasFailed() {
		n.failedAt = c.now
	}
	c.moveNode(n, g)
}
