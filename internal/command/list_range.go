package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the list commands that read and change elements by their index or their text.

func cmdLLen(c *engine.Ctx) {
	rec, exists := c.Find(0)
	switch {
	case !exists:
		c.ReplyInt(0)
	case rec.Type() != keyspace.TypeList:
		c.Err(engine.ErrWrongType)
	default:
		l := object.OpenList(rec)
		c.ReplyInt(l.Len())
	}
}

// listSpan reads the arguments 2 and 3 as the first and last index of a range.
func listSpan(c *engine.Ctx) (start, stop int64, ok bool) {
	if start, ok = c.Int(2); !ok {
		return 0, 0, false
	}
	stop, ok = c.Int(3)
	return start, stop, ok
}

// clipList makes of indexes, which may count from the end, the index and length of what there is of a range.
func clipList(start, stop, length int64) (from, count int64) {
	if start < 0 {
		start = max(start+length, 0)
	}
	if stop < 0 {
		stop += length
	}
	stop = min(stop, length-1)
	if start > stop {
		return 0, 0
	}
	return start, stop - start + 1
}

func cmdLRange(c *engine.Ctx) {
	start, stop, ok := listSpan(c)
	if !ok {
		return
	}
	l, exists, ok := readList(c, 0)
	switch {
	case !ok:
	case !exists:
		c.Array(0)
	default:
		from, count := clipList(start, stop, l.Len())
		replyRange(c, &l, from, count, false)
	}
}

func cmdLTrim(c *engine.Ctx) {
	start, stop, ok := listSpan(c)
	if !ok {
		return
	}
	e, exists, ok := editList(c)
	if !ok {
		return
	}
	c.OK()
	if !exists {
		return
	}
	length := e.Len()
	from, count := clipList(start, stop, length)
	if count > 0 {
		e.Keep(from, count)
	}
	removedElems(c, 0, count, "ltrim", length-count)
}

func cmdLIndex(c *engine.Ctx) {
	l, exists, ok := readList(c, 0)
	if !ok {
		return
	}
	if !exists {
		c.Null()
		return
	}
	index, ok := c.Int(2)
	if !ok {
		return
	}
	if index < 0 {
		index += l.Len()
	}
	it := l.Iter(index, false)
	if e, ok := it.Next(); ok {
		replyElem(c, e)
		return
	}
	c.Null()
}

func cmdLSet(c *engine.Ctx) {
	e, exists, ok := editList(c)
	if !ok {
		return
	}
	if !exists {
		c.Err(engine.ErrNoSuchKey)
		return
	}
	index, ok := c.Int(2)
	if !ok {
		return
	}
	if index < 0 {
		index += e.Len()
	}
	if !e.Set(index, c.Args[3]) {
		c.Err(engine.ErrIndexRange)
		return
	}
	c.Changed(0)
	c.Notify(config.EventList, "lset", 0)
	c.OK()
}

func cmdLInsert(c *engine.Ctx) {
	side := object.Left
	switch {
	case c.ArgIs(2, "AFTER"):
		side = object.Right
	case !c.ArgIs(2, "BEFORE"):
		c.Err(engine.ErrSyntax)
		return
	}
	e, exists, ok := editList(c)
	switch {
	case !ok:
	case !exists:
		c.ReplyInt(0)
	case !e.Insert(side, c.Args[3], c.Args[4]):
		c.ReplyInt(-1)
	default:
		c.Changed(0)
		c.Notify(config.EventList, "linsert", 0)
		c.ReplyInt(e.Len())
	}
}

func cmdLRem(c *engine.Ctx) {
	most, ok := c.Int(2)
	if !ok {
		return
	}
	e, exists, ok := editList(c)
	if !ok {
		return
	}
	removed := int64(0)
	if exists {
		removed = e.Remove(c.Args[3], most)
	}
	if removed > 0 {
		removedElems(c, 0, e.Len(), "lrem", removed)
	}
	c.ReplyInt(removed)
}

// posOptions are the words behind LPOS key element.
type posOptions struct {
	rank   int64 // which match is the first that counts; from the end when negative
	count  int64 // how many are wanted, 0 for all; -1 when not given
	maxLen int64 // elements that are compared, 0 for all
}

const errRankZero = "ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to " +
	"start from the end of the list"

func parseLPos(c *engine.Ctx) (o posOptions, ok bool) {
	o = posOptions{rank: 1, count: -1}
	for i := 3; i < len(c.Args); i++ {
		more := i+1 < len(c.Args)
		switch {
		case c.ArgIs(i, "RANK") && more:
			if o.rank, ok = c.Int(i + 1); !ok {
				return o, false
			}
			if o.rank == math.MinInt64 {
				c.Err("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
				return o, false
			}
			if o.rank == 0 {
				c.Err(errRankZero)
				return o, false
			}
		case c.ArgIs(i, "COUNT") && more:
			if o.count, ok = c.IntBetween(i+1, 0, math.MaxInt64, "ERR COUNT can't be negative"); !ok {
				return o, false
			}
		case c.ArgIs(i, "MAXLEN") && more:
			if o.maxLen, ok = c.IntBetween(i+1, 0, math.MaxInt64, "ERR MAXLEN can't be negative"); !ok {
				return o, false
			}
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
		i++
	}
	return o, true
}

func cmdLPos(c *engine.Ctx) {
	o, ok := parseLPos(c)
	if !ok {
		return
	}
	l, exists, ok := readList(c, 0)
	switch {
	case !ok:
	case o.count >= 0:
		reply := c.Defer()
		n := 0
		if exists {
			n = eachPos(c, &l, o, func(index int64) { c.ReplyInt(index) })
		}
		c.CloseArray(reply, n)
	default:
		o.count = 1
		if !exists || eachPos(c, &l, o, func(index int64) { c.ReplyInt(index) }) == 0 {
			c.Null()
		}
	}
}

// eachPos calls fn for the indexes of the elements that LPOS looks for, and returns how many there are.
func eachPos(c *engine.Ctx, l *object.List, o posOptions, fn func(index int64)) (found int) {
	m := object.MatchOf(c.Args[2])
	at, step := int64(0), int64(1)
	if o.rank < 0 {
		o.rank = -o.rank
		at, step = l.Len()-1, -1
	}
	it := l.Iter(at, step < 0)
	for seen := int64(0); o.maxLen == 0 || seen < o.maxLen; seen++ {
		e, ok := it.Next()
		if !ok {
			break
		}
		if m.Is(e) {
			if o.rank--; o.rank <= 0 {
				fn(at)
				if found++; o.count > 0 && int64(found) >= o.count {
					break
				}
			}
		}
		at += step
	}
	return found
}
