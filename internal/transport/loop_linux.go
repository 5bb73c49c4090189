package transport

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"golang.org/x/sys/unix"
)

// readBytes is the size of the buffer a runner reads into; a whole pipeline of small commands fits.
const readBytes = 64 << 10

// loop is one event loop: its connections and a mailbox for other threads. A runner drives it. Everything but the mailbox,
// busy and gear belongs to the runner in charge.
type loop struct {
	e      *engine.Engine
	opts   *Options
	group  *Loops
	gear   gear // that of the runner in charge; who starts runners writes it
	wakefd int
	brief  int // milliseconds of a brief wait
	conns  connTable
	again  []*conn // have input left although their turn ended
	mail   mailbox[letter]

	letters []letter // taken out of mail and not yet run
	pushed  []*conn  // got messages that were not sent yet

	// busy is the number of the batch that the runner in charge executes, 0 while it executes none. The watchdog swaps it
	// to 0 to take the loop away from a runner that is stuck in a long command.
	busy    atomic.Uint64
	tid     atomic.Int64         // the thread of the runner in charge
	current atomic.Pointer[conn] // the connection of that batch
	batch   uint64
	done    sync.WaitGroup
	closing bool
	tidying bool // tidyLater has a timer
}

// letter is what other threads send to a loop: work for one connection, or for the loop itself.
type letter struct {
	c    *conn
	work func(w *engine.Worker)
	push engine.Push // when there is neither work nor loop
	loop func(r *runner)
}

// runner is a thread that drives a loop, with the buffers that its current command may still point into.
type runner struct {
	l    *loop
	gear gear
	w    *engine.Worker
	buf  []byte
	lost bool // the loop is another runner's
}

func newLoop(g *Loops, b Backend) (*loop, error) {
	wakefd, err := unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	l := &loop{e: g.e, opts: &g.opts, group: g, wakefd: wakefd, brief: briefMillis(g.opts.Loops)}
	if l.gear, err = newGear(b, l); err != nil {
		unix.Close(wakefd)
		return nil, err
	}
	return l, nil
}

// start puts a new runner in charge; the caller has added it to done.
func (l *loop) start(g gear) {
	l.gear = g
	r := &runner{l: l, gear: g, w: l.e.NewWorker(), buf: make([]byte, readBytes)}
	r.w.Shared = true
	go func() {
		defer l.done.Done()
		tid := l.group.serving.begin()
		defer l.group.serving.end(tid)
		defer r.w.Drop()
		l.tid.Store(int64(tid))
		r.gear.take(r)
		for r.turn() {
		}
		r.gear.end(!r.lost)
	}()
}

// turn serves everything that is ready once; false when the runner has lost the loop or the loop ends.
func (r *runner) turn() bool {
	l := r.l
	if len(l.letters)+len(l.pushed) > 0 && !r.readMail() {
		return false
	}
	n := r.wait()
	if n+len(l.again) == 0 {
		return !l.closing
	}
	l.e.AwaitThaw()
	t := r.w.BeginTurn()
	mine := r.gear.serve(r, n) && r.serveAgain()
	r.w.EndTurn(t)
	return mine && !l.closing
}

// briefWaits is how many empty brief waits a runner makes before it goes to sleep. It does not while a long command computes:
// asleep it would give up its processor of Go's, and several such commands would make it wait for another one, ten milliseconds
// for each that comes before.
const briefWaits = 2

// briefMillis is how long a brief wait takes at most. Long ones save the way to sleep and back, but hold a processor of Go's:
// they are for a process that has some to spare beside its loops and their watchdog.
func briefMillis(loops int) int {
	const long, short, spare = 5, 1, 2
	if runtime.GOMAXPROCS(0) >= loops+1+spare {
		return long
	}
	return short
}

// wait returns the number of events that are ready; without any it waits, unless connections have input left.
func (r *runner) wait() int {
	l := r.l
	if len(l.again) > 0 || l.closing {
		return r.gear.poll(noWait)
	}
	for n := 0; n < briefWaits || l.group.away.Load() > 0; n++ {
		if n := r.gear.poll(briefWait); n > 0 {
			return n
		}
	}
	r.tidyLater()
	l.group.dog.sleeps()
	defer l.group.dog.wakes()
	return r.gear.poll(longWait)
}

// spareIdle is how long buffers for large values are kept for nothing, and twice that at most.
const spareIdle = time.Second

// tidyLater has the buffers for large values forgotten some time from now, unless they are used meanwhile.
func (r *runner) tidyLater() {
	l := r.l
	if l.tidying || !r.w.Spare.Held() {
		return
	}
	l.tidying = true
	time.AfterFunc(spareIdle, func() {
		l.post(letter{loop: func(r *runner) {
			l.tidying = false
			r.w.Spare.Tidy()
		}})
	})
}

