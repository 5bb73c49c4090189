package engine

import (
	"sync"
	"sync/atomic"
)

// Offset counts bytes of the replication stream.
type Offset = int64

// logBlockBytes is the size of one block of the log; a reader keeps at most the blocks from its position on alive. Where little
// history is kept blocks are as small as that, but not smaller than logBlockLeast: history is forgotten by whole blocks.
const (
	logBlockBytes = 64 << 10
	logBlockLeast = 16 << 10
)

// block is a piece of the log. Bytes below the log's end never change, so readers copy nothing.
type block struct {
	start Offset // offset of data[0]
	data  []byte
	next  *block // set once, under the log's mutex
}

// Log is the ordered stream of effects: the replication backlog and the append-only file are readers of it. Appending is
// done under the shard locks of the keys concerned, so the order per slot is exact. Its mutex is a leaf.
type Log struct {
	on atomic.Bool // whether effects are collected; changed under all shard locks

	mu struct {
		sync.Mutex
		id        string // replication id: 40 hexadecimal digits
		id2       string // the id before the last failover, valid up to id2Valid
		id2Valid  Offset // first offset that is no longer id2's history; -1 for none
		head      *block // oldest block kept
		tail      *block
		end       Offset // offset after the last byte
		keepBytes int64  // how much history is kept for partial resynchronisation
		histStart Offset // oldest offset that a partial resynchronisation may ask for
		db        int    // database selected in the stream, -1 for none
		waiting   []*LogReader
		readers   map[*LogReader]struct{} // those that keep history
		scratch   []byte
	}
	end     atomic.Int64           // mu.end, for those who only look
	sleeper atomic.Int32           // readers that wait
	files   atomic.Int32           // readers for the append-only file
	sink    atomic.Pointer[func()] // see SetSink
}

const noID = "0000000000000000000000000000000000000000"

func newLog(id string) *Log {
	l := &Log{}
	l.mu.id, l.mu.id2, l.mu.id2Valid = id, noID, -1
	l.mu.keepBytes = 1 << 20
	l.resetBlocks(0)
	return l
}

// On says whether effects are collected.
func (l *Log) On() bool { return l.on.Load() }

// End is the offset behind the last effect.
func (l *Log) End() Offset { return l.end.Load() }

// Start begins collecting; the caller holds all shard locks.
func (l *Log) Start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.on.Load() {
		return
	}
	l.resetBlocks(l.mu.end)
	l.on.Store(true)
}

// Stop ends collecting and drops the history; the caller holds all shard locks. While the append-only file needs the
// effects, only what is kept for replicas goes.
func (l *Log) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r := range l.mu.readers {
		if r.file {
			l.mu.histStart = l.mu.end
			return
		}
	}
	l.on.Store(false)
	l.resetBlocks(l.mu.end)
}

func (l *Log) resetBlocks(at Offset) {
	b := &block{start: at} // takes nothing until the first byte is written
	l.mu.head, l.mu.tail = b, b
	l.mu.end, l.mu.histStart, l.mu.db = at, at, -1
	l.end.Store(at)
}

// SetBacklogBytes sets how much history is kept.
func (l *Log) SetBacklogBytes(n int64) {
	l.mu.Lock()
	l.mu.keepBytes = n
	l.trim()
	l.mu.Unlock()
}

