package transport

import (
	"sync"
	"sync/atomic"
	"time"
)

// A command that runs long must not hold the loop it arrived on. The watchdog looks at every loop once a period; when
// it meets the same batch twice it takes the loop from its runner, marks the connection as away and starts another runner.
// The old one finishes its command with its own buffers and posts the result. Short commands pay two atomic operations a
// batch. While all loops sleep, the watchdog sleeps too.

// watchPeriod is how long a batch may hold its loop; a deposed batch has run between one and two periods.
const watchPeriod = 2 * time.Millisecond

// idleTicks is how many quiet periods the watchdog waits before it sleeps: waking it costs about 5 µs.
const idleTicks = 20

type watchdog struct {
	loops   []*loop
	seen    []uint64     // the batch that was running at the last look
	awake   atomic.Int32 // loops that are not waiting for events
	resting atomic.Bool
	wake    chan struct{}
	quit    chan struct{}
	once    sync.Once
	ended   sync.WaitGroup
}

func (d *watchdog) init(loops []*loop) {
	d.loops = loops
	d.seen = make([]uint64, len(loops))
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
	quiet := 0
	tick := time.NewTicker(watchPeriod)
	defer tick.Stop()
	for {
		select {
		case <-d.quit:
			return
		case <-tick.C:
		}
		d.look()
		if d.awake.Load() > 0 {
			quiet = 0
			continue
		}
		if quiet++; quiet < idleTicks {
			continue
		}
		quiet = 0
		tick.Stop()
		d.resting.Store(true)
		if d.awake.Load() == 0 {
			select {
			case <-d.quit:
				return
			case <-d.wake:
			}
		}
		d.resting.Store(false)
		tick.Reset(watchPeriod)
	}
}

// look deposes the runners that are still in the batch they were in a period ago.
func (d *watchdog) look() {
	for i, l := range d.loops {
		batch := l.busy.Load()
		if batch == 0 || batch != d.seen[i] {
			d.seen[i] = batch
			continue
		}
		c := l.current.Load()
		next, err := l.gear.successor()
		if err != nil {
			continue // no descriptors or memory: the loop stays where it is
		}
		l.done.Add(1) // before the old runner can end, so that Close never sees a loop without a runner
		if !l.busy.CompareAndSwap(batch, 0) {
			l.done.Done()
			next.discard()
			continue
		}
		c.away = true
		d.seen[i] = 0
		l.start(next)
	}
}
