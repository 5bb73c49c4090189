package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// This file holds what very much data costs a node beside the memory: pauses of the garbage collector and its share of the
// processor, the slowest insertion, and how long its removal and the freeing of it hold a shard. It is measured in an engine of
// this process, without sockets, so that each command can be timed by the clock of its thread, which stands still while the
// machine does something else.

const stallElements = 10_000_000

// stallKind is a way to make many elements, one a command.
type stallKind struct {
	name string
	cmd  func(args [][]byte, name []byte, i int) [][]byte
	end  string // the command that removes them all
}

func stallKinds() []stallKind {
	fixed := func(words ...string) func([][]byte, []byte, int) [][]byte {
		return func(args [][]byte, name []byte, i int) [][]byte {
			for _, w := range words {
				switch w {
				case "NAME":
					args = append(args, name)
				case "SCORE":
					args = append(args, strconv.AppendInt(nil, int64(i)*7919%stallElements, 10))
				case "ID":
					args = append(args, append(strconv.AppendInt(nil, int64(i)/3+1, 10), '-', '0'+byte(i%3)))
				default:
					args = append(args, []byte(w))
				}
			}
			return args
		}
	}
	return []stallKind{
		{"strings", fixed("SET", "NAME", "a value of 20 bytes."), "FLUSHALL ASYNC"},
		{"one hash", fixed("HSET", "h", "NAME", "a value of 20 bytes."), "DEL h"},
		{"one set", fixed("SADD", "s", "NAME"), "DEL s"},
		{"one zset", fixed("ZADD", "z", "SCORE", "NAME"), "DEL z"},
		{"one list", fixed("RPUSH", "l", "NAME"), "DEL l"},
		{"one stream", fixed("XADD", "x", "ID", "field", "NAME", "other", "1.5"), "DEL x"},
	}
}

// bench satisfies what inproc wants of a test.
type bench struct {
	testing.TB
	cleanups []func()
}

func (b *bench) Helper()           {}
func (b *bench) Cleanup(fn func()) { b.cleanups = append(b.cleanups, fn) }
func (b *bench) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// stallTable prints what filling a node with many elements costs.
func stallTable(match *regexp.Regexp, scale int) error {
	n := stallElements / scale
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%d elements\tµs/insert\tworst insert ms\t2nd\t100th\tGC cycles\tworst GC pause ms\tmedian\tGC CPU %%\tremoval ms\tlongest hold ms\t\n", n)
	for _, k := range stallKinds() {
		if !match.MatchString(k.name) {
			continue
		}
		r := k.run(n)
		fmt.Fprintf(w, "%s\t%.2f\t%.3f\t%.3f\t%.3f\t%d\t%.3f\t%.3f\t%.2f\t%.3f\t%.3f\t\n", k.name, r.each*1e6, r.slowest[0].Seconds()*1e3,
			r.slowest[1].Seconds()*1e3, r.slowest[99].Seconds()*1e3, r.cycles, r.pauseMax*1e3, r.pauseMedian*1e3, 100*r.share,
			r.removal.Seconds()*1e3, r.hold.Seconds()*1e3)
		w.Flush()
	}
	return nil
}

// stallResult is what one kind has cost.
type stallResult struct {
	each                  float64         // seconds of processor time a command
	slowest               []time.Duration // the slowest commands, by their threads' clocks
	cycles                uint64
	pauseMax, pauseMedian float64 // seconds that the world stood still, time that passed
	share                 float64 // of the collector in the processor time
	removal               time.Duration
	hold                  time.Duration // the longest that a shard was held while what was removed was freed
}

// gcEvery is how often a collection is forced, in commands: without clients the heap is so quiet that there would be none.
const gcEvery = 500_000

