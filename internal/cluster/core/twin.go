package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds what happens when two processes have the name of one node, because somebody started a copy of its directory.
// In Redis the address of the node goes to and fro between them, replicas and clients with it. Here the process that answers
// at the address we know is the node; who speaks in its name from elsewhere is believed nothing and gets no answer, so that it
// soon sees itself in a minority. When the node does not answer any more, it has moved.

// place is where a process says it is, the same in all its packets; ip is zero if that is left to the socket.
type place struct {
	ip                wire.Host
	port, second, bus uint16
}

func placeOf(p *wire.Packet) place { return place{p.IP, p.Port, p.SecondPort, p.BusPort} }

// claim is the word of a process to be a node that we know elsewhere.
type claim struct {
	at   clock.Millis // 0 if there is none
	from place
	to   wire.Gossip // the address, nothing else
}

// claimWait is how long a node may take to answer at the address it has when it is said to be elsewhere: long for an answer,
// short beside a node timeout.
const claimWait clock.Millis = 500

// answers tells whether the process at the address of n has answered over the link that is open.
func (n *node) answers() bool { return n.link != nil && n.link.up && n.link.told != place{} }

// isTwin tells whether a packet over an accepted link comes from another process than the one that answers for its sender.
func (c *Core) isTwin(l *link, p *wire.Packet) bool {
	n := l.node
	if n == nil || n.id != p.Sender {
		n = c.lookup(p.Sender)
	}
	if n == nil || n == c.me || n.inHandshake() || !n.answers() || n.link.told == placeOf(p) {
		return false
	}
	if !l.doubted {
		l.doubted = true
		c.logNode(Warn, "packet with this node's name from elsewhere: asking the node", n)
	}
	c.challenge(n, l, p)
	return true
}

// staysPut tells whether n, whose ping came from another address than the one we know, still answers there: it has several.
func (c *Core) staysPut(n *node, l *link, p *wire.Packet) bool {
	if l == n.link || !n.answers() || n.ip == announcedIP(l, p) {
		return false
	}
	c.challenge(n, l, p)
	return true
}

// challenge asks the node whether it is still where it was.
func (c *Core) challenge(n *node, l *link, p *wire.Packet) {
	if n.claim.at != 0 {
		return
	}
	n.claim = claim{c.now, placeOf(p), addressIn(l, p)}
	if n.pingSent == 0 {
		c.ping(n, wire.TypePing)
	}
}

// answerClaim ends a claim with the pong of the node: the node is still there. If it now gives the place that was claimed, it
// claimed that itself, having been given another port or address.
func (c *Core) answerClaim(l *link, p *wire.Packet) {
	n, before := l.node, l.told
	l.told = placeOf(p)
	if l.told != before && l.told == n.claim.from {
		c.believeClaim(n)
	}
	n.claim = claim{}
}

// maybeBelieve believes a claim that the node has not answered.
func (c *Core) maybeBelieve(n *node) {
	if n.claim.at != 0 && c.now-n.claim.at > claimWait {
		c.believeClaim(n)
	}
}

// believeClaim gives a node the address that was claimed.
func (c *Core) believeClaim(n *node) {
	to := n.claim.to
	n.claim = claim{}
	c.moveNode(n, &to)
}
