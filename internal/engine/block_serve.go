package engine

import (
	"math/bits"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/keyspace"
)

// readyKeys are the keys with waiters that the command, transaction or script of a worker has changed so far. It belongs to
// the worker, and the shards of the queues are locked as long as they are on the list.
type readyKeys struct {
	queues []*waitQueue
	spare  []*waitQueue // the buffer of the round before
	later  []watchedKey // could not be served under the locks that were held
	active bool         // a serve is under way: what it makes ready is served by it
}

// markReady notes that somebody waits for a key that has changed; its shard is locked.
func (c *Ctx) markReady(s *Shard, db int, key []byte) {
	q := s.blocked.byKey[watchedKey{db, string(key)}]
	if q == nil || q.ready {
		return
	}
	q.ready = true
	r := c.W.ready
	r.queues = append(r.queues, q)
}

// DatabaseChanged says that any key of a database may be gone or another one, in a locked shard: it was emptied or exchanged.
func (c *Ctx) DatabaseChanged(s *Shard, db int) {
	for k := range s.blocked.byKey {
		if k.db == db {
			c.markReady(s, db, []byte(k.key))
		}
	}
}

// serveReady runs the commands that wait for the keys that became ready, in the order in which the keys did and, for each
// key, in the order of arrival. What they make ready comes after that. The effects of whoever made the keys ready are in the
// log; its locks are still held.
func (c *Ctx) serveReady() {
	r := c.W.ready
	if r.active {
		return
	}
	r.active = true
	own := c.held
	now := c.e.Clock.Now() // a transaction may have taken long
	for len(r.queues) > 0 {
		round := r.queues
		r.queues = r.spare[:0]
		for _, q := range round {
			q.ready = false
			c.serveQueue(q, now)
		}
		clear(round)
		r.spare = round[:0]
	}
	c.e.unlockSet(c.held &^ own)
	c.held = own
	r.active = false
}

// serveQueue offers a key to those who wait for it now.
func (c *Ctx) serveQueue(q *waitQueue, now clock.Millis) {
	key := c.e.hasher.Key([]byte(q.key.key))
	part := c.e.shards[keyspace.ShardOf(q.slot)].Part
	p := q.first
	for range q.len {
		wt := p.of
		p = p.next // serving takes only the served one out
		rec, found := part.Find(q.key.db, &key)
		found = found && (rec.ExpireAt() == 0 || rec.ExpireAt() > int64(now) || c.S.primaryLink)
		if !found && q.onDelete == 0 {
			return
		}
		if !wt.block.OnDelete && (!found || rec.Type() != wt.block.Type) {
			continue
		}
		if !c.tryLock(wt.set) || c.pauseHolds(wt) {
			c.W.ready.later = append(c.W.ready.later, q.key)
			return
		}
		if c.serve(wt, now) {
			return
		}
	}
}

// tryLock takes the shards of set that are not held yet; without waiting, because they may come before those that are.
func (c *Ctx) tryLock(set uint64) bool {
	missing := set &^ c.held
	taken := uint64(0)
	for left := missing; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		if !c.e.shards[i].mu.TryLock() {
			c.e.unlockSet(taken)
			return false
		}
		taken |= 1 << uint(i)
		if h := c.e.shards[i].hold; h != nil && h != c.hold {
			c.e.unlockSet(taken)
			return false
		}
	}
	c.held |= missing
	return true
}

// pauseHolds says whether a pause began that holds the waiting command; it goes on when the pause ends. Whoever holds locks
// since before the pause is part of what came before it.
func (c *Ctx) pauseHolds(wt *waiter) bool {
	return c.lateServe && c.e.Pause.holds(wt.cmd)
}

