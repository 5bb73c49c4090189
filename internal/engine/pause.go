package engine

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/clock"
)

// PausePurpose says who paused: each has its own end, the strictest mode in force counts.
type PausePurpose uint8

const (
	PauseByClient   PausePurpose = iota // CLIENT PAUSE
	PauseByFailover                     // a coordinated failover
	PauseByMigrate                      // the last round of a MIGRATE whose keys keep changing
	PauseByShutdown                     // replicas catch up before the end, and the data is saved
	pausePurposes
)

// PauseMode says which commands wait.
type PauseMode uint8

const (
	PauseNone PauseMode = iota
	PauseWrites
	PauseEverything
)

// Pause makes clients wait, as CLIENT PAUSE and a coordinated failover want it. The stream of a primary waits for CLIENT PAUSE
// only.
type Pause struct {
	mode  atomic.Uint32 // the strictest PauseMode in force
	asked atomic.Uint32 // that of CLIENT PAUSE
	ended func()        // called when the mode becomes weaker; must not wait

	mu struct {
		sync.Mutex
		by [pausePurposes]struct {
			mode  PauseMode
			until clock.Millis
		}
		waiting map[*Session]func()
		timer   *time.Timer
	}
}

// any says whether any pause is in force; keys do not expire meanwhile.
func (p *Pause) any() bool { return p.mode.Load() != uint32(PauseNone) }

// Mode is the strictest mode in force.
func (p *Pause) Mode() PauseMode { return PauseMode(p.mode.Load()) }

// Holds says whether cmd has to wait.
func (p *Pause) holds(cmd *Command) bool {
	switch PauseMode(p.mode.Load()) {
	case PauseEverything:
		return true
	case PauseWrites:
		return cmd.write || cmd.mayReplicate
	}
	return false
}

// holdsStream says whether a command of the primary's stream has to wait.
func (p *Pause) holdsStream(write bool) bool {
	mode := PauseMode(p.asked.Load())
	return mode == PauseEverything || mode == PauseWrites && write
}

// longestPause is what a timer can wait, some 292 years.
const longestPause = clock.Millis(math.MaxInt64 / time.Millisecond)

// Begin pauses until a time, at most longestPause. A longer end that is already in force for the purpose stays.
func (p *Pause) Begin(by PausePurpose, mode PauseMode, now, until clock.Millis) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := &p.mu.by[by]
	until = min(until, now+longestPause)
	if one.mode != PauseNone && one.until > until {
		until = one.until
	}
	one.mode, one.until = mode, until
	p.settle(now)
}

// End lifts the pause of one purpose.
func (p *Pause) End(by PausePurpose, now clock.Millis) {
	p.mu.Lock()
	p.mu.by[by].mode = PauseNone
	p.settle(now)
	p.mu.Unlock()
}

// settle computes the mode in force, lets the waiting go when there is none, and sets the timer; mu is held.
func (p *Pause) settle(now clock.Millis) {
	mode, next := PauseNone, clock.Millis(0)
	for i := range p.mu.by {
		one := &p.mu.by[i]
		if one.mode != PauseNone && one.until <= now {
			one.mode = PauseNone
		}
		if one.mode == PauseNone {
			continue
		}
		mode = max(mode, one.mode)
		if next == 0 || one.until < next {
			next = one.until
		}
	}
	before := PauseMode(p.mode.Swap(uint32(mode)))
	asked := p.mu.by[PauseByClient].mode
	askedBefore := PauseMode(p.asked.Swap(uint32(asked)))
	if mode < before || asked < askedBefore {
		waiting := p.mu.waiting
		p.mu.waiting = nil
		for _, resume := range waiting {
			resume()
		}
	}
	if mode < before {
		p.ended()
	}
	if p.mu.timer != nil {
		p.mu.timer.Stop()
		p.mu.timer = nil
	}
	if mode != PauseNone {
		p.mu.timer = time.AfterFunc(time.Duration(next-now)*time.Millisecond, func() {
			p.mu.Lock()
			p.settle(next)
			p.mu.Unlock()
		})
	}
}

// wait registers a session that met the pause; resume is called once when the mode becomes weaker. false when the pause
// ended meanwhile.
func (p *Pause) wait(s *Session, resume func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.any() {
		return false
	}
	if p.mu.waiting == nil {
		p.mu.waiting = make(map[*Session]func())
	}
	p.mu.waiting[s] = resume
	return true
}

func (p *Pause) forget(s *Session) {
	p.mu.Lock()
	delete(p.mu.waiting, s)
	p.mu.Unlock()
}
