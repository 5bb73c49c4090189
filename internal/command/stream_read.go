package command

import (
	"time"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds XREAD and XREADGROUP.

// readOptions are the words of XREAD and XREADGROUP.
type readOptions struct {
	byGroup         bool
	group, consumer []byte
	count           int64 // 0: all
	blocks          bool
	timeout         time.Duration
	noAck           bool
	keysAt          int // argument of the first key; 0 without STREAMS
	keys            int
}

// source is one stream to read from.
type source struct {
	s       stream.Stream
	exists  bool
	after   stream.ID // entries behind this one are wanted
	fresh   bool      // >: those that the group has not seen
	group   stream.Group
	history bool // those that the consumer has not acknowledged
}

const (
	errNewByXRead  = "ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option."
	errLastByGroup = "ERR The $ ID is meaningless in the context of XREADGROUP: you want to read the history of this " +
		"consumer by specifying a proper ID, or use the > ID to get new messages. The $ ID would just return an empty result set."
)

func readStreams(c *engine.Ctx, byGroup bool) {
	o := readOptions{byGroup: byGroup}
	if !o.parse(c) {
		return
	}
	var few [4]source
	sources := few[:0]
	for i := range o.keys {
		src, ok := o.source(c, i)
		if !ok {
			return
		}
		sources = append(sources, src)
	}
	if o.byGroup {
		c.PropagateNothing() // what is to be repeated is told entry by entry
	}
	served := 0
	var head [2]int // where the head of the reply begins and ends
	for i := range sources {
		c.Find(i) // once more: Redis counts, and tells of, every hit and miss twice
		if o.ready(c, &sources[i], i) {
			if served == 0 {
				head = openStreams(c, o.keys)
			}
			served++
			o.reply(c, &sources[i], i)
		}
	}
	switch {
	case served > 0:
		closeStreams(c, head, served)
	case !o.blocks || c.InExec():
		c.NullArray()
	default:
		o.block(c, sources)
	}
}

// block waits for entries. $ becomes the ID that it means now.
func (o *readOptions) block(c *engine.Ctx, sources []source) {
	for i := range sources {
		at := o.keysAt + o.keys + i
		if len(c.Args[at]) == 1 && c.Args[at][0] == '$' {
			c.ReplaceArg(at, sources[i].after.AppendText(nil))
		}
	}
	c.BlockOnKeys(engine.Block{Type: keyspace.TypeStream, Timeout: o.timeout, OnDelete: o.byGroup})
}

// parse reads everything up to STREAMS.
func (o *readOptions) parse(c *engine.Ctx) (ok bool) {
	for i := 1; i < len(c.Args) && o.keysAt == 0; i++ {
		more := len(c.Args) - i - 1
		switch {
		case c.ArgIs(i, "BLOCK") && more >= 1:
			if c.InScript() {
				c.Err("ERR " + shown(c.Args[0]) + " command is not allowed with BLOCK option from scripts")
				return false
			}
			i++
			if o.timeout, ok = c.TimeoutMillis(i); !ok {
				return false
			}
			o.blocks = true
		case c.ArgIs(i, "COUNT") && more >= 1:
			i++
			if o.count, ok = c.Int(i); !ok {
				return false
			}
			o.count = max(o.count, 0)
		case c.ArgIs(i, "STREAMS") && more >= 1:
			o.keysAt, o.keys = i+1, more/2
			if more%2 != 0 {
				c.Err(o.unbalanced(c))
				return false
			}
		case c.ArgIs(i, "GROUP") && more >= 2:
			if !o.byGroup {
				c.Err("ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead.")
				return false
			}
			o.group, o.consumer = c.Args[i+1], c.Args[i+2]
			i += 2
		case c.ArgIs(i, "NOACK"):
			if !o.byGroup {
				c.Err("ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead.")
				return false
			}
			o.noAck = true
		default:
			c.Err(engine.ErrSyntax)
			return false
		}
	}
	return o.complete(c)
}

func (o *readOptions) unbalanced(c *engine.Ctx) string {
	symbol := "$"
	if o.byGroup {
		symbol = ">"
	}
	return "ERR Unbalanced '" + c.Cmd.Full + "' list of streams: for each stream key an ID or '" + symbol + "' must be specified."
}

// complete says whether nothing is missing; otherwise the error has been replied.
func (o *readOptions) complete(c *engine.Ctx) bool {
	switch {
	case o.keysAt == 0 || c.NumKeys() != o.keys:
		c.Err(engine.ErrSyntax)
	case o.byGroup && o.group == nil:
		c.Err("ERR Missing GROUP option for XREADGROUP")
	default:
		return true
	}
	return false
}

// source finds the i-th stream and what is wanted of it; otherwise the error has been replied.
func (o *readOptions) source(c *engine.Ctx, i int) (src source, ok bool) {
	rec, exists := c.Find(i)
	if o.byGroup {
		src.s, src.exists, ok = changeStream(c, i, rec, exists)
	} else {
		src.s, src.exists, ok = openStream(c, rec, exists)
	}
	if !ok {
		return src, false
	}
	if o.byGroup {
		if src.exists {
			src.group, ok = src.s.Group(o.group)
		}
		if !src.exists || !ok {
			c.Err("NOGROUP No such key '" + shown(c.Key(i).Bytes) + "' or consumer group '" + shown(o.group) +
				"' in XREADGROUP with GROUP option")
			return src, false
		}
	}
	switch word := c.Args[o.keysAt+o.keys+i]; {
	case string(word) == "$":
		if o.byGroup {
			c.Err(errLastByGroup)
			return src, false
		}
		if src.exists {
			src.after = src.s.LastID()
		}
	case string(word) == ">":
		if !o.byGroup {
			c.Err(errNewByXRead)
			return src, false
		}
		src.after = stream.MaxID()
	default:
		if src.after, ok = idArg(c, o.keysAt+o.keys+i); !ok {
			return src, false
		}
	}
	src.fresh = o.byGroup && src.after == stream.MaxID() // NB: the ID itself means the same as >
	src.history = o.byGroup && !src.fresh
	return src, true
}

// ready says whether the stream has something to reply. A consumer that tries to read comes into being.
func (o *readOptions) ready(c *engine.Ctx, src *source, i int) bool {
	if !src.exists {
		return false
	}
	if !o.byGroup {
		last, ok := src.s.Last()
		return ok && src.after.Less(last)
	}
	reader, ok := src.group.Consumer(o.consumer)
	if !ok {
		reader = addConsumer(c, src.group, o.consumer, i)
		if o.noAck {
			c.Propagate(wordXGroup, wordCreateConsumer, c.Key(i).Bytes, o.group, o.consumer)
		}
	}
	reader.SetSeenAt(int64(c.Now))
	if src.history {
		return true
	}
	last, ok := src.s.Last()
	src.after = src.group.LastID()
	return ok && src.after.Less(last)
}

// addConsumer makes a consumer of a group of the i-th key.
func addConsumer(c *engine.Ctx, g stream.Group, name []byte, i int) stream.Consumer {
	reader, _ := g.AddConsumer(name, int64(c.Now))
	c.CountChanges(1)
	c.Notify(config.EventStream, "xgroup-createconsumer", i)
	return reader
}

// openStreams opens a reply of the given number of streams, which closeStreams sets right.
func openStreams(c *engine.Ctx, n int) (head [2]int) {
	c.Append(func(dst []byte, v resp.Version) []byte {
		head[0] = len(dst)
		dst = appendStreamsHead(dst, v, n)
		head[1] = len(dst)
		return dst
	})
	return head
}

func closeStreams(c *engine.Ctx, head [2]int, n int) {
	c.Append(func(dst []byte, v resp.Version) []byte {
		var text [24]byte
		return replaceHead(dst, head[0], head[1], appendStreamsHead(text[:0], v, n))
	})
}

func appendStreamsHead(dst []byte, v resp.Version, n int) []byte {
	if v == resp.RESP3 {
		return resp.AppendMap(dst, v, n)
	}
	return resp.AppendArray(dst, n)
}

// reply replies what there is of one stream.
func (o *readOptions) reply(c *engine.Ctx, src *source, i int) {
	c.Append(func(dst []byte, v resp.Version) []byte {
		if v == resp.RESP2 {
			dst = resp.AppendArray(dst, 2)
		}
		dst = resp.AppendBulk(dst, c.Key(i).Bytes)
		from, _ := src.after.Next() // NB: after the greatest ID everything follows
		switch {
		case src.history:
			c.CountChanges(1)
			return o.appendHistory(c, dst, src, from, v)
		case src.fresh:
			c.CountChanges(1)
			return o.appendFresh(c, dst, src, from, i)
		}
		it := src.s.Range(from, stream.MaxID())
		return appendEntries(dst, &it, o.count, o.guess(src.s.Len()))
	})
}

// guess is how many entries a reply may have.
func (o *readOptions) guess(most int64) int64 {
	if o.count > 0 {
		return min(o.count, most)
	}
	return min(most, 1)
}

// appendHistory appends what was delivered to the consumer before.
func (o *readOptions) appendHistory(c *engine.Ctx, dst []byte, src *source, from stream.ID, v resp.Version) []byte {
	reader, _ := src.group.Consumer(o.consumer)
	start := len(dst)
	dst = resp.AppendArray(dst, int(o.guess(int64(reader.PendingLen()))))
	body, n := len(dst), int64(0)
	for it := src.group.OwnedFrom(reader, from); (o.count == 0 || n < o.count) && it.Next(); n++ {
		var ok bool
		if dst, ok = appendOne(dst, src.s, it.ID); !ok {
			dst = resp.AppendNullArray(appendID(resp.AppendArray(dst, 2), it.ID), v)
			continue
		}
		p := it.Pending()
		p.SetDeliveredAt(int64(c.Now))
		p.SetDeliveries(p.Deliveries() + 1)
	}
	return setCount(dst, start, body, int(n))
}

// appendFresh appends what the group has not delivered yet, and notes that the consumer has it.
func (o *readOptions) appendFresh(c *engine.Ctx, dst []byte, src *source, from stream.ID, i int) []byte {
	reader, _ := src.group.Consumer(o.consumer)
	start := len(dst)
	dst = resp.AppendArray(dst, int(o.guess(src.s.Len())))
	body, n := len(dst), int64(0)
	advanced := false
	claim := newClaimEffect(c, i, o.group)
	for it := src.s.Range(from, stream.MaxID()); (o.count == 0 || n < o.count) && it.Next(); n++ {
		if src.s.Advance(src.group, it.ID) {
			advanced = true
		}
		dst = appendEntry(dst, &it)
		if o.noAck {
			continue
		}
		p, _ := src.group.AddPending(it.ID)
		p.SetDeliveredAt(int64(c.Now))
		p.SetDeliveries(1)
		src.group.Give(it.ID, p, reader)
		reader.SetActiveAt(int64(c.Now))
		claim.propagate(src.group, reader, it.ID, p)
	}
	if advanced {
		propagateGroupID(c, i, src.group) // a claim does not tell how many entries were read
	}
	return setCount(dst, start, body, int(n))
}

var (
	wordXGroup         = []byte("XGROUP")
	wordSetID          = []byte("SETID")
	wordCreateConsumer = []byte("CREATECONSUMER")
	wordEntriesRead    = []byte("ENTRIESREAD")
	wordXClaim         = []byte("XCLAIM")
	wordZero           = []byte("0")
	wordTime           = []byte("TIME")
	wordRetryCount     = []byte("RETRYCOUNT")
	wordForce          = []byte("FORCE")
	wordJustID         = []byte("JUSTID")
	wordLastID         = []byte("LASTID")
)

// propagateGroupID logs how far a group of the i-th key has come.
func propagateGroupID(c *engine.Ctx, i int, g stream.Group) {
	var id [idReplyMax]byte
	var read [20]byte
	c.Propagate(wordXGroup, wordSetID, c.Key(i).Bytes, g.Name(), g.LastID().AppendText(id[:0]), wordEntriesRead,
		num.AppendInt(read[:0], g.EntriesRead()))
}

// claimEffect logs who owns pending entries of one group.
type claimEffect struct {
	c                 *engine.Ctx
	args              [14][]byte
	id, last          [idReplyMax]byte
	delivered, number [20]byte
}

// newClaimEffect is for a group of the i-th key.
func newClaimEffect(c *engine.Ctx, i int, group []byte) *claimEffect {
	return &claimEffect{c: c, args: [14][]byte{0: wordXClaim, 1: c.Key(i).Bytes, 2: group, 4: wordZero, 6: wordTime,
		8: wordRetryCount, 10: wordForce, 11: wordJustID, 12: wordLastID}}
}

func (e *claimEffect) propagate(g stream.Group, owner stream.Consumer, id stream.ID, p stream.Pending) {
	if !e.c.Logging() {
		return
	}
	e.args[3] = owner.Name()
	e.args[5] = id.AppendText(e.id[:0])
	e.args[7] = num.AppendInt(e.delivered[:0], p.DeliveredAt())
	e.args[9] = num.AppendInt(e.number[:0], p.Deliveries())
	e.args[13] = g.LastID().AppendText(e.last[:0])
	e.c.Propagate(e.args[:]...)
}
