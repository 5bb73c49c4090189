package engine

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// Blocking on keys. A command that found nothing to serve calls BlockOnKeys and returns; its session is suspended. When one
// of the keys has a value of the wanted type, the same handler runs once more with the same arguments, in the place of the
// command that brought the value: behind its effects, and before its shards are unlocked, so that nobody can come between.
// Who waits is kept per shard, by database and key, under the shard's lock; where nobody waits a change costs one load.

// Block says what a command waits for.
type Block struct {
	Type     keyspace.Type // a key is ready when it holds a value of this type
	Keys     []int         // ordinals of the keys to wait on; nil means all keys of the command
	Timeout  time.Duration // 0: forever
	OnDelete bool          // also run the handler when a key is gone, or has become something else (XREADGROUP)
}

// BlockOnKeys suspends the client because none of its keys can serve the command. The handler calls it last, when it has
// neither replied nor changed anything, and returns. It is run again, from its beginning, for each change that makes one of
// the keys ready: then all shards of the command's keys are locked, and session, database, protocol and arguments are those
// of the blocked client. It serves and replies as usual, or calls BlockOnKeys again, which leaves everything as it is. A
// handler that wants other arguments the next time (XREAD: the id that $ means) calls ReplaceArg before.
//
// When the timeout is over the client gets a null array. Inside EXEC and scripts nothing may wait: the null array is
// replied at once; a command that replies something else there asks InExec first.
func (c *Ctx) BlockOnKeys(b Block) {
	switch {
	case c.inExec:
		c.NullArray()
	case c.rerun:
		c.blockedAgain = true
	default:
		c.block(b)
	}
}

// Texts for timeouts that are none.
const (
	errTimeoutNotFloat = "ERR timeout is not a float or out of range"
	errTimeoutNotInt   = "ERR timeout is not an integer or out of range"
	errTimeoutNegative = "ERR timeout is negative"
	errTimeoutRange    = "ERR timeout is out of range"
)

// Timeout reads argument i as the timeout of a blocking command in seconds with a fraction, 0 for none; when it is no such
// thing the error has been replied. It is a long double, as in Redis, so that the same texts are one.
func (c *Ctx) Timeout(i int) (time.Duration, bool) {
	seconds, ok := num.ParseLongDouble(c.Args[i])
	if !ok {
		c.Err(errTimeoutNotFloat)
		return 0, false
	}
	millis, ok := seconds.CeilTimes(1000)
	switch {
	case !ok:
		c.Err(errTimeoutRange)
		return 0, false
	case millis < 0:
		c.Err(errTimeoutNegative)
		return 0, false
	}
	return c.timeoutOf(millis)
}

// TimeoutMillis is Timeout for a number of milliseconds (XREAD BLOCK).
func (c *Ctx) TimeoutMillis(i int) (time.Duration, bool) {
	millis, ok := num.ParseInt(c.Args[i])
	switch {
	case !ok:
		c.Err(errTimeoutNotInt)
		return 0, false
	case millis < 0:
		c.Err(errTimeoutNegative)
		return 0, false
	}
	return c.timeoutOf(millis)
}

func (c *Ctx) timeoutOf(millis int64) (time.Duration, bool) {
	if millis > math.MaxInt64-int64(c.Now) {
		c.Err(errTimeoutRange)
		return 0, false
	}
	if millis > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64, true
	}
	return time.Duration(millis) * time.Millisecond, true
}

// waiter is a client that is blocked on keys, with what it takes to run its command again. It does not change.
type waiter struct {
	wait   Wait
	cmd    *Command
	args   [][]byte
	block  Block
	set    uint64      // shards of all keys of the command
	places []waitPlace // one for each key it waits on
	served atomic.Bool // whoever served it has taken it out of all lists
}

// waitPlace is a waiter's place in the queue of one key; the shard's lock guards queue, prev and next.
type waitPlace struct {
	of         *waiter
	shard      int
	queue      *waitQueue // nil: taken out
	prev, next *waitPlace
}

