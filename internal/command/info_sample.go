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
		turns, nanos int64
	}
	ring [sampleCount]rates
	next int
}

// rates are figures per second.
type rates struct {
	ops, in, out float64
	turns        float64 // rounds of the event loops
	turnMicros   float64 // what one of them took
}

// Tick takes a sample.
func (s *Sampler) Tick(e *engine.Engine, now time.Time) {
	sum := e.SumCounters()
	ops, in, out := sum.Commands.Load(), sum.NetIn.Load(), sum.NetOut.Load()
	turns, nanos := sum.Turns.Load(), sum.InTurns.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	if seconds := now.Sub(s.last.at).Seconds(); !s.last.at.IsZero() && seconds > 0 {
		s.ring[s.next] = rates{
			ops: float64(ops-s.last.ops) / seconds, in: float64(in-s.last.in) / seconds, out: float64(out-s.last.out) / seconds,
			turns: float64(turns-s.last.turns) / seconds, turnMicros: float64(nanos-s.last.nanos) / 1000 / float64(max(turns-s.last.turns, 1)),
		}
		s.next = (s.next + 1) % sampleCount
	}
	s.last.at, s.last.ops, s.last.in, s.last.out = now, ops, in, out
	s.last.turns, s.last.nanos = turns, nanos
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
		r.turns += one.turns / sampleCount
		r.turnMicros += one.turnMicros / sampleCount
	}
	return r
}
