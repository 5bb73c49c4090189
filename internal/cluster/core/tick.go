package core

import (
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds what happens every TickPeriod.

const (
	// ticksPerRandomPing makes one ping a second to a node picked at random, whatever the node timeout.
	ticksPerRandomPing = 10
	// randomPicks is how many nodes are looked at for that ping; the one with the oldest pong gets it.
	randomPicks = 5
)

func (c *Core) tick() {
	c.ticks++
	c.out.flushLater()
	for i := len(c.nodes) - 1; i >= 0; i-- { // downwards: dropping a node moves the last into its place
		c.tendLink(c.nodes[i])
	}
	if c.ticks%ticksPerRandomPing == 0 {
		c.pingOldest()
		c.lookAtSeeds()
	}
	var s census
	for _, n := range c.nodes {
		if n == c.me || n.inHandshake() {
			continue
		}
		if c.me.isReplica() && n.isPrimary() && !n.hasFailed() {
			s.count(n, c.me.primary)
		}
		c.tend(n)
	}
	c.checkManual()
	if c.me.isReplica() {
		c.leaveChain()
		c.advanceManual()
		c.runElection()
		if c.me.isReplica() {
			c.maybeMigrate(&s)
		}
	}
	if c.state == wire.StateFail {
		c.todo.state = true
	}
}

// tendLink opens a link to n if there is none, and gives up a handshake that takes too long.
func (c *Core) tendLink(n *node) {
	if n == c.me {
		return
	}
	if n.inHandshake() && c.now-n.createdAt > c.handshakeTimeout() {
		c.logNode(Debug, "handshake timed out", n)
		c.dropNode(n)
		return
	}
	if n.link == nil && n.hasAddress() && c.now >= n.retryAt {
		c.connect(n)
	}
}

// pingOldest pings the node with the oldest pong out of a few.
func (c *Core) pingOldest() {
	var oldest *node
	for range randomPicks {
		n := c.nodes[c.rng.below(len(c.nodes))]
		if n == c.me || n.inHandshake() || n.link == nil || !n.link.up || n.pingSent != 0 {
			continue
		}
		if oldest == nil || n.pongReceived < oldest.pongReceived {
			oldest = n
		}
	}
	if oldest != nil {
		c.ping(oldest, wire.TypePing)
	}
}

// tend pings n if it is time, drops a link on which nothing comes, and suspects n if it does not answer.
func (c *Core) tend(n *node) {
	timeout := c.cfg.NodeTimeout
	c.maybeBelieve(n)
	c.dropDeadLink(n)
	if n.pingSent == 0 && c.now-n.pongReceived > c.cfg.pingInterval() {
		if n.link != nil && n.link.up {
			c.ping(n, wire.TypePing)
		} else {
			n.pingSent = c.now // it counts as pinged; the ping leaves when there is a link
		}
		return
	}
	if c.manual.paused && c.manual.replica == n {
		c.pingReplica()
		return
	}
	if n.pingSent == 0 {
		return
	}
	// Any packet is a sign of life: a link full of Pub/Sub may delay pongs.
	if min(c.now-n.pingSent, c.now-n.dataReceived) > timeout {
		c.suspect(n)
	}
}

// deadLinkTimeouts is after how many node timeouts without a pong a link is given up although its node sends packets over
// its own link.
const deadLinkTimeouts = 2

// dropDeadLink closes the link to n when a ping has been outstanding for half the node timeout and nothing came at all:
// the connection may be at fault although n is alive. A link gets a whole node timeout before that. A connection may also
// be dead while n reaches us well over its own; without a new one n would never answer a ping of ours again.
func (c *Core) dropDeadLink(n *node) {
	timeout := c.cfg.NodeTimeout
	if n.link == nil || n.pingSent == 0 {
		return
	}
	age, waiting, silent := c.now-n.link.createdAt, c.now-n.pingSent, c.now-n.dataReceived
	if age > timeout && waiting > timeout/2 && silent > timeout/2 || min(age, waiting) > deadLinkTimeouts*timeout {
		c.logNode(Debug, "nothing comes over the link: opening another", n)
		c.closeLink(n.link)
	}
}
