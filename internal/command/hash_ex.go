package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the commands of Redis 8 that read or write fields of a hash and do something with their expiry at once.

func cmdHGetDel(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return
	}
	names, rec, ok := wantedFields(c, 2, rec, exists)
	if !ok {
		return
	}
	var e object.HashEdit
	editHash(c, rec, true, &e)
	var deleted [][]byte
	for _, name := range names {
		f, found := e.View().Get(name)
		if !found || f.IsPast(c.FieldClock()) {
			c.Null()
			continue
		}
		replyElem(c, f.Value)
		e.Delete(name)
		deleted = append(deleted, name)
	}
	commitHash(c, &e, "hdel", len(deleted))
	if len(deleted) > 0 {
		propagateFields(c, wordHDel, deleted)
	}
}

// wantedFields reads FIELDS number field... from argument i on, removes those of the fields whose time is over, and opens the
// array of their values: null for all of them where there is no hash. ok is false when everything has been replied, else
// the hash is in the record.
func wantedFields(c *engine.Ctx, i int, found keyspace.Rec, exists bool) (names [][]byte, rec keyspace.Rec, ok bool) {
	names, ok = fieldList(c, i, errFieldsNumber)
	if !ok {
		return nil, rec, false
	}
	rec = found
	if exists {
		rec, exists = dropMet(c, rec, names)
	}
	c.Array(len(names))
	if exists {
		return names, rec, true
	}
	for range names {
		c.Null()
	}
	return nil, rec, false
}

// dropMet removes those of the given fields of key 0, a hash, whose time is over. It finds the key again; exists is false
// when the last field is gone.
func dropMet(c *engine.Ctx, found keyspace.Rec, names [][]byte) (rec keyspace.Rec, exists bool) {
	h := object.OpenHash(c.Part(0), found)
	if h.NextExpiry() > c.FieldClock() {
		return found, true
	}
	c.DropFields(0, names)
	return c.Peek(0)
}

// fieldOptions are the words before FIELDS of HGETEX and HSETEX.
type fieldOptions struct {
	fnx, fxx, persist, keepTTL bool
	timed                      bool
	expireAt                   int64
}

// takeTime reads EX, PX, EXAT or PXAT with its time at argument i. taken is false when it is none of them, ok when an error
// has been replied.
func (o *fieldOptions) takeTime(c *engine.Ctx, i int, errTwice string) (taken, ok bool) {
	unit, absolute, taken := timeWord(c, i)
	switch {
	case !taken:
		return false, true
	case o.timed || o.keepTTL || o.persist:
		c.Err(errTwice)
		return true, false
	case i+1 >= len(c.Args):
		c.Err("ERR missing expire time")
		return true, false
	}
	o.timed = true
	o.expireAt, ok = fieldTime(c, i+1, unit, !absolute)
	return true, ok
}

func cmdHGetEx(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return
	}
	var o fieldOptions
	next := 2
	if c.ArgIs(2, "PERSIST") {
		o.persist = true
		next = 3
	} else if taken, ok := o.takeTime(c, 2, engine.ErrSyntax); !ok {
		return
	} else if taken {
		next = 4
	}
	names, rec, ok := wantedFields(c, next, rec, exists)
	if !ok {
		return
	}
	var x fieldEdit
	editHash(c, rec, true, &x.edit)
	for _, name := range names {
		f, found := x.edit.View().Get(name)
		if !found || f.IsPast(c.FieldClock()) {
			c.Null()
			continue
		}
		replyElem(c, f.Value)
		switch {
		case o.persist:
			x.persist(c, name)
		case o.timed:
			x.setExpire(c, name, o.expireAt)
		}
	}
	x.commit(c, o.expireAt)
}

const (
	errFieldConditions  = "ERR Only one of FXX or FNX arguments can be specified"
	errFieldExpirations = "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"
)

