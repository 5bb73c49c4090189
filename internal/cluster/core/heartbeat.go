package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file handles Ping, Pong and Meet, and sends them (spec: cluster bus and heartbeats).

// onHeartbeat handles a Ping, Pong or Meet; sender is nil if it is no member.
func (c *Core) onHeartbeat(l *link, sender *node, p *wire.Packet) {
	if p.Type != wire.TypePong {
		c.learnOwnAddress(l, sender, p)
	}
	switch {
	case !l.inbound() && l.node.inHandshake():
		if sender = c.finishHandshake(l, sender, p); sender == nil {
			return // the link is closed
		}
	case sender == nil && p.Type == wire.TypeMeet:
		c.admit(l, p)
	}
	if !l.inbound() && p.Type == wire.TypePong {
		c.onPong(l.node)
		c.answerClaim(l, p)
	}
	if sender != nil {
		c.learnSender(l, sender, p)
	}
	if p.Type != wire.TypePong && c.links[l.id] != nil {
		c.send(l, c.newHeartbeat(wire.TypePong, l.extensions))
	}
}

// learnSender takes in what a member says of itself and of others. The order matters: slots can only be given to the
// sender once its role is known, and it may forget nodes that gossip has just told of.
func (c *Core) learnSender(l *link, sender *node, p *wire.Packet) {
	sender.flags = sender.flags&^wire.FlagNoFailover | p.Flags&wire.FlagNoFailover
	if p.Type == wire.TypePing && !c.staysPut(sender, l, p) {
		c.updateAddress(sender, l, p)
	}
	c.learnRole(sender, p)
	c.learnClaim(sender, p)
	c.maybeLose(sender)
	if sender.isPrimary() && c.me.isPrimary() && p.ConfigEpoch == c.me.configEpoch {
		c.resolveCollision(sender)
	}
	c.mergeGossip(sender, p.Gossip)
	c.learnExtensions(sender, p)
}

// onPong notes that n answers.
func (c *Core) onPong(n *node) {
	n.pongReceived = c.now
	n.pingSent = 0
	switch {
	case n.flags.Has(wire.FlagPFail):
		c.clearPFail(n)
		c.save(saveSoon)
		c.todo.state = true
	case n.hasFailed():
		c.maybeClearFailure(n)
	}
}

// learnRole follows a node that changed from primary to replica or back, or a replica that changed its primary.
func (c *Core) learnRole(sender *node, p *wire.Packet) {
	if p.Primary.IsZero() || p.Primary == sender.id {
		c.makePrimary(sender)
		return
	}
	primary := c.lookup(p.Primary)
	if !sender.isReplica() {
		c.makeReplica(sender, primary, p)
	}
	if primary != nil && sender.primary != primary {
		c.attach(sender, primary)
		sender.shard = primary.shard
		c.save(saveSoon)
	}
}

// makePrimary turns a node that was a replica, or of no known role, into a primary.
func (c *Core) makePrimary(n *node) {
	if n.isPrimary() {
		return
	}
	if n.primary != nil {
		c.detach(n)
		if n != c.me {
			n.flags |= wire.FlagMigrateTo
		}
	}
	n.flags = n.flags&^wire.FlagReplica | wire.FlagPrimary
	c.out.routes = true
	c.todo.state = true
	c.save(saveSoon)
}

// makeReplica turns a node that was a primary into a replica. A replica's heartbeat repeats what its primary claims, so
// when a failover made the change the slots go straight to the new owner: without that they would have no owner, and the
// cluster be down, until the new owner's own word comes.
func (c *Core) makeReplica(n, primary *node, p *wire.Packet) {
	n.flags = n.flags&^(wire.FlagPrimary|wire.FlagMigrateTo) | wire.FlagReplica
	if primary != nil && primary != n && !primary.inHandshake() {
		c.learnUpdate(primary, p.ConfigEpoch, &p.Slots)
	}
	c.disown(n)
	c.out.routes = true
	c.todo.state = true
	c.save(saveSoon)
}

// ping sends a Ping or Meet over the node's own link, which is up.
func (c *Core) ping(n *node, kind wire.Type) {
	n.pingSent = c.now
	c.send(n.link, c.newHeartbeat(kind, n.extensions))
}

// pong sends a Pong that nobody asked for to every member for which want holds, so that news of this node is heard at
// once. All get the same gossip.
func (c *Core) pongAll(want func(*node) bool) {
	for _, extended := range [...]bool{true, false} {
		to := c.allLinks(func(n *node) bool { return n.extensions == extended && want(n) })
		if len(to) > 0 {
			c.sendAll(to, c.newHeartbeat(wire.TypePong, extended))
		}
	}
}

// newHeartbeat writes a heartbeat with gossip, and with extensions if the receiver understands them. The flag is always
// set, so that the receiver learns that we do.
func (c *Core) newHeartbeat(kind wire.Type, extended bool) *wire.Packet {
	p := c.newPacket(kind)
	p.MsgFlags |= wire.MsgExtData
	c.addGossip(p)
	if extended {
		c.addExtensions(p)
	}
	return p
}
