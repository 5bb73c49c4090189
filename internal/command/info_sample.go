package command

import (
	"sync"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// sampleCount is how many samples the figures per second are averaged over.
const sampleCount = 16

// Sampler turns counters into figures per second for INFO. The server's cron calls Tick.
type Sampler struct {
	mu   sync.Mutex // guards what follows
	last struct {
		at           time.Time
		ops, in, out int64
	}
	ring [sampleCount]rates
	next int
}

// rates are figures per second.
type rates struct{ ops, in, out float64 }

// Tick takes a sample.
func (s *Sampler) Tick(e *engine.Engine, now time.Time) {
	sum := e.SumCounters()
	ops, in, out := sum.Commands.Load(), sum.NetIn.Load(), sum.NetOut.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if seconds := now.Sub(s.last.at).Seconds(); !s.last.at.IsZero() && seconds > 0 {
		s.ring[s.next] = rates{float64(ops-s.last.ops) / seconds, float64(in-s.last.in) / seconds, float64(out-s.last.out) / seconds}
		s.next = (s.next + 1) % sampleCount
	}
	s.last.at, s.last.ops, s.last.in, s.last.out = now, ops, in, out
}

func (s *Sampler) rates() (r rates) {
	if s == nil {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.ring {
		r.ops += one.ops / sampleCount
		r.in += one.in / sampleCount
		r.out += one.out / sampleCount
	}
	return r
}
