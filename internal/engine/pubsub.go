package engine

import (
	"sort"
	"sync/atomic"

	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/pubsub"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/slot"
)

// This file joins sessions with the channels they listen to. A message is encoded once; every subscriber's thread gets a
// reference to it, and looks whether the session still listens before it sends the message.

// SubKind is what a session may subscribe to.
type SubKind uint8

const (
	SubChannel SubKind = iota
	SubPattern
	SubShard // a channel that lives in the slot of its name
	subKinds
)

// Subscription is one session's subscription to one channel or pattern. The session's thread owns it.
type Subscription struct {
	s     *Session
	kind  SubKind
	name  string
	ended bool
}

// subscriptions are those of one session. Its thread owns them, except the counts.
type subscriptions struct {
	byName [subKinds]map[string]*Subscription
	counts [subKinds]atomic.Int32 // any goroutine reads
}

// PubSub is who listens to what on this node.
type PubSub struct {
	channels *pubsub.Channels[*Subscription]
	shards   *pubsub.Channels[*Subscription] // placed by shard, so that a slot that leaves has not far to look
	patterns pubsub.Patterns[*Subscription]
}

func (p *PubSub) init(e *Engine) {
	p.channels = pubsub.NewChannels[*Subscription](e.hasher.Hash)
	p.shards = pubsub.NewChannels[*Subscription](func(name []byte) uint64 { return uint64(keyspace.ShardOf(slot.Of(name))) })
}

// channelsOf is the registry of a kind of channels.
func (p *PubSub) channelsOf(kind SubKind) *pubsub.Channels[*Subscription] {
	if kind == SubShard {
		return p.shards
	}
	return p.channels
}

// Channels names the channels of a kind that have subscribers; SubPattern has no names.
func (p *PubSub) Channels(kind SubKind) []string {
	return p.channelsOf(kind).Names()
}

// Len is how many channels, or patterns, have subscribers.
func (p *PubSub) Len(kind SubKind) int {
	if kind == SubPattern {
		return p.patterns.Len()
	}
	return p.channelsOf(kind).Len()
}

// Subscribers is the number of subscribers of a channel, those by pattern not counted.
func (p *PubSub) Subscribers(kind SubKind, name []byte) int {
	return p.channelsOf(kind).Subscribers(name)
}

func (p *PubSub) add(sub *Subscription) {
	if sub.kind == SubPattern {
		p.patterns.Subscribe([]byte(sub.name), sub)
		return
	}
	p.channelsOf(sub.kind).Subscribe([]byte(sub.name), sub)
}

func (p *PubSub) remove(sub *Subscription) {
	if sub.kind == SubPattern {
		p.patterns.Unsubscribe([]byte(sub.name), sub)
		return
	}
	p.channelsOf(sub.kind).Unsubscribe([]byte(sub.name), sub)
}

// Push is a message for a subscriber.
type Push struct {
	to   *Subscription
	body []byte // shared by the receivers that speak the same protocol
}

// The first byte of a message is all that differs between the protocols.
const (
	firstRESP2 = '*'
	firstRESP3 = '>'

	firstOfMonitor = '+' // a line of MONITOR is the same in both
)

// Bytes is the message as the receiver is to read it, which others share; nil when he does not listen any more. On the
// session's thread.
func (p Push) Bytes() []byte {
	if p.to.ended {
		return nil
	}
	return p.encoded()
}

// encoded is the message in the protocol of the receiver.
func (p Push) encoded() []byte {
	first := byte(firstRESP2)
	if p.to.s.proto == resp.RESP3 {
		first = firstRESP3
	}
	if p.body[0] == first || p.body[0] == firstOfMonitor {
		return p.body
	}
	return append([]byte{first}, p.body[1:]...) // he has changed the protocol since
}

// Len is the number of bytes of the message.
func (p Push) Len() int { return len(p.body) }

// AppendTo appends the message to the replies of the session's thread.
func (p Push) AppendTo(o *Out) { o.buf = append(o.buf, p.Bytes()...) }

// message is a message that is being published, encoded as far as somebody needs it.
type message struct{ resp2, resp3 []byte }

