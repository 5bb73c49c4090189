package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the list commands that push and pop, and what all list commands share.

func listHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"lpush":      {Run: func(c *engine.Ctx) { pushList(c, object.Left, false) }},
		"rpush":      {Run: func(c *engine.Ctx) { pushList(c, object.Right, false) }},
		"lpushx":     {Run: func(c *engine.Ctx) { pushList(c, object.Left, true) }},
		"rpushx":     {Run: func(c *engine.Ctx) { pushList(c, object.Right, true) }},
		"lpop":       {Run: func(c *engine.Ctx) { popList(c, object.Left) }, Count: 2},
		"rpop":       {Run: func(c *engine.Ctx) { popList(c, object.Right) }, Count: 2},
		"llen":       {Run: cmdLLen},
		"lrange":     {Run: cmdLRange},
		"lindex":     {Run: cmdLIndex},
		"lpos":       {Run: cmdLPos},
		"lset":       {Run: cmdLSet},
		"linsert":    {Run: cmdLInsert},
		"lrem":       {Run: cmdLRem},
		"ltrim":      {Run: cmdLTrim},
		"lmove":      {Run: cmdLMove},
		"rpoplpush":  {Run: func(c *engine.Ctx) { moveElem(c, object.Right, object.Left) }},
		"lmpop":      {Run: cmdLMPop},
		"blpop":      {Run: func(c *engine.Ctx) { blockingPopList(c, object.Left) }},
		"brpop":      {Run: func(c *engine.Ctx) { blockingPopList(c, object.Right) }},
		"blmpop":     {Run: cmdBLMPop},
		"blmove":     {Run: cmdBLMove},
		"brpoplpush": {Run: cmdBRPopLPush},
	}
}

// readList finds the i-th key as a list; ok is false when there is none, or when it is something else and the error has
// been replied.
func readList(c *engine.Ctx, i int) (l object.List, exists, ok bool) {
	rec, exists := c.Find(i)
	switch {
	case !exists:
		return l, false, true
	case rec.Type() != keyspace.TypeList:
		c.Err(engine.ErrWrongType)
		return l, true, false
	}
	return object.OpenList(rec), true, true
}

// findList finds the record of the i-th key as a list that may be changed; ok is false when the error has been replied.
func findList(c *engine.Ctx, i int) (rec keyspace.Rec, exists, ok bool) {
	rec, exists = c.FindWrite(i)
	if exists && rec.Type() != keyspace.TypeList {
		c.Err(engine.ErrWrongType)
		return rec, true, false
	}
	return rec, exists, true
}

// editList is findList for a command that changes the list of key 0.
func editList(c *engine.Ctx) (e object.ListEdit, exists, ok bool) {
	rec, exists, ok := findList(c, 0)
	if !exists || !ok {
		return e, exists, ok
	}
	return object.EditList(c.Place(0), rec, limitsOf(c)), true, true
}

// replyElem replies an element.
func replyElem(c *engine.Ctx, e object.Elem) {
	if !e.IsInt() {
		c.Bulk(e.Str)
		return
	}
	var digits [20]byte
	c.Bulk(num.AppendInt(digits[:0], e.Int))
}

func listPushEvent(side object.Side) string {
	if side == object.Left {
		return "lpush"
	}
	return "rpush"
}

func listPopEvent(side object.Side) string {
	if side == object.Left {
		return "lpop"
	}
	return "rpop"
}

func pushList(c *engine.Ctx, side object.Side, onlyExisting bool) {
	rec, exists, ok := findList(c, 0)
	switch {
	case !ok:
		return
	case !exists && onlyExisting:
		c.ReplyInt(0)
		return
	}
	var n int64
	if exists {
		n = object.PushList(c.Place(0), rec, limitsOf(c), side, c.Args[2:])
	} else {
		e := object.NewList(c.Place(0), limitsOf(c))
		n = e.Push(side, c.Args[2:]...)
	}
	c.Changed(0)
	c.CountChanges(len(c.Args) - 3)
	c.Notify(config.EventList, listPushEvent(side), 0)
	c.ReplyInt(n)
}

func popList(c *engine.Ctx, side object.Side) {
	if len(c.Args) > 3 {
		c.ArityErr()
		return
	}
	if len(c.Args) == 3 {
		popListCount(c, side)
		return
	}
	rec, exists, ok := findList(c, 0)
	switch {
	case !ok:
	case !exists:
		c.Null()
	default:
		popElem(c, 0, rec, side)
	}
}

// popElem replies and removes the element at an end of the list of the i-th key, which a record has.
func popElem(c *engine.Ctx, i int, rec keyspace.Rec, side object.Side) {
	left := object.TakeEnd(c.Place(i), rec, limitsOf(c), side, func(e object.Elem) { replyElem(c, e) })
	removedElems(c, i, left, listPopEvent(side), 1)
}

// removedElems ends a command that removed elements from the list of the i-th key and left some; an empty list goes away with
// its key.
func removedElems(c *engine.Ctx, i int, left int64, event string, count int64) {
	c.Notify(config.EventList, event, i)
	if left == 0 {
		c.Part(i).Delete(c.DB(), c.Key(i))
		c.Notify(config.EventGeneric, "del", i)
	}
	c.Changed(i)
	c.CountChanges(int(count) - 1)
}

// popListCount is LPOP and RPOP with a count.
func popListCount(c *engine.Ctx, side object.Side) {
	count, ok := c.IntBetween(2, 0, math.MaxInt64, errNotPositive)
	if !ok {
		return
	}
	e, exists, ok := editList(c)
	switch {
	case !ok:
	case !exists:
		c.NullArray()
	case count == 0:
		c.Array(0)
	default:
		popElems(c, 0, &e, side, count)
	}
}

// popElems replies and removes up to count elements at an end of the list of the i-th key. It returns how many.
func popElems(c *engine.Ctx, i int, e *object.ListEdit, side object.Side, count int64) int64 {
	count = min(count, e.Len())
	from, at := int64(0), int64(0)
	if side == object.Right {
		from, at = e.Len()-count, e.Len()-1
	}
	replyRange(c, &e.List, at, count, side == object.Right)
	left := e.Len() - count
	if left > 0 {
		e.DeleteRange(from, count)
	}
	removedElems(c, i, left, listPopEvent(side), count)
	return count
}

// replyRange replies count elements from an index on, towards the end, or back, towards the start.
func replyRange(c *engine.Ctx, l *object.List, index, count int64, back bool) {
	c.Array(int(count))
	it := l.Iter(index, back)
	for count > 0 {
		ended := false
		c.AppendPart(func(dst []byte, _ resp.Version) []byte {
			dst, n := it.AppendBulks(dst, count, engine.PieceBytes)
			count -= n
			ended = len(dst) < engine.PieceBytes
			return dst
		})
		if count > 0 && ended { // before an element that Bulk does not copy twice
			e, _ := it.Next()
			c.Bulk(e.Str)
			count--
		}
	}
}
