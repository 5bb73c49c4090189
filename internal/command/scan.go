package command

import (
	"math/bits"
	"strconv"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/glob"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the walks over all keys: SCAN, KEYS and DBSIZE. They never hold more than one shard's lock, and no lock
// longer than it takes to look at some hundred keys.

func scanHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"scan":   {Run: cmdScan, Scope: engine.ScopeWhole},
		"keys":   {Run: cmdKeys, Scope: engine.ScopeWhole},
		"dbsize": {Run: cmdDBSize, Scope: engine.ScopeWhole},
	}
}

// A cursor is a place in the walk: 14 bits that number the slot, 23 bits of tag. Slots are numbered shard by shard, so that
// a walk over few keys takes each lock once. Keys of a slot come in the order of their tags, whatever happens to the table
// meanwhile, so a key that is there all the time is met. Cursor 0 is the start of the walk and, as a reply, its end.
//
//	| 27 bits: 0 | 6: shard | 8: slot within the shard | 23: tag |
type cursor uint64

const (
	tagBits       = 23
	shardSlots    = slot.Count / keyspace.Shards
	cursorEnd     = cursor(slot.Count) << tagBits
	keysPerLock   = 512 // about 50 µs under one lock
	shardBits     = 6
	shardSlotBits = 8
)

func (at cursor) shard() int    { return int(at >> (tagBits + shardSlotBits)) }
func (at cursor) tag() uint32   { return uint32(at & (1<<tagBits - 1)) }
func (at cursor) number() int   { return int(at >> tagBits) }
func slotCursor(n int) cursor   { return cursor(n) << tagBits }
func (at cursor) slot() slot.ID { return slot.ID(at.number()%shardSlots<<shardBits | at.shard()) }

// walkKeys visits about count keys from a place on, expired ones included, and returns the place to go on from. visit is
// called under the shard's lock and must not change the part; release is called under the same lock once the walk lets go
// of it, and may.
func walkKeys(c *engine.Ctx, at cursor, count int64, visit func(keyspace.Rec), release func()) cursor {
	for at < cursorEnd && count > 0 {
		budget := int(min(count, keysPerLock))
		c.WithShard(at.shard(), func(s *engine.Shard) bool {
			at = walkShard(s.Part, c.DB(), at, &budget, &count, visit)
			release()
			return true
		})
	}
	return at
}

// walkShard goes through the slots of the shard that at is in, until the budget is used up or the shard ends.
func walkShard(p *keyspace.Part, db int, at cursor, budget *int, count *int64, visit func(keyspace.Rec)) cursor {
	shard := at.shard()
	end := slotCursor((shard + 1) * shardSlots)
	if p.Len(db) == 0 {
		return end
	}
	for at < end && *budget > 0 {
		next, done := p.Scan(db, at.slot(), at.tag(), *budget, func(rec keyspace.Rec) {
			*budget--
			*count--
			visit(rec)
		})
		if done {
			at = slotCursor(at.number() + 1)
		} else {
			at = slotCursor(at.number()) | cursor(next)
		}
	}
	return at
}

// names are key names that were copied out of the arena.
type names struct {
	bytes []byte
	ends  []int
}

func (n *names) add(name []byte) {
	n.bytes = append(n.bytes, name...)
	n.ends = append(n.ends, len(n.bytes))
}

// mean is the length of a name, on average.
func (n *names) mean() int { return len(n.bytes) / max(len(n.ends), 1) }

// at is the i-th name.
func (n *names) at(i int) []byte {
	from := 0
	if i > 0 {
		from = n.ends[i-1]
	}
	return n.bytes[from:n.ends[i]]
}

func (n *names) each(fn func(name []byte)) {
	from := 0
	for _, end := range n.ends {
		fn(n.bytes[from:end])
		from = end
	}
}

func (n *names) clear() { n.bytes, n.ends = n.bytes[:0], n.ends[:0] }

// filter is what keys a walk takes.
type filter struct {
	pattern []byte // nil: all
	typed   bool
	kind    keyspace.Type // counts if typed is set
}

// noSuchType is a type that no key has.
const noSuchType = keyspace.Type(255)

