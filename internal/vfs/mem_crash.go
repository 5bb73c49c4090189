// What a power failure leaves.

package vfs

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
)

const blockSize = 512 // bytes that a disk writes as a whole

// Crash is a power failure that comes before anything became safe that nobody asked for: contents are as at the last Sync,
// names as at the last SyncDir. Open files do not work any more, locks are free.
func (m *Mem) Crash() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashLocked(func(n *node) []byte { return n.safeData })
}

// CrashTorn is a power failure in the middle of things: of what was not safe, some is there. Of the changes of names a first
// part is, of unsafe bytes any blocks, and the file may have any length between the safe one and the last one, with zeros in
// blocks that did not make it.
func (m *Mem) CrashTorn(rng *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, changes := range m.mu.journal[:rng.IntN(len(m.mu.journal)+1)] {
		for _, c := range changes {
			c.apply(c.dir.safeNames)
		}
	}
	m.crashLocked(func(n *node) []byte { return tear(rng, n.safeData, n.data) })
}

// crashLocked goes back to the safe names, and to the content that is left of each file.
func (m *Mem) crashLocked(left func(*node) []byte) {
	m.mu.crashes++
	m.mu.journal = nil
	clear(m.mu.locks)
	seen := map[*node]bool{}
	var visit func(*node)
	visit = func(n *node) {
		if seen[n] { // a file may have its old and its new name
			return
		}
		seen[n] = true
		if !n.dir {
			n.safeData = left(n)
			n.data = bytes.Clone(n.safeData)
			n.clean = len(n.data)
			return
		}
		n.names = maps.Clone(n.safeNames)
		for _, name := range slices.Sorted(maps.Keys(n.names)) {
			visit(n.names[name])
		}
	}
	visit(m.mu.root)
}

// tear mixes the blocks of two states of a file.
func tear(rng *rand.Rand, safe, last []byte) []byte {
	low, high := min(len(safe), len(last)), max(len(safe), len(last))
	size := low + rng.IntN(high-low+1)
	torn := make([]byte, size)
	copy(torn, safe)
	for at := 0; at < size; at += blockSize {
		if rng.IntN(2) == 0 {
			continue
		}
		end := min(at+blockSize, size)
		n := copy(torn[at:end], last[min(at, len(last)):])
		clear(torn[at+n : end])
	}
	return torn
}
