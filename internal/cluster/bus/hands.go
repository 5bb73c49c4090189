package bus

import (
	"sync"
)

// This file holds the goroutine that carries out what touches the data.

// hands do one deed after another.
type hands struct {
	b    *Bus
	mu   sync.Mutex // a leaf lock, guards deeds
	list []deed
	wake chan struct{}
}

// deed is something to do once a write of nodes.conf is durable.
type deed struct {
	after uint64
	run   func()
}

func newHands(b *Bus) *hands { return &hands{b: b, wake: make(chan struct{}, 1)} }

// put adds a deed. It never blocks; what core asks for is bounded by what happens in the cluster.
func (h *hands) put(after uint64, run func()) {
	h.mu.Lock()
	h.list = append(h.list, deed{after, run})
	h.mu.Unlock()
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

func (h *hands) take() []deed {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.list
	h.list = nil
	return list
}

// run works until the bus stops. A command is begun only when all deeds are done, so that it sees the node as the core
// believes it to be.
func (h *hands) run() {
	for {
		for list := h.take(); len(list) > 0; list = h.take() {
			for _, d := range list {
				if !h.b.disk.await(d.after) {
					return
				}
				d.run()
			}
		}
		select {
		case <-h.b.stopped:
			return
		case <-h.wake:
		case o := <-h.b.orders:
			h.b.begin(o)
		}
	}
}
