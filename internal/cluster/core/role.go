package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/invariant"
)

// This file holds this node's own role, its replication, and how the driver is told of changes.

// replication is what is known of this node's own replication.
type replication struct {
	// Offset is the replication offset, as last told.
	Offset uint64
	// up says that this node is synchronised with its present primary and connected to it.
	up bool
	// contact is when a primary of this shard was last heard of, 0 never.
	contact clock.Millis
	// data says what the data of this node is worth.
	data standing
}

// standing is what the data of a replica is worth.
type standing uint8

const (
	dataUnknown standing = iota // what was on the disk at the start
	dataForeign                 // none, or that of another shard: the first synchronisation is still to come
	dataOfShard                 // a full copy of the shard's data at some time
)

// told is what the driver knows of this node's role.
type told struct {
	replica bool
	primary wire.NodeID
	host    wire.Host
	port    uint16
}

// onReplication takes news of this node's replication. What it says of a primary counts only if it is the present one.
func (c *Core) onReplication(e Replication) {
	moved := c.repl.Offset != e.Offset
	c.repl.Offset = e.Offset
	if c.me.isReplica() && c.me.primary != nil && c.me.primary.id == e.Primary {
		c.repl.up = e.Up
		c.repl.contact = max(c.repl.contact, min(e.Contact, c.now))
		if e.Up {
			c.repl.data = dataOfShard
		}
	}
	if c.manual.end != 0 && (moved || e.Up) {
		c.todo.manual = true
	}
}

// follow makes this node a replica of n. It owns no slot.
func (c *Core) follow(n *node) {
	invariant.That(n != c.me && c.me.owned == 0, "a node with slots becomes a replica")
	me := c.me
	if me.primary == n {
		return
	}
	sameShard := me.shard == n.shard
	if me.isPrimary() {
		me.flags = me.flags&^(wire.FlagPrimary|wire.FlagMigrateTo) | wire.FlagReplica
		c.closeMoves()
		if sameShard {
			c.repl.contact = c.now // until now its data was the shard's
		}
	}
	if !sameShard {
		c.repl.data, c.repl.contact = dataForeign, 0
	}
	c.repl.up = false
	c.attach(me, n)
	me.shard = n.shard
	c.resetManual()
	c.election = election{}
	c.out.routes = true
	c.todo.state = true
	c.save(saveNow)
}

// lead makes this node the primary of its shard in place of its primary. It has its new epoch already.
func (c *Core) lead() {
	old := c.me.primary
	if c.me.isPrimary() || old == nil {
		return
	}
	c.makePrimary(c.me)
	if old.owned > 0 {
		for first, last := range old.slots.Ranges {
			for s := first; s <= last; s++ {
				c.setOwner(s, c.me)
			}
		}
	}
	c.repl.up, c.repl.data = false, dataOfShard
	c.election = election{}
	c.updateState()
	c.save(saveSynced)
	c.pongAll(anyNode)
	c.resetManual()
}

// newRole is the Lead or Follow that tells the driver what role to play, nil if it knows.
func (c *Core) newRole() Effect {
	p := c.me.primary
	switch {
	case c.me.isPrimary():
		if c.told.replica {
			c.told = told{}
			epoch := c.me.configEpoch
			return Lead{Epoch: epoch, Elected: c.electedIn == epoch && epoch != 0}
		}
	case p == nil || !p.hasAddress():
		c.told.replica = true // there is nobody to follow yet
	default:
		now := told{replica: true, primary: p.id, host: p.ip, port: c.replicationPort(p)}
		if now != c.told {
			c.told = now
			return Follow{Primary: now.primary, Host: now.host, Port: now.port}
		}
	}
	return nil
}

func (c *Core) replicationPort(n *node) uint16 {
	if c.cfg.TLSReplication {
		return n.tlsPort
	}
	return n.tcpPort
}
