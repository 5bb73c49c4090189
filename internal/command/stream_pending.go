package command

import (
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds XACK and XPENDING.

func cmdXAck(c *engine.Ctx) {
	s, exists, ok := readToWrite(c, 0)
	if !ok {
		return
	}
	var g stream.Group
	if exists {
		g, exists = s.Group(c.Args[2])
	}
	if !exists {
		c.ReplyInt(0)
		return
	}
	ids, ok := idArgs(c, 3)
	if !ok {
		return
	}
	acknowledged := 0
	for _, id := range ids {
		if g.Ack(id) {
			acknowledged++
		}
	}
	c.CountChanges(acknowledged)
	c.ReplyInt(int64(acknowledged))
}

// pendingOptions are the words behind XPENDING key group.
type pendingOptions struct {
	minIdle  int64
	from, to stream.ID
	count    int64
	consumer []byte // nil: all
}

func parsePending(c *engine.Ctx) (o pendingOptions, ok bool) {
	at := 3
	if c.ArgIs(3, "IDLE") {
		if o.minIdle, ok = c.Int(4); !ok {
			return o, false
		}
		if len(c.Args) < 8 {
			c.Err(engine.ErrSyntax)
			return o, false
		}
		at = 5
	}
	if o.count, ok = c.Int(at + 2); !ok {
		return o, false
	}
	o.count = max(o.count, 0)
	if o.from, ok = startArg(c, at); !ok {
		return o, false
	}
	if o.to, ok = endArg(c, at+1); !ok {
		return o, false
	}
	if at+3 < len(c.Args) {
		o.consumer = c.Args[at+3]
	}
	return o, true
}

func cmdXPending(c *engine.Ctx) {
	var o pendingOptions
	summary := len(c.Args) == 3
	if !summary {
		if len(c.Args) < 6 || len(c.Args) > 9 {
			c.Err(engine.ErrSyntax)
			return
		}
		var ok bool
		if o, ok = parsePending(c); !ok {
			return
		}
	}
	s, exists, ok := readStream(c)
	if !ok {
		return
	}
	var g stream.Group
	if exists {
		g, exists = s.Group(c.Args[2])
	}
	switch {
	case !exists:
		c.Err(noKeyOrGroup(c))
	case summary:
		c.Append(func(dst []byte, v resp.Version) []byte { return appendPendingSummary(dst, v, g) })
	default:
		o.reply(c, g)
	}
}

// noKeyOrGroup is the reply when there is no such group.
func noKeyOrGroup(c *engine.Ctx) string {
	return "NOGROUP No such key '" + shown(c.Key(0).Bytes) + "' or consumer group '" + shown(c.Args[2]) + "'"
}

// appendPendingSummary appends how many entries are pending, the first and last ID, and who owns how many.
func appendPendingSummary(dst []byte, v resp.Version, g stream.Group) []byte {
	dst = resp.AppendInt(resp.AppendArray(dst, 4), int64(g.PendingLen()))
	last, ok := g.LastPending()
	if !ok {
		return resp.AppendNullArray(resp.AppendNull(resp.AppendNull(dst, v), v), v)
	}
	it := g.PendingFrom(stream.ID{})
	it.Next()
	dst = appendID(appendID(dst, it.ID), last)
	start := len(dst)
	dst = resp.AppendArray(dst, g.Consumers())
	body, n := len(dst), 0
	for i := range g.Consumers() {
		owner := g.ConsumerAt(i)
		if owner.PendingLen() == 0 {
			continue
		}
		var text [20]byte
		dst = resp.AppendBulk(resp.AppendArray(dst, 2), owner.Name())
		dst = resp.AppendBulk(dst, num.AppendInt(text[:0], int64(owner.PendingLen())))
		n++
	}
	return setCount(dst, start, body, n)
}

// reply replies the pending entries of an interval.
func (o *pendingOptions) reply(c *engine.Ctx, g stream.Group) {
	it := g.PendingFrom(o.from)
	if o.consumer != nil {
		owner, ok := g.Consumer(o.consumer)
		if !ok {
			c.Array(0)
			return
		}
		it = g.OwnedFrom(owner, o.from)
	}
	c.Append(func(dst []byte, _ resp.Version) []byte {
		start := len(dst)
		dst = resp.AppendArray(dst, int(min(o.count, int64(g.PendingLen()))))
		body, n := len(dst), int64(0)
		for n < o.count && it.Next() && !o.to.Less(it.ID) {
			p := it.Pending()
			idle := int64(c.Now) - p.DeliveredAt()
			if o.minIdle != 0 && idle < o.minIdle {
				continue
			}
			owner, _ := g.Owner(p)
			dst = appendID(resp.AppendArray(dst, 4), it.ID)
			dst = resp.AppendBulk(dst, owner.Name())
			dst = resp.AppendInt(dst, max(idle, 0))
			dst = resp.AppendInt(dst, p.Deliveries())
			n++
		}
		return setCount(dst, start, body, int(n))
	})
}
