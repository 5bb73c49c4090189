package engine

import "github.com/covey-db/covey/internal/keyspace"

// watchers are the transactions that watch keys of one shard; the shard's lock guards them.
type watchers struct {
	byKey map[watchedKey][]*watch
}

type watchedKey struct {
	db  int
	key string
}

// watch is one WATCH of one session on one key. existed is what the key was when the watch began: an expired key that was
// missing already does not break it.
type watch struct {
	s       *Session
	key     watchedKey
	shard   int
	existed bool
}

// modified is touched, and notes that those who block on the key may go on.
func (c *Ctx) modified(db int, key *keyspace.Key) {
	c.touched(db, key)
	if s := &c.e.shards[keyspace.ShardOf(key.Slot)]; len(s.blocked.byKey) != 0 {
		c.markReady(s, db, key.Bytes)
	}
}

// touched breaks the transactions that watch a key of a locked shard, and tells who tracks it.
func (c *Ctx) touched(db int, key *keyspace.Key) {
	s := &c.e.shards[keyspace.ShardOf(key.Slot)]
	if len(s.watch.byKey) != 0 {
		s.watch.touch(db, key.Bytes)
	}
	if c.e.Tracking.active.Load() != 0 {
		c.changedForTrackers(s, key.Bytes)
	}
}

// vanished is modified for a change that no client made: a key or field whose time was over, an eviction.
func (c *Ctx) vanished(db int, key *keyspace.Key) {
	c.nobody = true
	c.modified(db, key)
	c.nobody = false
}

func (w *watchers) touch(db int, key []byte) {
	for _, one := range w.byKey[watchedKey{db, string(key)}] {
		one.s.setFlag(FlagWatchBroken, true)
	}
}

// TouchAll breaks the transactions that watch a key of db for which gone says that it was there and vanished or changed;
// db -1 means every database. The shard is locked.
func (s *Shard) TouchAll(db int, gone func(db int, key string) bool) {
	for k, list := range s.watch.byKey {
		if db >= 0 && k.db != db || !gone(k.db, k.key) {
			continue
		}
		for _, one := range list {
			one.s.setFlag(FlagWatchBroken, true)
		}
	}
}

// Watch makes the session's next EXEC depend on the i-th key, whose shard is locked.
func (c *Ctx) Watch(i int) {
	key := &c.keys[i]
	k := watchedKey{c.S.db, string(key.Bytes)}
	for _, w := range c.S.watching {
		if w.key == k {
			return
		}
	}
	_, existed := c.Peek(i)
	w := &watch{s: c.S, key: k, shard: keyspace.ShardOf(key.Slot), existed: existed}
	c.S.watching = append(c.S.watching, w)
	c.S.keeps(watchBytes + len(k.key))
	shard := c.Shard(i)
	if shard.watch.byKey == nil {
		shard.watch.byKey = make(map[watchedKey][]*watch)
	}
	shard.watch.byKey[k] = append(shard.watch.byKey[k], w)
}

// unwatch ends all watches of the session. The caller holds no shard lock, or held covers those it needs.
func (s *Session) unwatch(held uint64) {
	for _, w := range s.watching {
		shard := &s.e.shards[w.shard]
		mine := held&(1<<uint(w.shard)) == 0
		if mine {
			shard.mu.Lock()
		}
		shard.watch.remove(w)
		s.keeps(-watchBytes - len(w.key.key))
		if mine {
			shard.mu.Unlock()
		}
	}
	s.watching = s.watching[:0]
	s.setFlag(FlagWatchBroken, false)
}

func (w *watchers) remove(one *watch) {
	list := w.byKey[one.key]
	for i, x := range list {
		if x == one {
			list[i] = list[len(list)-1]
			list = list[:len(list)-1]
			break
		}
	}
	if len(list) == 0 {
		delete(w.byKey, one.key)
		return
	}
	w.byKey[one.key] = list
}

// watchBroken says whether a watched key was changed.
func (s *Session) watchBroken() bool { return s.flags.Load()&FlagWatchBroken != 0 }

// watchesStand reports whether EXEC may run: no watched key was changed or has expired since. All shards of the watched
// keys are locked.
func (c *Ctx) watchesStand() bool {
	if c.S.watchBroken() {
		return false
	}
	for _, w := range c.S.watching {
		if !w.existed {
			continue
		}
		key := c.e.Key([]byte(w.key.key))
		rec, ok := c.e.shards[w.shard].Part.Find(w.key.db, &key)
		if !ok || rec.ExpireAt() != 0 && c.IsPast(rec.ExpireAt()) {
			return false
		}
	}
	return true
}
