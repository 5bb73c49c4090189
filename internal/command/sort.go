package command

import (
	"bytes"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds SORT: its arguments, and what it does with what sort_items.go has collected. The patterns of BY and GET name
// keys that may lie in any shard, so the whole keyspace is locked for them; without patterns the shard is given back before
// the sorting begins.

func sortHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"sort":    {Run: func(c *engine.Ctx) { cmdSort(c, true) }, WholeIf: sortsByPattern},
		"sort_ro": {Run: func(c *engine.Ctx) { cmdSort(c, false) }, WholeIf: sortsByPattern},
	}
}

// sortOptions are the words behind SORT key.
type sortOptions struct {
	desc, alpha bool
	unsorted    bool // BY has a pattern without an asterisk
	store       bool // into key 1
	start       int64
	count       int64 // negative: all
	by          []byte
	gets        [][]byte
}

// isSelf says whether a pattern stands for the element itself.
func isSelf(pattern []byte) bool { return string(pattern) == "#" }

func hasAsterisk(pattern []byte) bool { return bytes.IndexByte(pattern, '*') >= 0 }

// looksUp says whether other keys are needed.
func (o *sortOptions) looksUp() bool {
	if o.by != nil && !o.unsorted {
		return true
	}
	for _, g := range o.gets {
		if !isSelf(g) && hasAsterisk(g) {
			return true
		}
	}
	return false
}

// sortsByPattern says whether a SORT with such arguments may need keys that nobody can know before.
func sortsByPattern(args [][]byte) bool {
	for i := 2; i+1 < len(args); i++ {
		if engine.FoldEqual(args[i], "BY") || engine.FoldEqual(args[i], "GET") {
			if hasAsterisk(args[i+1]) {
				return true
			}
		}
	}
	return false
}

// parseSort reads the options; false when the error has been replied.
func parseSort(c *engine.Ctx, mayStore bool) (o sortOptions, ok bool) {
	o.count = -1
	for i := 2; i < len(c.Args); i++ {
		more := len(c.Args) - i - 1
		switch {
		case c.ArgIs(i, "ASC"):
			o.desc = false
		case c.ArgIs(i, "DESC"):
			o.desc = true
		case c.ArgIs(i, "ALPHA"):
			o.alpha = true
		case c.ArgIs(i, "LIMIT") && more >= 2:
			if o.start, ok = c.Int(i + 1); !ok {
				return o, false
			}
			if o.count, ok = c.Int(i + 2); !ok {
				return o, false
			}
			i += 2
		case c.ArgIs(i, "STORE") && more >= 1 && mayStore:
			o.store = true
			i++
		case c.ArgIs(i, "BY") && more >= 1:
			i++
			o.by = c.Args[i]
			o.unsorted = o.unsorted || !hasAsterisk(o.by)
			if hasAsterisk(o.by) && !maySortWith(c, "BY") {
				return o, false
			}
		case c.ArgIs(i, "GET") && more >= 1:
			if !maySortWith(c, "GET") {
				return o, false
			}
			i++
			o.gets = append(o.gets, c.Args[i])
		default:
			c.Err(engine.ErrSyntax)
			return o, false
		}
	}
	return o, true
}

// maySortWith says whether an option that looks up any key may be used; if not, the error has been replied.
func maySortWith(c *engine.Ctx, option string) bool {
	switch {
	case c.Engine().ClusterOn:
		c.Err("ERR " + option + " option of SORT denied in Cluster mode.")
	case !c.MayUseAllKeys(spec.KeyAccess):
		c.Err("ERR " + option + " option of SORT denied due to insufficient ACL permissions.")
	default:
		return true
	}
	return false
}

func cmdSort(c *engine.Ctx, mayStore bool) {
	o, ok := parseSort(c, mayStore)
	if !ok {
		return
	}
	rec, exists := c.Find(0)
	s := sorter{sortOptions: o}
	if exists {
		switch rec.Type() {
		case keyspace.TypeList, keyspace.TypeSet, keyspace.TypeZSet:
			s.collect(c, rec)
		default:
			c.Err(engine.ErrWrongType)
			return
		}
	}
	if !o.store && !o.looksUp() {
		c.Release() // what was collected is a copy
	}
	if !s.weigh(c) {
		c.Err("ERR One or more scores can't be converted into double")
		return
	}
	s.sort()
	if o.store {
		storeSorted(c, &s)
	} else {
		replySorted(c, &s)
	}
}

// replySorted replies the elements, or what GET says of each.
func replySorted(c *engine.Ctx, s *sorter) {
	items := s.result()
	c.Array(len(items) * max(len(s.gets), 1))
	for i := range items {
		text := s.text(items[i].text)
		if len(s.gets) == 0 {
			c.Bulk(text)
		}
		for _, g := range s.gets {
			if v, ok := s.lookUp(c, g, text); ok {
				c.Bulk(v)
			} else {
				c.Null()
			}
		}
	}
}

// storeSorted makes a list of the elements, or of what GET says of each, at key 1.
func storeSorted(c *engine.Ctx, s *sorter) {
	items := s.result()
	n := len(items) * max(len(s.gets), 1)
	c.ReplyInt(int64(n))
	if n == 0 {
		if c.Delete(1) {
			c.Notify(config.EventGeneric, "del", 1)
		}
		return
	}
	m := object.MakeList(c.Place(1), limitsOf(c))
	for i := range items {
		text := s.text(items[i].text)
		if len(s.gets) == 0 {
			m.Add(text)
		}
		for _, g := range s.gets {
			v, _ := s.lookUp(c, g, text)
			m.Add(v)
		}
	}
	c.Overwrites(1)
	m.Put()
	c.Changed(1)
	c.CountChanges(n - 1)
	c.Notify(config.EventList, "sortstore", 1)
}
