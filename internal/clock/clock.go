// Package clock is where time comes from. Everything that decides something gets the time as an argument or through a
// Source, so that tests and the simulator can hold it in their hands.
package clock

import (
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/invariant"
)

// Millis is a wall-clock time or a duration in milliseconds; times count from 1970-01-01 UTC.
type Millis int64

// Duration converts a span.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Source tells the time. Both methods may be called by any goroutine.
type Source interface {
	Now() Millis  // wall clock
	Nanos() int64 // monotonic, from an arbitrary start
}

// Real returns the clock of the machine.
func Real() Source { return realClock{start: time.Now()} }

// IsReal says whether a source is the clock of the machine, which moves by itself.
func IsReal(s Source) bool {
	_, ok := s.(realClock)
	return ok
}

type realClock struct{ start time.Time }

func (realClock) Now() Millis    { return Millis(time.Now().UnixMilli()) }
func (c realClock) Nanos() int64 { return int64(time.Since(c.start)) }

// Manual is a clock that stands still until it is moved. Any goroutine may read and move it.
type Manual struct {
	nanos atomic.Int64 // monotonic
	ahead atomic.Int64 // nanoseconds by which the wall clock was set forward (or back)
}

// NewManual returns a clock that shows start.
func NewManual(start Millis) *Manual {
	m := &Manual{}
	m.nanos.Store(int64(start) * int64(time.Millisecond))
	return m
}

// Now implements Source.
func (m *Manual) Now() Millis {
	return Millis((m.nanos.Load() + m.ahead.Load()) / int64(time.Millisecond))
}

// Nanos implements Source.
func (m *Manual) Nanos() int64 { return m.nanos.Load() }

// Advance lets time pass, for both clocks. Time does not run backwards.
func (m *Manual) Advance(d time.Duration) {
	invariant.That(d >= 0, "time runs backwards")
	m.nanos.Add(int64(d))
}

// SetWall sets the wall clock, forward or back, as an administrator or NTP may do at any moment. The monotonic clock does
// not notice.
func (m *Manual) SetWall(now Millis) {
	m.ahead.Store(int64(now)*int64(time.Millisecond) - m.nanos.Load())
}
