package migrate

import (
	"bytes"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/invariant"
)

// This file holds the rounds of one MIGRATE.

const (
	// freeRounds is how many rounds run beside writers; after them writes are paused.
	freeRounds = 3
	// roundsMax ends a job whose keys still change: what changes them does not heed the pause (a transaction that had
	// begun before).
	roundsMax = 12
	// pausedTimeoutMax bounds a read or write of a round that holds writers up.
	pausedTimeoutMax = 5 * time.Second
	// scratchMax is how much memory is kept for the values of the next job.
	scratchMax = 64 << 10
)

// job is one MIGRATE on its way.
type job struct {
	m *Migrator
	request
	from  int // database here
	items []*item

	failure string        // the first error, as it is replied
	logged  engine.Offset // behind the DEL
}

// run moves the keys. It returns the text of an error, "" for none, and the offset of the log behind the removals.
func (j *job) run() (failure string, logged engine.Offset) {
	for round := 1; len(j.items) > 0; round++ {
		if round > roundsMax {
			return "ERR the keys do not stop changing", j.logged
		}
		if !j.round(round > freeRounds) {
			break
		}
	}
	return j.failure, j.logged
}

// runInside moves the keys as one command of a transaction, whose shards are locked: nothing changes meanwhile, and whoever needs
// the shards waits for the target.
func (j *job) runInside(c *engine.Ctx) {
	j.transfer()
	effect := [][]byte{[]byte("DEL")}
	if !j.copy {
		arrived := make(map[string]bool, len(j.items))
		for _, it := range j.items {
			arrived[string(it.key)] = it.acked
		}
		for i := range c.NumKeys() {
			key := c.Key(i).Bytes
			if arrived[string(key)] && c.Delete(i) {
				effect = append(effect, key)
			}
		}
	}
	if len(effect) > 1 {
		c.Propagate(effect...)
	}
	if j.failure != "" {
		c.Err(j.failure)
		return
	}
	c.OK()
}

// round transfers what is left and removes what arrived. It reports whether another round makes sense.
func (j *job) round(paused bool) bool {
	if paused {
		timeout := min(j.timeout, pausedTimeoutMax)
		defer j.m.pauseWrites(timeout * 2)()
		j.timeout = timeout
		j.refresh()
	}
	fatal := j.transfer()
	if j.copy {
		return false
	}
	arrived := make([]*item, 0, len(j.items))
	for _, it := range j.items {
		if it.acked {
			arrived = append(arrived, it)
		}
	}
	changed, gone := j.settle(arrived)
	if len(gone) > 0 && !j.withdraw(gone) {
		return false
	}
	j.items = changed
	return !fatal
}

// refresh copies the values once more, now that no write comes in between.
func (j *job) refresh() {
	m := j.m
	m.worker.Lock()
	defer m.worker.Unlock()
	m.e.OnKeys(m.background(), j.from, names(j.items), func(c *engine.Ctx) {
		for i, it := range j.items {
			if rec, ok := c.Peek(i); ok {
				it.take(nil, rec, &m.worker.lzf)
			}
		}
	})
}

// settle removes the keys that arrived and are as they were transferred, as one DEL. The others are those that were
// changed, with their new value, and those that are gone.
func (j *job) settle(arrived []*item) (changed, gone []*item) {
	if len(arrived) == 0 {
		return nil, nil
	}
	m := j.m
	m.worker.Lock()
	defer m.worker.Unlock()
	at := m.e.OnKeys(m.background(), j.from, names(arrived), func(c *engine.Ctx) {
		if m.e.Role.IsReplica() { // the primary decides what is here
			j.failure = engine.ErrReadOnly
			return
		}
		effect := append(make([][]byte, 0, 1+len(arrived)), []byte("DEL"))
		scratch := m.worker.scratch
		for i, it := range arrived {
			rec, ok := c.Peek(i)
			if !ok {
				gone = append(gone, it)
				continue
			}
			scratch = appendValue(scratch[:0], rec, &m.worker.lzf)
			if !bytes.Equal(scratch, it.value) || rec.ExpireAt() != it.expireAt {
				it.take(nil, rec, &m.worker.lzf)
				it.replace, it.acked = true, false
				changed = append(changed, it)
				continue
			}
			deleted := c.Delete(i)
			invariant.That(deleted, "migrate: a key that was found cannot be deleted")
			effect = append(effect, it.key)
		}
		if cap(scratch) <= scratchMax {
			m.worker.scratch = scratch
		}
		if len(effect) > 1 {
			c.Propagate(effect...)
		}
	})
	j.logged = max(j.logged, at)
	return changed, gone
}

// background is the worker for what happens under locks; worker is locked.
func (m *Migrator) background() *engine.Worker {
	if m.worker.w == nil {
		m.worker.w = m.e.NewWorker()
	}
	return m.worker.w
}

func names(items []*item) [][]byte {
	list := make([][]byte, len(items))
	for i, it := range items {
		list[i] = it.key
	}
	return list
}

// pauseWrites makes writers wait until the returned function is called, or for a time at most.
func (m *Migrator) pauseWrites(most time.Duration) (end func()) {
	now := m.e.Clock.Now()
	m.pauses.Lock()
	m.pauses.count++
	m.e.Pause.Begin(engine.PauseByMigrate, engine.PauseWrites, now, now+clock.Millis(most.Milliseconds()))
	m.pauses.Unlock()
	return func() {
		m.pauses.Lock()
		if m.pauses.count--; m.pauses.count == 0 {
			m.e.Pause.End(engine.PauseByMigrate, m.e.Clock.Now())
		}
		m.pauses.Unlock()
	}
}
