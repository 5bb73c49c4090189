package checksum

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// texts returns inputs of all sorts: none, short, repeated, overlapping, random over small and big alphabets.
func texts() [][]byte {
	rng := rand.New(rand.NewPCG(3, 4))
	all := [][]byte{
		{}, []byte("a"), []byte("ab"), []byte("abcd"), []byte("abcde"),
		bytes.Repeat([]byte("a"), 21), bytes.Repeat([]byte("ab"), 5000), bytes.Repeat([]byte("abcdefg "), 100),
		[]byte(strings.Repeat("x", 263) + strings.Repeat("y", 264) + strings.Repeat("z", 265)),
	}
	for n := range 400 {
		letters := 1 + rng.IntN(1<<(1+n%8))
		b := make([]byte, n+rng.IntN(3*n+1))
		for i := range b {
			b[i] = byte(rng.IntN(letters))
		}
		all = append(all, b)
	}
	far := make([]byte, 3*lzfReachMax)
	for i := range far {
		far[i] = byte(rng.Uint32())
	}
	copy(far[lzfReachMax+10:], far[10:2000]) // exactly as far as a repeat reaches
	copy(far[2*lzfReachMax+11:], far[:3000]) // out of reach
	return append(all, far)
}

func TestLZFRoundTrip(t *testing.T) {
	var c LZF
	shrunk := 0
	for _, text := range texts() {
		out, ok := c.Compress([]byte("head"), text)
		if !ok {
			if string(out) != "head" {
				t.Fatalf("refused text of %d bytes left %q", len(text), out)
			}
			continue
		}
		shrunk++
		if len(out)-4 > len(text)-lzfSaving {
			t.Fatalf("%d bytes became %d", len(text), len(out)-4)
		}
		back, err := DecompressLZF([]byte("front"), out[4:], len(text))
		if err != nil || string(back) != "front"+string(text) {
			t.Fatalf("text of %d bytes came back wrong: %v", len(text), err)
		}
	}
	if shrunk < 150 {
		t.Fatalf("only %d texts were compressed", shrunk)
	}
}

// The output may depend on the input only, or two nodes would dump the same key differently.
func TestLZFForgetsEarlierInputs(t *testing.T) {
	var used LZF
	for _, text := range texts() {
		want, wantOK := new(LZF).Compress(nil, text)
		got, ok := used.Compress(nil, text)
		if ok != wantOK || !bytes.Equal(got, want) {
			t.Fatalf("text of %d bytes: a used compressor gives another result", len(text))
		}
	}
	used.base = 1<<32 - 100 // the positions are about to overflow
	text := bytes.Repeat([]byte("over the edge "), 30)
	want, _ := new(LZF).Compress(nil, text)
	if got, ok := used.Compress(nil, text); !ok || !bytes.Equal(got, want) {
		t.Fatal("wrong result when the positions start again")
	}
}

func TestDecompressLZFRefusesDamage(t *testing.T) {
	for _, c := range []struct {
		name string
		src  string
		n    int
	}{
		{"nothing for something", "", 1},
		{"length it cannot have", "\x00a", 1 << 50},
		{"negative length", "\x00a", -1},
		{"literals cut", "\x04ab", 5},
		{"literals beyond the length", "\x04abcde", 4},
		{"shorter than said", "\x04abcde", 6},
		{"repeat cut", "\x00a\x20", 4},
		{"long repeat cut", "\x00a\xe0\x00", 10},
		{"repeat from before the start", "\x00a\x20\x01", 4},
		{"repeat beyond the length", "\x00a\x20\x00", 3},
		{"public case e28d", "@c\x00a\xe0Z\x00", 99},
	} {
		if out, err := DecompressLZF([]byte("kept"), []byte(c.src), c.n); !errors.Is(err, ErrLZF) || string(out) != "kept" {
			t.Errorf("%s: %q, %v", c.name, out, err)
		}
	}
}

func TestLZFAllocatesNothing(t *testing.T) {
	var c LZF
	text := bytes.Repeat([]byte("some text that repeats, "), 40)
	packed, _ := c.Compress(nil, text)
	dst, back := make([]byte, 0, 2048), make([]byte, 0, 2048)
	allocs := testing.AllocsPerRun(100, func() {
		c.Compress(dst, text)
		_, _ = DecompressLZF(back, packed, len(text))
	})
	if allocs != 0 {
		t.Fatalf("%v allocations", allocs)
	}
}

func FuzzDecompressLZF(f *testing.F) {
	for _, text := range texts()[:40] {
		if out, ok := new(LZF).Compress(nil, text); ok {
			f.Add(out, len(text))
		}
	}
	f.Add([]byte("\x00a\xe0\xff\x00"), 265)
	f.Fuzz(func(t *testing.T, src []byte, n int) {
		out, err := DecompressLZF(nil, src, n)
		if err == nil && len(out) != n {
			t.Fatalf("%d bytes instead of %d", len(out), n)
		}
		if packed, ok := new(LZF).Compress(nil, src); ok {
			if back, err := DecompressLZF(nil, packed, len(src)); err != nil || !bytes.Equal(back, src) {
				t.Fatalf("does not come back: %v", err)
			}
		}
	})
}

func BenchmarkLZFCompress(b *testing.B) {
	for _, size := range []int{32, 1024, 64 << 10} {
		text := bytes.Repeat([]byte(`{"id":1234,"name":"someone","tags":["a","b"]},`), size/46+1)[:size]
		b.Run(byteSize(size), func(b *testing.B) {
			var c LZF
			dst := make([]byte, 0, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				c.Compress(dst, text)
			}
		})
	}
}

func BenchmarkLZFDecompress(b *testing.B) {
	for _, size := range []int{32, 1024, 64 << 10} {
		text := bytes.Repeat([]byte(`{"id":1234,"name":"someone","tags":["a","b"]},`), size/46+1)[:size]
		packed, ok := new(LZF).Compress(nil, text)
		if !ok {
			packed, _ = new(LZF).Compress(nil, bytes.Repeat([]byte("ab"), size/2))
		}
		b.Run(byteSize(size), func(b *testing.B) {
			dst := make([]byte, 0, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				_, _ = DecompressLZF(dst, packed, size)
			}
		})
	}
}

func byteSize(n int) string {
	switch n {
	case 32:
		return "32B"
	case 1024:
		return "1KB"
	}
	return "64KB"
}
