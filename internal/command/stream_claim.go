package command

import (
	"math"

	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds XCLAIM and XAUTOCLAIM.

// claimOptions are the words of XCLAIM.
type claimOptions struct {
	minIdle     int64
	ids         []stream.ID // arguments from 5 on
	deliveredAt int64       // -1: not given
	deliveries  int64       // negative: not given
	force       bool
	justID      bool
	last        stream.ID
}

// intOr reads argument i as an integer; text is the error when it is none.
func intOr(c *engine.Ctx, i int, text string) (int64, bool) {
	n, ok := num.ParseInt(c.Args[i])
	if !ok {
		c.Err(text)
	}
	return n, ok
}

func parseClaim(c *engine.Ctx) (o claimOptions, ok bool) {
	o.deliveredAt, o.deliveries = -1, -1
	if o.minIdle, ok = intOr(c, 4, "ERR Invalid min-idle-time argument for XCLAIM"); !ok {
		return o, false
	}
	o.minIdle = max(o.minIdle, 0)
	i := 5
	for ; i < len(c.Args); i++ {
		id, auto, isID := parseID(c.Args[i], 0, false)
		if !isID || auto {
			break // an option, perhaps
		}
		o.ids = append(o.ids, id)
	}
	for ; i < len(c.Args); i++ {
		more := i+1 < len(c.Args)
		switch {
		case c.ArgIs(i, "FORCE"):
			o.force = true
		case c.ArgIs(i, "JUSTID"):
			o.justID = true
		case c.ArgIs(i, "IDLE") && more:
			i++
			o.deliveredAt, ok = intOr(c, i, "ERR Invalid IDLE option argument for XCLAIM")
			o.deliveredAt = int64(c.Now) - o.deliveredAt
		case c.ArgIs(i, "TIME") && more:
			i++
			o.deliveredAt, ok = intOr(c, i, "ERR Invalid TIME option argument for XCLAIM")
		case c.ArgIs(i, "RETRYCOUNT") && more:
			i++
			o.deliveries, ok = intOr(c, i, "ERR Invalid RETRYCOUNT option argument for XCLAIM")
		case c.ArgIs(i, "LASTID") && more:
			i++
			o.last, ok = idArg(c, i)
		default:
			c.Err("ERR Unrecognized XCLAIM option '" + shown(c.Args[i]) + "'")
			return o, false
		}
		if !ok {
			return o, false
		}
	}
	o.deliveredAt = deliveryTime(o.deliveredAt, int64(c.Now))
	return o, true
}

// deliveryTime is a time of delivery that makes sense: one that was not given, is before 1970 or is still to come is now.
func deliveryTime(at, now int64) int64 {
	if at < 0 || at > now {
		return now
	}
	return at
}

// claim is a claim under way.
type claim struct {
	c      *engine.Ctx
	s      stream.Stream
	g      stream.Group
	reader stream.Consumer // who gets the entries
	effect *claimEffect
	justID bool
}

// startClaim finds the consumer that claims, which comes into being.
func startClaim(c *engine.Ctx, s stream.Stream, g stream.Group, justID bool) *claim {
	reader, ok := g.Consumer(c.Args[3])
	if !ok {
		reader = addConsumer(c, g, c.Args[3], 0)
	}
	reader.SetSeenAt(int64(c.Now))
	c.PropagateNothing() // what is to be repeated is told entry by entry
	return &claim{c: c, s: s, g: g, reader: reader, effect: newClaimEffect(c, 0, c.Args[2]), justID: justID}
}

// forget takes a pending entry away that is no longer in the stream.
func (cl *claim) forget(id stream.ID, p stream.Pending) {
	owner, _ := cl.g.Owner(p)
	cl.effect.propagate(cl.g, owner, id, p)
	cl.c.CountChanges(1)
	cl.g.Ack(id)
}

// take gives a pending entry to the consumer and appends it to the reply.
func (cl *claim) take(dst []byte, id stream.ID, p stream.Pending, deliveredAt int64) []byte {
	p.SetDeliveredAt(deliveredAt)
	cl.g.Give(id, p, cl.reader)
	cl.reader.SetActiveAt(int64(cl.c.Now))
	cl.effect.propagate(cl.g, cl.reader, id, p)
	cl.c.CountChanges(1)
	if cl.justID {
		return appendID(dst, id)
	}
	dst, _ = appendOne(dst, cl.s, id)
	return dst
}

// claimedGroup finds the group of XCLAIM and XAUTOCLAIM in what key 0 is.
func claimedGroup(c *engine.Ctx, rec keyspace.Rec, exists bool) (s stream.Stream, g stream.Group, ok bool) {
	s, exists, ok = changeStream(c, 0, rec, exists)
	if !ok {
		return s, g, false
	}
	if exists {
		g, exists = s.Group(c.Args[2])
	}
	if !exists {
		c.Err(noKeyOrGroup(c))
	}
	return s, g, exists
}

func cmdXClaim(c *engine.Ctx) {
	rec, exists := c.Find(0)
	s, g, ok := claimedGroup(c, rec, exists)
	if !ok {
		return
	}
	o, ok := parseClaim(c)
	if !ok {
		return
	}
	advanced := g.LastID().Less(o.last)
	if advanced {
		g.SetLastID(o.last)
	}
	cl := startClaim(c, s, g, o.justID)
	c.Append(func(dst []byte, _ resp.Version) []byte {
		start := len(dst)
		dst = resp.AppendArray(dst, len(o.ids))
		body, n := len(dst), 0
		for _, id := range o.ids {
			var taken, told bool
			if dst, taken, told = cl.claimOne(dst, &o, id); taken {
				n++
			}
			advanced = advanced && !told // the effect of a claim tells the last ID as well
		}
		return setCount(dst, start, body, n)
	})
	if advanced {
		propagateGroupID(c, 0, g)
		c.CountChanges(1)
	}
}

// claimOne claims one entry, if it may be claimed.
func (cl *claim) claimOne(dst []byte, o *claimOptions, id stream.ID) (out []byte, taken, told bool) {
	p, pending := cl.g.Pending(id)
	if !cl.s.Has(id) {
		if pending {
			cl.forget(id, p)
		}
		return dst, false, pending
	}
	switch {
	case !pending && !o.force:
		return dst, false, false
	case !pending:
		p, _ = cl.g.AddPending(id)
		p.SetDeliveries(1)
	case o.minIdle != 0 && int64(cl.c.Now)-p.DeliveredAt() < o.minIdle:
		return dst, false, false
	}
	if o.deliveries >= 0 {
		p.SetDeliveries(o.deliveries)
	} else if !o.justID {
		p.SetDeliveries(p.Deliveries() + 1)
	}
	return cl.take(dst, id, p, o.deliveredAt), true, true
}

const (
	autoClaimCount   = 100 // entries that XAUTOCLAIM claims if nothing is said
	autoClaimLooks   = 10  // pending entries that it looks at for each that it may claim
	autoClaimMaximum = math.MaxInt64 / 16
)

// autoClaimOptions are the words of XAUTOCLAIM.
type autoClaimOptions struct {
	minIdle int64
	from    stream.ID
	count   int64
	justID  bool
}

func parseAutoClaim(c *engine.Ctx) (o autoClaimOptions, ok bool) {
	o.count = autoClaimCount
	if o.minIdle, ok = intOr(c, 4, "ERR Invalid min-idle-time argument for XAUTOCLAIM"); !ok {
		return o, false
	}
	o.minIdle = max(o.minIdle, 0)
	if o.from, ok = startArg(c, 5); !ok {
		return o, false
	}
	for i := 6; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "COUNT") && i+1 < len(c.Args):
			i++
			if o.count, ok = c.IntBetween(i, 1, autoClaimMaximum, "ERR COUNT must be > 0"); !ok {
				return o, false
			}
		case c.ArgIs(i, "JUSTID"):
			o.justID = true
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
	}
	return o, true
}

