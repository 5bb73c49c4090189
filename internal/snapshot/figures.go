package snapshot

import (
	"slices"
	"sync/atomic"
)

// This file holds what is counted of snapshots.

// figures are the sums of all snapshots.
type figures struct {
	copied     atomic.Int64
	finished   atomic.Int64
	mostLocked atomic.Int64
}

// underLock notes how much was encoded under one hold of a lock.
func (f *figures) underLock(n int) {
	for most := f.mostLocked.Load(); int64(n) > most && !f.mostLocked.CompareAndSwap(most, int64(n)); most = f.mostLocked.Load() {
	}
}

// Figures are what all snapshots together have done.
type Figures struct {
	Copied     int64 // big values that were copied without the lock of their shard
	Finished   int64 // of these, those that somebody waited for under the lock
	MostLocked int64 // bytes encoded under one hold of a lock, at most
}

// Figures are the figures of now.
func (t *Taker) Figures() Figures {
	return Figures{t.figures.copied.Load(), t.figures.finished.Load(), t.figures.mostLocked.Load()}
}

func (t *Taker) begin(s *Snapshot) {
	t.mu.Lock()
	t.mu.running = append(t.mu.running, s)
	t.mu.Unlock()
}

// end gives the lane of a snapshot back.
func (t *Taker) end(s *Snapshot) {
	t.mu.Lock()
	t.mu.running = slices.DeleteFunc(t.mu.running, func(other *Snapshot) bool { return other == s })
	_, t.mu.lastMost = s.Held()
	t.mu.Unlock()
	t.lanes <- s.lane
}

// Held is how many bytes the snapshots under way hold that wait to be written, now and at most, and what the last one that
// ended has held at most.
func (t *Taker) Held() (now, most, last int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.mu.running {
		n, m := s.Held()
		now += n
		most += m
	}
	return now, most, t.mu.lastMost
}
