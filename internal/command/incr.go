package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
)

// This file holds the counters.

func cmdIncrBy(c *engine.Ctx) {
	if n, ok := c.Int(2); ok {
		addInt(c, n)
	}
}

func cmdDecrBy(c *engine.Ctx) {
	n, ok := c.Int(2)
	if !ok {
		return
	}
	if n == math.MinInt64 {
		c.Err("ERR decrement would overflow")
		return
	}
	addInt(c, -n)
}

func addInt(c *engine.Ctx, delta int64) {
	rec, exists, ok := c.WriteString(0)
	if !ok {
		return
	}
	old, at := int64(0), int64(0)
	if exists {
		at = rec.ExpireAt()
		if old, ok = integerOf(rec); !ok {
			c.Err(engine.ErrNotInteger)
			return
		}
	}
	sum := old + delta
	if delta < 0 && sum > old || delta > 0 && sum < old {
		c.Err(engine.ErrOverflow)
		return
	}
	c.Part(0).SetInt(c.DB(), c.Key(0), sum, at)
	c.Changed(0)
	c.Notify(config.EventString, "incrby", 0)
	c.ReplyInt(sum)
}

func integerOf(rec keyspace.Rec) (int64, bool) {
	if rec.Encoding() == keyspace.EncInt {
		return rec.Int(), true
	}
	return num.ParseInt(rec.Value())
}

func cmdIncrByFloat(c *engine.Ctx) {
	rec, exists, ok := c.WriteString(0)
	if !ok {
		return
	}
	var old num.LongDouble
	at := int64(0)
	if exists {
		at = rec.ExpireAt()
		if old, ok = num.ParseLongDouble(c.StringBytes(rec)); !ok {
			c.Err(engine.ErrNotFloat)
			return
		}
	}
	delta, ok := num.ParseLongDouble(c.Args[2])
	if !ok {
		c.Err(engine.ErrNotFloat)
		return
	}
	sum := old.Add(delta)
	if sum.IsNaN() || sum.IsInf() {
		c.Err(engine.ErrNaNOrInf)
		return
	}
	var digits [64]byte
	text := sum.AppendHuman(digits[:0])
	if len(text) <= keyspace.EmbstrMax { // not as an integer even if it is one, as Redis has it
		c.Part(0).PutInline(c.DB(), c.Key(0), keyspace.TypeString, keyspace.EncEmbstr, text, at)
	} else {
		c.Part(0).SetString(c.DB(), c.Key(0), text, at)
	}
	c.Changed(0)
	c.Notify(config.EventString, "incrbyfloat", 0)
	c.Propagate(wordSet, c.Key(0).Bytes, text, wordKeepTTL)
	c.Bulk(text)
}
