package engine

import (
	"bytes"
	"testing"

	"github.com/covey-db/covey/internal/mem"
)

func TestSpareBuffers(t *testing.T) {
	var s Spare
	s.Put(make([]byte, 10, spareEachMin-1)) // too small to be kept
	for _, n := range []int{2 << 20, 512 << 10, 1 << 20, 8 << 20, 8 << 20} {
		s.Put(make([]byte, 5, n)) // the last is too much
	}
	if len(s.list) != 4 || s.bytes != 11<<20+512<<10 {
		t.Fatalf("%d buffers of %d bytes are kept", len(s.list), s.bytes)
	}
	for _, c := range []struct{ least, wished, want int }{
		{100 << 10, 1 << 20, 1 << 20},   // the smallest that is as large as wished
		{100 << 10, 20 << 20, 8 << 20},  // the largest, if none is
		{3 << 20, 4 << 20, 3 << 20},     // a new one
		{600 << 10, 600 << 10, 2 << 20}, // the half megabyte is too small
		{1, 1, 1},                       // half a megabyte would be wasted
		{1, 200 << 10, 512 << 10},
		{1, 1000, 1},
	} {
		if b := s.Get(c.least, c.wished); len(b) != 0 || cap(b) != c.want {
			t.Errorf("for %d, better %d bytes: got %d of %d, want %d", c.least, c.wished, len(b), cap(b), c.want)
		}
	}
	if len(s.list) != 0 || s.bytes != 0 {
		t.Errorf("%d buffers of %d bytes are left", len(s.list), s.bytes)
	}
}

func TestSpareIsForgottenWhenUnused(t *testing.T) {
	var s Spare
	s.Put(make([]byte, 1<<20))
	s.Tidy()
	if !s.Held() {
		t.Fatal("a buffer is forgotten right after it was given")
	}
	s.Put(s.Get(1<<20, 1<<20))
	s.Tidy()
	if !s.Held() {
		t.Fatal("a buffer that is used is forgotten")
	}
	s.Tidy()
	if s.Held() || s.bytes != 0 {
		t.Error("a buffer that nobody asked for is kept")
	}
}

// Buffers for very large values lie off the heap, grow without a copy, and are given back at once when they are not kept.
func TestSpareOffTheHeap(t *testing.T) {
	var m mem.Buffers
	s := Spare{buffers: &m}
	if b := s.Get(offHeapMin-1, 64<<20); m.Has(b) || m.Held() != 0 {
		t.Fatal("what is only wished for is taken")
	}
	b := append(s.Get(offHeapMin, offHeapMin), bytes.Repeat([]byte("v"), offHeapMin)...)
	b = s.Grow(b, spareBytesMax+1, spareBytesMax+1)
	if !m.Has(b) || len(b) != offHeapMin || bytes.Count(b, []byte("v")) != offHeapMin || cap(b) <= spareBytesMax {
		t.Fatal("a buffer did not grow as it should")
	}
	if s.Put(b); m.Held() != 0 || s.Held() {
		t.Fatal("a buffer that is too large to be kept is held")
	}
	s.Put(s.Get(2<<20, 2<<20))
	if b := s.Plain(2 << 20); m.Has(b) {
		t.Fatal("a buffer for who appends and forgets lies off the heap")
	}
	if !s.Held() || m.Held() != 2<<20 {
		t.Fatal("a buffer is not kept")
	}
	if s.Drop(); m.Held() != 0 || !m.Has(s.Get(offHeapMin, offHeapMin)) {
		t.Fatal("a Spare that has dropped its buffers does not go on")
	}
}