// waitQueue is who waits for one key, in the order of arrival; the shard's lock guards it.
type waitQueue struct {
	key         watchedKey
	slot        slot.ID
	ready       bool // the worker that holds the shard's lock has it on its list
	onDelete    int  // waiters that want to know when the key is gone
	len         int
	first, last *waitPlace
}

// blocked is who waits for keys of one shard; the shard's lock guards it.
type blocked struct {
	byKey map[watchedKey]*waitQueue
}

func (c *Ctx) block(b Block) {
	e := c.e
	wt := &waiter{cmd: c.Cmd, args: copyArgs(c.repeatable()), block: b}
	for i := range c.keys {
		wt.set |= shardBit(c.keys[i].Slot)
	}
	wt.wait = c.Suspend(WaitKeys, b.Timeout, func(c *Ctx) { c.NullArray() }, func() { e.forgetWaiter(wt) })
	e.blockedOnKeys.Add(1)
	wt.places = make([]waitPlace, 0, max(len(c.keys), len(b.Keys)))
	if b.Keys == nil {
		for i := range c.keys {
			c.enqueue(wt, i)
		}
		return
	}
	for _, i := range b.Keys {
		c.enqueue(wt, i)
	}
}

// enqueue puts the waiter at the end of the queue of the i-th key, once.
func (c *Ctx) enqueue(wt *waiter, i int) {
	key := &c.keys[i]
	s := c.Shard(i)
	if s.blocked.byKey == nil {
		s.blocked.byKey = make(map[watchedKey]*waitQueue)
	}
	k := watchedKey{c.S.db, string(key.Bytes)}
	q := s.blocked.byKey[k]
	if q == nil {
		q = &waitQueue{key: k, slot: key.Slot}
		s.blocked.byKey[k] = q
	}
	if q.last != nil && q.last.of == wt {
		return // the key was given twice
	}
	wt.places = append(wt.places, waitPlace{of: wt, shard: keyspace.ShardOf(key.Slot), queue: q, prev: q.last})
	p := &wt.places[len(wt.places)-1]
	if q.last == nil {
		q.first = p
	} else {
		q.last.next = p
	}
	q.last = p
	q.len++
	if wt.block.OnDelete {
		q.onDelete++
	}
}

// BlockedKeys counts the keys that somebody waits for, and those of which the end counts as well. The context holds no lock,
// or all of them.
func (c *Ctx) BlockedKeys() (keys, onDelete int) {
	if c.e.blockedOnKeys.Load() == 0 {
		return 0, 0
	}
	c.EachShard(func(s *Shard) bool {
		keys += len(s.blocked.byKey)
		for _, q := range s.blocked.byKey {
			if q.onDelete > 0 {
				onDelete++
			}
		}
		return true
	})
	return keys, onDelete
}

// leave takes a place out of its queue, and the queue out of the shard when it is empty.
func (b *blocked) leave(p *waitPlace) {
	q := p.queue
	if q == nil {
		return
	}
	if p.prev == nil {
		q.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		q.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	q.len--
	if p.of.block.OnDelete {
		q.onDelete--
	}
	p.queue = nil
	if q.len == 0 {
		delete(b.byKey, q.key)
	}
}

// forgetWaiter takes a waiter out of all queues when its suspension ends; the caller holds no shard lock. It does not matter
// whether a script holds the shard: who waits is no data.
func (e *Engine) forgetWaiter(wt *waiter) {
	e.blockedOnKeys.Add(-1)
	if wt.served.Load() {
		return
	}
	for i := range wt.places {
		p := &wt.places[i]
		s := &e.shards[p.shard]
		s.mu.Lock()
		s.blocked.leave(p)
		s.mu.Unlock()
	}
}

// endWith ends the wait of everybody for whom reason gives an error to reply; the shard is locked.
func (b *blocked) endWith(reason func(q *waitQueue, wt *waiter) string) {
	for _, q := range b.byKey {
		for p := q.first; p != nil; p = p.next {
			if text := reason(q, p.of); text != "" {
				p.of.wait.fail(text)
			}
		}
	}
}
