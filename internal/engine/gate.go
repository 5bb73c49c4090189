package engine

import (
	"sync"
	"sync/atomic"
)

// Gate holds the replies of writes until their offset in the log is durable as configured (acknowledged by replicas, or
// synced to disk). Readers of the log that make effects durable call Advance; sessions that must wait register with Wait.
// A closed gate costs a write one atomic load.
type Gate struct {
	log    *Log
	closed atomic.Bool  // whether replies wait at all
	passed atomic.Int64 // everything up to here is durable

	mu struct {
		sync.Mutex
		waiting []gateWait
	}
}

type gateWait struct {
	at   Offset
	open func()
}

func (g *Gate) init(l *Log) { g.log = l }

// Require switches the gate on or off; switching it off lets everybody through.
func (g *Gate) Require(on bool) {
	g.closed.Store(on)
	if !on {
		g.Advance(1<<63 - 1)
		g.passed.Store(0)
	}
}

// Restart says that everything up to at is durable and nothing behind it, whatever was said before: the log goes on at another
// place. The caller holds all shard locks.
func (g *Gate) Restart(at Offset) { g.passed.Store(at) }

// Holds says whether a reply for a write that ends at offset at must wait. An offset behind the end of the log is of a history
// that this node has left for that of a primary: nothing is to be waited for.
func (g *Gate) Holds(at Offset) bool {
	return at > 0 && g.closed.Load() && at > g.passed.Load() && at <= g.log.End()
}

// Wait calls open, from another goroutine, once offset at is durable.
func (g *Gate) Wait(at Offset, open func()) {
	g.mu.Lock()
	if g.Holds(at) {
		g.mu.waiting = append(g.mu.waiting, gateWait{at, open})
		g.mu.Unlock()
		return
	}
	g.mu.Unlock()
	open()
}

// Advance says that everything up to at is durable.
func (g *Gate) Advance(at Offset) {
	g.mu.Lock()
	if at > g.passed.Load() {
		g.passed.Store(at)
	}
	keep := g.mu.waiting[:0]
	var ready []func()
	for _, w := range g.mu.waiting {
		if w.at <= at {
			ready = append(ready, w.open)
			continue
		}
		keep = append(keep, w)
	}
	g.mu.waiting = keep
	g.mu.Unlock()
	for _, open := range ready {
		open()
	}
}
