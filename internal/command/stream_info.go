package command

import (
	"strconv"

	"github.com/covey-db/covey/internal/enc/stream"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds XINFO, and the digest of streams.

// streamInfo appends the fields of a reply.
type streamInfo struct {
	dst []byte
	v   resp.Version
}

func (w *streamInfo) open(fields int)          { w.dst = resp.AppendMap(w.dst, w.v, fields) }
func (w *streamInfo) name(s string)            { w.dst = resp.AppendBulkString(w.dst, s) }
func (w *streamInfo) number(s string, n int64) { w.name(s); w.dst = resp.AppendInt(w.dst, n) }
func (w *streamInfo) id(s string, id stream.ID) {
	w.name(s)
	w.dst = appendID(w.dst, id)
}

func (w *streamInfo) bytes(s string, b []byte) {
	w.name(s)
	w.dst = resp.AppendBulk(w.dst, b)
}

// maybe appends a number that may be unknown.
func (w *streamInfo) maybe(s string, n int64, known bool) {
	w.name(s)
	if known {
		w.dst = resp.AppendInt(w.dst, n)
	} else {
		w.dst = resp.AppendNull(w.dst, w.v)
	}
}

// infoStream finds the stream that is asked about; it must exist.
func infoStream(c *engine.Ctx) (s stream.Stream, ok bool) {
	s, exists, ok := readStream(c)
	if ok && !exists {
		c.Err(engine.ErrNoSuchKey)
	}
	return s, ok && exists
}

// replyInfo appends a reply by means of a writer.
func replyInfo(c *engine.Ctx, write func(w *streamInfo)) {
	c.Append(func(dst []byte, v resp.Version) []byte {
		w := streamInfo{dst, v}
		write(&w)
		return w.dst
	})
}

func cmdXInfoConsumers(c *engine.Ctx) {
	s, ok := infoStream(c)
	if !ok {
		return
	}
	g, ok := s.Group(c.Args[3])
	if !ok {
		c.Err(noGroupOfKey(c, 3))
		return
	}
	replyInfo(c, func(w *streamInfo) {
		w.dst = resp.AppendArray(w.dst, g.Consumers())
		for i := range g.Consumers() {
			reader := g.ConsumerAt(i)
			inactive := reader.ActiveAt()
			if inactive != -1 {
				inactive = int64(c.Now) - inactive
			}
			w.open(4)
			w.bytes("name", reader.Name())
			w.number("pending", int64(reader.PendingLen()))
			w.number("idle", max(int64(c.Now)-reader.SeenAt(), 0))
			w.number("inactive", inactive)
		}
	})
}

func cmdXInfoGroups(c *engine.Ctx) {
	s, ok := infoStream(c)
	if !ok {
		return
	}
	replyInfo(c, func(w *streamInfo) {
		w.dst = resp.AppendArray(w.dst, s.Groups())
		for i := range s.Groups() {
			g := s.GroupAt(i)
			w.open(6)
			w.bytes("name", g.Name())
			w.number("consumers", int64(g.Consumers()))
			w.number("pending", int64(g.PendingLen()))
			w.id("last-delivered-id", g.LastID())
			w.progress(s, g)
		}
	})
}

// progress appends how far a group has come.
func (w *streamInfo) progress(s stream.Stream, g stream.Group) {
	w.maybe("entries-read", g.EntriesRead(), g.EntriesRead() != stream.Unknown)
	lag, known := s.Lag(g)
	w.maybe("lag", lag, known)
}

// infoCount is how many entries XINFO STREAM FULL shows if nothing is said.
const infoCount = 10

// parseInfo reads the words behind XINFO STREAM key.
func parseInfo(c *engine.Ctx) (full bool, count int64, ok bool) {
	count = infoCount
	switch n := len(c.Args); {
	case n == 3:
		return false, count, true
	case n != 4 && n != 6, !c.ArgIs(3, "FULL"), n == 6 && !c.ArgIs(4, "COUNT"):
		subcommandErr(c)
		return false, 0, false
	case n == 6:
		if count, ok = c.Int(5); !ok {
			return false, 0, false
		}
		if count < 0 {
			count = infoCount
		}
	}
	return true, count, true
}

func cmdXInfoStream(c *engine.Ctx) {
	s, ok := infoStream(c)
	if !ok {
		return
	}
	full, count, ok := parseInfo(c)
	if !ok {
		return
	}
	replyInfo(c, func(w *streamInfo) {
		if full {
			w.open(9)
			w.summary(s)
			w.entries(s, count)
			w.groups(s, count)
			return
		}
		w.open(10)
		w.summary(s)
		w.number("groups", int64(s.Groups()))
		w.edge("first-entry", s.Range(stream.ID{}, stream.MaxID()))
		w.edge("last-entry", s.RangeBack(stream.ID{}, stream.MaxID()))
	})
}

// summary appends what both forms of XINFO STREAM tell.
func (w *streamInfo) summary(s stream.Stream) {
	w.number("length", s.Len())
	w.number("radix-tree-keys", int64(s.Nodes()))
	w.number("radix-tree-nodes", s.RadixNodes())
	w.id("last-generated-id", s.LastID())
	w.id("max-deleted-entry-id", s.MaxDeletedID())
	w.number("entries-added", s.EntriesAdded())
	w.id("recorded-first-entry-id", s.FirstID())
}

// edge appends the first entry of a walk.
func (w *streamInfo) edge(name string, it stream.Iter) {
	w.name(name)
	if it.Next() {
		w.dst = appendEntry(w.dst, &it)
	} else {
		w.dst = resp.AppendNull(w.dst, w.v)
	}
}

func (w *streamInfo) entries(s stream.Stream, count int64) {
	w.name("entries")
	it := s.Range(stream.ID{}, stream.MaxID())
	w.dst = appendEntries(w.dst, &it, count, s.Len())
}

func (w *streamInfo) groups(s stream.Stream, count int64) {
	w.name("groups")
	w.dst = resp.AppendArray(w.dst, s.Groups())
	for i := range s.Groups() {
		g := s.GroupAt(i)
		w.open(7)
		w.bytes("name", g.Name())
		w.id("last-delivered-id", g.LastID())
		w.progress(s, g)
		w.number("pel-count", int64(g.PendingLen()))
		w.pending(g.PendingFrom(stream.ID{}), g.PendingLen(), count, func(p stream.Pending) []byte {
			owner, _ := g.Owner(p)
			return owner.Name()
		})
		w.name("consumers")
		w.dst = resp.AppendArray(w.dst, g.Consumers())
		for i := range g.Consumers() {
			w.consumer(g, g.ConsumerAt(i), count)
		}
	}
}

func (w *streamInfo) consumer(g stream.Group, reader stream.Consumer, count int64) {
	w.open(5)
	w.bytes("name", reader.Name())
	w.number("seen-time", reader.SeenAt())
	w.number("active-time", reader.ActiveAt())
	w.number("pel-count", int64(reader.PendingLen()))
	w.pending(g.OwnedFrom(reader, stream.ID{}), reader.PendingLen(), count, nil)
}

// pending appends up to count (0: all) of n pending entries, each with the name of its owner if that is wanted.
func (w *streamInfo) pending(it stream.PendingIter, n int, count int64, owner func(stream.Pending) []byte) {
	if count > 0 {
		n = int(min(int64(n), count))
	}
	w.name("pending")
	w.dst = resp.AppendArray(w.dst, n)
	for ; n > 0 && it.Next(); n-- {
		p := it.Pending()
		if owner == nil {
			w.dst = appendID(resp.AppendArray(w.dst, 3), it.ID)
		} else {
			w.dst = appendID(resp.AppendArray(w.dst, 4), it.ID)
			w.dst = resp.AppendBulk(w.dst, owner(p))
		}
		w.dst = resp.AppendInt(w.dst, p.DeliveredAt())
		w.dst = resp.AppendInt(w.dst, p.Deliveries())
	}
}

func cmdXInfoHelp(c *engine.Ctx) {
	c.Help(
		"CONSUMERS <key> <groupname>",
		"    Describe the consumers of a group.",
		"GROUPS <key>",
		"    Describe the groups of a stream.",
		"STREAM <key> [FULL [COUNT <count>]]",
		"    Describe a stream; FULL shows up to <count> of its entries, groups and pending entries, too.",
	)
}

// mixStream mixes the entries of a stream, in order.
func (d *digest) mixStream(rec keyspace.Rec) {
	var text []byte
	s := object.OpenStream(rec)
	for it := s.Range(stream.ID{}, stream.MaxID()); it.Next(); {
		text = strconv.AppendUint(text[:0], it.ID.Ms, 10)
		text = strconv.AppendUint(append(text, '.'), it.ID.Seq, 10)
		d.mix(text)
		for range it.Fields {
			field, value := it.Pair()
			text = field.Append(text[:0])
			d.mix(text)
			text = value.Append(text[:0])
			d.mix(text)
		}
	}
}
