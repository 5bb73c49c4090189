// Package observe keeps what a node knows of its own speed: how long the calls of each command took, which calls were slow,
// and how long the slow events of its subsystems took. It is pure: times come in as arguments.
package observe

import (
	"math/bits"
	"sync/atomic"
)

// This file holds the histogram of durations.
//
// Up to 16 ns every nanosecond has a counter; above, each doubling has 16 counters of equal width, so that a duration is
// known to 6 %. The last counter takes what is longer than a second, which is what Redis's histograms cover too.

const (
	fineBits   = 4
	fine       = 1 << fineBits // counters of a doubling
	nanosMax   = 1 << 30       // a second, about
	counters   = (30-fineBits)*fine + 2*fine
	logBase    = 1024 // nanoseconds: the end of the first step of Steps
	nanosMicro = 1000
	redisSub   = 128 // counters of a doubling in Redis, whose steps are named by the last duration of a counter
)

// Histogram counts durations. One thread adds, any goroutine reads.
type Histogram struct{ counts [counters]atomic.Uint64 }

// Bucket is the number of the counter for a duration in nanoseconds.
func Bucket(nanos int64) int {
	n := uint64(min(max(nanos, 0), nanosMax))
	if n < fine {
		return int(n)
	}
	shift := bits.Len64(n) - 1 - fineBits
	return (shift+1)<<fineBits + int(n>>shift)&(fine-1)
}

// upper is the longest duration that a counter takes, in nanoseconds.
func upper(bucket int) int64 {
	if bucket < fine {
		return int64(bucket)
	}
	shift := bucket>>fineBits - 1
	return int64(fine+bucket&(fine-1)+1)<<shift - 1
}

// Add counts n durations of a bucket.
func (h *Histogram) Add(bucket int, n uint64) { h.counts[bucket].Add(n) }

// Merge adds another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for i := range o.counts {
		if n := o.counts[i].Load(); n > 0 {
			h.counts[i].Add(n)
		}
	}
}

// Sum is the contents of histograms of one command, as they were at one moment, about.
type Sum struct {
	counts [counters]uint64
	Total  uint64
}

// Take adds a histogram.
func (s *Sum) Take(h *Histogram) {
	for i := range h.counts {
		n := h.counts[i].Load()
		s.counts[i] += n
		s.Total += n
	}
}

// Drop takes out what an earlier sum had.
func (s *Sum) Drop(earlier *Sum) {
	for i := range s.counts {
		n := min(earlier.counts[i], s.counts[i])
		s.counts[i] -= n
		s.Total -= n
	}
}

// Percentile is the duration that p percent of the calls did not exceed, in microseconds.
func (s *Sum) Percentile(p float64) float64 {
	want := uint64(p/100*float64(s.Total) + 0.5)
	want = max(want, 1)
	seen := uint64(0)
	for i, n := range s.counts {
		if seen += n; seen >= want {
			return float64(upper(i)) / nanosMicro
		}
	}
	return 0
}

// Steps calls fn with the number of calls up to 1, 2, 4, 8, 16, 33, 66, ... microseconds, which are the steps that Redis has,
// until all calls are in. Steps that no call is in are left out.
func (s *Sum) Steps(fn func(micros int64, calls uint64)) {
	seen, at, told := uint64(0), 0, uint64(0)
	for end := int64(logBase); at < counters && seen < s.Total; end *= 2 {
		for at < counters && upper(at) < end {
			seen += s.counts[at]
			at++
		}
		if end > nanosMax {
			seen = s.Total
		}
		if seen > told {
			fn((end+end/redisSub-1)/nanosMicro, seen)
			told = seen
		}
	}
}
