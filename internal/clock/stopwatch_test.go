package clock

import (
	"testing"
	"time"
)

// TestStopwatchKeepsTheTime compares it with the system for some milliseconds, in which it has to ask several times.
func TestStopwatchKeepsTheTime(t *testing.T) {
	w := NewStopwatch()
	last := int64(0)
	for time.Since(w.Start()) < 20*time.Millisecond {
		before := int64(time.Since(w.Start()))
		got := w.Nanos()
		after := int64(time.Since(w.Start()))
		if got < last {
			t.Fatalf("%d after %d", got, last)
		}
		if got < before-trustNanos || got > after+trustNanos {
			t.Fatalf("%d is not about %d to %d", got, before, after)
		}
		last = got
	}
}

// TestStopwatchSurvivesItsCounter moves what it knows of the counter.
func TestStopwatchSurvivesItsCounter(t *testing.T) {
	for _, off := range []uint64{1, 1 << 20, 1 << 40, 1 << 62, 1<<64 - 1<<40} {
		w := NewStopwatch()
		for w.limit == 0 && ticks() != 0 {
			w.Nanos()
		}
		w.ticks += off
		before := int64(time.Since(w.start))
		if got := w.Nanos(); got < before-2*trustNanos || got > int64(time.Since(w.start))+2*trustNanos {
			t.Errorf("off by %d ticks: %d, the time is %d", off, got, before)
		}
	}
}

func TestIsReal(t *testing.T) {
	if !IsReal(Real()) || IsReal(NewManual(0)) {
		t.Error("the clocks are taken for each other")
	}
}
