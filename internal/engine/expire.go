package engine

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/keyspace"
)

// expireVisitsPerShard bounds the work under one shard lock: about 100 µs at 500 ns a key.
const expireVisitsPerShard = 200

// ExpireCycle removes keys that are due, shard by shard, and logs each removal. It returns how many went and whether more
// may be due at once. A replica removes its own keys only; during loading or a pause nothing goes.
func (e *Engine) ExpireCycle(w *Worker) (dropped int, more bool) {
	if !e.Settings.ActiveExpire.Load() || e.Pause.any() || e.Loading() {
		return 0, false
	}
	if e.Role.IsReplica() {
		return e.expireOwn(w), false
	}
	e.own.forgetAll()
	for i := range e.shards {
		n, rest := e.expireShard(w, i)
		dropped += n
		more = more || rest
	}
	w.kick()
	return dropped, more
}

func (e *Engine) expireShard(w *Worker, i int) (dropped int, more bool) {
	c := w.background()
	c.withFreeShard(i, func(s *Shard) bool {
		if e.Role.IsReplica() || e.Pause.any() {
			return false
		}
		dropped, more = s.Part.ExpireDue(int64(c.Now), expireVisitsPerShard, func(db int, rec keyspace.Rec) {
			c.S.db = db
			c.logDelete(rec.Key())
			if len(s.watch.byKey) != 0 {
				s.watch.touch(db, rec.Key())
			}
			if len(s.blocked.byKey) != 0 {
				c.markReady(s, db, rec.Key())
			}
			if e.Tracking.active.Load() != 0 {
				c.nobody = true
				c.changedForTrackers(s, rec.Key())
				c.nobody = false
			}
			c.NotifyKey(config.EventExpired, "expired", db, rec.Key())
		})
		more = c.expireFieldsOf(s) || more
		return true
	})
	e.Stats.ExpiredKeys.Add(int64(dropped))
	return dropped, more
}

// background prepares the worker's context for work that no client asked for.
func (w *Worker) background() *Ctx {
	c := &w.ctx
	if c.S == nil || c.S.conn != nil {
		c.S = &Session{e: w.e, loggedIn: true}
	}
	c.Now = w.e.Clock.Now()
	c.held, c.inExec = 0, false
	return c
}
