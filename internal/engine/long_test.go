package engine

import (
	"testing"
	"time"

	"github.com/covey-db/covey/internal/spec"
)

func TestLongOnes(t *testing.T) {
	var l longOnes
	const like, milli = 0x123456789abcdef, int64(time.Millisecond)
	isLong := func() bool { return l.micros(like) >= uint64(longNanos/nanosPerMicro) }
	l.learn(like, milli/2, true)
	if l.micros(like) != 0 {
		t.Error("a short command is remembered")
	}
	l.learn(like, 2*milli, true)
	if isLong() {
		t.Error("one run of two milliseconds is enough")
	}
	l.learn(like, 40*milli, true)
	if !isLong() {
		t.Error("a run of 40 ms is not enough")
	}
	if l.micros(like+1) != 0 || l.micros(like+1<<longBits) != 0 {
		t.Error("another command is taken for it")
	}
	runs := 0
	for ; isLong(); runs++ {
		l.learn(like, milli/10, true)
	}
	if runs < 5 || runs > 15 {
		t.Errorf("it is forgotten after %d short runs", runs)
	}
	l.learn(like, int64(time.Hour), true)
	if !isLong() {
		t.Error("an hour does not count")
	}
	other := uint64(like + 1<<40) // in the same place
	l.learn(other, 40*milli, true)
	if isLong() || l.micros(other) == 0 {
		t.Error("the latest is not the one that is known")
	}
}

// What the clock of all has made look long is forgotten as soon as a thread's own time is known.
func TestClockOfAllIsBelievedOnce(t *testing.T) {
	var l longOnes
	const like, milli = 1, int64(time.Millisecond)
	isLong := func() bool { return l.micros(like) >= uint64(longNanos/nanosPerMicro) }
	l.learn(like, 100*milli, false)
	if !isLong() {
		t.Fatal("100 ms are not long")
	}
	l.learn(like, milli/10, true)
	if isLong() {
		t.Error("the time of the thread does not count")
	}
	l.learn(like, 100*milli, false)
	l.learn(like, 40*milli, true)
	l.learn(like, milli/10, true)
	if !isLong() {
		t.Error("one short run is enough to be forgotten")
	}
}

// Where a thread's own time is known it counts, and not how long others had the processor.
func TestOwnTimeCounts(t *testing.T) {
	const like = 1
	e, own := &Engine{}, time.Duration(0)
	w := &Worker{e: e, OwnTime: func() time.Duration { return own }}
	c := &Ctx{e: e, W: w, like: like, weighed: w.ownTime()}
	own += time.Millisecond / 10
	c.weighedIn(int64(time.Second))
	if e.long.micros(like) != 0 {
		t.Error("a command that had no processor is taken for long")
	}
	own += time.Second
	c.weighedIn(int64(time.Second))
	if e.long.micros(like) == 0 {
		t.Error("a second is not remembered")
	}
}

// A short command must not pay for the ones that may be long.
func TestWhoMayTakeLong(t *testing.T) {
	table, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"get": false, "set": false, "incr": false, "hset": false, "lpush": false, "ping": false, "expire": false, "mget": false,
		"exec": false, "eval": true, "fcall": true, "sort": true, "keys": true, "sinterstore": true, "del": true, "lrange": true, "flushall": true,
	} {
		if got := mayTakeLong(table.Find([]byte(name))); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
