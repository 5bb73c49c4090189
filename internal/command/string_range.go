package command

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
)

// This file holds the string commands that read or change a part of a value.

func cmdStrLen(c *engine.Ctx) {
	rec, exists, ok := c.ReadString(0)
	switch {
	case !ok:
	case !exists:
		c.ReplyInt(0)
	default:
		c.ReplyInt(int64(len(c.StringBytes(rec))))
	}
}

// withinLimit checks that a value may grow to the given length; otherwise the error has been replied.
func withinLimit(c *engine.Ctx, length, added int64) bool {
	if length+added > c.Engine().Settings.MaxBulk.Load() || length+added < 0 {
		c.Err(engine.ErrTooBig)
		return false
	}
	return true
}

func cmdAppend(c *engine.Ctx) {
	rec, exists, ok := c.WriteString(0)
	if !ok {
		return
	}
	tail := c.Args[2]
	if !exists {
		c.SetString(0, tail, 0)
		c.Changed(0)
		c.Notify(config.EventString, "append", 0)
		c.ReplyInt(int64(len(tail)))
		return
	}
	old := len(c.StringBytes(rec))
	if !withinLimit(c, int64(old), int64(len(tail))) {
		return
	}
	value := rawValue(c, old+len(tail), true)
	copy(value[old:], tail)
	c.Changed(0)
	c.Notify(config.EventString, "append", 0)
	c.ReplyInt(int64(len(value)))
}

// rawValue makes the value of the first key writable bytes of the given length; an integer becomes its text. What is added
// behind the old value has arbitrary contents.
func rawValue(c *engine.Ctx, length int, growing bool) []byte {
	return c.Part(0).Writable(c.DB(), c.Key(0), length, growing)
}

func cmdSetRange(c *engine.Ctx) {
	offset, ok := c.Int(2)
	if !ok {
		return
	}
	if offset < 0 {
		c.Err(engine.ErrOffsetRange)
		return
	}
	rec, exists, ok := c.WriteString(0)
	if !ok {
		return
	}
	patch := c.Args[3]
	old := 0
	if exists {
		old = len(c.StringBytes(rec))
	}
	if len(patch) == 0 {
		c.ReplyInt(int64(old))
		return
	}
	if !withinLimit(c, offset, int64(len(patch))) {
		return
	}
	length := max(old, int(offset)+len(patch))
	if !exists {
		c.Part(0).SetString(c.DB(), c.Key(0), nil, 0)
	}
	value := rawValue(c, length, exists && length > old)
	if int(offset) > old {
		clear(value[old:offset])
	}
	copy(value[offset:], patch)
	c.Changed(0)
	c.Notify(config.EventString, "setrange", 0)
	c.ReplyInt(int64(length))
}

func cmdGetRange(c *engine.Ctx) {
	start, ok := c.Int(2)
	if !ok {
		return
	}
	end, ok := c.Int(3)
	if !ok {
		return
	}
	rec, exists, ok := c.ReadString(0)
	if !ok {
		return
	}
	var value []byte
	if exists {
		value = c.StringBytes(rec)
	}
	from, to := clip(start, end, int64(len(value)))
	c.Bulk(value[from:to])
}

// clip turns an inclusive range with negative positions from the end into a half-open one within n.
func clip(start, end, n int64) (from, to int64) {
	if start < 0 && end < 0 && start > end {
		return 0, 0
	}
	if start < 0 {
		start = max(0, n+start)
	}
	if end < 0 {
		end = max(0, n+end)
	}
	end = min(end, n-1)
	if n == 0 || start > end {
		return 0, 0
	}
	return start, end + 1
}
