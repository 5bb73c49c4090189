package mem

import "testing"

// TestPrefetchNeverFaults asks for lines that are nobody's.
func TestPrefetchNeverFaults(t *testing.T) {
	for _, address := range []uintptr{0, 1, 4096, 1 << 40, 1<<47 - 1, ^uintptr(0)} {
		prefetch(address)
	}
	a := NewArena(Options{})
	defer a.Close()
	r := a.Alloc(ForBlob, 100)
	a.Prefetch(r, 0, true)
	a.Prefetch(r, chunkSize, true)
	a.Free(ForBlob, r, 100)
	a.Prefetch(r, 0, false)
	Prefetch(a)
}
