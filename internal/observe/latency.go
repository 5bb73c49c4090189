package observe

import (
	"slices"
	"strings"
	"sync"
)

// This file holds the latency monitor: a short history of the slow events of each kind.

// samplesKept is how many events of a kind are kept.
const samplesKept = 160

// Sample is an event.
type Sample struct {
	At     int64 // Unix seconds
	Millis int64
}

// Series are the events of one kind, the oldest first.
type Series struct {
	Event   string
	Samples []Sample
	Max     int64 // the longest ever, in milliseconds
}

// Last is the latest event.
func (s *Series) Last() Sample { return s.Samples[len(s.Samples)-1] }

// Latency keeps series by kind. Any goroutine may use it.
type Latency struct {
	mu struct { // a leaf lock
		sync.Mutex
		series map[string]*Series
	}
}

// Add notes an event. Several in one second count as the longest of them.
func (l *Latency) Add(event string, s Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.series == nil {
		l.mu.series = make(map[string]*Series)
	}
	series := l.mu.series[event]
	if series == nil {
		series = &Series{Event: event}
		l.mu.series[event] = series
	}
	series.Max = max(series.Max, s.Millis)
	if n := len(series.Samples); n > 0 && series.Samples[n-1].At == s.At {
		series.Samples[n-1].Millis = max(series.Samples[n-1].Millis, s.Millis)
		return
	}
	if len(series.Samples) == samplesKept {
		series.Samples = slices.Delete(series.Samples, 0, 1)
	}
	series.Samples = append(series.Samples, s)
}

// All are the series in the order of their names.
func (l *Latency) All() []Series {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Series, 0, len(l.mu.series))
	for _, s := range l.mu.series {
		list = append(list, Series{s.Event, slices.Clone(s.Samples), s.Max})
	}
	slices.SortFunc(list, func(a, b Series) int { return strings.Compare(a.Event, b.Event) })
	return list
}

// Of is one series, whose name is compared without case; false when there is none.
func (l *Latency) Of(event string) (Series, bool) {
	for _, s := range l.All() {
		if strings.EqualFold(s.Event, event) {
			return s, true
		}
	}
	return Series{}, false
}

// Reset forgets the named series, or all, and returns how many.
func (l *Latency) Reset(events ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.mu.series {
		if len(events) == 0 || slices.ContainsFunc(events, func(e string) bool { return strings.EqualFold(e, name) }) {
			delete(l.mu.series, name)
			n++
		}
	}
	return n
}
