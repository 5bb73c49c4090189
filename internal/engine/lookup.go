package engine

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/keyspace"
)

// Find returns the live record of the i-th key for reading: an expired one is missing (and removed, on a primary), the
// access clock is touched and the hit or miss is counted.
func (c *Ctx) Find(i int) (keyspace.Rec, bool) {
	rec, ok := c.find(i)
	if !ok {
		c.missed(i)
		return rec, false
	}
	c.W.hits++
	c.touch(rec)
	return rec, true
}

// FindOther is Find for a key that the row does not name, as the patterns of SORT make it. Its shard must be locked.
func (c *Ctx) FindOther(key *keyspace.Key) (keyspace.Rec, bool) {
	i := len(c.keys)
	c.keys = append(c.keys, *key)
	rec, ok := c.Find(i)
	c.keys = c.keys[:i]
	return rec, ok
}

// FindQuiet is Find without touching the access clock: EXISTS, TTL, OBJECT.
func (c *Ctx) FindQuiet(i int) (keyspace.Rec, bool) {
	rec, ok := c.find(i)
	if !ok {
		c.missed(i)
		return rec, false
	}
	c.W.hits++
	return rec, true
}

// FindSilent is FindQuiet without an event for a key that is missing: OBJECT.
func (c *Ctx) FindSilent(i int) (keyspace.Rec, bool) {
	rec, ok := c.find(i)
	if ok {
		c.W.hits++
	} else {
		c.W.misses++
	}
	return rec, ok
}

func (c *Ctx) missed(i int) {
	c.W.misses++
	c.Notify(config.EventMiss, "keymiss", i)
}

// FindWrite is Find for a command that is about to change the key: nothing is counted.
func (c *Ctx) FindWrite(i int) (keyspace.Rec, bool) {
	rec, ok := c.find(i)
	if ok {
		c.touch(rec)
	}
	return rec, ok
}

// Overwrites says that the i-th key is going to be set, whatever it is. It counts as an access where accesses are counted, and
// the end of a key that has expired is told before.
func (c *Ctx) Overwrites(i int) {
	switch {
	case c.e.Evictor.usesLFU():
		c.FindWrite(i)
	case c.WantsEvents():
		c.Peek(i)
	}
}

// Peek is Find without counting and without touching the access clock.
func (c *Ctx) Peek(i int) (keyspace.Rec, bool) { return c.find(i) }

func (c *Ctx) find(i int) (keyspace.Rec, bool) {
	key := &c.keys[i]
	part := c.Part(i)
	rec, ok := part.Find(c.S.db, key)
	if !ok {
		return rec, false
	}
	if at := rec.ExpireAt(); at != 0 && c.IsPast(at) {
		c.dropExpired(part, key)
		return keyspace.Rec{}, false
	}
	return rec, true
}

// IsPast says whether a key with this expiry is gone for the command. What a primary sends is applied as it is.
func (c *Ctx) IsPast(at int64) bool {
	return at <= int64(c.Now) && !c.S.primaryLink && !c.e.Loading()
}

// dropExpired removes a key whose time is over, unless only the primary may do that or writes are paused.
func (c *Ctx) dropExpired(part *keyspace.Part, key *keyspace.Key) {
	if c.e.Role.IsReplica() || c.e.Pause.any() {
		return
	}
	c.e.Stats.ExpiredKeys.Add(1)
	c.vanished(c.S.db, key)
	c.logDelete(key.Bytes)
	part.Delete(c.S.db, key)
	c.NotifyKey(config.EventExpired, "expired", c.S.db, key.Bytes)
}

// DropExpired removes a key of a locked shard whose time is over, as a reader that met it does. name must not lie in the
// arena. false when only the primary may do that, or writes are paused.
func (c *Ctx) DropExpired(name []byte) bool {
	if c.e.Role.IsReplica() || c.e.Pause.any() {
		return false
	}
	key := c.e.hasher.Key(name)
	c.dropExpired(c.e.shards[keyspace.ShardOf(key.Slot)].Part, &key)
	return true
}

