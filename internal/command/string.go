package command

import (
	"fmt"
	"math"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
)

// This file holds the string commands that read and replace whole values.

func stringHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"get":         {Run: cmdGet},
		"set":         {Run: cmdSet},
		"setnx":       {Run: cmdSetNX},
		"setex":       {Run: func(c *engine.Ctx) { cmdSetEx(c, 1000) }},
		"psetex":      {Run: func(c *engine.Ctx) { cmdSetEx(c, 1) }},
		"getset":      {Run: cmdGetSet},
		"getdel":      {Run: cmdGetDel},
		"getex":       {Run: cmdGetEx},
		"mget":        {Run: cmdMGet},
		"mset":        {Run: cmdMSet},
		"msetnx":      {Run: cmdMSetNX},
		"strlen":      {Run: cmdStrLen},
		"append":      {Run: cmdAppend},
		"setrange":    {Run: cmdSetRange},
		"getrange":    {Run: cmdGetRange},
		"substr":      {Run: cmdGetRange},
		"incr":        {Run: func(c *engine.Ctx) { addInt(c, 1) }},
		"decr":        {Run: func(c *engine.Ctx) { addInt(c, -1) }},
		"incrby":      {Run: cmdIncrBy},
		"decrby":      {Run: cmdDecrBy},
		"incrbyfloat": {Run: cmdIncrByFloat},
		"lcs":         {Run: cmdLCS},
	}
}

func cmdGet(c *engine.Ctx) { replyString(c, 0) }

// replyString replies the value of a string key or nil; false when it is of another type.
func replyString(c *engine.Ctx, i int) bool {
	rec, exists, ok := c.ReadString(i)
	switch {
	case !ok:
		return false
	case !exists:
		c.Null()
	default:
		c.Bulk(c.StringBytes(rec))
	}
	return true
}

// setOptions are the words behind SET key value.
type setOptions struct {
	nx, xx, get, keepTTL bool
	expireAt             int64 // milliseconds, 0 for none
}

func cmdSet(c *engine.Ctx) {
	if len(c.Args) == 3 {
		putString(c, 0, c.Args[2], 0)
		c.OK()
		return
	}
	o, ok := parseSetOptions(c)
	if !ok {
		return
	}
	if o.nx || o.xx || o.get || o.keepTTL {
		setConditionally(c, o)
		return
	}
	setValue(c, o.expireAt)
	c.OK()
}

// putString sets a key to a value, whatever it was before.
func putString(c *engine.Ctx, i int, value []byte, expireAt int64) {
	c.Overwrites(i)
	c.SetString(i, value, expireAt)
	c.Changed(i)
	c.Notify(config.EventString, "set", i)
}

// setConditionally is SET with an option that depends on what is there.
func setConditionally(c *engine.Ctx, o setOptions) {
	find := c.Peek
	if o.get {
		find = c.Find // it counts as a read
	}
	rec, exists := find(0)
	if o.get && exists && rec.Type() != keyspace.TypeString {
		c.Err(engine.ErrWrongType)
		return
	}
	if o.get {
		if exists {
			c.Bulk(c.StringBytes(rec))
		} else {
			c.Null()
		}
	}
	if o.nx && exists || o.xx && !exists {
		if !o.get {
			c.FindWrite(0) // an access all the same
			c.Null()
		}
		return
	}
	if o.keepTTL && exists {
		putString(c, 0, c.Args[2], rec.ExpireAt())
	} else {
		setValue(c, o.expireAt)
	}
	if !o.get {
		c.OK()
	} else if o.expireAt == 0 {
		propagateWithoutGet(c)
	}
}

// propagateWithoutGet logs a SET as what it changes: nobody waits for the old value.
func propagateWithoutGet(c *engine.Ctx) {
	words := make([][]byte, 0, len(c.Args))
	for i, arg := range c.Args {
		if i < 3 || !c.ArgIs(i, "GET") {
			words = append(words, arg)
		}
	}
	c.Propagate(words...)
}

