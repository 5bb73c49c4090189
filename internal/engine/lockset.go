package engine

import (
	"math/bits"
	"runtime"
	"time"
)

// lockSet takes the shards whose bits are set, in ascending order, when no script holds any of them.
func (e *Engine) lockSet(set uint64) {
	for {
		h := e.lockUnlessHeld(set, nil)
		if h == nil {
			return
		}
		h.await(0)
	}
}

// lockAllPast takes all shards. It waits for scripts that have written, because half of what they do must not be seen; one
// that has only read cannot tell whether it comes before or after whatever is done now.
func (e *Engine) lockAllPast() {
	for {
		var firm *hold
		for i := range e.shards {
			s := &e.shards[i]
			s.mu.Lock()
			if h := s.hold; h != nil && h.firm.Load() {
				firm = h
				e.unlockSet(1<<uint(i+1) - 1)
				break
			}
		}
		if firm == nil {
			return
		}
		firm.await(0)
	}
}

// lockUnlessHeld is lockSet, but it takes nothing when a shard is held by a script other than mine, which it returns.
func (e *Engine) lockUnlessHeld(set uint64, mine *hold) *hold {
	for left := set; left != 0; left &= left - 1 {
		s := &e.shards[bits.TrailingZeros64(left)]
		if !s.mu.TryLock() {
			s.await()
		}
		if h := s.hold; h != nil && h != mine {
			s.mu.Unlock()
			e.unlockSet(set &^ left)
			return h
		}
	}
	return nil
}

// await takes the lock of a shard that somebody has. Until then the shard shows that a command waits: see GiveWay.
func (s *Shard) await() {
	s.waiting.Add(1)
	s.mu.Lock()
	s.waiting.Add(-1)
}

// giveWayMost is for how long GiveWay lets others go first.
const giveWayMost = time.Millisecond

// GiveWay lets the commands go first that wait for a shard. Work in many slices calls it between two of them, without the lock:
// whoever takes a mutex again at once is faster than those that it has just woken, for milliseconds.
func (e *Engine) GiveWay(shard int) {
	s := &e.shards[shard]
	if s.waiting.Load() == 0 {
		return
	}
	for began := time.Now(); s.waiting.Load() > 0 && time.Since(began) < giveWayMost; {
		runtime.Gosched()
	}
}

// unlockSet releases the shards whose bits are set.
func (e *Engine) unlockSet(set uint64) {
	for set != 0 {
		e.shards[bits.TrailingZeros64(set)].mu.Unlock()
		set &= set - 1
	}
}

// lock brings the context's held set to exactly set. Inside a transaction all locks are already held.
func (c *Ctx) lock(set uint64) {
	if set&^c.held == 0 {
		return
	}
	c.e.unlockSet(c.held)
	c.held = set | c.held
	c.e.lockSet(c.held)
}

// unlock releases everything the context holds, unless a transaction owns the locks.
func (c *Ctx) unlock() {
	if c.inExec {
		return
	}
	if c.e.Settings.maxMemory.Load() > 0 {
		c.e.publish(c.held)
	}
	c.unlockHeld()
	c.serveLate()
}

// unlockHeld is unlock without what comes with the end of a command.
func (c *Ctx) unlockHeld() {
	if c.taken {
		c.taken = false
		c.e.giveBack(c.held)
	} else {
		c.e.unlockSet(c.held)
	}
	c.held = 0
}

// publish brings UsedMemory up to date with the shards of a set, which are locked.
func (e *Engine) publish(set uint64) {
	for ; set != 0; set &= set - 1 {
		e.shards[bits.TrailingZeros64(set)].Part.Arena().Publish()
	}
}

// LockAll takes the whole keyspace for the rest of the command, for commands that change or cut all of it.
func (c *Ctx) LockAll() {
	c.lock(allShards)
	if c.W.effects.count == 0 {
		c.beginEffects() // whether the log is on is certain only now
	}
}

// Release ends the effects of a command and gives its locks back before the handler returns, so that it can go on with what
// needs no locks. Inside a transaction it does nothing. The changes are counted under the locks: a snapshot that is cut
// right behind has them.
func (c *Ctx) Release() {
	if !c.inExec {
		c.finish()
		c.dirty = 0
	}
}

// EachShard runs fn for every shard, one lock at a time, so that a walk over all data holds nobody up longer than one
// shard takes. Inside a transaction all locks are held already. It stops when fn returns false.
func (c *Ctx) EachShard(fn func(*Shard) bool) {
	for i := range c.e.shards {
		if !c.WithShard(i, fn) {
			return
		}
	}
}

// GlanceAtShards is EachShard for sums that are out of date anyway: it waits for no script, which may be between two of its
// commands. What fn looks at it leaves as it is.
func (c *Ctx) GlanceAtShards(fn func(*Shard)) {
	for i := range c.e.shards {
		s := &c.e.shards[i]
		if c.held != 0 {
			fn(s)
			continue
		}
		s.mu.Lock()
		fn(s)
		s.mu.Unlock()
	}
}

// withFreeShard is WithShard for work in the background: it passes a shard over that a script holds.
func (c *Ctx) withFreeShard(i int, fn func(*Shard) bool) {
	if c.held == 0 {
		s := &c.e.shards[i]
		s.mu.Lock()
		held := s.hold != nil
		s.mu.Unlock()
		if held {
			return
		}
	}
	c.WithShard(i, fn)
}

// WithShard runs fn under the lock of one shard and returns its answer. The context must hold no lock, or all of them.
func (c *Ctx) WithShard(i int, fn func(*Shard) bool) bool {
	s := &c.e.shards[i]
	if c.held != 0 {
		return fn(s)
	}
	c.e.lockSet(1 << uint(i))
	c.held = 1 << uint(i)
	c.beginEffects()
	more := fn(s)
	c.commitEffects()
	c.e.unlockSet(c.held)
	c.held = 0
	c.serveLate()
	return more
}
