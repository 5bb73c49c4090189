package command

import (
	"fmt"
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the commands that make fields of hashes expire, keep them from it and tell when they do.

const (
	// fieldExpiryMax is the greatest expiry of a field in milliseconds: Redis keeps 46 bits of it.
	fieldExpiryMax = 1<<46 - 1

	errFieldsWord   = "ERR Mandatory argument FIELDS is missing or not at the right position"
	errFieldsMatch  = "ERR The `numfields` parameter must match the number of arguments"
	errFieldsNumber = "ERR Number of fields must be a positive integer"
	errFieldsZero   = "ERR Parameter `numFields` should be greater than 0"
	errFieldTime    = "ERR invalid expire time, must be >= 0"
)

// What is replied of a field.
const (
	fieldMissing   = -2
	fieldNeverDies = -1 // it has no expiry
	fieldUnchanged = 0  // the condition is not met
	fieldChanged   = 1
	fieldDeleted   = 2 // the time is over already
)

var (
	wordHPExpireAt = []byte("HPEXPIREAT")
	wordHPersist   = []byte("HPERSIST")
	wordHDel       = []byte("HDEL")
	wordFields     = []byte("FIELDS")
)

// fieldList reads FIELDS number field... from argument i on, which ends the command; false when an error has been replied.
func fieldList(c *engine.Ctx, i int, errNumber string) (names [][]byte, ok bool) {
	if i >= len(c.Args) || !c.ArgIs(i, "FIELDS") {
		c.Err(errFieldsWord)
		return nil, false
	}
	if i+1 >= len(c.Args) {
		c.ArityErr()
		return nil, false
	}
	n, ok := c.IntBetween(i+1, 1, math.MaxInt64, errNumber)
	if !ok {
		return nil, false
	}
	if names = c.Args[i+2:]; n != int64(len(names)) {
		c.Err(errFieldsMatch)
		return nil, false
	}
	return names, true
}

// answerFields reads FIELDS number field... from argument i on and opens the array in which a number is replied of each
// field: that it is missing for all of them where there is no hash. ok is false when everything has been replied.
func answerFields(c *engine.Ctx, i int, errNumber string, exists bool) (names [][]byte, ok bool) {
	names, ok = fieldList(c, i, errNumber)
	if !ok {
		return nil, false
	}
	c.Array(len(names))
	if exists {
		return names, true
	}
	for range names {
		c.ReplyInt(fieldMissing)
	}
	return nil, false
}

// fieldTime reads argument i as the expiry of fields; false when an error has been replied.
func fieldTime(c *engine.Ctx, i int, unit int64, relative bool) (at int64, ok bool) {
	n, ok := c.Int(i)
	if !ok {
		return 0, false
	}
	if n < 0 {
		c.Err(errFieldTime)
		return 0, false
	}
	base := int64(0)
	if relative {
		base = int64(c.Now)
	}
	if n > fieldExpiryMax/unit || n*unit > fieldExpiryMax-base {
		c.Err(fmt.Sprintf(engine.ErrInvalidExpire, c.Cmd.Full))
		return 0, false
	}
	return n*unit + base, true
}

// fieldCondition reads the word before FIELDS, if there is one, and tells where FIELDS has to be.
func fieldCondition(c *engine.Ctx) (o expireCondition, next int) {
	switch {
	case c.ArgIs(3, "NX"):
		o.nx = true
	case c.ArgIs(3, "XX"):
		o.xx = true
	case c.ArgIs(3, "GT"):
		o.gt = true
	case c.ArgIs(3, "LT"):
		o.lt = true
	default:
		return o, 3
	}
	return o, 4
}

// fieldEdit is a change of the expiry of fields of key 0, and what it leaves to be logged.
type fieldEdit struct {
	edit    object.HashEdit
	changed [][]byte // fields that got the expiry or lost theirs
	deleted [][]byte // fields whose new expiry is over already
	word    []byte   // the condition that the command has, nil for none
	once    bool     // one change is counted, however many fields there are
}

// isOver tells whether a field that gets this expiry is removed at once.
func isOver(c *engine.Ctx, at int64) bool { return c.IsPast(at) && !c.Engine().Role.IsReplica() }

// setExpire gives a field that is there an expiry, or removes it if the time is over.
func (x *fieldEdit) setExpire(c *engine.Ctx, name []byte, at int64) (answer int64) {
	if isOver(c, at) {
		x.edit.Delete(name)
		x.deleted = append(x.deleted, name)
		return fieldDeleted
	}
	x.edit.SetExpire(name, max(at, 1)) // 0 would be never; a replica may be told of it
	x.changed = append(x.changed, name)
	return fieldChanged
}

// commit ends the change, tells of it and logs it: at is the time of those that were changed, 0 if they lost theirs.
func (x *fieldEdit) commit(c *engine.Ctx, at int64) {
	left := x.edit.Commit()
	c.W.SetScratch(x.edit.Scratch())
	if len(x.changed)+len(x.deleted) == 0 {
		return
	}
	c.Changed(0)
	if !x.once {
		c.CountChanges(len(x.changed) + len(x.deleted) - 1)
	}
	if len(x.deleted) > 0 {
		c.Engine().Stats.ExpiredFields.Add(int64(len(x.deleted)))
		propagateFields(c, wordHDel, x.deleted)
	}
	if len(x.changed) > 0 && at == 0 {
		propagateCounted(c, x.changed, wordHPersist, c.Key(0).Bytes)
	} else if len(x.changed) > 0 && x.word != nil {
		propagateCounted(c, x.changed, wordHPExpireAt, c.Key(0).Bytes, number(at), x.word)
	} else if len(x.changed) > 0 {
		propagateFieldExpiry(c, at, x.changed)
	}
	switch {
	case len(x.deleted) > 0:
		c.Notify(config.EventHash, "hdel", 0)
	case at == 0:
		c.Notify(config.EventHash, "hpersist", 0)
	default:
		c.Notify(config.EventHash, "hexpire", 0)
	}
	if left == 0 {
		c.Notify(config.EventGeneric, "del", 0)
	}
}

// propagateFields logs a command with key 0 and fields.
func propagateFields(c *engine.Ctx, word []byte, names [][]byte) {
	c.Propagate(append([][]byte{word, c.Key(0).Bytes}, names...)...)
}

// propagateCounted logs a command that ends in FIELDS number field...
func propagateCounted(c *engine.Ctx, names [][]byte, words ...[]byte) {
	c.Propagate(append(append(words, wordFields, number(int64(len(names)))), names...)...)
}

// propagateFieldExpiry logs that fields of key 0 expire.
func propagateFieldExpiry(c *engine.Ctx, at int64, names [][]byte) {
	propagateCounted(c, names, wordHPExpireAt, c.Key(0).Bytes, number(at))
}

// setFieldExpiry is HEXPIRE and its kin.
func setFieldExpiry(c *engine.Ctx, unit int64, relative bool) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return
	}
	at, ok := fieldTime(c, 2, unit, relative)
	if !ok {
		return
	}
	condition, next := fieldCondition(c)
	names, ok := answerFields(c, next, errFieldsZero, exists)
	if !ok {
		return
	}
	var x fieldEdit
	editHash(c, rec, true, &x.edit)
	if next == 4 {
		x.word = c.Args[3]
	}
	for _, name := range names {
		f, found := x.edit.View().Get(name)
		switch {
		case !found:
			c.ReplyInt(fieldMissing)
		case !condition.allows(f.ExpireAt, at):
			c.ReplyInt(fieldUnchanged)
		default:
			c.ReplyInt(x.setExpire(c, name, at))
		}
	}
	x.commit(c, at)
}

