package mem_test

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/mem"
)

// Buffers keep what is written into them however they grow, and nothing is held when all are freed.
func TestBuffersKeepTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m mem.Buffers
		var live, want [][]byte
		next := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"new": func(t *rapid.T) {
				n := rapid.IntRange(1, 300_000).Draw(t, "n")
				b := m.New(n)
				if len(b) != 0 || cap(b) < n || cap(b) > n+4096 || !m.Has(b) {
					t.Fatalf("%d of %d bytes for %d", len(b), cap(b), n)
				}
				next++
				live, want = append(live, append(b, next)), append(want, []byte{next})
			},
			"write": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "i")
				n := rapid.IntRange(0, cap(live[i])-len(live[i])).Draw(t, "n")
				next++
				more := bytes.Repeat([]byte{next}, n)
				live[i], want[i] = append(live[i], more...), append(want[i], more...)
			},
			"grow": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "i")
				n := rapid.IntRange(len(live[i]), 2*len(live[i])+5000).Draw(t, "n")
				if live[i] = m.Grow(live[i], n); cap(live[i]) < n {
					t.Fatalf("room for %d after it grew to %d", cap(live[i]), n)
				}
			},
			"free": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "i")
				if !m.Free(live[i][:1]) {
					t.Fatal("a buffer is not known")
				}
				live, want = slices.Delete(live, i, i+1), slices.Delete(want, i, i+1)
			},
			"": func(t *rapid.T) {
				held := 0
				for i := range live {
					held += cap(live[i])
					if !bytes.Equal(live[i], want[i]) {
						t.Fatalf("buffer %d is damaged", i)
					}
				}
				if m.Held() != int64(held) {
					t.Fatalf("%d bytes are held, there are %d", m.Held(), held)
				}
			},
		})
		for _, b := range live {
			m.Free(b)
		}
		if m.Held() != 0 {
			t.Fatalf("%d bytes are held by nobody", m.Held())
		}
	})
}

// A slice that is no buffer is left alone: one of Go's, none, and one that does not begin where a buffer does.
func TestBuffersAreToldFromOthers(t *testing.T) {
	var m mem.Buffers
	b := m.New(10_000)[:10_000]
	for _, other := range [][]byte{nil, make([]byte, 0, 10_000), b[1:]} {
		if m.Has(other) || m.Free(other) {
			t.Fatal("a stranger was taken for a buffer")
		}
	}
	if !m.Free(b) || m.Free(b) || m.Held() != 0 {
		t.Fatal("a buffer can be freed once")
	}
}

func TestBuffersServeManyGoroutines(t *testing.T) {
	var m mem.Buffers
	given := make(chan []byte, 4)
	var makers, takers sync.WaitGroup
	for i := range 4 {
		makers.Go(func() {
			for n := range 200 {
				b := m.New(1 + n*100)
				given <- m.Grow(append(b, byte(i)), 40_000)
			}
		})
		takers.Go(func() {
			for b := range given {
				if b[0] > 3 || !m.Free(b) {
					t.Error("a buffer came damaged")
				}
			}
		})
	}
	makers.Wait()
	close(given)
	takers.Wait()
	if m.Held() != 0 {
		t.Fatalf("%d bytes are held", m.Held())
	}
}

func BenchmarkBuffer(b *testing.B) {
	var m mem.Buffers
	for b.Loop() {
		m.Free(m.New(1 << 20))
	}
}