func (k *stallKind) run(n int) (r stallResult) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := &bench{}
	defer func() {
		slices.Reverse(b.cleanups)
		for _, fn := range b.cleanups {
			fn()
		}
	}()
	e := inproc.New(b, inproc.Options{})
	s, w := e.NewSession(inproc.Nowhere{}, engine.Peer{Loopback: true}), e.NewWorker()
	before := readCollector()
	begin := threadTime(unix.CLOCK_PROCESS_CPUTIME_ID)
	var args [][]byte
	var in, name []byte
	for i := range n {
		name = append(strconv.AppendInt(append(name[:0], "element:"...), int64(i), 10), "..."...)
		args = k.cmd(args[:0], name, i)
		in = resp.AppendCommand(in[:0], args...)
		start := threadTime(unix.CLOCK_THREAD_CPUTIME_ID)
		s.Process(w, in)
		took := threadTime(unix.CLOCK_THREAD_CPUTIME_ID) - start
		w.Out.Reset()
		r.note(took)
		if i%gcEvery == 0 {
			runtime.GC()
		}
	}
	total := threadTime(unix.CLOCK_PROCESS_CPUTIME_ID) - begin
	r.each = total.Seconds() / float64(n)
	after := readCollector()
	r.cycles = after.cycles - before.cycles
	r.share = (after.seconds - before.seconds) / total.Seconds()
	r.pauseMax, r.pauseMedian = after.pausesSince(before)
	in = resp.AppendCommand(in[:0], bytes.Fields([]byte(k.end))...)
	start := threadTime(unix.CLOCK_THREAD_CPUTIME_ID)
	s.Process(w, in)
	r.removal = threadTime(unix.CLOCK_THREAD_CPUTIME_ID) - start
	r.hold = longestHold(e)
	s.Close()
	return r
}

// longestHold frees all that was removed, as a server does, and returns the longest that this held a shard.
func longestHold(e *engine.Engine) (longest time.Duration) {
	const perHold = 128 // as the server's cron
	for i := range e.Shards() {
		for left := int64(1); left > 0; {
			start := threadTime(unix.CLOCK_THREAD_CPUTIME_ID)
			left = e.Part(i).FreeSome(perHold)
			longest = max(longest, threadTime(unix.CLOCK_THREAD_CPUTIME_ID)-start)
		}
	}
	return longest
}

// note keeps the 100 slowest.
func (r *stallResult) note(took time.Duration) {
	const kept = 100
	if len(r.slowest) == kept && took <= r.slowest[kept-1] {
		return
	}
	at, _ := slices.BinarySearchFunc(r.slowest, took, func(a, b time.Duration) int { return int(b - a) })
	r.slowest = slices.Insert(r.slowest, at, took)
	r.slowest = r.slowest[:min(len(r.slowest), kept)]
}

func threadTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		panic(err)
	}
	return time.Duration(t.Nano())
}

// collector is what the garbage collector has done so far.
type collector struct {
	pauses  *metrics.Float64Histogram
	seconds float64 // of the processor, without pauses, which the runtime counts as time that passes
	cycles  uint64
}

func readCollector() collector {
	list := []metrics.Sample{
		{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/cpu/classes/gc/pause:cpu-seconds"},
	}
	metrics.Read(list)
	h := list[0].Value.Float64Histogram()
	return collector{&metrics.Float64Histogram{Counts: slices.Clone(h.Counts), Buckets: slices.Clone(h.Buckets)},
		list[1].Value.Float64() - list[3].Value.Float64(), list[2].Value.Uint64()}
}

// pausesSince is the longest pause since an earlier look, and the median, each as the upper end of its bucket.
func (c *collector) pausesSince(before collector) (longest, median float64) {
	total, seen := uint64(0), uint64(0)
	for i, n := range c.pauses.Counts {
		total += n - before.pauses.Counts[i]
	}
	for i, n := range c.pauses.Counts {
		some := n - before.pauses.Counts[i]
		if some == 0 {
			continue
		}
		longest = c.pauses.Buckets[i+1]
		if math.IsInf(longest, 1) {
			longest = c.pauses.Buckets[i]
		}
		if seen*2 < total {
			median = longest
		}
		seen += some
	}
	return longest, median
}