// append adds one block of effects and returns the offset behind it.
func (l *Log) append(fx *effects) Offset {
	var big *chain
	if fx.apart > 0 {
		big = newChain(fx.size())
		fx.pieces(big.write)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	wrap := fx.count > 1
	if wrap {
		l.write(wordsMulti)
	}
	if l.mu.db != fx.first {
		l.mu.scratch = appendSelect(l.mu.scratch[:0], fx.first)
		l.write(l.mu.scratch)
	}
	if len(fx.replicasOnly) > 0 {
		l.leaveOut(fx.replicasOnly)
	}
	if big != nil {
		l.link(big)
	} else {
		l.write(fx.buf)
	}
	if wrap {
		l.write(wordsExec)
	}
	l.mu.db = fx.last
	l.trim()
	l.end.Store(l.mu.end)
	return l.mu.end
}

var (
	wordsMulti = []byte("*1\r\n$5\r\nMULTI\r\n")
	wordsExec  = []byte("*1\r\n$4\r\nEXEC\r\n")
)

// appendRaw adds bytes of a primary's stream as they came, of which the last ones may be many; db is what is selected after
// them. replicasOnly says that they are nothing for the append-only file.
func (l *Log) appendRaw(b, big []byte, db int, replicasOnly bool) {
	var blocks *chain
	if len(big) > 0 {
		blocks = newChain(len(big))
		blocks.write(big)
	}
	l.mu.Lock()
	if replicasOnly {
		l.leaveOut([]span{{to: len(b) + len(big)}})
	}
	l.write(b)
	if blocks != nil {
		l.link(blocks)
	}
	l.mu.db = db
	l.trim()
	l.end.Store(l.mu.end)
	l.mu.Unlock()
}

// AppendCommand adds a command that concerns no key (PING, REPLCONF GETACK) in RESP form. Without readers the log is off
// and nothing is added.
func (l *Log) AppendCommand(encoded []byte) {
	l.mu.Lock()
	if !l.on.Load() {
		l.mu.Unlock()
		return
	}
	l.leaveOut([]span{{to: len(encoded)}})
	l.write(encoded)
	l.trim()
	l.end.Store(l.mu.end)
	l.mu.Unlock()
	l.Kick()
}

// write copies b to the tail; mu is held.
func (l *Log) write(b []byte) {
	for len(b) > 0 {
		t := l.mu.tail
		room := cap(t.data) - len(t.data)
		if room == 0 {
			t.next = &block{start: l.mu.end, data: make([]byte, 0, min(max(l.mu.keepBytes, logBlockLeast), logBlockBytes))}
			l.mu.tail = t.next
			continue
		}
		n := min(room, len(b))
		t.data = append(t.data, b[:n]...)
		b = b[n:]
		l.mu.end += Offset(n)
	}
}

// chain is blocks for so much that the log should not be locked while it is copied.
type chain struct {
	first, last *block
	left        int // bytes that come
}

func newChain(size int) *chain {
	b := &block{data: make([]byte, 0, min(size, logBlockBytes))}
	return &chain{b, b, size}
}

// write copies b into the blocks.
func (c *chain) write(b []byte) {
	for len(b) > 0 {
		if len(c.last.data) == cap(c.last.data) {
			c.last.next = &block{data: make([]byte, 0, min(c.left, logBlockBytes))}
			c.last = c.last.next
		}
		n := min(cap(c.last.data)-len(c.last.data), len(b))
		c.last.data = append(c.last.data, b[:n]...)
		b = b[n:]
		c.left -= n
	}
}

// link puts the blocks of a chain at the end; mu is held.
func (l *Log) link(c *chain) {
	l.mu.tail.next = c.first
	l.mu.tail = c.last
	for b := c.first; b != nil; b = b.next {
		b.start = l.mu.end
		l.mu.end += Offset(len(b.data))
	}
}

// trim forgets whole blocks that are older than the history kept; mu is held. What a reader has not read yet is in memory
// anyway, so it stays history.
func (l *Log) trim() {
	if h := l.mu.head; h.next == nil || l.mu.end-h.next.start < l.mu.keepBytes {
		return
	}
	needed := l.mu.end
	for r := range l.mu.readers {
		needed = min(needed, r.off)
	}
	for h := l.mu.head; h.next != nil && l.mu.end-h.next.start >= l.mu.keepBytes && h.next.start <= needed; h = l.mu.head {
		l.mu.head = h.next
		l.mu.histStart = max(l.mu.histStart, h.next.start)
	}
}

// SetSink has fn called whenever a worker has ended a batch with effects, on the worker's thread and without shard locks; nil
// calls nobody. It is how the append-only file gets its data without a goroutine being woken.
func (l *Log) SetSink(fn func()) {
	if fn == nil {
		l.sink.Store(nil)
		return
	}
	l.sink.Store(&fn)
}

// Kick wakes readers that wait for more; a worker calls it once a batch.
func (l *Log) Kick() {
	if sink := l.sink.Load(); sink != nil {
		(*sink)()
	}
	if l.sleeper.Load() == 0 {
		return
	}
	l.mu.Lock()
	list := l.mu.waiting
	l.mu.waiting = nil
	l.sleeper.Store(0)
	l.mu.Unlock()
	for _, r := range list {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// History describes what a partial resynchronisation can be served from.
type History struct {
	On         bool
	ID, ID2    string
	ID2Valid   Offset // -1: no second id
	Start, End Offset
	KeepBytes  int64
}

// History returns the ids and the range kept.
func (l *Log) History() History {
	l.mu.Lock()
	defer l.mu.Unlock()
	return History{l.on.Load(), l.mu.id, l.mu.id2, l.mu.id2Valid, l.mu.histStart, l.mu.end, l.mu.keepBytes}
}

// StreamDB is the database selected at the end of the stream, -1 when the next effect selects one.
func (l *Log) StreamDB() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.db
}

// Unselect makes the next effect select its database anew, for a reader that starts here without having seen what came
// before. The caller holds all shard locks.
func (l *Log) Unselect() {
	l.mu.Lock()
	l.mu.db = -1
	l.mu.Unlock()
}

// Adopt makes the log continue another node's history from at on, dropping its own; db is what that stream selected. The
// caller holds all shard locks.
func (l *Log) Adopt(id string, at Offset, db int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resetBlocks(at)
	l.mu.id, l.mu.id2, l.mu.id2Valid, l.mu.db = id, noID, -1, db
	l.on.Store(true)
}

// Rename continues the history under a new id and remembers the old one as the second: what a replica does when it is
// promoted. The next effect selects its database.
func (l *Log) Rename(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rename(id)
	l.mu.db = -1
}

// Follow is Rename for a replica whose primary has a new id: the stream goes on, in the database it has selected.
func (l *Log) Follow(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rename(id)
}

// rename changes the ids; mu is held.
func (l *Log) rename(id string) {
	l.mu.id2, l.mu.id2Valid = l.mu.id, l.mu.end+1
	l.mu.id = id
}

// Forget drops the history because the data that it led to is gone; what comes has a new id and begins at offset 0. While the
// append-only file needs the effects the offsets go on. The caller holds all shard locks.
func (l *Log) Forget(id string) {
	l.NewID(id)
	l.Stop()
	if !l.On() {
		l.mu.Lock()
		l.resetBlocks(0)
		l.mu.Unlock()
	}
}

// NewID starts a history nobody can follow partially (DEBUG CHANGE-REPL-ID).
func (l *Log) NewID(id string) {
	l.mu.Lock()
	l.mu.id = id
	l.mu.id2, l.mu.id2Valid = noID, -1
	l.mu.Unlock()
}
