package core

import "github.com/covey-db/covey/internal/cluster/wire"

// This file hands Pub/Sub messages on.

// onPublishRequest sends a client's message to all nodes, a sharded one to those of this shard.
func (c *Core) onPublishRequest(e Publish) {
	kind, want := wire.TypePublish, anyNode
	if e.Sharded {
		kind, want = wire.TypePublishShard, func(n *node) bool { return n.shard == c.me.shard }
	}
	to := c.allLinks(want)
	if len(to) == 0 {
		return
	}
	p := c.newPacket(kind)
	p.Publish = wire.Publish{Channel: e.Channel, Message: e.Message}
	c.sendAll(to, p)
}

// onPublish hands a member's message to the clients of this node.
func (c *Core) onPublish(p *wire.Packet) {
	c.out.answers = append(c.out.answers, Deliver{
		Channel: p.Publish.Channel,
		Message: p.Publish.Message,
		Sharded: p.Type == wire.TypePublishShard,
	})
}
