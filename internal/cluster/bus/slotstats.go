package bus

import (
	"cmp"
	"slices"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds CLUSTER SLOT-STATS, which Valkey has since 8.0.

// slotFigures are what is shown of one slot.
type slotFigures struct {
	slot slot.ID
	keys int64
	engine.SlotCost
}

// slotMetrics are what the slots can be sorted by; all but the keys have to be counted.
var slotMetrics = map[string]func(*slotFigures) int64{
	"KEY-COUNT":         func(f *slotFigures) int64 { return f.keys },
	"CPU-USEC":          func(f *slotFigures) int64 { return f.Nanos / 1000 },
	"NETWORK-BYTES-IN":  func(f *slotFigures) int64 { return f.In },
	"NETWORK-BYTES-OUT": func(f *slotFigures) int64 { return f.Out },
}

func (b *Bus) cmdSlotStats(c *engine.Ctx) {
	switch {
	case c.ArgIs(2, "SLOTSRANGE") && len(c.Args) == 5:
		first, last, ok := slotRange(c)
		if ok {
			b.replySlots(c, b.figures(c, first, last))
		}
	case c.ArgIs(2, "ORDERBY"):
		b.orderedSlots(c)
	default:
		c.Err(engine.ErrSyntax)
	}
}

func slotRange(c *engine.Ctx) (first, last slot.ID, ok bool) {
	var ends [2]int64
	for i := range ends {
		if ends[i], ok = c.IntBetween(3+i, 0, slot.Count-1, "ERR Invalid or out of range slot"); !ok {
			return 0, 0, false
		}
	}
	if ends[0] > ends[1] {
		text := append([]byte("ERR Start slot number "), num.AppendInt(nil, ends[0])...)
		text = append(append(text, " is greater than end slot number "...), num.AppendInt(nil, ends[1])...)
		c.Err(string(text))
		return 0, 0, false
	}
	return slot.ID(ends[0]), slot.ID(ends[1]), true
}

// orderedSlots replies to ORDERBY metric [LIMIT n] [ASC|DESC].
func (b *Bus) orderedSlots(c *engine.Ctx) {
	var metric func(*slotFigures) int64
	for name, of := range slotMetrics {
		if c.ArgIs(3, name) && (name == "KEY-COUNT" || b.e.SlotStats.Enabled()) {
			metric = of
		}
	}
	if metric == nil {
		c.Err("ERR Unrecognized sort metric for ORDERBY.")
		return
	}
	limit, descending := int64(slot.Count), true
	for i := 4; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "LIMIT") && i+1 < len(c.Args):
			var ok bool
			i++
			if limit, ok = c.IntBetween(i, 1, slot.Count, "ERR Limit has to lie in between 1 and 16384 (maximum number of slots)."); !ok {
				return
			}
		case c.ArgIs(i, "ASC"):
			descending = false
		case c.ArgIs(i, "DESC"):
			descending = true
		default:
			c.Err(engine.ErrSyntax)
			return
		}
	}
	list := b.figures(c, 0, slot.Count-1)
	slices.SortStableFunc(list, func(x, y slotFigures) int {
		if descending {
			return cmp.Compare(metric(&y), metric(&x))
		}
		return cmp.Compare(metric(&x), metric(&y))
	})
	b.replySlots(c, list[:min(int64(len(list)), limit)])
}

// figures are those of the slots of a range that this node's shard owns.
func (b *Bus) figures(c *engine.Ctx, first, last slot.ID) []slotFigures {
	v := b.View()
	owner := v.Myself
	if p := v.Me().Primary; p >= 0 {
		owner = p
	}
	var keys [slot.Count]int64
	shard := 0
	c.EachShard(func(s *engine.Shard) bool {
		for at := shard; at < slot.Count; at += keyspace.Shards {
			keys[at] = int64(s.Part.Count(0, slot.ID(at)))
		}
		shard++
		return true
	})
	var list []slotFigures
	for at := int(first); at <= int(last); at++ {
		if int(v.Owner[at]) == owner+1 {
			list = append(list, slotFigures{slot.ID(at), keys[at], b.e.SlotStats.Cost(slot.ID(at))})
		}
	}
	return list
}

func (b *Bus) replySlots(c *engine.Ctx, list []slotFigures) {
	all := b.e.SlotStats.Enabled()
	c.Array(len(list))
	for i := range list {
		f := &list[i]
		c.Array(2)
		c.ReplyInt(int64(f.slot))
		if !all {
			c.Map(1)
		} else {
			c.Map(4)
		}
		figure(c, "key-count", f.keys)
		if all {
			figure(c, "cpu-usec", f.Nanos/1000)
			figure(c, "network-bytes-in", f.In)
			figure(c, "network-bytes-out", f.Out)
		}
	}
}

func figure(c *engine.Ctx, name string, n int64) {
	c.BulkString(name)
	c.ReplyInt(n)
}