// setValue stores Args[2] with an expiry and propagates it in absolute form. A time that has passed already removes the
// key, as it does in Redis once somebody looks.
func setValue(c *engine.Ctx, expireAt int64) {
	putString(c, 0, c.Args[2], expireAt)
	if expireAt == 0 {
		return
	}
	c.Notify(config.EventGeneric, "expire", 0)
	if !isAbsoluteSet(c) {
		propagateSet(c, c.Args[2], expireAt)
	}
}

// isAbsoluteSet says whether the command is its own effect: SET key value PXAT time.
func isAbsoluteSet(c *engine.Ctx) bool { return len(c.Args) == 5 && c.ArgIs(3, "PXAT") }

func propagateSet(c *engine.Ctx, value []byte, expireAt int64) {
	var digits [20]byte
	c.Propagate(wordSet, c.Key(0).Bytes, value, wordPXAT, num.AppendInt(digits[:0], expireAt))
}

var (
	wordSet       = []byte("SET")
	wordPXAT      = []byte("PXAT")
	wordKeepTTL   = []byte("KEEPTTL")
	wordDel       = []byte("DEL")
	wordPersist   = []byte("PERSIST")
	wordPExpireAt = []byte("PEXPIREAT")
)

// parseSetOptions reads the options; false when the error has been replied.
func parseSetOptions(c *engine.Ctx) (o setOptions, ok bool) {
	var t timeOption
	for i := 3; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "NX") && !o.xx:
			o.nx = true
		case c.ArgIs(i, "XX") && !o.nx:
			o.xx = true
		case c.ArgIs(i, "GET"):
			o.get = true
		case c.ArgIs(i, "KEEPTTL") && t.arg == 0:
			o.keepTTL = true
		case !o.keepTTL && t.take(c, i):
			i++
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
	}
	o.expireAt, ok = t.expireAt(c)
	return o, ok
}

// timeOption is an expiry among the options of a command. It may be given again, but not in another unit. What it says is
// read when the words have turned out to be right.
type timeOption struct {
	arg      int // position of the time, 0: not given
	unit     int64
	absolute bool
}

// take accepts argument i and the one behind it as the option.
func (t *timeOption) take(c *engine.Ctx, i int) bool {
	unit, absolute, ok := timeWord(c, i)
	if !ok || i+1 >= len(c.Args) || t.arg != 0 && (unit != t.unit || absolute != t.absolute) {
		return false
	}
	*t = timeOption{i + 1, unit, absolute}
	return true
}

// expireAt is the time in milliseconds, 0 when none is given; false when an error has been replied.
func (t *timeOption) expireAt(c *engine.Ctx) (at int64, ok bool) {
	if t.arg == 0 {
		return 0, true
	}
	return expireTime(c, t.arg, t.unit, t.absolute)
}

// timeWord says whether argument i is EX, PX, EXAT or PXAT: milliseconds per unit, and whether it counts from 1970.
func timeWord(c *engine.Ctx, i int) (unit int64, absolute, ok bool) {
	switch {
	case c.ArgIs(i, "EX"):
		return 1000, false, true
	case c.ArgIs(i, "PX"):
		return 1, false, true
	case c.ArgIs(i, "EXAT"):
		return 1000, true, true
	case c.ArgIs(i, "PXAT"):
		return 1, true, true
	}
	return 0, false, false
}

// expireTime reads argument i as the expiry of a SET or GETEX: positive and within range; otherwise the error has been
// replied.
func expireTime(c *engine.Ctx, i int, unit int64, absolute bool) (at int64, ok bool) {
	n, ok := c.Int(i)
	if !ok {
		return 0, false
	}
	base := int64(c.Now)
	if absolute {
		base = 0
	}
	if n <= 0 || n > math.MaxInt64/unit || n*unit > math.MaxInt64-base {
		c.Err(fmt.Sprintf(engine.ErrInvalidExpire, c.Cmd.Full))
		return 0, false
	}
	return n*unit + base, true
}

