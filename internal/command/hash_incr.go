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
func counter(c *engine.Ctx, e *object.HashEdit) (value object.Elem, expireAt int64, found, ok bool) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return value, 0, false, false
	}
	if exists {
		var h object.Hash
		h.Open(c.Part(0), rec)
		gone := false
		if value, expireAt, found, gone = liveField(c, &h); gone {
			rec, exists = c.Peek(0)
		}
	}
	editHash(c, rec, exists, e)
	return value, expireAt, found, true
}

func cmdHIncrBy(c *engine.Ctx) {
	delta, ok := c.Int(3)
	if !ok {
		return
	}
	var e object.HashEdit
	value, expireAt, found, ok := counter(c, &e)
	if !ok {
		return
	}
	old := value.Int
	if found && !value.IsInt() {
		if old, ok = num.ParseInt(value.Str); !ok {
			c.Err("ERR hash value is not an integer")
			return
		}
	}
	if delta < 0 && old < math.MinInt64-delta || delta > 0 && old > math.MaxInt64-delta {
		c.Err(engine.ErrOverflow)
		return
	}
	var digits [20]byte
	e.Set(c.Args[2], num.AppendInt(digits[:0], old+delta), expireAt)
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
	var e object.HashEdit
	value, expireAt, found, ok := counter(c, &e)
	if !ok {
		return
	}
	var old num.LongDouble
	if found {
		var digits [20]byte
		if old, ok = num.ParseLongDouble(value.Text(digits[:0])); !ok {
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
	e.Set(c.Args[2], text, expireAt)
	commitHash(c, &e, "hincrbyfloat", 1)
	c.Bulk(text)
	c.Propagate(wordHSet, c.Key(0).Bytes, c.Args[2], text)
	if expireAt != 0 { // which HSET has taken away
		propagateFieldExpiry(c, expireAt, c.Args[2:3])
	}
}
