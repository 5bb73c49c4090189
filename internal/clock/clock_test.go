package clock_test

import (
	"testing"
	"time"

	"github.com/covey-db/covey/internal/clock"
)

var (
	_ clock.Source = clock.Real()
	_ clock.Source = (*clock.Manual)(nil)
)

func TestManualStandsStill(t *testing.T) {
	m := clock.NewManual(1_700_000_000_123)
	first := m.Nanos()
	if m.Now() != 1_700_000_000_123 || m.Nanos() != first {
		t.Fatalf("moved by itself: %d, %d", m.Now(), m.Nanos()-first)
	}
	m.Advance(1500 * time.Microsecond)
	if m.Now() != 1_700_000_000_124 || m.Nanos()-first != 1_500_000 {
		t.Fatalf("after 1.5 ms: %d, %d ns", m.Now(), m.Nanos()-first)
	}
}

func TestManualWallClockIsSet(t *testing.T) {
	m := clock.NewManual(10_000)
	before := m.Nanos()
	for _, to := range []clock.Millis{50_000, 2_000} {
		m.SetWall(to)
		if m.Now() != to {
			t.Fatalf("set to %d, shows %d", to, m.Now())
		}
	}
	m.Advance(time.Second)
	if m.Now() != 3_000 || m.Nanos()-before != int64(time.Second) {
		t.Fatalf("after a second: %d, %d ns", m.Now(), m.Nanos()-before)
	}
}

func TestManualRefusesToRunBackwards(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Fatal("time ran backwards")
		}
	}()
	clock.NewManual(0).Advance(-1)
}

func TestRealIsTheMachinesClock(t *testing.T) {
	c := clock.Real()
	before := time.Now().UnixMilli()
	now, first := c.Now(), c.Nanos()
	if int64(now) < before || int64(now) > time.Now().UnixMilli() {
		t.Fatalf("%d is not between %d and now", now, before)
	}
	if second := c.Nanos(); second < first {
		t.Fatalf("monotonic clock went from %d to %d", first, second)
	}
}

func TestDuration(t *testing.T) {
	if d := clock.Millis(1500).Duration(); d != 1500*time.Millisecond {
		t.Fatal(d)
	}
}