// to addresses the message to a subscriber.
func (m *message) to(sub *Subscription) Push {
	if sub.s.flags.Load()&flagRESP3 == 0 {
		return Push{sub, m.resp2}
	}
	if m.resp3 == nil {
		m.resp3 = append([]byte{firstRESP3}, m.resp2[1:]...)
	}
	return Push{sub, m.resp3}
}

// Pusher is a Conn that takes messages of subscriptions without a function for each. Any goroutine may call it; messages and
// what is posted keep their order.
type Pusher interface {
	Push(p Push)
}

// send brings a message on its way. c is the command that publishes, nil when there is none: the messages of its own session
// come behind its reply.
func (e *Engine) send(c *Ctx, p Push) {
	s := p.to.s
	switch {
	case c != nil && c.S == s && !c.rerun:
		c.W.own = append(c.W.own, p)
	case s.pusher != nil:
		s.pusher.Push(p)
	default:
		s.conn.Post(func(w *Worker) { p.AppendTo(&w.Out) })
	}
}

// Publish gives a message to the clients of this node that listen to a channel, and returns how many got it. c is the
// command that publishes, nil when there is none.
func (e *Engine) Publish(c *Ctx, channel, text []byte, sharded bool) int {
	var m message
	listeners, word := e.PubSub.channels, "message"
	if sharded {
		listeners, word = e.PubSub.shards, "smessage"
	}
	n := listeners.Publish(channel, func(sub *Subscription) {
		if m.resp2 == nil {
			m.resp2 = appendMessage(word, nil, channel, text)
		}
		e.send(c, m.to(sub))
	})
	if sharded || e.PubSub.patterns.Len() == 0 {
		return n
	}
	return n + e.PubSub.patterns.Publish(channel,
		func(pattern []byte) { m = message{resp2: appendMessage("pmessage", pattern, channel, text)} },
		func(sub *Subscription) { e.send(c, m.to(sub)) })
}

// appendMessage encodes a message for RESP2; pattern is nil for none.
func appendMessage(word string, pattern, channel, text []byte) []byte {
	const heads = 64 // more than the headers take
	b := make([]byte, 0, len(pattern)+len(channel)+len(text)+heads)
	if pattern == nil {
		b = resp.AppendArray(b, 3)
		b = resp.AppendBulkString(b, word)
	} else {
		b = resp.AppendArray(b, 4)
		b = resp.AppendBulkString(b, word)
		b = resp.AppendBulk(b, pattern)
	}
	b = resp.AppendBulk(b, channel)
	return resp.AppendBulk(b, text)
}

// PropagateMessage logs the message of PUBLISH for the replicas.
func (c *Ctx) PropagateMessage() {
	if !c.e.Log.on.Load() || c.S.primaryLink || c.e.Role.IsReplica() {
		return
	}
	key := c.KeyAt(1)
	c.WithShard(keyspace.ShardOf(key.Slot), func(*Shard) bool {
		c.propagateToReplicas(c.Args...)
		return true
	})
}

// Subscribe makes the session listen to a channel or pattern, and replies so.
func (c *Ctx) Subscribe(kind SubKind, name []byte) {
	s := c.S
	if s.subs.byName[kind][string(name)] == nil {
		sub := &Subscription{s: s, kind: kind, name: string(name)}
		if s.subs.byName[kind] == nil {
			s.subs.byName[kind] = make(map[string]*Subscription)
		}
		s.subs.byName[kind][sub.name] = sub
		s.subs.counts[kind].Add(1)
		s.keeps(subscriptionBytes + len(name))
		c.e.PubSub.add(sub)
	}
	s.setFlag(FlagPubSub, true)
	c.replySubscription([subKinds]string{"subscribe", "psubscribe", "ssubscribe"}[kind], name, kind)
}

// Unsubscribe ends a subscription, and replies so whether there was one or not; a nil name is none.
func (c *Ctx) Unsubscribe(kind SubKind, name []byte) {
	c.S.unsubscribe(c.S.subs.byName[kind][string(name)])
	c.replySubscription([subKinds]string{"unsubscribe", "punsubscribe", "sunsubscribe"}[kind], name, kind)
}

