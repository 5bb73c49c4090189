package engine

import (
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/slot"
)

// Shards ranges over the numbers of the shards.
func (e *Engine) Shards() int { return len(e.shards) }

// FreeTrash frees what was flushed, a bounded number of records under one hold of a lock, until nothing is left.
func (e *Engine) FreeTrash(perHold int) {
	for i := range e.shards {
		s := &e.shards[i]
		for left := int64(1); left > 0; {
			s.mu.Lock()
			left = s.Part.FreeSome(perHold)
			s.mu.Unlock()
		}
	}
}

// DetachAll empties every database of a shard, whose lock is held. FreeTrash gives the memory back.
func (e *Engine) DetachAll(shard int) {
	for db := range e.dbs {
		e.shards[shard].Part.DetachDB(db)
	}
}

// PurgeSlot removes every key of a slot that belongs to another node now, and logs the removals.
func (e *Engine) PurgeSlot(w *Worker, s slot.ID) {
	c := w.background()
	c.WithShard(keyspace.ShardOf(s), func(sh *Shard) bool {
		for db := range e.dbs {
			c.S.db = db
			sh.Part.Each(db, s, func(r keyspace.Rec) bool {
				c.logDelete(r.Key())
				if len(sh.watch.byKey) != 0 {
					sh.watch.touch(db, r.Key())
				}
				return true
			})
			sh.Part.DetachSlot(db, s)
		}
		return true
	})
	if w.logged {
		w.logged = false
		e.Log.Kick()
	}
}
