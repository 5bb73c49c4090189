package command

import (
	"math"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the commands that take the lowest or highest members out of sorted sets, and their blocking forms.

// zsetEnd is an end of a sorted set.
type zsetEnd uint8

const (
	lowest zsetEnd = iota
	highest
)

// event is what a removal from the end is called; in upper case it is the command too.
func (e zsetEnd) event() string { return [...]string{"zpopmin", "zpopmax"}[e] }

var wordsZPop = [...][]byte{[]byte("ZPOPMIN"), []byte("ZPOPMAX")}

// popMembers replies n members from an end of the sorted set of the i-th key, and removes them. nested says that each has an
// array of its own. The head of the reply has been written.
func popMembers(c *engine.Ctx, i int, end zsetEnd, n int, nested bool) {
	var e object.ZSetEdit
	editZSet(c, i, &e)
	z := e.View()
	low, from := 0, 0
	if end == highest {
		low, from = z.Len()-n, z.Len()-1
	}
	it := z.At(from, end == highest)
	for k := range n {
		if k > 0 {
			it.Next()
		}
		m, score := it.Get()
		if nested {
			c.Array(2)
		}
		replyMember(c, m)
		c.Double(score)
	}
	e.RemoveRange(low, low+n)
	endZSet(c, i, &e, n, end.event())
}

// cmdZPop is ZPOPMIN and ZPOPMAX.
func cmdZPop(c *engine.Ctx, end zsetEnd) {
	if len(c.Args) > 3 {
		c.Err(engine.ErrSyntax)
		return
	}
	count := int64(1)
	if len(c.Args) == 3 {
		var ok bool
		if count, ok = c.IntBetween(2, 0, math.MaxInt64, errNotPositive); !ok {
			return
		}
	}
	i, length, ok := firstZSet(c)
	switch {
	case !ok:
		return
	case i < 0 || count == 0:
		c.Array(0)
		return
	}
	n := int(min(count, int64(length)))
	nested := len(c.Args) == 3 && c.Proto() == resp.RESP3
	if nested {
		c.Array(n)
	} else {
		c.Array(2 * n)
	}
	popMembers(c, 0, end, n, nested)
}

// firstZSet is the first of the command's keys that exists, with its number of members; -1 when there is none. ok is false
// when the error has been replied.
func firstZSet(c *engine.Ctx) (i, length int, ok bool) {
	for i := range c.NumKeys() {
		rec, exists, ok := c.WriteType(i, keyspace.TypeZSet)
		if !ok {
			return -1, 0, false
		}
		if exists {
			z := object.OpenZSet(c.Part(i), rec)
			return i, z.Len(), true
		}
	}
	return -1, 0, true
}

// cmdBZPop is BZPOPMIN and BZPOPMAX.
func cmdBZPop(c *engine.Ctx, end zsetEnd) {
	timeout, ok := c.Timeout(len(c.Args) - 1)
	if !ok {
		return
	}
	i, _, ok := firstZSet(c)
	switch {
	case !ok:
	case i < 0:
		c.BlockOnKeys(engine.Block{Type: keyspace.TypeZSet, Timeout: timeout})
	default:
		c.Array(3)
		c.Bulk(c.Key(i).Bytes)
		popMembers(c, i, end, 1, false)
		c.Propagate(wordsZPop[end], c.Key(i).Bytes)
	}
}

// zsetEndArg reads argument i as MIN or MAX; otherwise the error has been replied.
func zsetEndArg(c *engine.Ctx, i int) (end zsetEnd, ok bool) {
	switch {
	case c.ArgIs(i, "MIN"):
		return lowest, true
	case c.ArgIs(i, "MAX"):
		return highest, true
	}
	c.Err(engine.ErrSyntax)
	return 0, false
}

// cmdZMPop is ZMPOP, whose number of keys is the first argument, and BZMPOP, where it is the second behind the timeout.
func cmdZMPop(c *engine.Ctx, at int) {
	end, count, ok := parseMultiPop(c, at, zsetEndArg)
	if !ok {
		return
	}
	var block engine.Block
	if at == 2 {
		block.Type = keyspace.TypeZSet
		if block.Timeout, ok = c.Timeout(1); !ok {
			return
		}
	}
	i, length, ok := firstZSet(c)
	switch {
	case !ok:
		return
	case i < 0 && at == 2:
		c.BlockOnKeys(block)
		return
	case i < 0:
		c.NullArray()
		return
	}
	n := int(min(count, int64(length)))
	c.Array(2)
	c.Bulk(c.Key(i).Bytes)
	c.Array(n)
	popMembers(c, i, end, n, true)
	var digits [20]byte
	c.Propagate(wordsZPop[end], c.Key(i).Bytes, num.AppendInt(digits[:0], int64(n)))
}