func cmdXAutoClaim(c *engine.Ctx) {
	rec, exists := c.Find(0) // a missing key is told of whatever the words say
	o, ok := parseAutoClaim(c)
	if !ok {
		return
	}
	s, g, ok := claimedGroup(c, rec, exists)
	if !ok {
		return
	}
	cl := startClaim(c, s, g, o.justID)
	c.Append(func(dst []byte, _ resp.Version) []byte {
		dst = resp.AppendArray(dst, 3)
		start := len(dst)
		dst = appendID(dst, stream.ID{})
		entries := len(dst)
		dst = resp.AppendArray(dst, int(min(o.count, int64(g.PendingLen()))))
		body := len(dst)
		dst, taken, deleted, next := cl.walk(dst, &o)
		dst = setCount(dst, entries, body, taken)
		var text [idReplyMax + 8]byte
		dst = replaceHead(dst, start, entries, appendID(text[:0], next))
		dst = resp.AppendArray(dst, len(deleted))
		for _, id := range deleted {
			dst = appendID(dst, id)
		}
		return dst
	})
}

// walk claims what is pending from an ID on. It returns where to go on; 0-0 means that the end was reached.
func (cl *claim) walk(dst []byte, o *autoClaimOptions) (out []byte, taken int, deleted []stream.ID, next stream.ID) {
	it := cl.g.PendingFrom(o.from)
	left := o.count
	for looks := o.count * autoClaimLooks; looks > 0 && left > 0; looks-- {
		if !it.Next() {
			return dst, taken, deleted, stream.ID{}
		}
		p := it.Pending()
		if !cl.s.Has(it.ID) {
			cl.forget(it.ID, p)
			deleted = append(deleted, it.ID)
			it = cl.g.PendingFrom(it.ID)
			left--
			continue
		}
		if o.minIdle != 0 && int64(cl.c.Now)-p.DeliveredAt() < o.minIdle {
			continue
		}
		if !cl.justID {
			p.SetDeliveries(p.Deliveries() + 1)
		}
		dst = cl.take(dst, it.ID, p, int64(cl.c.Now))
		taken++
		left--
	}
	if !it.Next() {
		return dst, taken, deleted, stream.ID{}
	}
	return dst, taken, deleted, it.ID
}
