package engine

import "time"

// This file holds the two waits that no command asks for: that of the whole node for the end of a DEBUG SLEEP, and that of a
// client for the end of a load that has just begun.

// Freeze stops the whole node for a while: whoever calls AwaitThaw waits. Clients, the cluster bus, the replication and the
// cron do.
func (e *Engine) Freeze(d time.Duration) {
	e.AwaitThaw()
	over := make(chan struct{})
	e.frozen.Store(&over)
	<-time.After(d)
	e.frozen.CompareAndSwap(&over, nil)
	close(over)
}

// AwaitThaw waits for the end of a Freeze. The caller holds no lock.
func (e *Engine) AwaitThaw() {
	for over := e.frozen.Load(); over != nil; over = e.frozen.Load() {
		<-*over
	}
}

// briefLoad is for how long after its start a load makes clients wait before it answers them LOADING, so that nobody hears of
// one that is over at once.
const briefLoad = 100 * time.Millisecond

// load is a data set that is being loaded.
type load struct {
	begun time.Time
	over  chan struct{}
}

// SetLoading switches the answer LOADING for commands that need the data.
func (e *Engine) SetLoading(on bool) {
	var next *load
	if on {
		next = &load{time.Now(), make(chan struct{})}
	}
	if before := e.loading.Swap(next); before != nil {
		close(before.over)
	}
}

// BeginLoading is SetLoading(true) for who must be alone with the data; false when somebody else loads. The caller holds all shard
// locks: no client is in the data any more.
func (e *Engine) BeginLoading() bool {
	return e.loading.CompareAndSwap(nil, &load{time.Now(), make(chan struct{})})
}

// Loading says whether a data set is being loaded that clients have to wait for.
func (e *Engine) Loading() bool { return e.loading.Load() != nil }

// SetAsyncLoading switches the answer LOADING for the few commands that are refused while a data set is loaded beside the
// one that is served.
func (e *Engine) SetAsyncLoading(on bool) { e.beside.Store(on) }

// AsyncLoading says whether a data set is being loaded beside the one that is served.
func (e *Engine) AsyncLoading() bool { return e.beside.Load() }

// awaitBriefLoad waits for the end of a load that has just begun. The caller holds no lock.
func (e *Engine) awaitBriefLoad() {
	l := e.loading.Load()
	if l == nil {
		return
	}
	left := briefLoad - time.Since(l.begun)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-l.over:
	case <-timer.C:
	}
}
