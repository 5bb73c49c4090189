package command

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds the commands that empty or exchange whole databases. They cut the keyspace under all locks, which takes
// no longer than putting the tables aside; the memory is freed afterwards, slice by slice under short locks: by the command
// itself (SYNC) or by the server's cron (ASYNC).

func flushHandlers(d Deps) map[string]engine.Handler {
	return map[string]engine.Handler{
		"flushdb":  {Run: cmdFlushDB, Scope: engine.ScopeWhole},
		"flushall": {Run: func(c *engine.Ctx) { cmdFlushAll(c, d.FlushedAll) }, Scope: engine.ScopeWhole},
		"swapdb":   {Run: cmdSwapDB, Scope: engine.ScopeWhole},
	}
}

// flushMode reads the word behind FLUSHALL.
func flushMode(c *engine.Ctx) (async, ok bool) {
	switch {
	case len(c.Args) == 1:
		return c.Engine().Settings.LazyUserFlush.Load(), true
	case len(c.Args) == 2 && c.ArgIs(1, "SYNC"):
		return false, true
	case len(c.Args) == 2 && c.ArgIs(1, "ASYNC"):
		return true, true
	}
	c.Err(engine.ErrSyntax)
	return false, false
}

func cmdFlushDB(c *engine.Ctx) {
	async, ok := flushMode(c)
	if !ok {
		return
	}
	c.LockAll()
	emptyDB(c, c.DB())
	c.Engine().ForgetAll()
	c.Propagate(c.Args...)
	freeDetached(c, async)
	c.OK()
}

// cmdFlushAll empties everything. Where there are save points the client hears of it when the data file is empty too: the old
// data must not come back when the process ends badly.
func cmdFlushAll(c *engine.Ctx, flushed func() (saved <-chan struct{})) {
	async, ok := flushMode(c)
	if !ok {
		return
	}
	c.LockAll()
	for db := range c.Engine().Databases() {
		emptyDB(c, db)
	}
	c.Engine().ForgetAll()
	var saved <-chan struct{}
	if flushed != nil {
		saved = flushed()
	}
	c.Propagate(c.Args...)
	freeDetached(c, async)
	if saved == nil || c.InExec() || c.FromPrimary() {
		c.OK()
		return
	}
	wait := c.Suspend(engine.WaitWork, 0, nil, nil)
	go func() {
		<-saved
		wait.Resume(func(c *engine.Ctx) { c.OK() })
	}()
}

// emptyDB puts all keys of a database aside. All shards are locked.
func emptyDB(c *engine.Ctx, db int) {
	c.EachShard(func(s *engine.Shard) bool {
		if n := s.Part.Len(db); n > 0 {
			s.TouchAll(db, func(db int, name string) bool { return isLive(c, s.Part, db, name) })
			c.DatabaseChanged(s, db)
			s.Part.DetachDB(db)
			c.Engine().Flushed()
			c.CountChanges(int(n))
		}
		return true
	})
}

// isLive says whether a locked part has a key that has not expired.
func isLive(c *engine.Ctx, p *keyspace.Part, db int, name string) bool {
	key := c.Engine().Key([]byte(name))
	rec, ok := p.Find(db, &key)
	return ok && !(rec.HasExpiry() && c.IsPast(rec.ExpireAt()))
}

// freePerLock is how many records are freed under one lock: about 200 µs.
const freePerLock = 2048

// freeDetached frees what was put aside, unless the cron is to do it. Inside a transaction the locks stay, so it is the
// cron's work too.
func freeDetached(c *engine.Ctx, async bool) {
	c.Release()
	if async || c.InExec() {
		return
	}
	for shard := range keyspace.Shards {
		left := int64(1<<63 - 1)
		for c.WithShard(shard, func(s *engine.Shard) bool {
			before := left
			left = s.Part.FreeSome(freePerLock)
			s.Part.Arena().Publish()
			return left > 0 && left < before // what a running snapshot has still to visit stays
		}) {
			c.Engine().GiveWay(shard)
		}
	}
}

func cmdSwapDB(c *engine.Ctx) {
	if c.Engine().ClusterOn {
		c.Err("ERR SWAPDB is not allowed in cluster mode")
		return
	}
	a, ok := intArg(c, 1, "ERR invalid first DB index")
	if !ok {
		return
	}
	b, ok := intArg(c, 2, "ERR invalid second DB index")
	if !ok {
		return
	}
	if n := c.Engine().Databases(); a < 0 || b < 0 || a >= n || b >= n {
		c.Err(engine.ErrDBIndex)
		return
	}
	c.LockAll()
	if a != b {
		c.EachShard(func(s *engine.Shard) bool {
			differs := func(_ int, name string) bool { return isLive(c, s.Part, a, name) || isLive(c, s.Part, b, name) }
			s.TouchAll(a, differs)
			s.TouchAll(b, differs)
			c.DatabaseChanged(s, a)
			c.DatabaseChanged(s, b)
			s.Part.SwapDB(a, b)
			return true
		})
	}
	c.CountChanges(1)
	c.OK()
}
