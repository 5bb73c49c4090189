package command

import (
	"bytes"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/glob"
)

// This file holds publish and subscribe. Who listens is the engine's business.

func pubsubHandlers(d Deps) map[string]engine.Handler {
	subscribe := func(kind engine.SubKind) engine.Handler {
		return engine.Handler{Run: func(c *engine.Ctx) { cmdSubscribe(c, kind) }}
	}
	unsubscribe := func(kind engine.SubKind) engine.Handler {
		return engine.Handler{Run: func(c *engine.Ctx) { cmdUnsubscribe(c, kind) }}
	}
	return map[string]engine.Handler{
		"subscribe":            subscribe(engine.SubChannel),
		"psubscribe":           subscribe(engine.SubPattern),
		"ssubscribe":           subscribe(engine.SubShard),
		"unsubscribe":          unsubscribe(engine.SubChannel),
		"punsubscribe":         unsubscribe(engine.SubPattern),
		"sunsubscribe":         unsubscribe(engine.SubShard),
		"publish":              {Run: func(c *engine.Ctx) { cmdPublish(c, d, false) }},
		"spublish":             {Run: func(c *engine.Ctx) { cmdPublish(c, d, true) }},
		"pubsub|channels":      {Run: func(c *engine.Ctx) { cmdPubSubChannels(c, engine.SubChannel) }},
		"pubsub|shardchannels": {Run: func(c *engine.Ctx) { cmdPubSubChannels(c, engine.SubShard) }},
		"pubsub|numsub":        {Run: func(c *engine.Ctx) { cmdPubSubNumSub(c, engine.SubChannel) }},
		"pubsub|shardnumsub":   {Run: func(c *engine.Ctx) { cmdPubSubNumSub(c, engine.SubShard) }},
		"pubsub|numpat":        {Run: func(c *engine.Ctx) { c.ReplyInt(int64(c.Engine().PubSub.Len(engine.SubPattern))) }},
		"pubsub|help":          {Run: cmdPubSubHelp},
	}
}

func cmdSubscribe(c *engine.Ctx, kind engine.SubKind) {
	if kind == engine.SubShard && c.InExec() {
		c.Err("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
		return
	}
	for _, name := range c.Args[1:] {
		c.Subscribe(kind, name)
	}
}

func cmdUnsubscribe(c *engine.Ctx, kind engine.SubKind) {
	for _, name := range c.Args[1:] {
		c.Unsubscribe(kind, name)
	}
	if len(c.Args) > 1 {
		return
	}
	names := c.S.Subscribed(kind)
	for _, name := range names {
		c.Unsubscribe(kind, []byte(name))
	}
	if len(names) == 0 {
		c.Unsubscribe(kind, nil)
	}
}

// cmdPublish hands a message to the clients of this node and, in a cluster, to the other nodes; replicas hear of it from the
// cluster, or from the stream of their primary.
func cmdPublish(c *engine.Ctx, d Deps, sharded bool) {
	channel, message := c.Args[1], c.Args[2]
	n := c.Engine().Publish(c, channel, message, sharded)
	switch {
	case !c.Engine().ClusterOn:
		c.PropagateMessage()
	case d.Broadcast != nil:
		d.Broadcast(bytes.Clone(channel), bytes.Clone(message), sharded)
	}
	c.ReplyInt(int64(n))
}

func cmdPubSubChannels(c *engine.Ctx, kind engine.SubKind) {
	if len(c.Args) > 3 {
		subcommandErr(c)
		return
	}
	names := c.Engine().PubSub.Channels(kind)
	reply := c.Defer()
	n := 0
	for _, name := range names {
		if len(c.Args) == 3 && !glob.Match(c.Args[2], []byte(name), false) {
			continue
		}
		c.BulkString(name)
		n++
	}
	c.CloseArray(reply, n)
}

func cmdPubSubNumSub(c *engine.Ctx, kind engine.SubKind) {
	c.Array(2 * (len(c.Args) - 2))
	for _, name := range c.Args[2:] {
		c.Bulk(name)
		c.ReplyInt(int64(c.Engine().PubSub.Subscribers(kind, name)))
	}
}

func cmdPubSubHelp(c *engine.Ctx) {
	c.Help(
		"CHANNELS [<pattern>]", "    The channels that have subscribers, or those of them that match.",
		"NUMPAT", "    The number of distinct patterns that clients subscribe to.",
		"NUMSUB [<channel> ...]", "    The number of subscribers of each channel, those by pattern not counted.",
		"SHARDCHANNELS [<pattern>]", "    The shard channels that have subscribers, or those of them that match.",
		"SHARDNUMSUB [<shardchannel> ...]", "    The number of subscribers of each shard channel.",
	)
}
