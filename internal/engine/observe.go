package engine

import (
	"math"
	"sync/atomic"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/observe"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds what the engine notes of the time that commands take.

// Timing is what the node knows of its own speed.
type Timing struct {
	Slow    observe.SlowLog
	Latency observe.Latency

	slowMicros atomic.Int64                         // slowlog-log-slower-than; negative: nothing is slow
	slowMax    atomic.Int64                         // slowlog-max-len
	latencyMs  atomic.Int64                         // latency-monitor-threshold; 0: off
	tracking   atomic.Bool                          // latency-tracking
	remarkable atomic.Int64                         // nanoseconds from which a call is worth a look: the smaller of the two
	forgotten  atomic.Pointer[map[int]*observe.Sum] // durations before the last reset, by row ID
}

const (
	nanosPerMicro = 1000
	nanosPerMilli = 1000000
)

func (t *Timing) init() {
	t.SetSlow(10000)
	t.slowMax.Store(128)
	t.tracking.Store(true)
}

// SetSlow is slowlog-log-slower-than: microseconds, negative for off.
func (t *Timing) SetSlow(micros int64) {
	t.slowMicros.Store(micros)
	t.review()
}

// SetSlowMax is slowlog-max-len.
func (t *Timing) SetSlowMax(n int64) { t.slowMax.Store(n) }

// SetLatency is latency-monitor-threshold: milliseconds, 0 for off.
func (t *Timing) SetLatency(ms int64) {
	t.latencyMs.Store(ms)
	t.review()
}

// SetTracking is latency-tracking.
func (t *Timing) SetTracking(on bool) { t.tracking.Store(on) }

// review finds the time from which on a call is worth a look.
func (t *Timing) review() {
	limit := int64(math.MaxInt64)
	if us := t.slowMicros.Load(); us >= 0 && us < limit/nanosPerMicro {
		limit = us * nanosPerMicro
	}
	if ms := t.latencyMs.Load(); ms > 0 && ms < limit/nanosPerMilli {
		limit = ms * nanosPerMilli
	}
	t.remarkable.Store(limit)
}

// NoteEvent adds an event of a subsystem to the latency monitor when it took long enough.
func (e *Engine) NoteEvent(event string, nanos int64) {
	limit := e.Timing.latencyMs.Load()
	if ms := nanos / nanosPerMilli; limit > 0 && ms >= limit {
		e.Timing.Latency.Add(event, observe.Sample{At: int64(e.Clock.Now()) / 1000, Millis: ms})
	}
}

// remark looks at a call that took long.
func (c *Ctx) remark(cmd *Command, nanos int64) {
	t := &c.e.Timing
	name := "command"
	if cmd.Flags&spec.Fast != 0 {
		name = "fast-command"
	}
	c.e.NoteEvent(name, nanos)
	limit := t.slowMicros.Load()
	if limit < 0 || nanos < limit*nanosPerMicro || t.slowMax.Load() == 0 || cmd.Flags&spec.SkipSlowlog != 0 {
		return
	}
	client, args := c.S.Info(), c.input.shown
	if !c.input.taken {
		args = observe.Shorten(redacted(cmd, c.Args))
	}
	t.Slow.Add(observe.Slow{
		At: int64(c.Now) / 1000, Micros: nanos / nanosPerMicro, Args: args,
		Client: c.S.Peer.Remote, Name: client.Name,
	}, t.slowMax.Load())
}

var redactedWord = []byte("(redacted)")

// redacted is a command line without its secrets: what SLOWLOG and MONITOR show.
func redacted(cmd *Command, args [][]byte) [][]byte {
	var secret func(i int) bool
	switch cmd.Full {
	case "auth":
		secret = func(i int) bool { return i >= 1 }
	case "acl|setuser":
		secret = func(i int) bool { return i >= 2 }
	case "hello", "migrate":
		secret = func(i int) bool { return followsAuth(args, i) }
	case "config|set":
		secret = func(i int) bool { return i > 2 && i%2 == 1 && config.IsSensitive(string(args[i-1])) }
	default:
		return args
	}
	out := make([][]byte, len(args))
	for i, a := range args {
		out[i] = a
		if secret(i) {
			out[i] = redactedWord
		}
	}
	return out
}

// followsAuth says whether argument i is a name or password behind AUTH or AUTH2.
func followsAuth(args [][]byte, i int) bool {
	for at := max(i-2, 1); at < i; at++ {
		if FoldEqual(args[at], "AUTH") || FoldEqual(args[at], "AUTH2") {
			return true
		}
	}
	return false
}

// DurationsOf sums up the durations of one command's calls since the start or the last reset; false when there were none.
func (e *Engine) DurationsOf(row *spec.Row) (sum observe.Sum, some bool) {
	e.workers.Lock()
	defer e.workers.Unlock()
	if gone := e.workers.durations[row.ID]; gone != nil {
		sum.Take(gone)
	}
	for _, w := range e.workers.all {
		if h := w.durations[row.ID].Load(); h != nil {
			sum.Take(h)
		}
	}
	if forgotten := e.Timing.forgotten.Load(); forgotten != nil {
		if old := (*forgotten)[row.ID]; old != nil {
			sum.Drop(old)
		}
	}
	return sum, sum.Total > 0
}

// ForgetDurations is the part of CONFIG RESETSTAT that concerns durations.
func (e *Engine) ForgetDurations() {
	sums := make(map[int]*observe.Sum)
	e.Timing.forgotten.Store(nil)
	for row := range e.table.All() {
		if sum, some := e.DurationsOf(row); some {
			sums[row.ID] = &sum
		}
	}
	e.Timing.forgotten.Store(&sums)
}
