package mem

import "math/bits"

// This file holds what brings an arena that has become quiet back to what it needs. While blocks come and go, a reserve of
// free pages that take memory saves the faults of each coming; 64 shards may hold 8 MiB so. What of the reserve was never
// touched between two calls of Decay is not needed.

// decayChunks bounds the chunks whose pages one call discards: some 20 µs each.
const decayChunks = 16

// clean notes that so many of the free pages do not take memory any more, or are not free.
func (h *pageHeap) clean(n int) {
	h.dirty -= n
	h.low = min(h.low, h.dirty)
}

// Decay gives free pages back to the system of which no use was made since it was called last. Its owner calls it about
// once a second.
func (a *Arena) Decay() {
	h := &a.pages
	for range decayChunks {
		if h.low <= 0 {
			break
		}
		h.low -= a.purgeNext()
	}
	if a.idle != 0 && a.idle == a.quiet {
		a.releaseIdle()
	}
	a.quiet = a.idle
	h.low = h.dirty
}

// purgeNext discards the free pages of the next chunk that has some which take memory, not of all: the caller waits. It
// returns how many those were.
func (a *Arena) purgeNext() (pages int) {
	h := &a.pages
	for range h.chunks {
		h.cursor++
		if int(h.cursor) >= len(h.chunks) {
			h.cursor = 1
		}
		if h.cursor < uint32(len(h.chunks)) && h.chunks[h.cursor].dirty != 0 {
			pages = bits.OnesCount64(h.chunks[h.cursor].dirty)
			a.purge(h.cursor)
			return pages
		}
	}
	return 0
}