// serveAgain gives one more turn to the connections that have input left. Whoever is in charge takes the next one off the
// list before its turn, so a runner that loses the loop leaves the rest where its successor finds it.
func (r *runner) serveAgain() bool {
	l := r.l
	for range len(l.again) {
		c := l.again[0]
		l.again[0] = nil
		l.again = l.again[1:]
		c.queued = false
		if c.closed || c.away {
			continue
		}
		if !r.advance(c) {
			return false
		}
	}
	if len(l.again) == 0 {
		l.again = nil
	}
	return true
}

// readMail runs what other threads sent, in the order they sent it. What was taken out of the mailbox stays with the loop
// until its turn, because a letter may cost the runner the loop.
func (r *runner) readMail() bool {
	l := r.l
	l.letters = l.mail.take(l.letters)
	for len(l.letters) > 0 {
		m := l.letters[0]
		l.letters[0] = letter{}
		l.letters = l.letters[1:]
		switch {
		case m.loop != nil:
			m.loop(r)
		case m.c.closed:
		case m.c.away:
			m.c.later = append(m.c.later, m.later())
		case m.work == nil:
			r.push(m.c, m.push)
		default:
			if !r.deliver(m.c, m.work) {
				return false
			}
		}
	}
	l.letters = nil
	r.flushPushed()
	return true
}

// later is the work of a letter that has to wait.
func (m *letter) later() func(*engine.Worker) {
	if m.work != nil {
		return m.work
	}
	push := m.push
	return func(w *engine.Worker) { push.AppendTo(&w.Out) }
}

// deliver runs posted work for a connection and goes on with its input.
func (r *runner) deliver(c *conn, work func(*engine.Worker)) bool {
	work(r.w)
	if !r.collect(c) {
		return true
	}
	return r.advance(c)
}

// post sends a letter to the loop from any thread.
func (l *loop) post(m letter) bool {
	first, ok := l.mail.put(m)
	if first {
		one := [8]byte{0: 1}
		_, _ = rawWrite(l.wakefd, one[:])
	}
	return ok
}

// begin marks the start of a batch, so that the watchdog can see how long it takes.
func (r *runner) begin(c *conn) uint64 {
	l := r.l
	l.batch++
	batch := l.batch // from the store on, the loop may be another runner's
	l.current.Store(c)
	l.busy.Store(batch)
	return batch
}

// end marks the end of a batch; false when the watchdog has given the loop to another runner meanwhile.
func (r *runner) end(batch uint64) bool { return r.l.busy.CompareAndSwap(batch, 0) }

// Loops is a set of event loops.
type Loops struct {
	e       *engine.Engine
	opts    Options
	loops   []*loop
	next    atomic.Uint32
	dog     watchdog
	hands   hands
	serving serving
	away    atomic.Int32 // connections that are away

	backend Backend
}

// NewLoops starts the event loops.
func NewLoops(e *engine.Engine, opts Options) (*Loops, error) {
	g := &Loops{e: e, opts: opts}
	g.hands.serving = &g.serving
	backend, why, err := choose(opts.Backend)
	if err != nil {
		return nil, err
	}
	if why != nil {
		opts.Logf("Event loops use epoll: %v", why)
	}
	for range max(1, opts.Loops) {
		l, err := newLoop(g, backend)
		if err != nil {
			for _, l := range g.loops {
				l.gear.end(true)
				unix.Close(l.wakefd)
			}
			return nil, err
		}
		g.loops = append(g.loops, l)
	}
	g.backend = backend
	g.dog.init(g.loops)
	g.hands.init(e, len(g.loops))
	for _, l := range g.loops {
		l.done.Add(1)
		l.start(l.gear)
	}
	return g, nil
}

// Backend is how the loops move bytes.
func (g *Loops) Backend() Backend { return g.backend }

// closeWait bounds how long Close waits for a loop whose runner is in a long command.
const closeWait = 5 * time.Second

// Close ends all connections and loops.
func (g *Loops) Close() {
	for _, l := range g.loops {
		l.post(letter{loop: func(r *runner) { r.shut() }})
	}
	for _, l := range g.loops {
		ended := make(chan struct{})
		go func() { l.done.Wait(); close(ended) }()
		select {
		case <-ended:
			unix.Close(l.wakefd)
		case <-time.After(closeWait):
		}
	}
	g.dog.stop()
	g.hands.stop()
}

// shut ends the loop. A connection that is away is closed by the runner that has it, when it finds no loop to return to.
func (r *runner) shut() {
	l := r.l
	l.closing = true
	for _, m := range append(l.letters, l.mail.shut()...) {
		if m.loop != nil {
			m.loop(r)
		}
	}
	l.letters = nil
	for c := range l.conns.all() {
		if !c.away {
			r.flushUpTo(c, math.MaxInt)
			r.close(c)
		}
	}
}
