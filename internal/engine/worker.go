package engine

import (
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/observe"
	"github.com/covey-db/covey/internal/resp"
)

// Worker is what one thread executes commands with: buffers and counters that are reused from command to command. Only
// its thread touches it, except Counters.
type Worker struct {
	Out      Out
	Spare    Spare // buffers for large input and replies; its thread's
	Counters Counters
	Shared   bool // its thread serves many clients: commands that are known to take long are left to another

	// OwnTime tells for how long the worker's thread has had a processor; nil where nobody counts that.
	OwnTime func() time.Duration

	e       *Engine
	ctx     Ctx
	cmd     resp.Command
	ahead   ahead
	glance  glance
	effects effects
	spare   *multi // the memory of a transaction that is over, for the next
	scratch []byte
	dice    table.Dice
	calls   []callStats // by row ID
	// durations are the histograms of the commands that were called, by row ID.
	durations []atomic.Pointer[observe.Histogram]
	run       run
	watch     clock.Stopwatch
	wall      clock.Millis // the wall clock at wallRead, a reading of watch
	wallRead  int64
	logged    bool           // effects were appended since the last Kick
	holds     bool           // see HoldLog
	invalid   []string       // keys that the command under way has changed and its client had read
	broadcast []broadcastKey // changed keys that somebody listens to by prefix
	own       []Push         // messages that the command under way sends to its own session
	ready     *readyKeys
	second    *Worker // runs the commands of blocked clients; nil until it is needed
	script    *Script // what this worker runs scripts with; nil until it is needed
	running   atomic.Pointer[hold]

	commands, hits, misses int64 // of the batch under way; settle adds them to Counters
}

// Counters are sums that INFO shows; the worker adds, anybody reads.
type Counters struct {
	Commands atomic.Int64
	Hits     atomic.Int64
	Misses   atomic.Int64
	NetIn    atomic.Int64 // bytes read from clients
	NetOut   atomic.Int64 // bytes written to clients
	Reads    atomic.Int64 // read events
	Writes   atomic.Int64 // write events
	Turns    atomic.Int64 // rounds of an event loop that had something to do, and of the cron
	InTurns  atomic.Int64 // nanoseconds that they took
}

// callStats are the counters of one command on one worker.
type callStats struct {
	calls    atomic.Int64
	nanos    atomic.Int64
	rejected atomic.Int64
	failed   atomic.Int64
}

// NewWorker makes a worker and adds it to the list that INFO sums up.
func (e *Engine) NewWorker() *Worker {
	w := &Worker{
		e: e, calls: make([]callStats, len(e.commands)), durations: make([]atomic.Pointer[observe.Histogram], len(e.commands)),
		watch: clock.NewStopwatch(), wallRead: -wallNanos, ready: &readyKeys{}, dice: table.Dice(e.Random()),
	}
	w.Spare = e.NewSpare()
	w.Out.buf, w.Out.spare = make([]byte, 0, bigReplyBytes), &w.Spare
	w.ctx.e, w.ctx.W = e, w
	e.workers.Lock()
	e.workers.all = append(e.workers.all, w)
	e.workers.Unlock()
	return w
}

// Drop folds the worker's counters into the engine's and forgets it.
func (w *Worker) Drop() {
	if w.second != nil {
		w.second.Drop()
	}
	w.Out.Reset()
	w.Spare.Drop()
	w.e.workers.Lock()
	defer w.e.workers.Unlock()
	for i, x := range w.e.workers.all {
		if x == w {
			w.e.workers.all = append(w.e.workers.all[:i], w.e.workers.all[i+1:]...)
			break
		}
	}
	w.settle()
	w.e.workers.gone.add(&w.Counters)
	w.e.Stats.addCalls(w.calls)
	for id := range w.durations {
		if h := w.durations[id].Load(); h != nil {
			if w.e.workers.durations[id] == nil {
				w.e.workers.durations[id] = new(observe.Histogram)
			}
			w.e.workers.durations[id].Merge(h)
		}
	}
}

func (c *Counters) add(o *Counters) {
	c.Commands.Add(o.Commands.Load())
	c.Hits.Add(o.Hits.Load())
	c.Misses.Add(o.Misses.Load())
	c.NetIn.Add(o.NetIn.Load())
	c.NetOut.Add(o.NetOut.Load())
	c.Reads.Add(o.Reads.Load())
	c.Writes.Add(o.Writes.Load())
	c.Turns.Add(o.Turns.Load())
	c.InTurns.Add(o.InTurns.Load())
}

// Settle makes the figures complete up to the command under way: what INFO shows of it.
func (w *Worker) Settle() { w.settle() }

