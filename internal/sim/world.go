package sim

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/covey-db/covey/internal/clock"
)

// This file holds the world: virtual time, the queue of what is to happen, and the nodes.

// instant is a virtual time or span in microseconds.
type instant int64

const (
	millisecond instant = 1000
	second              = 1000 * millisecond
	// epochStart is the time at which every run begins: not 0, which the core takes for "never".
	epochStart = 1_000_000 * second
)

func (t instant) millis() clock.Millis { return clock.Millis(t / millisecond) }

func (t instant) String() string { return (time.Duration(t) * time.Microsecond).String() }

// world is one run. Everything in it happens in one goroutine, in the order of the queue.
type world struct {
	now   instant
	queue queue
	seq   uint64
	rng   *rand.Rand
	seed  uint64

	net   network
	nodes []*node
	// timeout is the node timeout of every node.
	timeout instant
	// shape is what the cluster was made of.
	shape shape
	// everySlot says that every slot has to have an owner in the end.
	everySlot bool

	load    load
	safety  safety
	trace   trace
	failure error // the first thing that went wrong; the run ends
}

// event is something that happens at a time; seq orders what happens at the same time.
type event struct {
	at  instant
	seq uint64
	run func()
}

type queue []event

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = event{}
	*q = old[:len(old)-1]
	return last
}

func newWorld(seed uint64, out io.Writer) *world {
	w := &world{now: epochStart, rng: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15)), seed: seed}
	w.trace.out = out
	w.net.init(w)
	w.safety.init(w)
	w.load.w = w
	return w
}

// after lets something happen when a span has passed.
func (w *world) after(d instant, run func()) {
	w.seq++
	heap.Push(&w.queue, event{at: w.now + max(d, 0), seq: w.seq, run: run})
}

// runFor lets time pass until then or until something is wrong.
func (w *world) runFor(d instant) error {
	return w.runUntil(w.now+d, nil)
}

// runUntil lets things happen up to a time, or until done holds, or until something is wrong.
func (w *world) runUntil(end instant, done func() bool) error {
	for len(w.queue) > 0 && w.queue[0].at <= end && w.failure == nil {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		e.run()
		w.safety.check()
		if done != nil && done() {
			return w.failure
		}
	}
	if w.failure == nil {
		w.now = max(w.now, end)
	}
	return w.failure
}

// fail notes the first thing that went wrong.
func (w *world) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf("t=%s: %s", w.clock(), fmt.Sprintf(format, args...))
	}
}

// clock is the time since the start, for people.
func (w *world) clock() string {
	return fmt.Sprintf("%.2fs", float64(w.now-epochStart)/float64(second))
}

// between picks a span at random.
func (w *world) between(low, high instant) instant {
	if high <= low {
		return low
	}
	return low + instant(w.rng.Int64N(int64(high-low)))
}

// chance is true with probability p.
func (w *world) chance(p float64) bool { return p > 0 && w.rng.Float64() < p }
