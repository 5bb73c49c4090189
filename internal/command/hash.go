package command

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the commands that read and write fields of hashes. Counters are in hash_incr.go, the choice by chance in
// hash_random.go, the expiry of fields in hash_expire.go and what reads or writes fields together with it in hash_ex.go.

func hashHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"hset":         {Run: cmdHSet},
		"hmset":        {Run: cmdHMSet},
		"hsetnx":       {Run: cmdHSetNX},
		"hget":         {Run: cmdHGet},
		"hmget":        {Run: cmdHMGet},
		"hgetall":      {Run: func(c *engine.Ctx) { replyHash(c, true, true) }},
		"hkeys":        {Run: func(c *engine.Ctx) { replyHash(c, true, false) }},
		"hvals":        {Run: func(c *engine.Ctx) { replyHash(c, false, true) }},
		"hlen":         {Run: cmdHLen},
		"hexists":      {Run: cmdHExists},
		"hdel":         {Run: cmdHDel},
		"hstrlen":      {Run: cmdHStrLen},
		"hincrby":      {Run: cmdHIncrBy},
		"hincrbyfloat": {Run: cmdHIncrByFloat},
		"hrandfield":   {Run: cmdHRandField},
		"hscan":        {Run: cmdHScan},
		"hexpire":      {Run: func(c *engine.Ctx) { setFieldExpiry(c, second, true) }},
		"hpexpire":     {Run: func(c *engine.Ctx) { setFieldExpiry(c, milli, true) }},
		"hexpireat":    {Run: func(c *engine.Ctx) { setFieldExpiry(c, second, false) }},
		"hpexpireat":   {Run: func(c *engine.Ctx) { setFieldExpiry(c, milli, false) }},
		"httl":         {Run: func(c *engine.Ctx) { replyFieldExpiry(c, second, true) }},
		"hpttl":        {Run: func(c *engine.Ctx) { replyFieldExpiry(c, milli, true) }},
		"hexpiretime":  {Run: func(c *engine.Ctx) { replyFieldExpiry(c, second, false) }},
		"hpexpiretime": {Run: func(c *engine.Ctx) { replyFieldExpiry(c, milli, false) }},
		"hpersist":     {Run: cmdHPersist},
		"hgetex":       {Run: cmdHGetEx},
		"hsetex":       {Run: cmdHSetEx},
		"hgetdel":      {Run: cmdHGetDel},
	}
}

// readHash finds key 0 as a hash, an empty one if it is missing; false when it is of another type.
func readHash(c *engine.Ctx, h *object.Hash) bool {
	rec, exists, ok := c.ReadType(0, keyspace.TypeHash)
	if exists && ok {
		h.Open(c.Part(0), rec)
	}
	return ok
}

// editHash begins to change key 0, which is a hash, found just now, if it exists. e is a zero one.
func editHash(c *engine.Ctx, rec keyspace.Rec, exists bool, e *object.HashEdit) {
	if exists {
		e.EditFound(c.Place(0), rec, limitsOf(c), c.W.Scratch())
	} else {
		*e = object.NewHash(c.Place(0), limitsOf(c), c.W.Scratch())
	}
}

// commitHash ends a change of key 0, in so many fields.
func commitHash(c *engine.Ctx, e *object.HashEdit, event string, changes int) {
	left := e.Commit()
	c.W.SetScratch(e.Scratch())
	changedElements(c, 0, config.EventHash, event, changes, left)
}

// liveField looks the field of argument 2 up. One whose time is over is removed, after which the hash is not valid any
// more; gone tells so.
func liveField(c *engine.Ctx, h *object.Hash) (value object.Elem, expireAt int64, found, gone bool) {
	value, expireAt, found = h.Value(c.Args[2])
	if found && object.IsPast(expireAt, c.FieldClock()) {
		c.DropFields(0, c.Args[2:3])
		return object.Elem{}, 0, false, true
	}
	return value, expireAt, found, false
}

func cmdHSet(c *engine.Ctx) {
	if added, ok := setFields(c); ok {
		c.ReplyInt(int64(added))
	}
}

func cmdHMSet(c *engine.Ctx) {
	if _, ok := setFields(c); ok {
		c.OK()
	}
}

