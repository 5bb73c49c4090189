package engine

import (
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/object"
)

// This file holds the expiry of fields of hashes: on a primary, the fields that a reader meets and those that the schedule
// of a shard names. Every removal is logged as HDEL, so that replicas and the file remove the same fields.

const (
	expireFieldsPerShard = 200 // fields removed under one shard lock: about 100 µs at 500 ns a field
	dueHashesPerShard    = 50  // hashes looked at under one shard lock
	copiedAgainMillis    = 50  // until a hash is looked at again that a snapshot copies
)

var wordHDel = []byte("HDEL")

// FieldClock is the time that decides whether a field is gone for the command, in milliseconds. What a primary sends is
// applied as it is: no field is gone then.
func (c *Ctx) FieldClock() int64 {
	if c.S.primaryLink || c.e.Loading() {
		return 0
	}
	return int64(c.Now)
}

// DropFields removes those of the given fields of the hash at the i-th key whose time is over, as a reader that met them
// does, unless only the primary may do that, writes are paused, or a snapshot copies the hash. The key goes with its last field. What was read of the
// hash before is not valid any more.
func (c *Ctx) DropFields(i int, names [][]byte) {
	if c.e.Role.IsReplica() || c.e.Pause.any() || c.isCopied(i) {
		return
	}
	now := c.FieldClock()
	e := object.EditHash(c.Place(i), &c.e.Settings.Encoding, c.W.Scratch())
	dropped := 0
	for _, name := range names {
		if f, found := e.View().Get(name); found && f.IsPast(now) && e.Delete(name) {
			c.logField(c.keys[i].Bytes, name)
			dropped++
		}
	}
	left := e.Commit()
	c.W.SetScratch(e.Scratch())
	if dropped == 0 {
		return
	}
	c.modified(c.S.db, &c.keys[i])
	c.e.fieldsExpired(c, &c.keys[i], dropped, left)
}

// DropDueFields removes all fields of the hash at the i-th key whose time is over, unless only the primary may do that,
// writes are paused, or a snapshot copies the hash. What was read of the hash before is not valid any more.
func (c *Ctx) DropDueFields(i int) {
	if c.e.Role.IsReplica() || c.e.Pause.any() || c.isCopied(i) {
		return
	}
	key := &c.keys[i]
	const all = 1 << 62
	removed, left := object.ExpireFields(c.Place(i), &c.e.Settings.Encoding, c.FieldClock(), all, func(field []byte) {
		c.logField(key.Bytes, field)
	})
	if removed > 0 {
		c.vanished(c.S.db, key)
		c.e.fieldsExpired(c, key, removed, left)
	}
}

// logField adds the removal of a field that was due.
func (c *Ctx) logField(key, field []byte) {
	effect := [3][]byte{wordHDel, key, field}
	c.addEffect(effect[:])
}

// fieldsExpired counts and tells that fields of a hash of the selected database are gone.
func (e *Engine) fieldsExpired(c *Ctx, key *keyspace.Key, dropped, left int) {
	e.Stats.ExpiredFields.Add(int64(dropped))
	c.NotifyKey(config.EventHash, "hexpired", c.S.db, key.Bytes)
	if left == 0 {
		c.NotifyKey(config.EventGeneric, "del", c.S.db, key.Bytes)
	}
}

// expireFieldsOf removes fields that the schedule of a shard, whose lock is held, says are due.
func (c *Ctx) expireFieldsOf(s *Shard) (more bool) {
	now, budget := int64(c.Now), expireFieldsPerShard
	for range dueHashesPerShard {
		db, name, found, more := s.Part.PopDue(now, c.W.Scratch())
		c.W.SetScratch(name)
		if !found {
			return more
		}
		key := c.e.hasher.Key(name)
		c.S.db = db
		place := object.Place{Part: s.Part, DB: db, Key: &key}
		if c.e.Cuts.Load() != 0 && s.Part.Await(db, &key, nil) {
			object.PostponeFields(place, now+copiedAgainMillis)
			continue
		}
		removed, left := object.ExpireFields(place, &c.e.Settings.Encoding, now, budget, func(field []byte) { c.logField(name, field) })
		if removed > 0 {
			c.vanished(db, &key)
			c.e.fieldsExpired(c, &key, removed, left)
		}
		if budget -= removed; budget <= 0 {
			return true
		}
	}
	return true
}
