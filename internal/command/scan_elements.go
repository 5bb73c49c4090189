package command

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/glob"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds what SSCAN, HSCAN and ZSCAN have in common.

// scanElements is such a command, whose key 0 is of the given type. scan replies what the cursor leads to, and returns the
// next cursor and how many replies these were.
func scanElements(c *engine.Ctx, of keyspace.Type, scan func(rec keyspace.Rec, cursor uint64, o elementScan) (next uint64, replies int)) {
	cursor, ok := parseCursor(c.Args[2])
	if !ok {
		c.Err("ERR invalid cursor")
		return
	}
	rec, exists, ok := c.ReadType(0, of)
	if !ok {
		return
	}
	list := c.Defer()
	if !exists {
		c.CloseScan(list, 0, 0)
		return
	}
	o, ok := parseElementScan(c)
	if !ok {
		return
	}
	next, replies := scan(rec, cursor, o)
	c.CloseScan(list, next, replies)
}

// elementScan is what a scan of elements looks at and takes.
type elementScan struct {
	pattern  []byte // nil: all
	count    int
	noValues bool // of HSCAN
}

// takes tells whether the pattern matches a member or field.
func (o *elementScan) takes(name []byte) bool {
	return o.pattern == nil || glob.Match(o.pattern, name, false)
}

// parseElementScan reads the words behind SSCAN key cursor.
func parseElementScan(c *engine.Ctx) (o elementScan, ok bool) {
	o.count = 10
	for i := 3; i < len(c.Args); i += 2 {
		switch more := i+1 < len(c.Args); {
		case more && c.ArgIs(i, "COUNT"):
			n, ok := c.Int(i + 1)
			if !ok {
				return o, false
			}
			if n < 1 {
				c.Err(engine.ErrSyntax)
				return o, false
			}
			o.count = int(n)
		case more && c.ArgIs(i, "MATCH"):
			if o.pattern = c.Args[i+1]; string(o.pattern) == "*" {
				o.pattern = nil
			}
		case c.ArgIs(i, "NOVALUES") && c.Cmd.Full == "hscan":
			o.noValues = true
			i-- // it stands alone
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
	}
	return o, true
}
