package command

import (
	"math"
	"slices"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the commands that intersect, unite and subtract sets.

// someSets is room for the sets of most commands.
type someSets [8]object.Set

// openSets appends the sets of the keys from the first one on. missing tells that one is not there, which stands for an
// empty set; ok is false when one is of another type, which has been replied.
func openSets(c *engine.Ctx, first int, dst []object.Set) (sets []object.Set, missing, ok bool) {
	for i := first; i < c.NumKeys(); i++ {
		if _, exists, ok := c.ReadType(i, keyspace.TypeSet); !ok {
			return nil, false, false
		} else if !exists {
			missing = true
		}
	}
	// Only now, as a key that was due may just have been removed.
	for i := first; i < c.NumKeys(); i++ {
		if rec, exists := c.Part(i).Find(c.DB(), c.Key(i)); exists && !(rec.HasExpiry() && c.IsPast(rec.ExpireAt())) {
			dst = append(dst, object.OpenSet(c.Part(i), rec))
		} else {
			dst = append(dst, object.Set{})
		}
	}
	return dst, missing, true
}

func bySize(a, b object.Set) int { return a.Len() - b.Len() }

// intersect calls fn for the members that all sets have, until it returns false. It puts the smallest set first.
func intersect(sets []object.Set, fn func(object.Member) bool) {
	slices.SortStableFunc(sets, bySize)
	sets[0].EachSifted(sets[1:], true, fn)
}

// cmdSInter is SINTER, and SMEMBERS, which has one set.
func cmdSInter(c *engine.Ctx, first int) {
	var few someSets
	sets, missing, ok := openSets(c, first, few[:0])
	if !ok {
		return
	}
	if missing {
		c.Set(0)
		return
	}
	if len(sets) == 1 {
		replySet(c, &sets[0])
		return
	}
	r := beginMembers(c)
	intersect(sets, r.add)
	r.end()
}

// memberReply is a reply of members of whom nobody knows how many they will be.
type memberReply struct {
	c    *engine.Ctx
	list engine.Deferred
	n    int
}

func beginMembers(c *engine.Ctx) memberReply { return memberReply{c: c, list: c.Defer()} }

func (r *memberReply) add(m object.Member) (more bool) {
	replyMember(r.c, m)
	r.n++
	return true
}

func (r *memberReply) end() { r.c.CloseSet(r.list, r.n) }

// replySet replies all members.
func replySet(c *engine.Ctx, s *object.Set) {
	c.Set(s.Len())
	s.Each(func(m object.Member) bool {
		replyMember(c, m)
		return true
	})
}

func cmdSInterCard(c *engine.Ctx) {
	n, ok := c.IntBetween(1, 1, math.MaxInt64, "ERR numkeys should be greater than 0")
	if !ok {
		return
	}
	if n > int64(len(c.Args)-2) {
		c.Err("ERR Number of keys can't be greater than number of args")
		return
	}
	limit := int64(0)
	for i := 2 + int(n); i < len(c.Args); i += 2 {
		if !c.ArgIs(i, "LIMIT") || i+1 >= len(c.Args) {
			c.Err(engine.ErrSyntax)
			return
		}
		if limit, ok = c.IntBetween(i+1, 0, math.MaxInt64, "ERR LIMIT can't be negative"); !ok {
			return
		}
	}
	var few someSets
	sets, missing, ok := openSets(c, 0, few[:0])
	if !ok {
		return
	}
	found := int64(0)
	if !missing {
		intersect(sets, func(object.Member) bool {
			found++
			return found != limit
		})
	}
	c.ReplyInt(found)
}

func cmdSInterStore(c *engine.Ctx) {
	var few someSets
	sets, missing, ok := openSets(c, 1, few[:0])
	if !ok {
		return
	}
	var e object.SetEdit
	if missing {
		beginResult(c, keyspace.EncIntset, &e)
		storeSet(c, &e, "sinterstore")
		return
	}
	slices.SortStableFunc(sets, bySize)
	if sets[0].Encoding() == keyspace.EncIntset {
		beginResult(c, keyspace.EncIntset, &e)
	} else {
		beginResult(c, keyspace.EncListpack, &e)
	}
	e.AddSifted(&sets[0], sets[1:], true)
	e.MaybeToIntset()
	storeSet(c, &e, "sinterstore")
}

// beginResult begins to make the set that a command replies or stores in key 0.
func beginResult(c *engine.Ctx, enc keyspace.Encoding, e *object.SetEdit) {
	e.BeginAs(enc, c.Place(0), limitsOf(c), c.W.Scratch())
}

// storeSet sets key 0 to the set that was made for it, and replies the number of members. An empty one removes the key.
func storeSet(c *engine.Ctx, e *object.SetEdit, event string) {
	n := e.Len()
	if n > 0 {
		c.Overwrites(0)
		e.PutAt(c.Place(0), 0)
		c.Changed(0)
		c.Notify(config.EventSet, event, 0)
	} else {
		e.Discard()
		if c.Delete(0) {
			c.Notify(config.EventGeneric, "del", 0)
		}
	}
	c.W.SetScratch(e.Scratch())
	c.ReplyInt(int64(n))
}

// setOperation makes a set of others.
type setOperation uint8

const (
	setUnion setOperation = iota // all members of all sets
	setDiff                      // the members of the first set that no other has
)

// combineSets replies what an operation makes of the sets of all keys. With an event, it is stored in key 0 and made of the
// others.
func combineSets(c *engine.Ctx, op setOperation, event string) {
	first := 0
	if event != "" {
		first = 1
	}
	var few someSets
	sets, _, ok := openSets(c, first, few[:0])
	if !ok {
		return
	}
	// What a listpack leaves is replied in the order in which a set has it: numbers first, and in theirs.
	if op == setDiff && event == "" && sets[0].Encoding() != keyspace.EncListpack && !subtractsEach(sets) {
		replyDifference(c, sets)
		return
	}
	var e object.SetEdit
	beginResult(c, keyspace.EncIntset, &e)
	if op == setUnion {
		unite(&e, sets)
	} else {
		subtract(&e, sets)
	}
	if event != "" {
		storeSet(c, &e, event)
		return
	}
	s := e.View()
	replySet(c, &s)
	e.Discard()
	c.W.SetScratch(e.Scratch())
}

// unite adds all members of all sets.
func unite(e *object.SetEdit, sets []object.Set) {
	for i := range sets {
		sets[i].Each(func(m object.Member) bool {
			e.AddMember(m)
			return true
		})
	}
}

// subtractsEach tells whether a difference takes less work when the members of the other sets are removed from a copy of the
// first one than when each member of that is looked up in the others.
func subtractsEach(sets []object.Set) bool {
	one, two := 0, 0 // about the work of looking up and of removing
	for i := range sets {
		if sets[i].Len() > 0 {
			one += sets[0].Len()
			two += sets[i].Len()
		}
	}
	return one/2 > two
}

// subtract adds the members of the first set that no other has.
func subtract(e *object.SetEdit, sets []object.Set) {
	if subtractsEach(sets) {
		subtractEach(e, sets)
		return
	}
	slices.SortStableFunc(sets[1:], func(a, b object.Set) int { return bySize(b, a) })
	e.AddSifted(&sets[0], sets[1:], false)
}

// replyDifference replies the members of the first set that no other has, without making a set of them.
func replyDifference(c *engine.Ctx, sets []object.Set) {
	slices.SortStableFunc(sets[1:], func(a, b object.Set) int { return bySize(b, a) })
	r := beginMembers(c)
	sets[0].EachSifted(sets[1:], false, r.add)
	r.end()
}

// subtractEach adds the members of the first set and removes those of the others: for a first set that is much bigger.
func subtractEach(e *object.SetEdit, sets []object.Set) {
	unite(e, sets[:1])
	for i := 1; i < len(sets) && e.Len() > 0; i++ {
		sets[i].Each(func(m object.Member) bool {
			e.RemoveMember(m)
			return true
		})
	}
}
