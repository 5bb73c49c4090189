package transport

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A command that runs long must not hold the event loop it arrived on. The watchdog looks at every loop once a period; when
// it meets the same batch twice, and its thread was not just kept waiting for a processor, it takes the loop from its runner,
// marks the connection as away and starts another runner. The old one finishes its command with its own buffers and posts the
// result. Short commands pay two atomic operations a batch. While all loops sleep, the watchdog sleeps too.
//
// Between two looks the watchdog waits in a raw system call on a thread of its own. A ticker of Go's would have the scheduler
// wake threads to look for work five hundred times a second, which is several hundredths of the CPU of a busy loop.

// watchPeriod is how long a batch may hold its loop; a deposed batch has run between one and two periods.
const watchPeriod = 2 * time.Millisecond

// idleTicks is how many quiet periods the watchdog waits before it sleeps: waking it costs about 5 µs.
const idleTicks = 20

type watchdog struct {
	loops   []*loop
	seen    []glance
	awake   atomic.Int32 // loops that are not waiting for events
	resting atomic.Bool
	wake    chan struct{}
	quit    chan struct{}
	once    sync.Once
	ended   sync.WaitGroup
}

// glance is what the watchdog saw of a loop: the batch under way and the CPU time of its thread.
type glance struct {
	batch uint64
	cpu   time.Duration
}

func (d *watchdog) init(loops []*loop) {
	d.loops = loops
	d.seen = make([]glance, len(loops))
	d.wake = make(chan struct{}, 1)
	d.quit = make(chan struct{})
	d.awake.Store(int32(len(loops)))
	d.ended.Add(1)
	go d.run()
}

func (d *watchdog) stop() {
	if d.quit == nil {
		return
	}
	d.once.Do(func() { close(d.quit) })
	d.ended.Wait()
}

// sleeps and wakes frame a loop's wait for events.
func (d *watchdog) sleeps() { d.awake.Add(-1) }

func (d *watchdog) wakes() {
	d.awake.Add(1)
	if d.resting.Load() && d.resting.CompareAndSwap(true, false) {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

func (d *watchdog) run() {
	defer d.ended.Done()
	runtime.LockOSThread()
	for quiet := 0; ; {
		select {
		case <-d.quit:
			return
		default:
		}
		rawSleep(watchPeriod)
		d.look()
		if quiet++; d.awake.Load() > 0 {
			quiet = 0
		}
		if quiet >= idleTicks {
			quiet = 0
			d.rest()
		}
	}
}

// rest waits until a loop has something to do.
func (d *watchdog) rest() {
	d.resting.Store(true)
	if d.awake.Load() == 0 {
		select {
		case <-d.quit:
		case <-d.wake:
		}
	}
	d.resting.Store(false)
}

// look deposes the runners that are still in the batch they were in a period ago.
func (d *watchdog) look() {
	for i, l := range d.loops {
		batch, seen := l.busy.Load(), &d.seen[i]
		if batch == 0 {
			seen.batch = 0
			continue
		}
		tid := int(l.tid.Load())
		cpu := threadTime(tid)
		if batch != seen.batch {
			*seen = glance{batch, cpu}
			continue
		}
		if cpu-seen.cpu < watchPeriod/2 && threadWantsCPU(tid) {
			continue // other programs have the processor; another runner would get no more of it
		}
		if d.depose(l, batch) {
			seen.batch = 0
		}
	}
}

// depose takes the loop from the runner that executes a batch; false when that has just ended, or there is no memory or no
// descriptor for a successor.
func (d *watchdog) depose(l *loop, batch uint64) bool {
	c := l.current.Load()
	next, err := l.gear.successor()
	if err != nil {
		return false
	}
	l.done.Add(1) // before the old runner can end, so that Close never sees a loop without a runner
	if !l.busy.CompareAndSwap(batch, 0) {
		l.done.Done()
		next.discard()
		return false
	}
	c.away = true
	l.group.away.Add(1)
	letOthersFirst(int(l.tid.Load()))
	l.start(next)
	return true
}
