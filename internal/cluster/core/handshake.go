package core

import (
	"net/netip"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds how nodes get to know each other (spec: nodes handshake). A node that is being met has a random name
// until its first packet tells its own; if none comes in time it is dropped again.

// handshakesMax bounds the handshakes in progress: more than a cluster of 1000 nodes needs when one node meets all.
const handshakesMax = 2048

// handshakeTimeoutMin is how long a handshake may take at least.
const handshakeTimeoutMin clock.Millis = 1000

// startHandshake begins to meet the node at an address unless that is going on already; a probe, which adds nobody, makes
// room for it. flags are FlagMeet if it is to add us as well.
func (c *Core) startHandshake(a Address, secondPort uint16, flags wire.NodeFlags) *node {
	if before := c.handshakeWith(a); before != nil {
		if !before.probe {
			return nil
		}
		c.dropNode(before)
	}
	if c.handshakes >= handshakesMax || len(c.nodes) >= nodesMax {
		return nil
	}
	n := c.addNode(c.freshID(), wire.FlagHandshake|flags)
	n.ip, n.busPort = a.Host, a.BusPort
	n.tcpPort, n.tlsPort = a.Port, secondPort
	if c.cfg.TLSCluster {
		n.tcpPort, n.tlsPort = secondPort, a.Port
	}
	return n
}

// freshID makes a name that no known node has.
func (c *Core) freshID() wire.NodeID {
	for {
		if id := c.rng.nodeID(); c.byID[id] == nil {
			return id
		}
	}
}

// probe asks who is at an address unless a handshake with it is going on.
func (c *Core) probe(a Address) {
	if c.handshakeWith(a) != nil {
		return
	}
	if n := c.startHandshake(a, 0, 0); n != nil {
		n.probe = true
	}
}

// handshakeWith is the handshake with an address that is going on, nil if there is none.
func (c *Core) handshakeWith(a Address) *node {
	if c.handshakes == 0 {
		return nil
	}
	for _, n := range c.nodes {
		if n.inHandshake() && n.ip == a.Host && n.busPort == a.BusPort && c.clientPort(n) == a.Port {
			return n
		}
	}
	return nil
}

// admit meets a node that asked for it with a Meet: we connect back and learn the rest from its answers.
func (c *Core) admit(l *link, p *wire.Packet) {
	a := Address{Host: announcedIP(l, p), Port: p.Port, BusPort: p.BusPort}
	if a.Host.IsZero() || a.Port == 0 || a.BusPort == 0 {
		c.logAbout(Info, "meet without a usable address ignored", p.Sender, 0, 0)
		return
	}
	c.startHandshake(a, p.SecondPort, 0)
}

// finishHandshake handles the first packet over the link of a node that is being met, and gives the node under its own
// name. It gives nil, and has closed the link, if that node was known before: then its address may be news.
func (c *Core) finishHandshake(l *link, known *node, p *wire.Packet) *node {
	n := l.node
	if known != nil {
		if !n.probe || known.isSuspect() || known.link == nil || !known.link.up {
			c.updateAddress(known, l, p)
		}
		c.dropNode(n)
		return nil
	}
	if n.probe {
		c.dropNode(n)
		return nil
	}
	c.renameNode(n, p.Sender)
	c.handshakes--
	n.flags &^= wire.FlagHandshake
	if n.flags |= p.Flags & (wire.FlagPrimary | wire.FlagReplica); !n.flags.Has(wire.FlagPrimary | wire.FlagReplica) {
		n.flags |= wire.FlagPrimary
	}
	n.dataReceived = c.now
	c.learnHeader(n, p)
	c.logNode(Info, "handshake complete", n)
	c.out.routes = true
	c.todo.state = true
	c.save(saveSoon)
	return n
}

// handshakeTimeout is how long a handshake may take.
func (c *Core) handshakeTimeout() clock.Millis { return max(c.cfg.NodeTimeout, handshakeTimeoutMin) }

// parseIP reads an IP address and gives its usual text; names and zones are refused, as inet_pton does.
func parseIP(text []byte) (wire.Host, bool) {
	a, err := netip.ParseAddr(string(text))
	if err != nil || a.Zone() != "" {
		return wire.Host{}, false
	}
	return wire.ParseHost(a.String())
}
