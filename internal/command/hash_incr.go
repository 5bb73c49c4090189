package command

import (
	"math"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the counters in fields of hashes.

var wordHSet = []byte("HSET")

// counter finds the field of argument 2, to be counted, and the edit that changes it; ok is false when an error has been
// replied.
func counter(c *engine.Ctx) (f object.Field, found bool, e object.HashEdit, ok bool) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return f, false, e, false
	}
	if exists {
		h, gone := object.OpenHash(c.Part(0), rec), false
		if f, found, gone = liveField(c, &h); gone {
			rec, exists = c.Peek(0)
		}
	}
	return f, found, editHash(c, rec, exists), true
}

func cmdHIncrBy(c *engine.Ctx) {
	delta, ok := c.Int(3)
	if !ok {
		return
	}
	f, found, e, ok := counter(c)
	if !ok {
		return
	}
	old := f.Value.Int
	if found && !f.Value.IsInt() {
		if old, ok = num.ParseInt(f.Value.Str); !ok {
			c.Err("ERR hash value is not an integer")
			return
		}
	}
	if delta < 0 && old < math.MinInt64-delta || delta > 0 && old > math.MaxInt64-delta {
		c.Err(engine.ErrOverflow)
		return
	}
	var digits [20]byte
	e.Set(c.Args[2], num.AppendInt(digits[:0], old+delta), f.ExpireAt)
	commitHash(c, &e, "hincrby", 1)
	c.ReplyInt(old + delta)
}

func cmdHIncrByFloat(c *engine.Ctx) {
	delta, ok := num.ParseLongDouble(c.Args[3])
	if !ok {
		c.Err(engine.ErrNotFloat)
		return
	}
	if delta.IsNaN() || delta.IsInf() {
		c.Err("ERR value is NaN or Infinity")
		return
	}
	f, found, e, ok := counter(c)
	if !ok {
		return
	}
	var old num.LongDouble
	if found {
		var digits [20]byte
		if old, ok = num.ParseLongDouble(f.Value.Text(digits[:0])); !ok {
			c.Err("ERR hash value is not a float")
			return
		}
	}
	sum := old.Add(delta)
	if sum.IsNaN() || sum.IsInf() {
		c.Err(engine.ErrNaNOrInf)
		return
	}
	var digits [64]byte
	text := sum.AppendHuman(digits[:0])
	e.Set(c.Args[2], text, f.ExpireAt)
	commitHash(c, &e, "hincrbyfloat", 1)
	c.Bulk(text)
	c.Propagate(wordHSet, c.Key(0).Bytes, c.Args[2], text)
	if f.ExpireAt != 0 { // which HSET has taken away
		propagateFieldExpiry(c, f.ExpireAt, c.Args[2:3])
	}
}