func cmdSetNX(c *engine.Ctx) {
	if _, exists := c.FindWrite(0); exists {
		c.ReplyInt(0)
		return
	}
	putString(c, 0, c.Args[2], 0)
	c.ReplyInt(1)
}

func cmdSetEx(c *engine.Ctx, unit int64) {
	at, ok := expireTime(c, 2, unit, false)
	if !ok {
		return
	}
	putString(c, 0, c.Args[3], at)
	c.Notify(config.EventGeneric, "expire", 0)
	propagateSet(c, c.Args[3], at)
	c.OK()
}

func cmdGetSet(c *engine.Ctx) {
	if !replyString(c, 0) {
		return
	}
	putString(c, 0, c.Args[2], 0)
	c.Propagate(wordSet, c.Key(0).Bytes, c.Args[2])
}

func cmdGetDel(c *engine.Ctx) {
	rec, exists, ok := c.ReadString(0)
	switch {
	case !ok:
	case !exists:
		c.Null()
	default:
		c.Bulk(c.StringBytes(rec))
		c.Delete(0)
		c.Notify(config.EventGeneric, "del", 0)
		c.Propagate(wordDel, c.Key(0).Bytes)
	}
}

func cmdGetEx(c *engine.Ctx) {
	persist, t, ok := parseGetEx(c)
	if !ok {
		return
	}
	rec, exists, ok := c.ReadString(0)
	if !ok {
		return
	}
	if !exists {
		c.Null()
		return
	}
	at, ok := t.expireAt(c)
	if !ok {
		return
	}
	c.Bulk(c.StringBytes(rec))
	switch {
	case persist:
		if c.Part(0).Persist(c.DB(), c.Key(0)) {
			c.Changed(0)
			c.Notify(config.EventGeneric, "persist", 0)
			c.Propagate(wordPersist, c.Key(0).Bytes)
		}
	case at != 0 && clock.Millis(at) <= c.Now:
		c.Delete(0)
		c.Notify(config.EventGeneric, "del", 0)
		c.Propagate(wordDel, c.Key(0).Bytes)
	case at != 0:
		c.Part(0).SetExpire(c.DB(), c.Key(0), at)
		c.Changed(0)
		c.Notify(config.EventGeneric, "expire", 0)
		var digits [20]byte
		c.Propagate(wordPExpireAt, c.Key(0).Bytes, num.AppendInt(digits[:0], at))
	}
}

func parseGetEx(c *engine.Ctx) (persist bool, t timeOption, ok bool) {
	for i := 2; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "PERSIST") && t.arg == 0:
			persist = true
		case !persist && t.take(c, i):
			i++
		default:
			c.Err(engine.ErrSyntax)
			return false, t, false
		}
	}
	return persist, t, true
}

func cmdMGet(c *engine.Ctx) {
	c.Array(c.NumKeys())
	for i := range c.NumKeys() {
		rec, exists := c.Find(i)
		if !exists || rec.Type() != keyspace.TypeString {
			c.Null()
			continue
		}
		c.Bulk(c.StringBytes(rec))
	}
}

func cmdMSet(c *engine.Ctx) {
	if len(c.Args)%2 == 0 {
		c.ArityErr()
		return
	}
	setAll(c)
	c.OK()
}

func cmdMSetNX(c *engine.Ctx) {
	if len(c.Args)%2 == 0 {
		c.ArityErr()
		return
	}
	for i := range c.NumKeys() {
		if _, exists := c.FindWrite(i); exists {
			c.ReplyInt(0)
			return
		}
	}
	setAll(c)
	c.ReplyInt(1)
}

func setAll(c *engine.Ctx) {
	for i := range c.NumKeys() {
		putString(c, i, c.Args[2+2*i], 0)
	}
}