// Subscribed are the names that the session listens to, sorted.
func (s *Session) Subscribed(kind SubKind) []string {
	names := make([]string, 0, len(s.subs.byName[kind]))
	for name := range s.subs.byName[kind] {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Subscriptions is how many channels or patterns the session listens to; any goroutine may ask.
func (s *Session) Subscriptions(kind SubKind) int { return int(s.subs.counts[kind].Load()) }

// unsubscribe ends a subscription on the session's thread; sub may be nil.
func (s *Session) unsubscribe(sub *Subscription) {
	if sub == nil || sub.ended {
		return
	}
	sub.ended = true
	s.e.PubSub.remove(sub)
	delete(s.subs.byName[sub.kind], sub.name)
	s.subs.counts[sub.kind].Add(-1)
	s.keeps(-subscriptionBytes - len(sub.name))
	if s.Subscriptions(SubChannel)+s.Subscriptions(SubPattern)+s.Subscriptions(SubShard) == 0 {
		s.setFlag(FlagPubSub, false)
	}
}

// unsubscribeAll ends all subscriptions and says nothing: RESET, and the end of the connection.
func (s *Session) unsubscribeAll() {
	for kind := range s.subs.byName {
		for _, sub := range s.subs.byName[kind] {
			s.unsubscribe(sub)
		}
	}
}

// replySubscription replies a change of a subscription with the number of those that are left of its sort.
func (c *Ctx) replySubscription(word string, name []byte, kind SubKind) {
	count := c.S.Subscriptions(SubChannel) + c.S.Subscriptions(SubPattern)
	if kind == SubShard {
		count = c.S.Subscriptions(SubShard)
	}
	c.pushed = true
	b := resp.AppendPush(c.W.Out.buf, c.S.proto, 3)
	b = resp.AppendBulkString(b, word)
	if name == nil {
		b = resp.AppendNull(b, c.S.proto)
	} else {
		b = resp.AppendBulk(b, name)
	}
	c.W.Out.buf = resp.AppendInt(b, int64(count))
}

// InSubscriberMode says whether the connection takes only the commands of a subscriber: RESP2 cannot tell messages from
// replies.
func (s *Session) InSubscriberMode() bool {
	return s.proto == resp.RESP2 && s.flags.Load()&FlagPubSub != 0
}

// errSubscriber is what a subscriber reads who sends another command.
const errSubscriber = "ERR Can't execute '%s': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"

// forSubscribers says whether a subscriber may send the command.
func forSubscribers(cmd *Command) bool {
	switch cmd.Full {
	case "ping", "subscribe", "ssubscribe", "unsubscribe", "sunsubscribe", "psubscribe", "punsubscribe", "quit", "reset":
		return true
	}
	return false
}

// dropShardChannels ends the subscriptions to the channels of a slot that has left this node; its shard is locked.
func (p *PubSub) dropShardChannels(s slot.ID) {
	for _, name := range p.shards.NamesAt(uint64(keyspace.ShardOf(s))) {
		if slot.Of([]byte(name)) != s {
			continue
		}
		p.shards.Each(name, func(sub *Subscription) {
			sub.s.conn.Post(func(w *Worker) {
				if !sub.ended {
					w.RunFor(sub.s, func(c *Ctx) { c.Unsubscribe(SubShard, []byte(sub.name)) })
				}
			})
		})
	}
}

// findChannels is findKeys for shard channels: they are routed like keys, and the lock of their slot guards the route.
func (c *Ctx) findChannels(cmd *Command) (set uint64, ok bool) {
	for _, name := range cmd.ChannelArgs(c.Args) {
		k := c.e.hasher.Key(name)
		if c.e.ClusterOn && len(c.keys) > 0 && k.Slot != c.keys[0].Slot && !c.S.primaryLink {
			c.refuseApart()
			return 0, false
		}
		c.keys = append(c.keys, k)
		set |= shardBit(k.Slot)
	}
	return set, true
}
