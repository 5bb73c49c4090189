package observe

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, nanosMax-1).Draw(t, "nanos")
		b := Bucket(n)
		if n > upper(b) || b > 0 && n <= upper(b-1) {
			t.Fatalf("%d ns is in bucket %d, which takes %d to %d", n, b, upper(b-1)+1, upper(b))
		}
		if float64(upper(b)-n) > float64(n)/fine+1 {
			t.Fatalf("%d ns is shown as %d", n, upper(b))
		}
	})
	if b := Bucket(1 << 60); b >= counters {
		t.Fatalf("bucket %d of %d", b, counters)
	}
}

func TestPercentiles(t *testing.T) {
	var h Histogram
	for i := range int64(1000) {
		h.Add(Bucket((i+1)*1000), 1)
	}
	var s Sum
	s.Take(&h)
	for p, want := range map[float64]float64{50: 500, 99: 990, 99.9: 999, 100: 1000} {
		if got := s.Percentile(p); got < want || got > want*1.07 {
			t.Errorf("p%v: %v, want %v", p, got, want)
		}
	}
	var steps []int64
	last := uint64(0)
	s.Steps(func(micros int64, calls uint64) {
		steps = append(steps, micros)
		last = calls
	})
	if want := []int64{1, 2, 4, 8, 16, 33, 66, 132, 264, 528, 1056}; !slices.Equal(steps, want) || last != 1000 {
		t.Errorf("steps %v, the last has %d calls; want %v", steps, last, want)
	}
	s.Drop(&s)
	if s.Total != 0 {
		t.Errorf("%d calls are left", s.Total)
	}
}

func TestSlowLog(t *testing.T) {
	var l SlowLog
	for i := range 5 {
		l.Add(Slow{Micros: int64(i)}, 3)
	}
	list := l.Last(-1)
	if len(list) != 3 || list[0].ID != 4 || list[2].Micros != 2 || l.Len() != 3 {
		t.Errorf("got %+v", list)
	}
	if got := l.Last(1); len(got) != 1 || got[0].ID != 4 {
		t.Errorf("the last one: %+v", got)
	}
	l.Reset()
	l.Add(Slow{}, 3)
	if got := l.Last(9); got[0].ID != 5 {
		t.Errorf("after a reset numbers go on: %+v", got)
	}
}

func TestShorten(t *testing.T) {
	args := make([][]byte, 40)
	args[0] = []byte(strings.Repeat("x", 200))
	out := Shorten(args)
	if len(out) != 32 || out[31] != "... (9 more arguments)" || out[0] != strings.Repeat("x", 128)+"... (72 more bytes)" {
		t.Errorf("got %q", out)
	}
	if out := Shorten(args[:32]); len(out) != 32 || out[31] != "" {
		t.Errorf("32 arguments: %q", out)
	}
}

func TestLatency(t *testing.T) {
	var l Latency
	for i := range int64(200) {
		l.Add("command", Sample{At: i, Millis: i})
	}
	l.Add("command", Sample{At: 199, Millis: 5})
	l.Add("expire-cycle", Sample{At: 1, Millis: 7})
	s, ok := l.Of("COMMAND")
	if !ok || len(s.Samples) != 160 || s.Last() != (Sample{199, 199}) || s.Max != 199 || s.Samples[0].At != 40 {
		t.Errorf("got %v %+v", ok, s)
	}
	if n := l.Reset("nosuch", "command"); n != 1 || len(l.All()) != 1 {
		t.Errorf("reset %d", n)
	}
	if n := l.Reset(); n != 1 || len(l.All()) != 0 {
		t.Errorf("reset all: %d", n)
	}
}
