package command

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the commands on single sets but those that take members by chance (set_random.go). What works on several
// sets is in set_algebra.go.

func setHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"sadd":        {Run: cmdSAdd},
		"srem":        {Run: cmdSRem},
		"smove":       {Run: cmdSMove},
		"sismember":   {Run: cmdSIsMember},
		"smismember":  {Run: cmdSMIsMember},
		"scard":       {Run: cmdSCard},
		"smembers":    {Run: func(c *engine.Ctx) { cmdSInter(c, 0) }},
		"sscan":       {Run: cmdSScan},
		"spop":        {Run: cmdSPop, Count: 2},
		"srandmember": {Run: cmdSRandMember},
		"sinter":      {Run: func(c *engine.Ctx) { cmdSInter(c, 0) }},
		"sintercard":  {Run: cmdSInterCard},
		"sinterstore": {Run: cmdSInterStore},
		"sunion":      {Run: func(c *engine.Ctx) { combineSets(c, setUnion, "") }},
		"sunionstore": {Run: func(c *engine.Ctx) { combineSets(c, setUnion, "sunionstore") }},
		"sdiff":       {Run: func(c *engine.Ctx) { combineSets(c, setDiff, "") }},
		"sdiffstore":  {Run: func(c *engine.Ctx) { combineSets(c, setDiff, "sdiffstore") }},
	}
}

// readSet finds the first key as a set, an empty one if it is missing; false when it is of another type.
func readSet(c *engine.Ctx) (s object.Set, ok bool) {
	rec, exists, ok := c.ReadType(0, keyspace.TypeSet)
	if exists && ok {
		s = object.OpenSet(c.Part(0), rec)
	}
	return s, ok
}

// editSet begins to change the i-th key, whose record was just found.
func editSet(c *engine.Ctx, i int, rec keyspace.Rec, e *object.SetEdit) {
	e.Open(c.Place(i), rec, limitsOf(c), c.W.Scratch())
}

// beginSet begins to make a set for the i-th key.
func beginSet(c *engine.Ctx, i int, first []byte, expected int, e *object.SetEdit) {
	e.Begin(c.Place(i), limitsOf(c), c.W.Scratch(), first, expected)
}

// commitSet ends a change of the i-th key by which its set got or lost so many members.
func commitSet(c *engine.Ctx, i int, e *object.SetEdit, event string, changes int) {
	left := e.Commit()
	c.W.SetScratch(e.Scratch())
	changedElements(c, i, config.EventSet, event, changes, left)
}

func cmdSAdd(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeSet)
	if !ok {
		return
	}
	members := c.Args[2:]
	var e object.SetEdit
	if exists {
		editSet(c, 0, rec, &e)
		e.Expect(len(members))
	} else {
		beginSet(c, 0, members[0], len(members), &e)
	}
	added := 0
	for _, m := range members {
		if e.Add(m) {
			added++
		}
	}
	commitSet(c, 0, &e, "sadd", added)
	c.ReplyInt(int64(added))
}

func cmdSRem(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeSet)
	if !ok {
		return
	}
	if !exists {
		c.ReplyInt(0)
		return
	}
	var e object.SetEdit
	editSet(c, 0, rec, &e)
	removed := 0
	for _, m := range c.Args[2:] {
		if e.Remove(m) {
			removed++
		}
	}
	commitSet(c, 0, &e, "srem", removed)
	c.ReplyInt(int64(removed))
}

func cmdSMove(c *engine.Ctx) {
	_, exists, ok := c.WriteType(0, keyspace.TypeSet)
	if !exists {
		c.ReplyInt(0)
		return
	}
	if !ok {
		return
	}
	_, taken, ok := c.WriteType(1, keyspace.TypeSet)
	if !ok {
		return
	}
	member := c.Args[3]
	from, _ := c.Part(0).Find(c.DB(), c.Key(0)) // again: key 1 may have been due and removed
	var e object.SetEdit
	editSet(c, 0, from, &e)
	if string(c.Key(0).Bytes) == string(c.Key(1).Bytes) {
		s := e.View()
		c.Bool01(s.Contains(member))
		return
	}
	if !e.Remove(member) {
		c.ReplyInt(0)
		return
	}
	commitSet(c, 0, &e, "srem", 1)
	if taken {
		to, _ := c.Part(1).Find(c.DB(), c.Key(1)) // again: the other set has changed
		editSet(c, 1, to, &e)
	} else {
		beginSet(c, 1, member, 1, &e)
	}
	added := 0
	if e.Add(member) {
		added = 1
	}
	commitSet(c, 1, &e, "sadd", added)
	c.ReplyInt(1)
}

func cmdSIsMember(c *engine.Ctx) {
	if s, ok := readSet(c); ok {
		c.Bool01(s.Contains(c.Args[2]))
	}
}

func cmdSMIsMember(c *engine.Ctx) {
	s, ok := readSet(c)
	if !ok {
		return
	}
	c.Array(len(c.Args) - 2)
	for _, m := range c.Args[2:] {
		c.Bool01(s.Contains(m))
	}
}

func cmdSCard(c *engine.Ctx) {
	if s, ok := readSet(c); ok {
		c.ReplyInt(int64(s.Len()))
	}
}

// replyMember replies one member.
func replyMember(c *engine.Ctx, m object.Member) {
	var digits [20]byte
	c.Bulk(m.Text(digits[:0]))
}

func cmdSScan(c *engine.Ctx) {
	scanElements(c, keyspace.TypeSet, func(rec keyspace.Rec, cursor uint64, o elementScan) (next uint64, replies int) {
		s := object.OpenSet(c.Part(0), rec)
		next = s.Scan(cursor, o.count, func(m object.Member) {
			var digits [20]byte
			if text := m.Text(digits[:0]); o.takes(text) {
				c.Bulk(text)
				replies++
			}
		})
		return next, replies
	})
}