func (f *filter) setPattern(p []byte) {
	f.pattern = p
	if string(p) == "*" {
		f.pattern = nil
	}
}

// matches tells whether the pattern takes a key.
func (f *filter) matches(rec keyspace.Rec) bool {
	return f.pattern == nil || glob.Match(f.pattern, rec.Key(), false)
}

// fits tells whether a key has the type that is asked for.
func (f *filter) fits(rec keyspace.Rec) bool { return !f.typed || rec.Type() == f.kind }

// typeByName is the type of a name in any case.
func typeByName(name []byte) keyspace.Type {
	for t := keyspace.TypeString; t <= keyspace.TypeStream; t++ {
		if t != keyspace.TypeModule && equalFold(name, typeName(t)) {
			return t
		}
	}
	return noSuchType
}

// equalFold compares b with a lower-case word, ignoring case.
func equalFold(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, ch := range b {
		if 'A' <= ch && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		if ch != word[i] {
			return false
		}
	}
	return true
}

// parseCursor reads a cursor as strtoul does: a sign is allowed, nothing at all is 0.
func parseCursor(b []byte) (uint64, bool) {
	b = cutAtZero(b)
	digits := b
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		if digits = b[1:]; len(digits) == 0 {
			return 0, false
		}
	}
	n := uint64(0)
	for _, ch := range digits {
		if ch < '0' || ch > '9' {
			return 0, false
		}
		high, low := bits.Mul64(n, 10)
		sum, carry := bits.Add64(low, uint64(ch-'0'), 0)
		if high != 0 || carry != 0 {
			return 0, false
		}
		n = sum
	}
	if len(b) > 0 && b[0] == '-' {
		return -n, true
	}
	return n, true
}

// parseScan reads the words behind SCAN cursor.
func parseScan(c *engine.Ctx) (f filter, count int64, ok bool) {
	count = 10
	for i := 2; i < len(c.Args); i += 2 {
		switch more := i+1 < len(c.Args); {
		case more && c.ArgIs(i, "COUNT"):
			if count, ok = c.Int(i + 1); !ok {
				return f, 0, false
			}
			if count < 1 {
				c.Err(engine.ErrSyntax)
				return f, 0, false
			}
		case more && c.ArgIs(i, "MATCH"):
			f.setPattern(c.Args[i+1])
		case more && c.ArgIs(i, "TYPE"):
			f.typed, f.kind = true, typeByName(c.Args[i+1])
		default:
			c.Err(engine.ErrSyntax)
			return f, 0, false
		}
	}
	return f, count, true
}

func cmdScan(c *engine.Ctx) {
	from, ok := parseCursor(c.Args[1])
	if !ok {
		c.Err("ERR invalid cursor")
		return
	}
	f, count, ok := parseScan(c)
	if !ok {
		return
	}
	var found, expired names
	next := walkKeys(c, cursor(min(from, uint64(cursorEnd))), count, func(rec keyspace.Rec) {
		switch {
		case !f.matches(rec):
		case rec.HasExpiry() && c.IsPast(rec.ExpireAt()):
			expired.add(rec.Key()) // of whatever type
		case f.fits(rec):
			found.add(rec.Key())
		}
	}, func() {
		expired.each(func(name []byte) { c.DropExpired(name) })
		expired.clear()
	})
	if next == cursorEnd {
		next = 0
	}
	c.Array(2)
	c.BulkString(strconv.FormatUint(uint64(next), 10))
	c.Array(len(found.ends))
	found.each(c.Bulk)
}

func cmdKeys(c *engine.Ctx) {
	var f filter
	f.setPattern(c.Args[1])
	list, n := c.Defer(), 0
	walkKeys(c, 0, 1<<62, func(rec keyspace.Rec) {
		if f.matches(rec) && !(rec.HasExpiry() && c.IsPast(rec.ExpireAt())) {
			c.Bulk(rec.Key())
			n++
		}
	}, func() {})
	c.CloseArray(list, n)
}

func cmdDBSize(c *engine.Ctx) {
	total := int64(0)
	c.EachShard(func(s *engine.Shard) bool {
		total += s.Part.Len(c.DB())
		return true
	})
	c.ReplyInt(total)
}
