package mem_test

import (
	"bytes"
	"testing"

	"github.com/covey-db/covey/internal/mem"
)

// filled is a buffer for a value of n bytes that begins behind lead bytes, with something behind it too.
func filled(m *mem.Buffers, lead, n int) (buf, value []byte) {
	buf = m.New(lead + n + 4096)
	buf = append(buf, bytes.Repeat([]byte{'h'}, lead)...)
	for i := range n {
		buf = append(buf, byte(i*7))
	}
	value = buf[lead : lead+n : lead+n]
	for len(buf) < cap(buf) {
		buf = append(buf, 'x')
	}
	return buf, value
}

// A buffer that was adopted is a block like any other: it keeps its bytes, grows by zeros, shrinks, and is given back.
func TestAdoptedBufferIsABlock(t *testing.T) {
	const n = 3<<20 + 17
	for _, lead := range []int{0, 1, 37, 4095} {
		var m mem.Buffers
		a := mem.NewArena(mem.Options{})
		buf, value := filled(&m, lead, n)
		want := bytes.Clone(value)
		r, room, ok := a.Adopt(mem.ForBlob, &m, buf, value)
		if !ok || room < n || m.Held() != 0 {
			t.Fatalf("behind %d bytes: adopted %v with room for %d, %d bytes are still held", lead, ok, room, m.Held())
		}
		check := func(what string, length, room int) {
			t.Helper()
			if got := a.Bytes(r, length); !bytes.Equal(got, want[:length]) {
				t.Fatalf("behind %d bytes: the block is damaged, %s", lead, what)
			}
			if err := a.Check(); err != nil || a.Used() != int64(room) {
				t.Fatalf("behind %d bytes: %d bytes are used, %s: %v", lead, a.Used(), what, err)
			}
		}
		check("at first", n, room)
		const grown = 5 << 20
		clear(a.Bytes(r, room)[n:]) // what lies there is nobody's
		r = a.Resize(mem.ForBlob, r, room, grown)
		want = append(want, make([]byte, grown-n)...)
		check("when it has grown", grown, grown)
		const shrunk = 1 << 20
		r = a.Resize(mem.ForBlob, r, grown, shrunk)
		check("when it has shrunk", shrunk, shrunk)
		r = a.Resize(mem.ForBlob, r, shrunk, grown)
		clear(want[shrunk:])
		check("when it has grown again", grown, grown)
		a.Free(mem.ForBlob, r, grown)
		for a.Reclaim() {
		}
		if err := a.CheckLeaks(); err != nil || a.Check() != nil {
			t.Fatal(err, a.Check())
		}
		a.Close()
	}
}

// A block that is given to another arena keeps its bytes, and is that arena's to grow and to free.
func TestGivenBlockIsAnotherArenas(t *testing.T) {
	var m mem.Buffers
	from, to := mem.NewArena(mem.Options{}), mem.NewArena(mem.Options{})
	defer from.Close()
	defer to.Close()
	buf, value := filled(&m, 37, 3<<20)
	want := bytes.Clone(value)
	r, room, _ := from.Adopt(mem.ForBlob, &m, buf, value)
	r = from.Give(mem.ForBlob, r, room, to)
	if from.Used() != 0 || from.Check() != nil || to.Check() != nil || !bytes.Equal(to.Bytes(r, len(want)), want) {
		t.Fatalf("%d bytes are left, %v, %v", from.Used(), from.Check(), to.Check())
	}
	r = to.Resize(mem.ForBlob, r, room, 2*room)
	if !bytes.Equal(to.Bytes(r, len(want)), want) {
		t.Fatal("the block is damaged when it has grown")
	}
	to.Free(mem.ForBlob, r, 2*room)
	for to.Reclaim() {
	}
	if err := to.CheckLeaks(); err != nil || to.Check() != nil {
		t.Fatal(err, to.Check())
	}
}

// What does not suit stays a buffer.
func TestOnlyWhatSuitsIsAdopted(t *testing.T) {
	var m mem.Buffers
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	for _, c := range []struct {
		what            string
		lead, n, behind int
	}{
		{"a small value", 10, 100_000, 0},
		{"a value far behind the start", 5000, 3 << 20, 0},
		{"a value in a buffer that is much larger", 10, 3 << 20, 1 << 20},
	} {
		buf, value := filled(&m, c.lead, c.n+c.behind)
		if _, _, ok := a.Adopt(mem.ForBlob, &m, buf, value[:c.n]); ok {
			t.Errorf("%s is adopted", c.what)
		}
		if !m.Free(buf) {
			t.Errorf("%s: the buffer is lost", c.what)
		}
	}
	plain := make([]byte, 4<<20)
	if _, _, ok := a.Adopt(mem.ForBlob, &m, plain, plain[10:3<<20]); ok {
		t.Error("a slice of Go's is adopted")
	}
}
