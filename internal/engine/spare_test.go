package engine

import "testing"

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