func (c *Ctx) touch(rec keyspace.Rec) {
	if c.S.noTouch && c.Cmd.Full != "touch" {
		return
	}
	if c.e.Evictor.usesLFU() {
		rec.SetClock(c.e.Evictor.nextLFU(rec.Clock(), c.Now))
		return
	}
	rec.SetClock(c.e.lruClock.Load())
}

// FreshLRU is the access clock of a new record under the policy in force.
func (c *Ctx) FreshLRU() uint32 { return c.e.FreshLRU(c.Now) }

// FreshLRU is the access clock of a new record under the policy in force.
func (e *Engine) FreshLRU(now clock.Millis) uint32 {
	if e.Evictor.usesLFU() {
		return lfuFresh(now)
	}
	return e.lruClock.Load()
}

// ReadString finds the i-th key as a string for reading. ok is false when the error has been replied; a missing key is
// (Rec{}, false, true).
func (c *Ctx) ReadString(i int) (rec keyspace.Rec, exists, ok bool) {
	rec, exists = c.Find(i)
	return c.wantType(rec, exists, keyspace.TypeString)
}

// WriteString finds the i-th key as a string that is about to change.
func (c *Ctx) WriteString(i int) (rec keyspace.Rec, exists, ok bool) {
	rec, exists = c.FindWrite(i)
	return c.wantType(rec, exists, keyspace.TypeString)
}

// ReadType finds the i-th key as a value of a type for reading. ok is false when the error has been replied; a missing key is
// (Rec{}, false, true).
func (c *Ctx) ReadType(i int, t keyspace.Type) (rec keyspace.Rec, exists, ok bool) {
	rec, exists = c.Find(i)
	return c.wantType(rec, exists, t)
}

// WriteType finds the i-th key as a value of a type that is about to change.
func (c *Ctx) WriteType(i int, t keyspace.Type) (rec keyspace.Rec, exists, ok bool) {
	rec, exists = c.FindWrite(i)
	return c.wantType(rec, exists, t)
}

func (c *Ctx) wantType(rec keyspace.Rec, exists bool, t keyspace.Type) (keyspace.Rec, bool, bool) {
	if exists && rec.Type() != t {
		c.Err(ErrWrongType)
		return rec, true, false
	}
	return rec, exists, true
}

// StringBytes is the text of a string record; integers are written into the worker's scratch. It lives until the next
// change of the shard or the next call.
func (c *Ctx) StringBytes(rec keyspace.Rec) []byte {
	if rec.Encoding() != keyspace.EncInt {
		return rec.Value()
	}
	c.W.scratch = appendInt(c.W.scratch[:0], rec.Int())
	return c.W.scratch
}

// Changed says that the i-th key was changed: transactions that watch it fail, and the command is propagated.
func (c *Ctx) Changed(i int) {
	c.dirty++
	c.modified(c.S.db, &c.keys[i])
}

// ChangedInPlace is Changed for a change that brings nothing to those who block on the key: they are not looked at.
func (c *Ctx) ChangedInPlace(i int) {
	c.dirty++
	c.touched(c.S.db, &c.keys[i])
}

// Modified is Changed for one more key of the same change: transactions that watch it fail, nothing is counted.
func (c *Ctx) Modified(i int) { c.modified(c.S.db, &c.keys[i]) }

// CountChanges counts changes that belong to no key of the command: a flush.
func (c *Ctx) CountChanges(n int) { c.dirty += n }

// InDB runs fn as if the session had selected db: MOVE and COPY look at two databases.
func (c *Ctx) InDB(db int, fn func()) {
	own := c.S.db
	c.S.db = db
	fn()
	c.S.db = own
}

// Delete removes the i-th key as a command's effect; false when it did not exist.
func (c *Ctx) Delete(i int) bool {
	if !c.Part(i).Delete(c.S.db, &c.keys[i]) {
		return false
	}
	c.Changed(i)
	return true
}
