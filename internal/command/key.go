package command

import (
	"math"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the commands on keys of any type that remove, rename, copy and move them.

func keyHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"del":       {Run: cmdDel},
		"unlink":    {Run: cmdDel}, // big values are unmapped in one step, so there is nothing to put off
		"exists":    {Run: cmdExists},
		"touch":     {Run: cmdTouch},
		"type":      {Run: cmdType},
		"rename":    {Run: cmdRename},
		"renamenx":  {Run: cmdRenameNX},
		"copy":      {Run: cmdCopy},
		"move":      {Run: cmdMove},
		"randomkey": {Run: cmdRandomKey, Scope: engine.ScopeWhole},
	}
}

const errSameObject = "ERR source and destination objects are the same"

// typeName is what TYPE calls a type.
func typeName(t keyspace.Type) string {
	return [...]string{"string", "list", "set", "zset", "hash", "module", "stream"}[t]
}

func cmdDel(c *engine.Ctx) {
	removed := int64(0)
	for i := range c.NumKeys() {
		c.Peek(i) // an expired key is removed as such, and not counted
		if c.Delete(i) {
			c.Notify(config.EventGeneric, "del", i)
			removed++
		}
	}
	c.ReplyInt(removed)
}

func cmdExists(c *engine.Ctx) {
	found := int64(0)
	for i := range c.NumKeys() {
		if _, ok := c.FindQuiet(i); ok {
			found++
		}
	}
	c.ReplyInt(found)
}

func cmdTouch(c *engine.Ctx) {
	found := int64(0)
	for i := range c.NumKeys() {
		if _, ok := c.Find(i); ok {
			found++
		}
	}
	c.ReplyInt(found)
}

func cmdType(c *engine.Ctx) {
	rec, ok := c.FindQuiet(0)
	if !ok {
		c.Simple("none")
		return
	}
	c.Simple(typeName(rec.Type()))
}

func cmdRename(c *engine.Ctx) {
	if rename(c, false) && !c.Failed() {
		c.OK()
	}
}

func cmdRenameNX(c *engine.Ctx) {
	if done := rename(c, true); !c.Failed() {
		c.Bool01(done)
	}
}

// rename gives key 0 the name of key 1; false when nothing is to be done or an error has been replied.
func rename(c *engine.Ctx, onlyNew bool) bool {
	if _, ok := c.FindWrite(0); !ok {
		c.Err(engine.ErrNoSuchKey)
		return false
	}
	from, to := c.Key(0), c.Key(1)
	if string(from.Bytes) == string(to.Bytes) {
		return !onlyNew
	}
	_, taken := c.FindWrite(1)
	if taken && onlyNew {
		return false
	}
	if c.Part(0) == c.Part(1) {
		c.Part(0).Rename(c.DB(), from, to)
	} else if !c.Part(0).GiveString(c.DB(), from, c.Part(1), to) {
		rec, _ := c.Part(0).Find(c.DB(), from)
		putCopy(c, c.Place(1), rec, rec.Clock())
		c.Part(0).Delete(c.DB(), from)
	}
	if rec, ok := c.Part(1).Find(c.DB(), to); ok {
		rec.SetClock(c.FreshLRU()) // as of a new key
	}
	c.Changed(0)
	c.Modified(1)
	if taken {
		c.Notify(config.EventNew, "new", 1)
	}
	c.Notify(config.EventGeneric, "rename_from", 0)
	c.Notify(config.EventGeneric, "rename_to", 1)
	return true
}

// putCopy sets a key to a copy of the value and expiry of a record, which may be of the same part.
func putCopy(c *engine.Ctx, to object.Place, rec keyspace.Rec, clock uint32) {
	c.W.SetScratch(object.Copy(to, rec, limitsOf(c), c.W.Scratch()))
	if fresh, ok := to.Part.Find(to.DB, to.Key); ok {
		fresh.SetClock(clock)
	}
}

// intArg reads argument i as a 32-bit integer. text, if not empty, is the error instead of the usual ones.
func intArg(c *engine.Ctx, i int, text string) (int, bool) {
	n, ok := num.ParseInt(c.Args[i])
	if ok && n >= math.MinInt32 && n <= math.MaxInt32 {
		return int(n), true
	}
	switch {
	case text != "":
		c.Err(text)
	case !ok:
		c.Err(engine.ErrNotInteger)
	default:
		c.Err("ERR value is out of range, value must between -2147483648 and 2147483647")
	}
	return 0, false
}

// dbArg reads argument i as the index of a database.
func dbArg(c *engine.Ctx, i int) (int, bool) {
	db, ok := intArg(c, i, "")
	if ok && (db < 0 || db >= c.Engine().Databases()) && !c.Engine().ClusterOn {
		c.Err(engine.ErrDBIndex)
		return 0, false
	}
	return db, ok
}

