package mem

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/covey-db/covey/internal/invariant"
)

// This file holds buffers off the Go heap for what is on its way: big values that arrive, and big replies. Such a buffer is a
// mapping of its own. It takes memory only where it was written, grows without being copied, and is given back at once,
// where the collector would wait until the heap is twice as large.

// Buffers makes such buffers and knows those that live, so that they can be told from others. Any goroutine may use it, and a
// buffer that one has made may be freed by another.
type Buffers struct {
	held atomic.Int64 // bytes of all live buffers

	mu struct { // a leaf lock
		sync.Mutex
		live map[*byte]int // bytes of a live buffer, by its first
	}
}

// New is an empty buffer with room for n bytes at least, n more than 0. Nothing else may free its memory, so a slice of it must
// not outlive it.
func (m *Buffers) New(n int) []byte {
	size := wholePages(n)
	return m.add(mapMemory(uintptr(size)), 0, size)
}

// Grow gives the buffer b, which is one of these, room for n bytes at least; it may move. What it has stays.
func (m *Buffers) Grow(b []byte, n int) []byte {
	from, to := m.remove(b), wholePages(n)
	invariant.That(from > 0 && to >= len(b), "mem: a buffer grows that is none")
	return m.add(remapMemory(unsafe.Pointer(unsafe.SliceData(b)), uintptr(from), uintptr(to)), len(b), to)
}

// Free gives the memory of b back if it is one of these buffers, however much of it the slice has, and says whether it is.
func (m *Buffers) Free(b []byte) bool {
	size := m.remove(b)
	if size == 0 {
		return false
	}
	unmapMemory(unsafe.Pointer(unsafe.SliceData(b)), uintptr(size))
	return true
}

// Has says whether b is one of these buffers.
func (m *Buffers) Has(b []byte) bool { return m.sizeOf(b) > 0 }

// sizeOf is the room of the buffer b in bytes, 0 if it is none of these.
func (m *Buffers) sizeOf(b []byte) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.live[unsafe.SliceData(b)]
}

// Held is the room of all live buffers in bytes.
func (m *Buffers) Held() int64 { return m.held.Load() }

func (m *Buffers) add(base unsafe.Pointer, length, size int) []byte {
	m.held.Add(int64(size))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.live == nil {
		m.mu.live = make(map[*byte]int)
	}
	m.mu.live[(*byte)(base)] = size
	return unsafe.Slice((*byte)(base), size)[:length]
}

// remove forgets a buffer and returns its size, 0 if it is none.
func (m *Buffers) remove(b []byte) (size int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	first := unsafe.SliceData(b)
	size = m.mu.live[first]
	delete(m.mu.live, first)
	m.held.Add(-int64(size))
	return size
}

func wholePages(n int) int { return (n + systemPage - 1) &^ (systemPage - 1) }
