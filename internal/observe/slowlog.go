package observe

import (
	"fmt"
	"slices"
	"sync"
)

// This file holds the log of slow commands.

const (
	argsKept     = 32  // arguments of a command that are kept
	argBytesKept = 128 // bytes of an argument that are kept
)

// Slow is a call that took long.
type Slow struct {
	ID           int64
	At           int64 // Unix seconds
	Micros       int64
	Args         []string // shortened
	Client, Name string
}

// SlowLog keeps the latest slow calls. Any goroutine may use it.
type SlowLog struct {
	mu struct { // a leaf lock
		sync.Mutex
		entries []Slow // the latest last
		nextID  int64
	}
}

// Add notes a call, of which ID is set here. most is slowlog-max-len.
func (l *SlowLog) Add(s Slow, most int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.ID = l.mu.nextID
	l.mu.nextID++
	list := append(l.mu.entries, s)
	if extra := int64(len(list)) - most; extra > 0 {
		list = slices.Delete(list, 0, int(extra))
	}
	l.mu.entries = list
}

// Last are the latest n calls, all for a negative n; the latest first.
func (l *SlowLog) Last(n int64) []Slow {
	l.mu.Lock()
	defer l.mu.Unlock()
	have := int64(len(l.mu.entries))
	if n < 0 || n > have {
		n = have
	}
	list := slices.Clone(l.mu.entries[have-n:])
	slices.Reverse(list)
	return list
}

// Len is the number of calls that are kept.
func (l *SlowLog) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.entries)
}

// Reset forgets all calls.
func (l *SlowLog) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.entries = nil
}

// Shorten is a command line as the log keeps it.
func Shorten(args [][]byte) []string {
	n := len(args)
	if n > argsKept {
		n = argsKept - 1
	}
	out := make([]string, 0, n+1)
	for _, a := range args[:n] {
		if extra := len(a) - argBytesKept; extra > 0 {
			out = append(out, fmt.Sprintf("%s... (%d more bytes)", a[:argBytesKept], extra))
			continue
		}
		out = append(out, string(a))
	}
	if n < len(args) {
		out = append(out, fmt.Sprintf("... (%d more arguments)", len(args)-n))
	}
	return out
}
