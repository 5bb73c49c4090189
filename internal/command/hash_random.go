package command

import (
	"math"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds HRANDFIELD.

func cmdHRandField(c *engine.Ctx) {
	if len(c.Args) >= 3 {
		randomFields(c)
		return
	}
	h, ok := readLiveHash(c)
	if !ok {
		return
	}
	if f, found := randomField(c, &h); found {
		replyElem(c, f.Name)
	} else {
		c.Null()
	}
}

// readLiveHash is readHash after the fields whose time is over were removed, if this node may do that.
func readLiveHash(c *engine.Ctx) (h object.Hash, ok bool) {
	if ok = readHash(c, &h); !ok || h.NextExpiry() > c.FieldClock() {
		return h, ok
	}
	c.DropDueFields(0)
	rec, exists := c.Peek(0)
	if !exists {
		return object.Hash{}, true
	}
	return object.OpenHash(c.Part(0), rec), true
}

// randomTries is how often a field whose time is over may be met before all are looked at.
const randomTries = 100

// randomField is a field chosen by chance among those whose time is not over.
func randomField(c *engine.Ctx, h *object.Hash) (f object.Field, found bool) {
	now := c.FieldClock()
	if h.Len() == 0 {
		return f, false
	}
	for range randomTries {
		if f = h.Random(c.W.Dice()); !f.IsPast(now) {
			return f, true
		}
	}
	met := uint64(0)
	h.Each(func(other object.Field) bool {
		if !other.IsPast(now) {
			if met++; c.W.Dice().Below(met) == 0 {
				f = other
			}
		}
		return true
	})
	return f, met > 0
}

// randomFields is HRANDFIELD with a count.
func randomFields(c *engine.Ctx) {
	n, ok := c.Int(2)
	if !ok {
		return
	}
	if n == math.MinInt64 {
		c.Err("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
		return
	}
	values := len(c.Args) == 4 && c.ArgIs(3, "WITHVALUES")
	if len(c.Args) > 3 && !values {
		c.Err(engine.ErrSyntax)
		return
	}
	if values && (n < -math.MaxInt64/2 || n > math.MaxInt64/2) {
		c.Err("ERR value is out of range")
		return
	}
	h, ok := readLiveHash(c)
	if !ok {
		return
	}
	size := h.Live(c.FieldClock())
	switch {
	case n == 0 || size == 0:
		c.Array(0)
	case n < 0:
		repeatFields(c, &h, -n, values)
	default:
		n := int(min(n, int64(size)))
		openPairs(c, n, values)
		sampleFields(c, &h, size, n, values)
	}
}

// sampleFields replies n of the fields whose time is not over, none twice; size is how many there are.
func sampleFields(c *engine.Ctx, h *object.Hash, size, n int, values bool) {
	if size == h.Len() {
		h.Sample(c.W.Dice(), n, func(f object.Field) { replyPair(c, f, values) })
		return
	}
	now := c.FieldClock()
	h.Each(func(f object.Field) bool {
		if f.IsPast(now) {
			return true
		}
		if c.W.Dice().Below(uint64(size)) < uint64(n) {
			replyPair(c, f, values)
			n--
		}
		size--
		return n > 0
	})
}

// repeatFields is HRANDFIELD with a negative count: it replies n fields, of which some may be the same. Very many are drawn
// from a sample.
func repeatFields(c *engine.Ctx, h *object.Hash, n int64, values bool) {
	if n <= poolMax {
		openPairs(c, int(n), values)
		for range n {
			f, _ := randomField(c, h)
			replyPair(c, f, values)
		}
		return
	}
	var fields, texts names
	add := func(f object.Field) {
		var digits [20]byte
		fields.add(f.Name.Text(digits[:0]))
		if values {
			texts.add(f.Value.Text(digits[:0]))
		}
	}
	if h.Len() <= poolMax {
		now := c.FieldClock()
		h.Each(func(f object.Field) bool {
			if !f.IsPast(now) {
				add(f)
			}
			return true
		})
	} else {
		for range poolMax {
			f, _ := randomField(c, h)
			add(f)
		}
	}
	r := drawnReply{n: n, texts: fields.mean() + texts.mean(), open: func() { openPairs(c, int(n), values) }}
	r.one = func(c *engine.Ctx) {
		i := int(c.W.Dice().Below(uint64(len(fields.ends))))
		f := object.Field{Name: listpack.BytesElem(fields.at(i))}
		if values {
			f.Value = listpack.BytesElem(texts.at(i))
		}
		replyPair(c, f, values)
	}
	r.reply(c)
}

// openPairs opens the reply of n fields, with their values if they are wanted.
func openPairs(c *engine.Ctx, n int, values bool) {
	if values && c.Proto() == resp.RESP2 {
		n *= 2
	}
	c.Array(n)
}

// replyPair replies a field, with its value if it is wanted.
func replyPair(c *engine.Ctx, f object.Field, values bool) {
	if values && c.Proto() != resp.RESP2 {
		c.Array(2)
	}
	replyElem(c, f.Name)
	if values {
		replyElem(c, f.Value)
	}
}
