package engine

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// A script is one command to everybody else, but it may run for long. So it does not keep the mutexes of its shards: it marks
// the shards as held. Whoever takes the mutex of a held shard gives back all that it took, waits for the end of the script and
// begins anew. Commands of the script take the mutexes for a moment each.
//
// A script that needs a shard it does not hold waits for it while it keeps the others. Nobody but scripts waits like that,
// so only scripts can wait for each other in a circle; see Script.reserve.

// hold is what a script, or a transaction with scripts, holds.
type hold struct {
	set     uint64    // shards; only the holder's thread reads and writes it
	begun   time.Time // when the script started
	written atomic.Bool
	firm    atomic.Bool // the script, or its transaction, has changed something: nobody may look until the end
	wide    atomic.Bool // no keys are declared: it may come to need any
	waits   *hold       // who has what this one needs; guarded by Engine.waits

	mu struct { // a leaf lock
		sync.Mutex
		over   bool
		done   chan struct{}  // closed at the end; nil while nobody waits
		parked []Wait         // sessions that are resumed then
		script *ScriptOptions // of the script that runs, nil between two of a transaction
		args   [][]byte
	}
}

// await waits for the end of the script; true when it did not end until it had run for busyAfter, unless that is 0.
func (h *hold) await(busyAfter time.Duration) (busy bool) {
	h.mu.Lock()
	if h.mu.over {
		h.mu.Unlock()
		return false
	}
	if h.mu.done == nil {
		h.mu.done = make(chan struct{})
	}
	done := h.mu.done
	h.mu.Unlock()
	if busyAfter == 0 {
		<-done
		return false
	}
	left := busyAfter - time.Since(h.begun)
	if left <= 0 {
		return true
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-done:
		return false
	case <-timer.C:
		return true
	}
}

// runs says which script runs, nil for none.
func (h *hold) runs(o *ScriptOptions, args [][]byte) {
	h.mu.Lock()
	h.mu.script, h.mu.args = o, args
	h.mu.Unlock()
}

func (h *hold) finish() {
	h.mu.Lock()
	h.mu.script, h.mu.args = nil, nil
	h.mu.over = true
	if h.mu.done != nil {
		close(h.mu.done)
	}
	parked := h.mu.parked
	h.mu.parked = nil
	h.mu.Unlock()
	for _, w := range parked {
		w.Resume(nil)
	}
}

// Texts for those who meet a script that runs for long.
const (
	ErrBusyScript   = "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
	ErrBusyFunction = "BUSY Redis is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
)

func (h *hold) busyText() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.script != nil && !h.mu.script.Eval {
		return ErrBusyFunction
	}
	return ErrBusyScript
}

// busyAfter is how long others wait for a script, 0 for ever.
func (e *Engine) busyAfter() time.Duration {
	return time.Duration(e.Settings.BusyAfter.Load()) * time.Millisecond
}

// lockForClient takes the locks of a client's command. Where it does not, the command is given again when its session goes on,
// or else it has been refused because a script runs for long.
func (c *Ctx) lockForClient(set uint64) (taken, again bool) {
	c.busy = false
	for {
		var h *hold
		if c.W.Shared {
			var s *Shard
			if h, s = c.e.lockUnlessTaken(set, c.hold); s != nil {
				if c.parkAt(s) {
					return false, true
				}
				continue
			}
		} else {
			h = c.e.lockUnlessHeld(set, c.hold)
		}
		if h == nil {
			if c.W.OwnTime != nil {
				c.e.takeForLong(set)
				c.taken = true
			}
			c.S.parks = 0
			return true, false
		}
		limit := c.e.busyAfter()
		if c.S.primaryLink {
			limit = 0
		}
		if c.W.Shared && c.parkBehind(h, limit) {
			return false, true
		}
		if h.await(limit) {
			c.busy = true
			c.Err(h.busyText())
			return false, false
		}
	}
}

// mark makes the shards of set, whose mutexes are taken, those of h.
func (e *Engine) mark(set uint64, h *hold) {
	for left := set; left != 0; left &= left - 1 {
		e.shards[bits.TrailingZeros64(left)].hold = h
	}
}

// holdShards makes the shards that are locked the context's own beyond their mutexes.
func (c *Ctx) holdShards() {
	h := &hold{set: c.held, begun: time.Now()}
	c.e.mark(h.set, h)
	c.hold = h
}

// letGo ends the hold; the mutexes of its shards are taken.
func (c *Ctx) letGo() {
	h := c.hold
	c.e.mark(h.set, nil)
	h.finish()
	c.hold = nil
}

// Aside runs fn, which waits for goroutines that take shard locks, while no command of a client runs in between. It is for
// commands in a transaction or a script; false says that fn cannot run there: a script keeps what it holds, and on a replica
// others may wait for the link to the primary, which waits for the transaction.
//
// What the transaction has changed so far goes to the log first: whoever cuts a snapshot meanwhile sees what the log says.
func (c *Ctx) Aside(fn func()) bool {
	if c.held == 0 && (c.hold == nil || c.hold.set == 0) {
		fn()
		return true
	}
	if c.S.inScript || c.hold == nil || c.e.Role.IsReplica() {
		return false
	}
	c.inExec = false
	c.logEffects()
	c.hold.firm.Store(false)
	c.e.unlockSet(c.held)
	fn()
	c.e.lockUnlessHeld(c.held, c.hold)
	c.hold.firm.Store(true)
	c.beginEffects()
	c.inExec = true
	return true
}