// serve runs the command of a waiter whose shards are all locked. Whoever else could end its suspension has to wait for the
// outcome, so the client never gets two replies and nothing is taken from a key for nobody. It is true when the key is going
// to be offered again because a snapshot copies what the command would change.
func (c *Ctx) serve(wt *waiter, now clock.Millis) (copied bool) {
	state := &wt.wait.s.wait
	state.mu.Lock()
	defer state.mu.Unlock()
	if state.token.Load() != wt.wait.token {
		return false // a timeout, the end of the connection or another key was faster
	}
	sc := c.W.servant(now)
	sc.S, sc.Cmd, sc.Args, sc.held = wt.wait.s, wt.cmd, wt.args, c.held
	if c.e.Cuts.Load() != 0 && sc.isHeldByCopy() {
		return true
	}
	served := sc.runAgain(wt)
	sc.W.settle()
	c.W.logged = c.W.logged || sc.W.logged
	sc.W.logged = false
	if !served {
		return false
	}
	for i := range wt.places {
		p := &wt.places[i]
		c.e.shards[p.shard].blocked.leave(p)
	}
	wt.served.Store(true)
	state.token.Add(1)
	pieces, at := sc.W.Out.Take(), sc.wroteAt
	wt.wait.s.conn.Post(func(w *Worker) {
		s := wt.wait.s
		s.wake()
		s.written = max(s.written, at)
		s.answer(w, pieces)
	})
	if len(sc.W.invalid) > 0 {
		sc.W.tellOwnInvalidations(wt.wait.s)
	}
	return false
}

// runAgain executes a blocked command in the name of its client; false when it goes on waiting.
func (c *Ctx) runAgain(wt *waiter) bool {
	c.failed, c.explicit, c.dirty = false, false, 0
	c.rerun, c.blockedAgain, c.wroteAt = true, false, 0
	c.keys = c.keys[:0]
	start := c.W.nanos()
	c.beginEffects()
	v := c.Check(c.Cmd, c.Args, acl.TopLevel)
	if v.Reason != acl.Allowed { // its user's rules have changed meanwhile
		c.Err("NOPERM " + c.S.user().Refusal(v, c.Cmd.Row))
		c.W.calls[c.Cmd.ID].rejected.Add(1)
	} else if _, ok := c.findKeys(c.Cmd); ok && !(wt.block.OnDelete && c.followsKeys()) {
		c.Cmd.run(c)
	}
	c.endCommand()
	c.commitEffects()
	if c.blockedAgain {
		return false
	}
	if v.Reason != acl.Allowed {
		return true
	}
	took := c.W.nanos() - start
	c.W.count(c.Cmd, took, c.failed)
	if took >= c.e.Timing.remarkable.Load() {
		c.remark(c.Cmd, took)
	}
	return true
}

// serveLate offers the keys that could not be served under the locks of whoever made them ready, now that those are
// released: under all locks.
func (c *Ctx) serveLate() {
	r := c.W.ready
	if len(r.later) == 0 || r.active {
		return
	}
	keys := r.later
	r.later = nil
	c.e.lockSet(allShards) // no script may see what the waiters do
	c.held = allShards
	c.markLate(keys)
	c.e.UnlockAll()
	c.held = 0
}

// markLate serves keys under all locks; what a pause holds is tried again when the pause ends.
func (c *Ctx) markLate(keys []watchedKey) {
	for _, k := range keys {
		key := c.e.hasher.Key([]byte(k.key))
		c.markReady(&c.e.shards[keyspace.ShardOf(key.Slot)], k.db, key.Bytes)
	}
	c.lateServe = true
	c.serveReady()
	c.lateServe = false
	c.W.ready.later = nil
}

// ServeBlocked offers every key that somebody waits for, as after a change of all the data. The caller must hold no shard
// lock.
func (e *Engine) ServeBlocked() {
	if e.blockedOnKeys.Load() == 0 {
		return
	}
	w := e.NewWorker()
	defer w.Drop()
	c := w.background()
	e.lockSet(allShards)
	c.held = allShards
	var keys []watchedKey
	for i := range e.shards {
		for k := range e.shards[i].blocked.byKey {
			keys = append(keys, k)
		}
	}
	c.markLate(keys)
	e.UnlockAll()
	c.held = 0
	w.kick()
}

func (e *Engine) serveAfterPause() {
	if e.blockedOnKeys.Load() > 0 {
		go e.ServeBlocked()
	}
}

// servant is the context in which the worker runs the commands of others, with a worker of its own for their replies and
// effects.
func (w *Worker) servant(now clock.Millis) *Ctx {
	if w.second == nil {
		w.second = w.e.NewWorker()
		w.second.ready = w.ready
	}
	c := &w.second.ctx
	c.Now = now
	return c
}
