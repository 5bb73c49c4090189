package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file holds the extensions of heartbeats: names, the shard, and nodes to be forgotten.

// addExtensions puts this node's extensions into p.
func (c *Core) addExtensions(p *wire.Packet) {
	p.Ext.Hostname = append(p.Ext.Hostname[:0], c.me.hostname...)
	p.Ext.NodeName = append(p.Ext.NodeName[:0], c.me.name...)
	p.Ext.ShardID = c.me.shard
	for _, f := range c.forgotten {
		if f.until > c.now {
			left := uint64((f.until - c.now + 999) / 1000)
			p.Ext.Forgotten = append(p.Ext.Forgotten, wire.Forgotten{ID: f.id, TTLSeconds: left})
		}
	}
}

// learnExtensions takes in a member's extensions. A packet that only shows that its sender knows extensions (the flag and
// nothing else) is no news; one without the flag is of a version that has no names.
func (c *Core) learnExtensions(sender *node, p *wire.Packet) {
	x := &p.Ext
	flagged := p.MsgFlags&wire.MsgExtData != 0
	if flagged && x.ShardID.IsZero() && len(x.Hostname) == 0 && len(x.NodeName) == 0 && len(x.Forgotten) == 0 {
		return
	}
	for i := range x.Forgotten {
		c.forgetAsTold(sender, &x.Forgotten[i])
	}
	if sender.hostname != string(x.Hostname) || sender.name != string(x.NodeName) {
		sender.hostname, sender.name = string(x.Hostname), string(x.NodeName)
		c.out.routes = true
		c.save(saveSoon)
	}
	shard := x.ShardID
	if shard.IsZero() {
		shard = sender.leader().shard // a version without shards: that of its primary, or the one we made up for it
	}
	c.learnShard(sender, shard)
}

// learnShard notes the shard of n, and that this node is in it if it replicates n.
func (c *Core) learnShard(n *node, shard wire.NodeID) {
	if n.shard != shard {
		n.shard = shard
		c.out.routes = true
		c.save(saveSoon)
	}
	if c.me.primary == n && c.me.shard != shard {
		c.me.shard = shard
		c.out.routes = true
		c.save(saveSoonSync)
	}
}
