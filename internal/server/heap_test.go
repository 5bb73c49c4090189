package server

import "testing"

// A heap that grew is given back once nothing collects it; one that is in use is left in peace for longer and longer.
func TestHeapKeeper(t *testing.T) {
	const mb = 1 << 20
	k := heapKeeper{held: 3 * mb}
	look := func(cycles, held uint64) bool { return k.due(heapState{cycles, held}) }

	for range 2 {
		if look(3, 3*mb) {
			t.Error("a small heap is collected")
		}
	}
	if !look(3, 5*mb) {
		t.Error("a small heap that grew is left")
	}
	k.done(heapState{3, 8 * mb}, heapState{4, 8 * mb}) // a worker kept its buffers, for a moment
	if !look(4, 8*mb) {
		t.Error("what a heap kept for a moment stays with it")
	}
	k.done(heapState{4, 8 * mb}, heapState{4, 3 * mb})
	if look(5, 500*mb) || look(6, 500*mb) {
		t.Error("a heap is collected beside the runtime's own collections")
	}
	if !look(6, 500*mb) {
		t.Fatal("a big quiet heap is left")
	}
	k.done(heapState{6, 500 * mb}, heapState{7, 3 * mb})
	if look(7, 3*mb) {
		t.Error("nothing is left to collect")
	}
	if !look(7, 400*mb) {
		t.Fatal("a heap that grew again is left")
	}
	waits := make([]int, 0, 8)
	for range 8 { // all of it is in use
		k.done(heapState{k.cycles, 400 * mb}, heapState{k.cycles + 1, 400 * mb})
		n := 1
		for !look(k.cycles, 400*mb) {
			n++
		}
		waits = append(waits, n)
	}
	if waits[0] > 2 || waits[4] <= waits[1] || waits[7] != heapPauseMost {
		t.Errorf("attempts in vain came after %v periods", waits)
	}
	if !look(k.cycles, 480*mb) {
		t.Error("growth has to wait for the pause")
	}
}