// parseCopy reads the words behind COPY source destination.
func parseCopy(c *engine.Ctx) (db int, replace, ok bool) {
	db = c.DB()
	for i := 3; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "REPLACE"):
			replace = true
		case c.ArgIs(i, "DB") && i+1 < len(c.Args):
			i++
			if db, ok = dbArg(c, i); !ok {
				return 0, false, false
			}
		default:
			c.Err(engine.ErrSyntax)
			return 0, false, false
		}
	}
	if c.Engine().ClusterOn && db != 0 {
		c.Err("ERR Copying to another database is not allowed in cluster mode")
		return 0, false, false
	}
	return db, replace, true
}

func cmdCopy(c *engine.Ctx) {
	db, replace, ok := parseCopy(c)
	if !ok {
		return
	}
	if db == c.DB() && string(c.Key(0).Bytes) == string(c.Key(1).Bytes) {
		c.Err(errSameObject)
		return
	}
	if _, exists := c.Find(0); !exists {
		c.ReplyInt(0)
		return
	}
	taken := false
	c.InDB(db, func() { _, taken = c.FindWrite(1) })
	if taken && !replace {
		c.ReplyInt(0)
		return
	}
	rec, _ := c.Part(0).Find(c.DB(), c.Key(0))
	putCopy(c, object.Place{Part: c.Part(1), DB: db, Key: c.Key(1)}, rec, c.FreshLRU())
	c.InDB(db, func() {
		c.Changed(1)
		if taken {
			c.Notify(config.EventNew, "new", 1)
		}
		c.Notify(config.EventGeneric, "copy_to", 1)
	})
	c.ReplyInt(1)
}

func cmdMove(c *engine.Ctx) {
	if c.Engine().ClusterOn {
		c.Err("ERR MOVE is not allowed in cluster mode")
		return
	}
	db, ok := dbArg(c, 2)
	if !ok {
		return
	}
	if db == c.DB() {
		c.Err(errSameObject)
		return
	}
	if _, exists := c.FindWrite(0); !exists {
		c.ReplyInt(0)
		return
	}
	taken := false
	c.InDB(db, func() { _, taken = c.FindWrite(0) })
	if taken {
		c.ReplyInt(0)
		return
	}
	c.Part(0).Move(c.DB(), c.Key(0), db, c.Key(0))
	c.Changed(0)
	c.Notify(config.EventGeneric, "move_from", 0)
	c.InDB(db, func() {
		c.Modified(0)
		c.Notify(config.EventGeneric, "move_to", 0)
	})
	c.ReplyInt(1)
}

// randomTriesMax bounds how many expired keys RANDOMKEY removes or skips before it looks for one that is not.
const randomTriesMax = 100

func cmdRandomKey(c *engine.Ctx) {
	var name []byte
	for range randomTriesMax {
		shard := randomShard(c)
		if shard < 0 {
			c.Null()
			return
		}
		live := c.WithShard(shard, func(s *engine.Shard) bool {
			rec, ok := s.Part.RandomKey(c.DB(), c.Engine().Random())
			if !ok {
				return false
			}
			name = append(name[:0], rec.Key()...)
			if at := rec.ExpireAt(); at == 0 || !c.IsPast(at) {
				return true
			}
			c.DropExpired(name)
			return false
		})
		if live {
			c.Bulk(name)
			return
		}
	}
	name = anyLiveKey(c)
	if name == nil {
		c.Null()
		return
	}
	c.Bulk(name)
}

// anyLiveKey is the first key that is not expired; nil when there is none. Where most keys are expired and only a primary
// may remove them, chance does not find one.
func anyLiveKey(c *engine.Ctx) (name []byte) {
	shard := -1
	c.EachShard(func(s *engine.Shard) bool {
		shard++
		for n := 0; n < shardSlots && name == nil && s.Part.Len(c.DB()) > 0; n++ {
			s.Part.Each(c.DB(), slotCursor(shard*shardSlots+n).slot(), func(rec keyspace.Rec) bool {
				if at := rec.ExpireAt(); at == 0 || !c.IsPast(at) {
					name = append([]byte(nil), rec.Key()...)
				}
				return name == nil
			})
		}
		return name == nil
	})
	return name
}

// randomShard chooses a shard, each as likely as it has keys; -1 when there are none.
func randomShard(c *engine.Ctx) int {
	var counts [keyspace.Shards]int64
	total := int64(0)
	shard := 0
	c.EachShard(func(s *engine.Shard) bool {
		counts[shard] = s.Part.Len(c.DB())
		total += counts[shard]
		shard++
		return true
	})
	if total == 0 {
		return -1
	}
	at := int64(c.Engine().Random() % uint64(total))
	for i, n := range counts {
		if at < n {
			return i
		}
		at -= n
	}
	return -1
}