// replyFieldExpiry is HTTL and its kin.
func replyFieldExpiry(c *engine.Ctx, unit int64, relative bool) {
	var h object.Hash
	if !readHash(c, &h) {
		return
	}
	names, ok := fieldList(c, 2, errFieldsNumber)
	if !ok {
		return
	}
	c.Array(len(names))
	base := int64(0)
	if relative {
		base = int64(c.Now)
	}
	for _, name := range names {
		f, found := h.Get(name)
		switch {
		case !found || f.IsPast(c.FieldClock()):
			c.ReplyInt(fieldMissing)
		case f.ExpireAt == 0:
			c.ReplyInt(fieldNeverDies)
		default:
			c.ReplyInt((f.ExpireAt - base + unit - 1) / unit)
		}
	}
}

func cmdHPersist(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeHash)
	if !ok {
		return
	}
	names, ok := answerFields(c, 2, errFieldsNumber, exists)
	if !ok {
		return
	}
	x := fieldEdit{once: true}
	editHash(c, rec, true, &x.edit)
	for _, name := range names {
		c.ReplyInt(x.persist(c, name))
	}
	x.commit(c, 0)
}

// persist takes the expiry of a field away.
func (x *fieldEdit) persist(c *engine.Ctx, name []byte) (answer int64) {
	f, found := x.edit.View().Get(name)
	switch {
	case !found || f.IsPast(c.FieldClock()):
		return fieldMissing
	case f.ExpireAt == 0:
		return fieldNeverDies
	}
	x.edit.SetExpire(name, 0)
	x.changed = append(x.changed, name)
	return fieldChanged
}
