package transport

import "sync"

// mailbox is a queue from any goroutine to one owner. Wake-ups are the owner's business: put says whether it was empty.
type mailbox[T any] struct {
	mu     sync.Mutex // a leaf lock
	items  []T
	closed bool
}

// put adds an item; first says that the owner must be woken. It reports false when the owner is gone.
func (m *mailbox[T]) put(item T) (first, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false, false
	}
	m.items = append(m.items, item)
	return len(m.items) == 1, true
}

// take moves all items to dst.
func (m *mailbox[T]) take(dst []T) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	dst = append(dst, m.items...)
	clear(m.items)
	m.items = m.items[:0]
	return dst
}

// shut refuses further items and returns those that are left.
func (m *mailbox[T]) shut() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	left := m.items
	m.items = nil
	return left
}
