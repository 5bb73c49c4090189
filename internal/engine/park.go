package engine

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the waiting for a shard that somebody has for long. A thread that serves many clients does not wait for its
// mutex, nor for the end of a script: it suspends the session and goes on with the others. The command is given again when
// the shard is free.

// taken says that a hand has a shard for a command that takes long.
type taken struct {
	on atomic.Bool // changed with mu held, and under the shard's lock
	mu struct {    // a leaf lock
		sync.Mutex
		parked []Wait // sessions that are resumed when the shard is given back
	}
}

// parksMax is how often a session waits like that for one command. Whoever finds the shard taken again and again is left to a
// thread that waits in line.
const parksMax = 4

// lockUnlessTaken is lockUnlessHeld for a thread that must not wait for long: it takes nothing either when somebody has a shard
// for a command that takes long, and returns that shard then.
func (e *Engine) lockUnlessTaken(set uint64, mine *hold) (*hold, *Shard) {
	for left := set; left != 0; left &= left - 1 {
		s := &e.shards[bits.TrailingZeros64(left)]
		if !s.mu.TryLock() {
			if s.taken.on.Load() {
				e.unlockSet(set &^ left)
				return nil, s
			}
			s.await()
		}
		if h := s.hold; h != nil && h != mine {
			s.mu.Unlock()
			e.unlockSet(set &^ left)
			return h, nil
		}
	}
	return nil, nil
}

// takeForLong marks shards, which are locked, as taken.
func (e *Engine) takeForLong(set uint64) {
	for ; set != 0; set &= set - 1 {
		t := &e.shards[bits.TrailingZeros64(set)].taken
		t.mu.Lock()
		t.on.Store(true)
		t.mu.Unlock()
	}
}

// giveBack releases shards that takeForLong has marked, and resumes who waits for them.
func (e *Engine) giveBack(set uint64) {
	var parked []Wait
	for left := set; left != 0; left &= left - 1 {
		t := &e.shards[bits.TrailingZeros64(left)].taken
		t.mu.Lock()
		t.on.Store(false)
		parked = append(parked, t.mu.parked...)
		t.mu.parked = nil
		t.mu.Unlock()
	}
	e.unlockSet(set)
	for _, w := range parked {
		w.Resume(nil)
	}
}

// parkAt suspends the session until a shard is given back, or leaves the command to another thread if it has waited often. It
// is false when the shard has just been given back.
func (c *Ctx) parkAt(s *Shard) bool {
	if c.S.parks >= parksMax {
		c.S.parks = 0
		return c.leavesNow()
	}
	c.S.parks++
	w := c.Suspend(WaitWork, 0, nil, nil)
	s.taken.mu.Lock()
	on := s.taken.on.Load()
	if on {
		s.taken.mu.parked = append(s.taken.mu.parked, w)
	}
	s.taken.mu.Unlock()
	if !on {
		c.S.unpark()
	}
	return on
}

// parkBehind suspends the session until a script has ended, or has run for so long that it is refused. It is false when one of
// both is so already.
func (c *Ctx) parkBehind(h *hold, busyAfter time.Duration) bool {
	left := busyAfter
	if busyAfter > 0 {
		if left -= time.Since(h.begun); left <= 0 {
			return false
		}
	}
	w := c.Suspend(WaitWork, left, nil, nil)
	h.mu.Lock()
	over := h.mu.over
	if !over {
		h.mu.parked = append(h.mu.parked, w)
	}
	h.mu.Unlock()
	if over {
		c.S.unpark()
	}
	return !over
}

// unpark takes a suspension back that nobody else knows of.
func (s *Session) unpark() {
	s.wait.token.Add(1)
	s.wake()
}
