package transport

import (
	"runtime"
	"sync"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// hands are threads that execute commands which are known to take long, each for one connection at a time. The loop goes on
// meanwhile: the connection is away, as it is when its runner was deposed, but the runner stays. There are as many hands as
// such commands have been under way at a time.
type hands struct {
	e       *engine.Engine
	loops   int // how many loops they work for
	serving *serving
	work    chan *conn // to a hand that has nothing to do
	quit    chan struct{}
	once    sync.Once

	mu    sync.Mutex // a leaf: guards what follows
	count int        // hands that there are
}

// handIdle is how long a hand waits for the next command before it ends.
const handIdle = 10 * time.Second

func (h *hands) init(e *engine.Engine, loops int) {
	h.e, h.loops = e, loops
	h.work, h.quit = make(chan *conn), make(chan struct{})
}

// stop ends the hands once they have nothing to do.
func (h *hands) stop() { h.once.Do(func() { close(h.quit) }) }

// give has a hand go on with a connection, which is away.
func (h *hands) give(c *conn) {
	select {
	case h.work <- c:
	default:
		go h.run(c)
	}
}

// run is a hand, which begins with c.
func (h *hands) run(c *conn) {
	self := h.serving.begin() // for good: the thread, which is nice to others from now on, ends with its goroutine
	defer h.serving.end(self)
	letOthersFirst(thisThread)
	h.come()
	defer h.leave()
	w := h.e.NewWorker()
	defer w.Drop()
	w.OwnTime = func() time.Duration { return threadTime(self) }
	for c != nil {
		c.executeAway(w)
		c = h.next(w)
	}
}

// handProcsMax is how many hands get a processor of Go's for themselves.
const handProcsMax = 8

// come counts a hand and sees to it that Go has a processor for it, beside those of the loops, of their watchdog and one for
// everything else. If a hand had to wait for one, the scheduler would take it from a loop that has not slept for ten
// milliseconds, and the loop would wait behind the hands. The number stays: making it smaller stops the world once more.
func (h *hands) come() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count++
	if want := h.loops + 2 + min(h.count, handProcsMax); want > runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(want)
	}
}

func (h *hands) leave() {
	h.mu.Lock()
	h.count--
	h.mu.Unlock()
}

// next waits for the next connection; nil when there has been none for long.
func (h *hands) next(w *engine.Worker) *conn {
	select {
	case c := <-h.work:
		return c
	default:
	}
	w.Spare.Drop()
	idle := time.NewTimer(handIdle)
	defer idle.Stop()
	select {
	case c := <-h.work:
		return c
	case <-h.quit:
	case <-idle.C:
	}
	return nil
}

// executeAway executes the input of a connection that is away and gives the connection back to its loop.
func (c *conn) executeAway(w *engine.Worker) {
	defer c.l.done.Done()
	c.l.e.AwaitThaw()
	r := &runner{l: c.l, w: w}
	var used int
	used, c.in = c.s.ProcessOwn(w, c.in)
	r.keep(c, c.in[used:], false)
	r.bringBack(c)
}

// sendAway gives a connection to a hand, for a command that is known to take long. Its input lies in its own buffer.
func (r *runner) sendAway(c *conn) {
	c.away = true
	r.l.group.away.Add(1)
	r.l.done.Add(1)
	r.l.group.hands.give(c)
}
