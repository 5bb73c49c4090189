package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file takes incoming packets apart and writes the header of outgoing ones.

// onPacket handles one packet.
func (c *Core) onPacket(id LinkID, p *wire.Packet) {
	l := c.links[id]
	if l == nil || p.Type >= wire.TypeCount {
		return // a link closed a moment ago
	}
	c.received[p.Type]++
	if p.MsgFlags&wire.MsgExtData != 0 {
		l.extensions = true
	}
	if p.Sender == c.me.id {
		c.onOwnPacket(l)
		return
	}
	if !l.inbound() && !l.node.inHandshake() && l.node.id != p.Sender {
		c.onStranger(l)
		return
	}
	if l.inbound() && c.isTwin(l, p) {
		return
	}
	sender := c.senderOf(l, p)
	if sender != nil {
		sender.dataReceived = c.now
		c.learnHeader(sender, p)
	}
	switch {
	case p.Type.IsHeartbeat():
		c.onHeartbeat(l, sender, p)
	case sender == nil:
		c.logAbout(Debug, "packet of an unknown node ignored", p.Sender, 0, int64(p.Type))
	default:
		c.onMessage(sender, p)
	}
}

// onMessage handles a packet of a member that is no heartbeat.
func (c *Core) onMessage(sender *node, p *wire.Packet) {
	switch p.Type {
	case wire.TypeFail:
		c.onFail(p.Fail)
	case wire.TypePublish, wire.TypePublishShard:
		c.onPublish(p)
	case wire.TypeVoteRequest:
		c.onVoteRequest(sender, p)
	case wire.TypeVote:
		c.onVote(sender, p)
	case wire.TypeUpdate:
		c.onUpdate(&p.Update)
	case wire.TypeFailoverMe:
		c.onFailoverMe(sender)
	case wire.TypeModule: // there are no modules
	}
}

// senderOf finds the member that sent p, nil if it is none, and binds an accepted link to it.
func (c *Core) senderOf(l *link, p *wire.Packet) *node {
	if !l.inbound() && !l.node.inHandshake() {
		return l.node
	}
	n := c.lookup(p.Sender)
	if n == nil || n.inHandshake() {
		return nil
	}
	if l.inbound() {
		c.bind(l, n)
	}
	if l.extensions {
		n.extensions = true
	}
	return n
}

// learnHeader takes from a member's packet its epochs and its replication offset. The configuration epoch counts only
// together with the slots it ranks: in a heartbeat, whose slots are merged, and of a primary, because a replica repeats
// the epoch of its primary. Otherwise an old owner of slots would be believed under an epoch it never held them in.
func (c *Core) learnHeader(sender *node, p *wire.Packet) {
	if p.MsgFlags&wire.MsgExtData != 0 {
		sender.extensions = true
	}
	c.currentEpoch = max(c.currentEpoch, p.CurrentEpoch)
	if p.Type.IsHeartbeat() && p.Primary.IsZero() && p.ConfigEpoch > sender.configEpoch {
		sender.configEpoch = p.ConfigEpoch
		c.save(saveSoonSync)
	}
	sender.offset = p.Offset
	c.learnPausedOffset(sender, p)
}

// onOwnPacket meets a packet that carries this node's own name: a link led back to itself, or a second node runs with a
// copy of its nodes.conf. Nothing of it may be believed.
func (c *Core) onOwnPacket(l *link) {
	n := l.node
	switch {
	case l.inbound():
		if l.remote != l.local {
			c.log(Warn, "packet with this node's own name ignored")
		}
	case n.inHandshake():
		c.dropNode(n)
	default:
		c.onStranger(l)
	}
}

// onStranger handles a packet with another name than the link's node has: somebody else now lives at that address. The
// node is without address until it or a third node tells the new one. The stranger is told and believed nothing.
func (c *Core) onStranger(l *link) {
	n := l.node
	c.logNode(Info, "another node answers at this node's address", n)
	c.closeLink(l)
	n.flags |= wire.FlagNoAddr
	n.ip, n.tcpPort, n.tlsPort, n.busPort = wire.Host{}, 0, 0, 0
	if n.pingSent == 0 {
		n.pingSent = c.now
	}
	c.out.routes = true
	c.save(saveSoon)
}

// newPacket begins a packet of this node.
func (c *Core) newPacket(t wire.Type) *wire.Packet {
	p := c.out.packet()
	me, leader := c.me, c.me.leader()
	p.Header = wire.Header{
		Type:         t,
		Port:         me.tcpPort,
		SecondPort:   me.tlsPort,
		BusPort:      me.busPort,
		CurrentEpoch: c.currentEpoch,
		ConfigEpoch:  leader.configEpoch,
		Offset:       c.repl.Offset,
		Sender:       me.id,
		Slots:        *leader.slotSet(),
		IP:           c.cfg.AnnounceIP,
		Flags:        me.flags,
		State:        c.state,
	}
	if c.cfg.TLSCluster {
		p.Port, p.SecondPort = p.SecondPort, p.Port
	}
	if me.primary != nil {
		p.Primary = me.primary.id
	}
	if c.manual.paused {
		p.MsgFlags |= wire.MsgPaused
	}
	return p
}
