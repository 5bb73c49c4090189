package engine

import "errors"

// This file holds the reading of the log.

// ErrHistoryGone says that the wanted offset is no longer, or not yet, in the log.
var ErrHistoryGone = errors.New("offset outside the history kept")

// LogReader reads the log from an offset on. One goroutine uses it.
type LogReader struct {
	l    *Log
	at   *block
	off  Offset
	wake chan struct{}
	file bool   // reads for the append-only file
	skip []skip // what is left out of that, in order; guarded by the log's mutex
}

// Reader starts reading at off.
func (l *Log) Reader(off Offset) (*LogReader, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on.Load() || off < l.mu.histStart || off > l.mu.end {
		return nil, ErrHistoryGone
	}
	b := l.mu.head
	for b.next != nil && b.next.start <= off {
		b = b.next
	}
	r := &LogReader{l: l, at: b, off: off, wake: make(chan struct{}, 1)}
	l.addReader(r)
	return r, nil
}

// FileReader starts reading for the append-only file at the end of the log. It gets no command that is for replicas alone.
// The caller holds all shard locks.
func (l *Log) FileReader() *LogReader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &LogReader{l: l, at: l.mu.tail, off: l.mu.end, wake: make(chan struct{}, 1), file: true}
	l.files.Add(1)
	l.addReader(r)
	return r
}

// addReader makes the log keep what r has not read; mu is held.
func (l *Log) addReader(r *LogReader) {
	if l.mu.readers == nil {
		l.mu.readers = make(map[*LogReader]struct{})
	}
	l.mu.readers[r] = struct{}{}
}

// Close ends the reader's hold on history.
func (r *LogReader) Close() {
	r.l.mu.Lock()
	if _, open := r.l.mu.readers[r]; open && r.file {
		r.l.files.Add(-1)
	}
	delete(r.l.mu.readers, r)
	r.l.trim()
	r.l.mu.Unlock()
}

// Offset is the position of the next byte.
func (r *LogReader) Offset() Offset { return r.off }

// Lag is how many bytes the reader is behind. Any goroutine may ask.
func (r *LogReader) Lag() int64 {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	return r.l.mu.end - r.off
}

// Next returns bytes that are there, nil when the reader has caught up. They stay valid and unchanged.
func (r *LogReader) Next() []byte { return r.NextBefore(1<<63 - 1) }

// NextBefore is Next up to an offset.
func (r *LogReader) NextBefore(limit Offset) []byte {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	for {
		end := min(r.at.start+Offset(len(r.at.data)), limit)
		for len(r.skip) > 0 && r.off >= r.skip[0].from && r.off < end {
			if instead := r.skip[0].instead; instead != nil {
				r.skip[0].instead = nil
				return instead
			}
			r.off = min(r.skip[0].to, end)
			if r.off == r.skip[0].to {
				r.skip = r.skip[1:]
			}
		}
		if len(r.skip) > 0 {
			end = min(end, r.skip[0].from)
		}
		if from := int(r.off - r.at.start); r.off < end {
			r.off = end
			to := int(end - r.at.start)
			return r.at.data[from:to:to]
		}
		if r.at.next == nil || r.off >= limit {
			return nil
		}
		r.at = r.at.next
	}
}

// span is a part of a buffer that is for replicas alone, and what the append-only file gets instead of it.
type span struct {
	from, to int
	instead  []byte // nil: nothing
}

// skip is such a part of the log.
type skip struct {
	from, to Offset
	instead  []byte
}

// hasFile says whether an append-only file reads the log. The caller holds a lock of a shard, so there comes none.
func (l *Log) hasFile() bool { return l.files.Load() > 0 }

// leaveOut notes that parts of what is written next are nothing for the append-only file; mu is held.
func (l *Log) leaveOut(parts []span) {
	for r := range l.mu.readers {
		if !r.file {
			continue
		}
		for _, p := range parts {
			r.skip = append(r.skip, skip{l.mu.end + Offset(p.from), l.mu.end + Offset(p.to), p.instead})
		}
	}
}

// Wait returns a channel that is signalled when there is more to read. Call Next once more after arming it.
func (r *LogReader) Wait() <-chan struct{} {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	for _, w := range r.l.mu.waiting {
		if w == r {
			return r.wake
		}
	}
	r.l.mu.waiting = append(r.l.mu.waiting, r)
	r.l.sleeper.Add(1)
	return r.wake
}
