package engine

import (
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/resp"
)

// Worker is what one thread executes commands with: buffers and counters that are reused from command to command. Only
// its thread touches it, except Counters.
type Worker struct {
	Out      Out
	Counters Counters

	e       *Engine
	ctx     Ctx
	cmd     resp.Command
	effects effects
	scratch []byte
	dice    table.Dice
	calls   []callStats // by row ID
	epoch   time.Time   // base of the monotonic readings
	logged  bool        // effects were appended since the last Kick
	own     []Push      // messages that the command under way sends to its own session
	ready   *readyKeys
	second  *Worker // runs the commands of blocked clients; nil until it is needed
	script  *Script // what this worker runs scripts with; nil until it is needed
	running atomic.Pointer[hold]

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
	w := &Worker{e: e, calls: make([]callStats, len(e.commands)), epoch: time.Now(), ready: &readyKeys{}, dice: table.Dice(e.Random())}
	w.Out.buf = make([]byte, 0, bigReplyBytes)
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
	w.e.workers.Lock()
	defer w.e.workers.Unlock()
	for i, x := range w.e.workers.all {
		if x == w {
			w.e.workers.all = append(w.e.workers.all[:i], w.e.workers.all[i+1:]...)
			break
		}
	}
	w.e.workers.gone.add(&w.Counters)
	w.e.Stats.addCalls(w.calls)
}

func (c *Counters) add(o *Counters) {
	c.Commands.Add(o.Commands.Load())
	c.Hits.Add(o.Hits.Load())
	c.Misses.Add(o.Misses.Load())
	c.NetIn.Add(o.NetIn.Load())
	c.NetOut.Add(o.NetOut.Load())
	c.Reads.Add(o.Reads.Load())
	c.Writes.Add(o.Writes.Load())
}

// settle adds what a batch counted to the counters that others read: one atomic operation a batch instead of one a command.
func (w *Worker) settle() {
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

// count adds one execution to the statistics of a command.
func (w *Worker) count(cmd *Command, nanos int64, failed bool) {
	stats := &w.calls[cmd.ID]
	stats.calls.Add(1)
	stats.nanos.Add(nanos)
	if failed {
		stats.failed.Add(1)
	}
}

// nanos is a monotonic reading in nanoseconds.
func (w *Worker) nanos() int64 { return int64(time.Since(w.epoch)) }

// kick wakes the readers of the log when effects were appended since the last time.
func (w *Worker) kick() {
	w.settle()
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