// parseHSetEx reads the words of HSETEX; pairs are the fields and values.
func parseHSetEx(c *engine.Ctx) (o fieldOptions, pairs [][]byte, ok bool) {
	for i := 2; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "FIELDS"):
			if i >= len(c.Args)-3 {
				c.ArityErr()
				return o, nil, false
			}
			n, ok := c.IntBetween(i+1, 1, math.MaxInt32, "ERR invalid number of fields")
			if !ok {
				return o, nil, false
			}
			if pairs = c.Args[i+2:]; int64(len(pairs)) != 2*n {
				c.ArityErr()
				return o, nil, false
			}
			return o, pairs, true
		case c.ArgIs(i, "FNX"), c.ArgIs(i, "FXX"):
			if o.fnx || o.fxx {
				c.Err(errFieldConditions)
				return o, nil, false
			}
			o.fnx, o.fxx = c.ArgIs(i, "FNX"), c.ArgIs(i, "FXX")
		case c.ArgIs(i, "KEEPTTL"):
			if o.timed || o.keepTTL {
				c.Err(errFieldExpirations)
				return o, nil, false
			}
			o.keepTTL = true
		default:
			taken, ok := o.takeTime(c, i, errFieldExpirations)
			if !ok {
				return o, nil, false
			}
			if !taken {
				c.Err("ERR unknown argument: " + shown(c.Args[i]))
				return o, nil, false
			}
			i++
		}
	}
	c.Err(errFieldsWord)
	return o, nil, false
}

func cmdHSetEx(c *engine.Ctx) {
	o, pairs, ok := parseHSetEx(c)
	if !ok {
		return
	}
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return
	}
	if o.fnx || o.fxx {
		var holds bool
		if rec, exists, holds = o.hold(c, rec, exists, pairs); !holds {
			c.ReplyInt(0)
			return
		}
	}
	o.set(c, rec, exists, pairs)
	c.ReplyInt(1)
}

// set gives key 0 the fields and values of HSETEX. Those whose time is over are written first and removed then, for the events.
func (o *fieldOptions) set(c *engine.Ctx, rec keyspace.Rec, exists bool, pairs [][]byte) {
	var e object.HashEdit
	editHash(c, rec, exists, &e)
	over := o.timed && isOver(c, o.expireAt)
	e.Expect(pairs)
	names, expiries := make([][]byte, 0, len(pairs)/2), make([]int64, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		at := int64(0)
		switch f, found := e.View().Get(pairs[i]); {
		case o.timed && !over:
			at = max(o.expireAt, 1) // 0 would be never; a replica may be told of it
		case o.keepTTL && found && !f.IsPast(c.FieldClock()):
			at = f.ExpireAt
		}
		names, expiries = append(names, pairs[i]), append(expiries, at)
		e.Set(pairs[i], pairs[i+1], at)
	}
	e.Commit()
	c.W.SetScratch(e.Scratch())
	c.Notify(config.EventHash, "hset", 0)
	if over {
		o.removeAll(c, names)
		return
	}
	c.Changed(0)
	c.CountChanges(len(names) - 1)
	propagateFields(c, wordHSet, pairs)
	if o.timed {
		propagateFieldExpiry(c, expiries[0], names)
		c.Notify(config.EventHash, "hexpire", 0)
		return
	}
	for i, at := range expiries {
		if at != 0 {
			propagateFieldExpiry(c, at, names[i:i+1])
		}
	}
}

// removeAll removes fields of key 0 that have just been written with a time that is over.
func (o *fieldOptions) removeAll(c *engine.Ctx, names [][]byte) {
	rec, _ := c.Peek(0)
	var x fieldEdit
	editHash(c, rec, true, &x.edit)
	for _, name := range names {
		if _, found := x.edit.View().Get(name); found {
			x.setExpire(c, name, o.expireAt)
		}
	}
	x.commit(c, o.expireAt)
}

// hold tells whether the condition of HSETEX does: no field is there, or all are. It looks at one field after the other until
// that is known, removes those whose time is over, and finds key 0 again.
func (o *fieldOptions) hold(c *engine.Ctx, found keyspace.Rec, existed bool, pairs [][]byte) (rec keyspace.Rec, exists, holds bool) {
	if !existed {
		return found, false, o.fnx
	}
	h, seen := object.OpenHash(c.Part(0), found), make([][]byte, 0, len(pairs)/2)
	holds = true
	for i := 0; i < len(pairs) && holds; i += 2 {
		f, there := h.Get(pairs[i])
		there = there && !f.IsPast(c.FieldClock())
		holds = there == o.fxx
		seen = append(seen, pairs[i])
	}
	rec, exists = dropMet(c, found, seen)
	return rec, exists, holds
}
