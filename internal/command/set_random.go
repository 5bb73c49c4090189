package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds SPOP and SRANDMEMBER.

var wordSRem = []byte("SREM")

const (
	// popMoveRatio is how many times as many members SPOP takes as it leaves when it makes a new set of what it leaves.
	popMoveRatio = 5
	// popBatch is how many members one effect of SPOP removes at most.
	popBatch = 1024
)

func cmdSPop(c *engine.Ctx) {
	switch len(c.Args) {
	case 2:
		popOne(c)
	case 3:
		if n, ok := c.IntBetween(2, 0, math.MaxInt64, errNotPositive); ok {
			popSome(c, n)
		}
	default:
		c.Err(engine.ErrSyntax)
	}
}

// popOne is SPOP without a count.
func popOne(c *engine.Ctx) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeSet)
	if !ok {
		return
	}
	if !exists {
		c.Null()
		return
	}
	var e object.SetEdit
	editSet(c, 0, rec, &e)
	s := e.View()
	m := s.Random(c.W.Dice())
	var digits [20]byte
	text := m.Text(digits[:0])
	c.Bulk(text)
	effect := [3][]byte{wordSRem, c.Key(0).Bytes, text}
	c.Propagate(effect[:]...)
	e.RemoveMember(m)
	commitSet(c, 0, &e, "spop", 1)
}

// popSome is SPOP with a count.
func popSome(c *engine.Ctx, count int64) {
	rec, exists, ok := c.WriteType(0, keyspace.TypeSet)
	if !ok {
		return
	}
	if !exists || count == 0 {
		c.Set(0)
		return
	}
	var e object.SetEdit
	editSet(c, 0, rec, &e)
	size := int64(e.Len())
	switch {
	case count >= size:
		popAll(c, &e)
		return
	case (size-count)*popMoveRatio > count:
		popFew(c, &e, int(count))
	default:
		popMost(c, &e, int(size-count))
	}
	c.Changed(0)
	c.CountChanges(int(count) - 1)
}

// popAll takes the whole set.
func popAll(c *engine.Ctx, e *object.SetEdit) {
	c.Notify(config.EventSet, "spop", 0)
	s := e.View()
	replySet(c, &s)
	c.CountChanges(s.Len() - 1)
	propagateServerDelete(c, 0)
	c.Delete(0)
	c.Notify(config.EventGeneric, "del", 0)
}

// popFew takes members one by one.
func popFew(c *engine.Ctx, e *object.SetEdit, count int) {
	c.Notify(config.EventSet, "spop", 0)
	c.Set(count)
	var taken takenMembers
	if e.Encoding() == keyspace.EncListpack {
		s := e.View()
		s.Sample(c.W.Dice(), count, func(m object.Member) { taken.add(c, m) })
		taken.names.each(func(name []byte) { e.Remove(name) })
	} else {
		for range count {
			s := e.View()
			m := s.Random(c.W.Dice())
			taken.add(c, m)
			e.RemoveMember(m)
		}
	}
	e.Commit()
	c.W.SetScratch(e.Scratch())
	taken.propagate(c)
}

// popMost leaves some members, which it puts into a new set, and takes the others. What is left thus gets its encoding anew.
func popMost(c *engine.Ctx, e *object.SetEdit, leave int) {
	c.Notify(config.EventSet, "spop", 0)
	enc := keyspace.EncListpack
	if e.Encoding() == keyspace.EncIntset {
		enc = keyspace.EncIntset
	}
	var kept object.SetEdit
	kept.BeginAs(enc, c.Place(0), limitsOf(c), nil)
	s := e.View()
	s.RandomDistinct(c.W.Dice(), leave, func(m object.Member) { kept.AddMember(m) })
	c.Set(s.Len() - leave)
	left := kept.View()
	var taken takenMembers
	s.Each(func(m object.Member) bool {
		if !left.Has(m) {
			taken.add(c, m)
		}
		return true
	})
	kept.PutAt(c.Place(0), e.ExpireAt())
	taken.propagate(c)
}

// takenMembers are the members that SPOP took.
type takenMembers struct{ names names }

// add replies a member and remembers it, if that is of use.
func (t *takenMembers) add(c *engine.Ctx, m object.Member) {
	var digits [20]byte
	text := m.Text(digits[:0])
	c.Bulk(text)
	t.names.add(text)
}

// propagate logs the removal of the members.
func (t *takenMembers) propagate(c *engine.Ctx) {
	effect := make([][]byte, 0, min(len(t.names.ends), popBatch)+2)
	effect = append(effect, wordSRem, c.Key(0).Bytes)
	t.names.each(func(name []byte) {
		if effect = append(effect, name); len(effect) == popBatch+2 {
			c.Propagate(effect...)
			effect = effect[:2]
		}
	})
	if len(effect) > 2 {
		c.Propagate(effect...)
	}
}

func cmdSRandMember(c *engine.Ctx) {
	switch len(c.Args) {
	case 2:
		s, ok := readSet(c)
		switch {
		case !ok:
		case s.Len() == 0:
			c.Null()
		default:
			replyMember(c, s.Random(c.W.Dice()))
		}
	case 3:
		randomMembers(c)
	default:
		c.Err(engine.ErrSyntax)
	}
}

// randomMembers is SRANDMEMBER with a count.
func randomMembers(c *engine.Ctx) {
	n, ok := c.Int(2)
	if !ok {
		return
	}
	if n == math.MinInt64 {
		c.Err("ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807")
		return
	}
	s, ok := readSet(c)
	if !ok {
		return
	}
	size := int64(s.Len())
	switch {
	case n == 0 || size == 0:
		c.Array(0)
	case n < 0:
		repeatMembers(c, &s, -n)
	default:
		n = min(n, size)
		c.Array(int(n))
		s.RandomDistinct(c.W.Dice(), int(n), func(m object.Member) { replyMember(c, m) })
	}
}

// repeatMembers is SRANDMEMBER with a negative count: it replies n members, of which some may be the same. Very many are
// drawn from a sample.
func repeatMembers(c *engine.Ctx, s *object.Set, n int64) {
	var pool names
	add := func(m object.Member) {
		var digits [20]byte
		pool.add(m.Text(digits[:0]))
	}
	switch size := int64(s.Len()); {
	case size <= n && size <= poolMax:
		s.Each(func(m object.Member) bool {
			add(m)
			return true
		})
	case n <= poolMax:
		c.Array(int(n))
		for range n {
			replyMember(c, s.Random(c.W.Dice()))
		}
		return
	default:
		for range poolMax {
			add(s.Random(c.W.Dice()))
		}
	}
	r := drawnReply{n: n, texts: pool.mean(), open: func() { c.Array(int(n)) }}
	r.one = func(c *engine.Ctx) { c.Bulk(pool.at(int(c.W.Dice().Below(uint64(len(pool.ends)))))) }
	r.reply(c)
}