// setFields sets the fields in the arguments; false when an error has been replied.
func setFields(c *engine.Ctx) (added int, ok bool) {
	if len(c.Args)%2 == 1 {
		c.ArityErr()
		return 0, false
	}
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return 0, false
	}
	var e object.HashEdit
	editHash(c, rec, exists, &e)
	pairs := c.Args[2:]
	e.Expect(pairs)
	for i := 0; i < len(pairs); i += 2 {
		if e.Set(pairs[i], pairs[i+1], 0) {
			added++
		}
	}
	commitHash(c, &e, "hset", len(pairs)/2)
	return added, true
}

func cmdHSetNX(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return
	}
	if exists {
		var h object.Hash
		h.Open(c.Part(0), rec)
		_, _, found, gone := liveField(c, &h)
		if found {
			c.ReplyInt(0)
			return
		}
		if gone {
			rec, exists = c.Peek(0)
		}
	}
	var e object.HashEdit
	editHash(c, rec, exists, &e)
	e.Expect(c.Args[2:])
	e.Set(c.Args[2], c.Args[3], 0)
	commitHash(c, &e, "hset", 1)
	c.ReplyInt(1)
}

func cmdHGet(c *engine.Ctx) {
	var h object.Hash
	if !readHash(c, &h) {
		return
	}
	if value, _, found, _ := liveField(c, &h); found {
		replyElem(c, value)
	} else {
		c.Null()
	}
}

func cmdHMGet(c *engine.Ctx) {
	var h object.Hash
	if readHash(c, &h) {
		c.Array(len(c.Args) - 2)
		replyValues(c, &h, c.Args[2:])
	}
}

// replyValues replies the values of fields, null for those that are not there, and removes those whose time is over; gone
// tells that there were some, and that the hash is not valid any more.
func replyValues(c *engine.Ctx, h *object.Hash, names [][]byte) (gone bool) {
	now := c.FieldClock()
	for _, name := range names {
		f, found := h.Get(name)
		switch {
		case !found:
			c.Null()
		case f.IsPast(now):
			c.Null()
			gone = true
		default:
			replyElem(c, f.Value)
		}
	}
	if gone {
		c.DropFields(0, names)
	}
	return gone
}

// replyHash replies all fields, their values, or both.
func replyHash(c *engine.Ctx, names, values bool) {
	var h object.Hash
	if !readHash(c, &h) {
		return
	}
	now := c.FieldClock()
	n := h.Live(now)
	if names && values {
		c.Map(n)
	} else {
		c.Array(n)
	}
	all := n == h.Len()
	h.Each(func(f object.Field) bool {
		if !all && f.IsPast(now) {
			return true
		}
		if names {
			replyElem(c, f.Name)
		}
		if values {
			replyElem(c, f.Value)
		}
		return true
	})
}

func cmdHLen(c *engine.Ctx) {
	var h object.Hash
	if readHash(c, &h) {
		c.ReplyInt(int64(h.Len()))
	}
}

func cmdHExists(c *engine.Ctx) {
	var h object.Hash
	if readHash(c, &h) {
		_, _, found, _ := liveField(c, &h)
		c.Bool01(found)
	}
}

func cmdHStrLen(c *engine.Ctx) {
	var h object.Hash
	if readHash(c, &h) {
		length := 0
		if value, _, found, _ := liveField(c, &h); found {
			length = value.Len()
		}
		c.ReplyInt(int64(length))
	}
}

func cmdHDel(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return
	}
	if !exists {
		c.ReplyInt(0)
		return
	}
	var e object.HashEdit
	editHash(c, rec, true, &e)
	deleted := 0
	for _, name := range c.Args[2:] {
		if e.Delete(name) {
			deleted++
		}
	}
	commitHash(c, &e, "hdel", deleted)
	c.ReplyInt(int64(deleted))
}

func cmdHScan(c *engine.Ctx) {
	now := c.FieldClock()
	scanElements(c, keyspace.TypeHash, func(rec keyspace.Rec, cursor uint64, o elementScan) (next uint64, replies int) {
		h := object.OpenHash(c.Part(0), rec)
		next = h.Scan(cursor, o.count, func(f object.Field) {
			var digits [20]byte
			name := f.Name.Text(digits[:0])
			if f.IsPast(now) || !o.takes(name) {
				return
			}
			c.Bulk(name)
			replies++
			if !o.noValues {
				replyElem(c, f.Value)
				replies++
			}
		})
		return next, replies
	})
}

// number is the text of a number, as an argument of an effect.
func number(n int64) []byte { return num.AppendInt(nil, n) }
