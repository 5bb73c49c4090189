package acl

import (
	"slices"
	"sync"

	"github.com/covey-db/covey/internal/clock"
)

// This file holds the log of what was refused.

// Context is where a refused command came from.
type Context uint8

// The contexts.
const (
	TopLevel Context = iota
	InMulti
	InScript
)

func (c Context) String() string { return [...]string{"toplevel", "multi", "lua"}[c] }

func (r Reason) String() string {
	return [...]string{"", "command", "key", "channel", "auth"}[r]
}

// Entry is something that was refused, once or several times in a short while.
type Entry struct {
	ID      int64
	Count   int64
	Reason  Reason
	Context Context
	Object  string // the command, key or channel
	User    string
	Client  string // the last client, as CLIENT LIST shows it
	Created clock.Millis
	Updated clock.Millis
}

const (
	// groupWithin is how long after an entry the same thing counts as the same entry.
	groupWithin clock.Millis = 60000
	// groupAmong is how many of the latest entries are looked at for it.
	groupAmong = 10
)

// Log keeps what was refused, the latest first. Any goroutine may use it.
type Log struct {
	mu struct { // a leaf lock
		sync.Mutex
		entries []Entry // the latest last
		nextID  int64
	}
}

// Add notes an entry, of which Count, ID and the times are set here. most is acllog-max-len.
func (l *Log) Add(e Entry, now clock.Millis, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Count, e.Created, e.Updated = 1, now, now
	list := l.mu.entries
	for i := len(list) - 1; i >= 0 && i >= len(list)-groupAmong; i-- {
		if old := list[i]; old.sameAs(&e) {
			old.Count++
			old.Updated, old.Client = now, e.Client
			l.mu.entries = append(slices.Delete(list, i, i+1), old)
			return
		}
	}
	e.ID = l.mu.nextID
	l.mu.nextID++
	list = append(list, e)
	if extra := len(list) - max(most, 0); extra > 0 {
		list = slices.Delete(list, 0, extra)
	}
	l.mu.entries = list
}

func (e *Entry) sameAs(other *Entry) bool {
	return e.Reason == other.Reason && e.Context == other.Context && e.Object == other.Object && e.User == other.User &&
		max(e.Updated-other.Updated, other.Updated-e.Updated) <= groupWithin
}

// Last are the latest entries, at most n, the latest first.
func (l *Log) Last(n int64) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	n = min(max(n, 0), int64(len(l.mu.entries)))
	list := slices.Clone(l.mu.entries[int64(len(l.mu.entries))-n:])
	slices.Reverse(list)
	return list
}

// Reset forgets all entries.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.entries = nil
}