// settle adds what a batch counted to the counters that others read: one atomic operation a batch instead of one a command.
func (w *Worker) settle() {
	w.run.flush(w)
	if w.commands != 0 {
		w.Counters.Commands.Add(w.commands)
	}
	if w.hits != 0 {
		w.Counters.Hits.Add(w.hits)
	}
	if w.misses != 0 {
		w.Counters.Misses.Add(w.misses)
	}
	w.commands, w.hits, w.misses = 0, 0, 0
}

// run is what calls of one command after another have taken, before it is added to the counters that others read: a
// pipeline is mostly one command many times.
type run struct {
	cmd                  *Command
	calls, nanos, failed int64
	bucket               int
	inBucket             uint64
}

// count adds one execution to the statistics of a command.
func (w *Worker) count(cmd *Command, nanos int64, failed bool) {
	r := &w.run
	if r.cmd != cmd {
		r.flush(w)
		r.cmd = cmd
	}
	r.calls++
	r.nanos += nanos
	if failed {
		r.failed++
	}
	if b := observe.Bucket(nanos); b != r.bucket {
		r.flushBucket(w)
		r.bucket = b
	}
	r.inBucket++
}

func (r *run) flush(w *Worker) {
	if r.calls == 0 {
		return
	}
	stats := &w.calls[r.cmd.ID]
	stats.calls.Add(r.calls)
	stats.nanos.Add(r.nanos)
	if r.failed > 0 {
		stats.failed.Add(r.failed)
	}
	r.calls, r.nanos, r.failed = 0, 0, 0
	r.flushBucket(w)
}

func (r *run) flushBucket(w *Worker) {
	if r.inBucket == 0 {
		return
	}
	if w.e.Timing.tracking.Load() {
		h := w.durations[r.cmd.ID].Load()
		if h == nil {
			h = new(observe.Histogram)
			w.durations[r.cmd.ID].Store(h)
		}
		h.Add(r.bucket, r.inBucket)
	}
	r.inBucket = 0
}

// nanos is a monotonic reading in nanoseconds.
func (w *Worker) nanos() int64 { return w.watch.Nanos() }

// wallNanos is how long a reading of the wall clock serves.
const wallNanos = int64(500 * time.Microsecond)

// now is the wall clock at a reading of nanos. A clock that moves by itself is not asked for every command.
func (w *Worker) now(nanos int64) clock.Millis {
	if nanos-w.wallRead >= wallNanos || !w.e.realTime {
		w.wall, w.wallRead = w.e.Clock.Now(), nanos
	}
	return w.wall
}

// Turn is a round of an event loop that is under way.
type Turn struct{ start, commands int64 }

// BeginTurn begins to measure a round.
func (w *Worker) BeginTurn() Turn { return Turn{w.nanos(), w.Counters.Commands.Load()} }

// EndTurn counts a round and returns the nanoseconds that it took.
func (w *Worker) EndTurn(t Turn) int64 {
	took := w.nanos() - t.start
	w.Counters.Turns.Add(1)
	w.Counters.InTurns.Add(took)
	raise(&w.e.Stats.LongestTurn, took)
	raise(&w.e.Stats.MostInTurn, w.Counters.Commands.Load()-t.commands)
	return took
}

// kick wakes the readers of the log when effects were appended since the last time.
func (w *Worker) kick() {
	if len(w.broadcast) > 0 {
		w.broadcastChanges()
	}
	w.settle()
	if !w.holds {
		w.TellLog()
	}
}

// HoldLog has TellLog called by whoever owns the worker, and not at the end of each batch: the batches of a round share one
// write of the append-only file. No reply may leave before.
func (w *Worker) HoldLog() { w.holds = true }

// TellLog tells the readers of the log of the effects since the last time.
func (w *Worker) TellLog() {
	if w.logged {
		w.logged = false
		w.e.Log.Kick()
	}
}

// Scratch is a buffer the handler may use until it returns; give it back with SetScratch when it grew.
func (w *Worker) Scratch() []byte { return w.scratch[:0] }

// SetScratch keeps a grown scratch buffer, unless it grew very large.
func (w *Worker) SetScratch(b []byte) {
	if cap(b) <= 1<<20 {
		w.scratch = b
	}
}

// Dice makes random numbers: which member of a set is taken.
func (w *Worker) Dice() *table.Dice { return &w.dice }

// SumCounters adds up the counters of all workers.
func (e *Engine) SumCounters() *Counters {
	sum := &Counters{}
	e.workers.Lock()
	defer e.workers.Unlock()
	sum.add(&e.workers.gone)
	for _, w := range e.workers.all {
		sum.add(&w.Counters)
	}
	return sum
}
