package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/object"
)

// This file holds what the commands of lists, sets, hashes and sorted sets have in common.

const errNotPositive = "ERR value is out of range, must be positive"

// limitsOf is what decides on the encoding of a collection.
func limitsOf(c *engine.Ctx) *object.Limits { return &c.Engine().Settings.Encoding }

// changedElements tells that so many elements of the i-th key have changed, and that the key is gone when none is left.
func changedElements(c *engine.Ctx, i int, class int64, event string, changes, left int) {
	if changes == 0 {
		return
	}
	c.Changed(i)
	c.CountChanges(changes - 1)
	c.Notify(class, event, i)
	if left == 0 {
		c.Notify(config.EventGeneric, "del", i)
	}
}

// parseMultiPop reads what LMPOP, ZMPOP and their blocking forms have from the number of keys on: that number and, behind
// the keys, a side and a count. side reads the side in an argument. ok is false when the error has been replied.
func parseMultiPop[S any](c *engine.Ctx, at int, side func(c *engine.Ctx, i int) (S, bool)) (from S, count int64, ok bool) {
	keys, ok := c.IntBetween(at, 1, math.MaxInt64, "ERR numkeys should be greater than 0")
	if !ok {
		return from, 0, false
	}
	if keys >= int64(len(c.Args)-at-1) {
		c.Err(engine.ErrSyntax)
		return from, 0, false
	}
	i := at + 1 + int(keys)
	if from, ok = side(c, i); !ok {
		return from, 0, false
	}
	for i++; i < len(c.Args); i += 2 {
		if count != 0 || i+1 == len(c.Args) || !c.ArgIs(i, "COUNT") {
			c.Err(engine.ErrSyntax)
			return from, 0, false
		}
		if count, ok = c.IntBetween(i+1, 1, math.MaxInt64, "ERR count should be greater than 0"); !ok {
			return from, 0, false
		}
	}
	return from, max(count, 1), true
}
