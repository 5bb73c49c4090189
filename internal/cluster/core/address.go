package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file holds how addresses are learned: this node's own, and those of nodes that moved.

// announcedIP is where the sender of p says it is, or else where the packet came from.
func announcedIP(l *link, p *wire.Packet) wire.Host {
	if !p.IP.IsZero() {
		return p.IP
	}
	return l.remote
}

// learnOwnAddress takes this node's own address from the socket on which a peer reached it. A Meet of a member is always
// right: its sender was told the address by the operator. Anybody's Meet and a member's ping are believed until a member
// has reached this node at the address it has (one from nodes.conf may be out of date), and any ping while it has none.
// An announced address is never replaced.
func (c *Core) learnOwnAddress(l *link, sender *node, p *wire.Packet) {
	if !c.cfg.AnnounceIP.IsZero() || l.local.IsZero() {
		return
	}
	if l.local == c.me.ip {
		c.reached = c.reached || sender != nil
		return
	}
	meet, member := p.Type == wire.TypeMeet, sender != nil
	if !c.me.ip.IsZero() && !(meet && member) && (c.reached || !meet && !member) {
		return
	}
	c.reached = member
	c.me.ip = l.local
	c.logNode(Info, "own address learned", c.me)
	c.out.routes = true
	c.save(saveSoon)
}

// updateAddress takes the address of n from a packet of its own, unless the packet came over the link that was opened to
// the address we know. If it differs, a new link is opened.
func (c *Core) updateAddress(n *node, l *link, p *wire.Packet) {
	if l == n.link {
		return
	}
	g := addressIn(l, p)
	c.moveNode(n, &g)
}

// addressIn is the address that a packet gives its sender.
func addressIn(l *link, p *wire.Packet) wire.Gossip {
	return wire.Gossip{IP: announcedIP(l, p), Port: p.Port, SecondPort: p.SecondPort, BusPort: p.BusPort}
}

// moveNode gives n the address in g if it is another than before.
func (c *Core) moveNode(n *node, g *wire.Gossip) {
	tcp, tls := g.Port, g.SecondPort
	if c.cfg.TLSCluster {
		tcp, tls = tls, tcp
	}
	if g.IP.IsZero() || g.BusPort == 0 || n == c.me {
		return
	}
	if n.ip == g.IP && n.tcpPort == tcp && n.tlsPort == tls && n.busPort == g.BusPort && !n.flags.Has(wire.FlagNoAddr) {
		return
	}
	if !n.ip.IsZero() {
		c.logNode(Info, "address of node has changed", n)
	}
	relink := n.ip != g.IP || n.busPort != g.BusPort
	n.ip, n.tcpPort, n.tlsPort, n.busPort = g.IP, tcp, tls, g.BusPort
	n.flags &^= wire.FlagNoAddr
	n.claim = claim{}
	if relink {
		c.closeLink(n.link)
		n.retryAt, n.retryDelay = 0, 0
	}
	c.out.routes = true
	c.save(saveSoon)
}
