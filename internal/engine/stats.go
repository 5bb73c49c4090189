package engine

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/spec"
)

// Stats are counters of rare events and the settled part of the per-command counters.
type Stats struct {
	Denied         [acl.DeniedAuth + 1]atomic.Int64 // refused by access control, by reason
	ExpiredKeys    atomic.Int64
	ExpiredFields  atomic.Int64 // of hashes
	ExpiredStale   atomic.Int64 // per mille of expired keys the last active cycle met
	EvictedKeys    atomic.Int64
	EvictedClients atomic.Int64 // ended because all together took more than maxmemory-clients
	Connections    atomic.Int64 // accepted since the start
	Rejected       atomic.Int64 // refused because of maxclients
	Dirty          atomic.Int64 // changes since the last save
	Background     atomic.Int64 // saves and rewrites in the background, for which Redis forks
	SyncFull       atomic.Int64
	SyncPartial    atomic.Int64
	SyncPartErr    atomic.Int64
	PeakMemory     atomic.Int64
	QueryLimit     atomic.Int64 // clients closed for their query buffer
	OutputLimit    atomic.Int64 // clients closed for their output buffer
	UnexpErrors    atomic.Int64
	LongestTurn    atomic.Int64 // nanoseconds of the longest round of an event loop
	MostInTurn     atomic.Int64 // commands of the round that had most
	CronNanos      atomic.Int64 // nanoseconds that the rounds of the cron took
	lazyBase       atomic.Int64 // what RESETSTAT subtracts from the values that were freed later

	table *spec.Table
	mu    struct {
		sync.Mutex
		settled []CallStats // counters of dropped workers and what RESETSTAT subtracts, by row ID
		base    Counters    // what RESETSTAT subtracts
	}
}

// CallStats are the counters of one command.
type CallStats struct {
	Calls, Nanos, Rejected, Failed int64
}

func (s *Stats) init(t *spec.Table) {
	s.table = t
	s.mu.settled = make([]CallStats, t.IDs())
}

func (c *CallStats) addWorker(w *callStats, sign int64) {
	c.Calls += sign * w.calls.Load()
	c.Nanos += sign * w.nanos.Load()
	c.Rejected += sign * w.rejected.Load()
	c.Failed += sign * w.failed.Load()
}

func (s *Stats) addCalls(calls []callStats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range calls {
		s.mu.settled[i].addWorker(&calls[i], 1)
	}
}

// countEnded counts a call that ended without its handler: a blocked command that timed out.
func (s *Stats) countEnded(cmd *Command, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.settled[cmd.ID].Calls++
	if failed {
		s.mu.settled[cmd.ID].Failed++
	}
}

// Calls sums up the per-command counters, by row ID.
func (e *Engine) Calls() []CallStats {
	e.workers.Lock()
	defer e.workers.Unlock()
	e.Stats.mu.Lock()
	defer e.Stats.mu.Unlock()
	sum := append([]CallStats(nil), e.Stats.mu.settled...)
	for _, w := range e.workers.all {
		for i := range w.calls {
			sum[i].addWorker(&w.calls[i], 1)
		}
	}
	return sum
}

// Totals are the counters since the start or the last reset.
func (e *Engine) Totals() *Counters {
	sum := e.SumCounters()
	e.Stats.mu.Lock()
	defer e.Stats.mu.Unlock()
	b := &e.Stats.mu.base
	out := &Counters{}
	out.Commands.Store(sum.Commands.Load() - b.Commands.Load())
	out.Hits.Store(sum.Hits.Load() - b.Hits.Load())
	out.Misses.Store(sum.Misses.Load() - b.Misses.Load())
	out.NetIn.Store(sum.NetIn.Load() - b.NetIn.Load())
	out.NetOut.Store(sum.NetOut.Load() - b.NetOut.Load())
	out.Reads.Store(sum.Reads.Load() - b.Reads.Load())
	out.Writes.Store(sum.Writes.Load() - b.Writes.Load())
	out.Turns.Store(sum.Turns.Load() - b.Turns.Load())
	out.InTurns.Store(sum.InTurns.Load() - b.InTurns.Load())
	return out
}

// ResetStats is CONFIG RESETSTAT.
func (e *Engine) ResetStats() {
	sum := e.SumCounters()
	calls := e.Calls()
	s := &e.Stats
	s.mu.Lock()
	s.mu.base = Counters{}
	s.mu.base.add(sum)
	for i := range calls {
		c := &s.mu.settled[i]
		c.Calls, c.Nanos = c.Calls-calls[i].Calls, c.Nanos-calls[i].Nanos
		c.Rejected, c.Failed = c.Rejected-calls[i].Rejected, c.Failed-calls[i].Failed
	}
	s.mu.Unlock()
	for _, n := range []*atomic.Int64{&s.ExpiredKeys, &s.ExpiredFields, &s.ExpiredStale, &s.EvictedKeys, &s.EvictedClients, &s.Connections, &s.Rejected,
		&s.SyncFull, &s.SyncPartial, &s.SyncPartErr, &s.QueryLimit, &s.OutputLimit,
		&s.LongestTurn, &s.MostInTurn, &s.CronNanos} {
		n.Store(0)
	}
	_, freed := e.countTrash()
	s.lazyBase.Store(freed)
	e.Errors.Reset()
	e.ForgetDurations()
	e.SlotStats.Reset()
}

// errorKindsMax bounds how many different error codes are counted; texts of scripts could make more.
const errorKindsMax = 128

// errorCodeMax is how long an error code may be. What begins with a longer word, or has no other behind it, has no code.
const errorCodeMax = 30

// ErrorStats counts error replies by their code.
type ErrorStats struct {
	moved, ask atomic.Int64 // hot during a redirection storm, so they need no lock
	mu         struct {
		sync.Mutex
		byCode map[string]int64
	}
}

func (s *ErrorStats) count(text string) {
	code, _, coded := strings.Cut(text, " ")
	if !coded || len(code) > errorCodeMax {
		code = "ERR"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.byCode == nil {
		s.mu.byCode = make(map[string]int64)
	}
	if _, known := s.mu.byCode[code]; known || len(s.mu.byCode) < errorKindsMax {
		s.mu.byCode[code]++
	}
}

// Snapshot copies the counters.
func (s *ErrorStats) Snapshot() map[string]int64 {
	out := make(map[string]int64)
	if n := s.moved.Load(); n > 0 {
		out["MOVED"] = n
	}
	if n := s.ask.Load(); n > 0 {
		out["ASK"] = n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, n := range s.mu.byCode {
		out[k] = n
	}
	return out
}

// Reset forgets everything.
func (s *ErrorStats) Reset() {
	s.moved.Store(0)
	s.ask.Store(0)
	s.mu.Lock()
	s.mu.byCode = nil
	s.mu.Unlock()
}
