package command

import (
	"fmt"
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// This file holds the commands that give keys an expiry, take it away and tell it.

const (
	second = 1000 // milliseconds
	milli  = 1
)

var wordUnlink = []byte("UNLINK")

func expireHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"expire":      {Run: func(c *engine.Ctx) { setExpiry(c, second, true) }},
		"pexpire":     {Run: func(c *engine.Ctx) { setExpiry(c, milli, true) }},
		"expireat":    {Run: func(c *engine.Ctx) { setExpiry(c, second, false) }},
		"pexpireat":   {Run: func(c *engine.Ctx) { setExpiry(c, milli, false) }},
		"ttl":         {Run: func(c *engine.Ctx) { replyExpiry(c, second, true) }},
		"pttl":        {Run: func(c *engine.Ctx) { replyExpiry(c, milli, true) }},
		"expiretime":  {Run: func(c *engine.Ctx) { replyExpiry(c, second, false) }},
		"pexpiretime": {Run: func(c *engine.Ctx) { replyExpiry(c, milli, false) }},
		"persist":     {Run: cmdPersist},
	}
}

// expireCondition is the word behind EXPIRE key time.
type expireCondition struct {
	nx, xx, gt, lt bool
}

func parseExpireCondition(c *engine.Ctx) (o expireCondition, ok bool) {
	for i := 3; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "NX"):
			o.nx = true
		case c.ArgIs(i, "XX"):
			o.xx = true
		case c.ArgIs(i, "GT"):
			o.gt = true
		case c.ArgIs(i, "LT"):
			o.lt = true
		default:
			c.Err("ERR Unsupported option " + shown(c.Args[i]))
			return o, false
		}
	}
	switch {
	case o.nx && (o.xx || o.gt || o.lt):
		c.Err("ERR NX and XX, GT or LT options at the same time are not compatible")
		return o, false
	case o.gt && o.lt:
		c.Err("ERR GT and LT options at the same time are not compatible")
		return o, false
	}
	return o, true
}

// allows says whether a key that expires at now (0: never) may be made to expire at next. Never is later than any time.
func (o expireCondition) allows(now, next int64) bool {
	switch {
	case o.nx && now != 0, o.xx && now == 0:
		return false
	case o.gt && (now == 0 || next <= now):
		return false
	case o.lt && now != 0 && next >= now:
		return false
	}
	return true
}

// deadline computes the time of expiry that argument 2 means; otherwise the error has been replied.
func deadline(c *engine.Ctx, unit int64, relative bool) (at int64, ok bool) {
	if at, ok = c.Int(2); !ok {
		return 0, false
	}
	base := int64(0)
	if relative {
		base = int64(c.Now)
	}
	if at > math.MaxInt64/unit || at < math.MinInt64/unit || at*unit > math.MaxInt64-base {
		c.Err(fmt.Sprintf(engine.ErrInvalidExpire, c.Cmd.Full))
		return 0, false
	}
	return at*unit + base, true
}

func setExpiry(c *engine.Ctx, unit int64, relative bool) {
	condition, ok := parseExpireCondition(c)
	if !ok {
		return
	}
	at, ok := deadline(c, unit, relative)
	if !ok {
		return
	}
	rec, exists := c.FindWrite(0)
	if !exists || !condition.allows(rec.ExpireAt(), at) {
		c.ReplyInt(0)
		return
	}
	if c.IsPast(at) && !c.Engine().Role.IsReplica() {
		c.Delete(0)
		c.Notify(config.EventGeneric, "del", 0)
		propagateDelete(c, 0)
	} else {
		c.Part(0).SetExpire(c.DB(), c.Key(0), max(at, 1)) // 0 would be never; a replica may be told of a time before 1970
		c.ChangedInPlace(0)
		c.Notify(config.EventGeneric, "expire", 0)
		var digits [20]byte
		c.Propagate(wordPExpireAt, c.Key(0).Bytes, num.AppendInt(digits[:0], at))
	}
	c.ReplyInt(1)
}

// propagateServerDelete logs the removal of key i as lazyfree-lazy-server-del says: a command removed it that does not say so.
func propagateServerDelete(c *engine.Ctx, i int) {
	word := wordDel
	if c.Engine().Settings.LazyServerDel.Load() {
		word = wordUnlink
	}
	c.Propagate(word, c.Key(i).Bytes)
}

// propagateDelete logs that the i-th key is gone, in place of the command.
func propagateDelete(c *engine.Ctx, i int) {
	if c.Engine().Settings.LazyExpire.Load() {
		c.Propagate(wordUnlink, c.Key(i).Bytes)
		return
	}
	c.Propagate(wordDel, c.Key(i).Bytes)
}

// replyExpiry replies when key 0 expires, or how long it has left.
func replyExpiry(c *engine.Ctx, unit int64, relative bool) {
	rec, ok := c.FindQuiet(0)
	if !ok {
		c.ReplyInt(-2)
		return
	}
	at := rec.ExpireAt()
	if at == 0 {
		c.ReplyInt(-1)
		return
	}
	if relative {
		at = max(at-int64(c.Now), 0)
	}
	c.ReplyInt(at/unit + (at%unit+unit/2)/unit) // rounded
}

func cmdPersist(c *engine.Ctx) {
	_, ok := c.FindWrite(0)
	if !ok || !c.Part(0).Persist(c.DB(), c.Key(0)) {
		c.ReplyInt(0)
		return
	}
	c.ChangedInPlace(0)
	c.Notify(config.EventGeneric, "persist", 0)
	c.ReplyInt(1)
}
