package command

import (
	"bytes"
	"time"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the list commands that move elements from list to list, that pop from the first of several lists, and
// those that wait for an element.

var (
	wordLPop      = []byte("LPOP")
	wordRPop      = []byte("RPOP")
	wordLMove     = []byte("LMOVE")
	wordRPopLPush = []byte("RPOPLPUSH")
)

// wordPop is the command that pops at an end.
func wordPop(side object.Side) []byte {
	if side == object.Left {
		return wordLPop
	}
	return wordRPop
}

// listSideArg reads argument i as LEFT or RIGHT; otherwise the error has been replied.
func listSideArg(c *engine.Ctx, i int) (side object.Side, ok bool) {
	switch {
	case c.ArgIs(i, "LEFT"):
		return object.Left, true
	case c.ArgIs(i, "RIGHT"):
		return object.Right, true
	}
	c.Err(engine.ErrSyntax)
	return 0, false
}

// moveSides reads the arguments 3 and 4 of LMOVE and BLMOVE.
func moveSides(c *engine.Ctx) (from, to object.Side, ok bool) {
	if from, ok = listSideArg(c, 3); !ok {
		return 0, 0, false
	}
	to, ok = listSideArg(c, 4)
	return from, to, ok
}

func cmdLMove(c *engine.Ctx) {
	if from, to, ok := moveSides(c); ok {
		moveElem(c, from, to)
	}
}

// moveElem moves an element from an end of the list of key 0 to an end of that of key 1; true when it did.
func moveElem(c *engine.Ctx, from, to object.Side) bool {
	rec, exists, ok := findList(c, 0)
	switch {
	case !ok:
		return false
	case !exists:
		c.Null()
		return false
	}
	target, targetExists, ok := findList(c, 1)
	if !ok {
		return false
	}
	e := object.EditList(c.Place(0), rec, limitsOf(c))
	value := e.End(from).Append(c.W.Scratch())
	c.W.SetScratch(value)
	e.Drop(from)
	if bytes.Equal(c.Key(0).Bytes, c.Key(1).Bytes) {
		e.Push(to, value)
		e.Shrink()
	} else {
		e.Shrink()
		pushMoved(c, target, targetExists, to, value)
	}
	c.Modified(1)
	c.Notify(config.EventList, listPushEvent(to), 1)
	c.Bulk(value)
	removedElems(c, 0, e.Len(), listPopEvent(from), 1)
	return true
}

// pushMoved adds an element at an end of the list of key 1. What lies in its part may have moved since it was found.
func pushMoved(c *engine.Ctx, rec keyspace.Rec, exists bool, side object.Side, value []byte) {
	if !exists {
		e := object.NewList(c.Place(1), limitsOf(c))
		e.Push(side, value)
		return
	}
	if c.Part(0) == c.Part(1) {
		rec, _ = c.Part(1).Find(c.DB(), c.Key(1))
	}
	e := object.EditList(c.Place(1), rec, limitsOf(c))
	e.Push(side, value)
}

func cmdLMPop(c *engine.Ctx) {
	side, count, ok := parseMultiPop(c, 1, listSideArg)
	if ok && !popFirstList(c, side, count) {
		c.NullArray()
	}
}

// popFirstList pops up to count elements from the first key that has a list, and replies its name and the elements; false when there is none. An
// error counts as a reply.
func popFirstList(c *engine.Ctx, side object.Side, count int64) (replied bool) {
	for i := range c.NumKeys() {
		rec, exists, ok := findList(c, i)
		if !ok {
			return true
		}
		if !exists {
			continue
		}
		c.Array(2)
		c.Bulk(c.Key(i).Bytes)
		e := object.EditList(c.Place(i), rec, limitsOf(c))
		n := popElems(c, i, &e, side, count)
		var digits [20]byte
		c.Propagate(wordPop(side), c.Key(i).Bytes, num.AppendInt(digits[:0], n))
		return true
	}
	return false
}

// waitForList suspends the client until a list comes to one of its keys; nil is all of them.
func waitForList(c *engine.Ctx, timeout time.Duration, keys []int) {
	c.BlockOnKeys(engine.Block{Type: keyspace.TypeList, Keys: keys, Timeout: timeout})
}

func cmdBLMPop(c *engine.Ctx) {
	side, count, ok := parseMultiPop(c, 2, listSideArg)
	if !ok {
		return
	}
	timeout, ok := c.Timeout(1)
	if ok && !popFirstList(c, side, count) {
		waitForList(c, timeout, nil)
	}
}

// blockingPopList is BLPOP and BRPOP.
func blockingPopList(c *engine.Ctx, side object.Side) {
	timeout, ok := c.Timeout(len(c.Args) - 1)
	if !ok {
		return
	}
	for i := range c.NumKeys() {
		rec, exists, ok := findList(c, i)
		if !ok {
			return
		}
		if !exists {
			continue
		}
		c.Array(2)
		c.Bulk(c.Key(i).Bytes)
		popElem(c, i, rec, side)
		c.Propagate(wordPop(side), c.Key(i).Bytes)
		return
	}
	waitForList(c, timeout, nil)
}

func cmdBLMove(c *engine.Ctx) {
	from, to, ok := moveSides(c)
	if !ok {
		return
	}
	if timeout, ok := c.Timeout(5); ok && moveOrWait(c, from, to, timeout) {
		c.Propagate(wordLMove, c.Key(0).Bytes, c.Key(1).Bytes, c.Args[3], c.Args[4])
	}
}

func cmdBRPopLPush(c *engine.Ctx) {
	if timeout, ok := c.Timeout(3); ok && moveOrWait(c, object.Right, object.Left, timeout) {
		c.Propagate(wordRPopLPush, c.Key(0).Bytes, c.Key(1).Bytes)
	}
}

// moveOrWait moves an element as soon as there is one; true when it did.
func moveOrWait(c *engine.Ctx, from, to object.Side, timeout time.Duration) bool {
	_, exists, ok := findList(c, 0)
	switch {
	case !ok:
		return false
	case exists:
		return moveElem(c, from, to)
	case c.InExec():
		c.Null()
	default:
		waitForList(c, timeout, []int{0})
	}
	return false
}
