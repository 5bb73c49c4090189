package testkit

import (
	"bytes"
	"strings"
	"sync"
)

const logBytesMax = 4 << 20 // a server that logs more is itself at fault; its first and last lines matter

// serverLog collects what a server prints. Any goroutine may use it.
type serverLog struct {
	mu struct { // a leaf lock
		sync.Mutex
		text    []byte
		changed chan struct{} // closed and replaced when text grows
	}
}

func newServerLog() *serverLog {
	l := &serverLog{}
	l.mu.changed = make(chan struct{})
	return l
}

// Write implements io.Writer for the process.
func (l *serverLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.mu.text)+len(b) > logBytesMax {
		l.mu.text = append(l.mu.text[:logBytesMax/4], bytes.Clone(l.mu.text[len(l.mu.text)/2:])...)
	}
	l.mu.text = append(l.mu.text, b...)
	close(l.mu.changed)
	l.mu.changed = make(chan struct{})
	return len(b), nil
}

// state returns the text so far and a channel that is closed when more arrives.
func (l *serverLog) state() (string, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.mu.text), l.mu.changed
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// clear forgets the text, for the next run of the process.
func (l *serverLog) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.text = nil
}
