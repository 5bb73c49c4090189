package engine

import (
	"sync"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/keyspace"
)

// ownKeys are keys with an expiry that clients wrote on a writable replica. Its primary does not know them, so nobody else
// would ever remove them.
type ownKeys struct {
	mu struct { // a leaf lock
		sync.Mutex
		keys map[ownKey]struct{}
	}
}

type ownKey struct {
	db   int
	name string
}

// noteOwn remembers the keys of a client's write on a replica that have an expiry now; their shards are locked.
func (c *Ctx) noteOwn() {
	for i := range c.keys {
		rec, ok := c.Part(i).Find(c.S.db, &c.keys[i])
		if !ok || !rec.HasExpiry() {
			continue
		}
		own := &c.e.own
		own.mu.Lock()
		if own.mu.keys == nil {
			own.mu.keys = make(map[ownKey]struct{})
		}
		own.mu.keys[ownKey{c.S.db, string(c.keys[i].Bytes)}] = struct{}{}
		own.mu.Unlock()
	}
}

// some returns up to n keys.
func (o *ownKeys) some(n int) (list []ownKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k := range o.mu.keys {
		if len(list) == n {
			break
		}
		list = append(list, k)
	}
	return list
}

func (o *ownKeys) forget(k ownKey) {
	o.mu.Lock()
	delete(o.mu.keys, k)
	o.mu.Unlock()
}

// forgetAll is for a node that is a primary: all keys are its own.
func (o *ownKeys) forgetAll() {
	o.mu.Lock()
	o.mu.keys = nil
	o.mu.Unlock()
}

// ownVisits bounds how many keys of its own a replica looks at in one cycle: about 100 µs.
const ownVisits = 200

// expireOwn removes a replica's own keys that are due. Nothing is logged: the stream is the primary's.
func (e *Engine) expireOwn(w *Worker) (dropped int) {
	c := w.background()
	for _, k := range e.own.some(ownVisits) {
		key := e.hasher.Key([]byte(k.name))
		c.withFreeShard(keyspace.ShardOf(key.Slot), func(s *Shard) bool {
			rec, ok := s.Part.Find(k.db, &key)
			switch {
			case !ok || !rec.HasExpiry():
				e.own.forget(k)
			case rec.ExpireAt() <= int64(c.Now):
				s.Part.Delete(k.db, &key)
				s.watch.touch(k.db, key.Bytes)
				c.NotifyKey(config.EventExpired, "expired", k.db, key.Bytes)
				e.own.forget(k)
				dropped++
			}
			return true
		})
	}
	e.Stats.ExpiredKeys.Add(int64(dropped))
	return dropped
}
