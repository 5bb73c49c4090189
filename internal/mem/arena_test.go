package mem

import (
	"testing"

	"pgregory.net/rapid"
)

// block is what the model knows about a live block.
type block struct {
	ref     Ref
	purpose Purpose
	size    int
	seed    byte
}

func (b block) fill(a *Arena) {
	bytes := a.Bytes(b.ref, b.size)
	for i := range bytes {
		bytes[i] = b.seed + byte(i)
	}
}

func (b block) check(t *rapid.T, a *Arena, upTo int) {
	bytes := a.Bytes(b.ref, b.size)
	for i := range bytes[:min(upTo, len(bytes))] {
		if bytes[i] != b.seed+byte(i) {
			t.Fatalf("block %#x of %d bytes: byte %d has changed", uint64(b.ref), b.size, i)
		}
	}
}

// sizes are requests around every boundary there is.
func sizes() *rapid.Generator[int] {
	return rapid.OneOf(
		rapid.IntRange(0, 200),
		rapid.IntRange(0, 5000),
		rapid.IntRange(60<<10, 70<<10),
		rapid.IntRange(64<<10, 600<<10),
		rapid.IntRange(runBytesMax-10, 2*chunkSize),
	)
}

func TestArenaModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := NewArena(Options{})
		a.hugeFrom = rapid.SampledFrom([]int64{0, 3 << 20, 1 << 40}).Draw(t, "hugeFrom")
		var live []block
		pick := func() int { return rapid.IntRange(0, len(live)-1).Draw(t, "which") }
		alloc := func(size *rapid.Generator[int]) {
			purpose := Purpose(rapid.IntRange(0, Purposes-1).Draw(t, "purpose"))
			b := block{purpose: purpose, size: size.Draw(t, "size"), seed: rapid.Byte().Draw(t, "seed")}
			b.ref = a.Alloc(b.purpose, b.size)
			b.fill(a)
			live = append(live, b)
		}
		free := func(i int) {
			live[i].check(t, a, 1<<30)
			a.Free(live[i].purpose, live[i].ref, live[i].size)
			live[i] = live[len(live)-1]
			live = live[:len(live)-1]
		}
		t.Repeat(map[string]func(*rapid.T){
			"alloc": func(*rapid.T) { alloc(sizes()) },
			"many": func(t *rapid.T) {
				for range rapid.IntRange(1, 60).Draw(t, "n") {
					alloc(rapid.IntRange(0, 20_000))
				}
			},
			"free": func(t *rapid.T) {
				if len(live) > 0 {
					free(pick())
				}
			},
			"freeMany": func(t *rapid.T) {
				for n := rapid.IntRange(0, 80).Draw(t, "n"); n > 0 && len(live) > 0; n-- {
					free(pick())
				}
			},
			"resize": func(t *rapid.T) {
				if len(live) == 0 {
					return
				}
				b := &live[pick()]
				to := sizes().Draw(t, "to")
				b.ref = a.Resize(b.purpose, b.ref, b.size, to)
				kept := min(b.size, to)
				b.size = to
				b.check(t, a, kept)
				b.fill(a)
			},
			"trim":   func(*rapid.T) { a.Trim() },
			"decay":  func(*rapid.T) { a.Decay() },
			"putOff": func(t *rapid.T) { a.PutOff(rapid.Bool().Draw(t, "on")) },
			"settle": func(t *rapid.T) { a.Settle(rapid.Bool().Draw(t, "all")) },
			"": func(t *rapid.T) {
				if err := a.Check(); err != nil {
					t.Fatal(err)
				}
			},
		})
		for len(live) > 0 {
			free(len(live) - 1)
		}
		checkEnd(t, a)
	})
}

// checkEnd closes an arena from which everything was freed.
func checkEnd(t *rapid.T, a *Arena) {
	if err := a.CheckLeaks(); err != nil {
		t.Fatal(err)
	}
	a.Trim()
	if a.Stats().Mapped != 0 {
		t.Fatalf("%d bytes are mapped though nothing is allocated", a.Stats().Mapped)
	}
	a.Close()
}

func TestClasses(t *testing.T) {
	for n := 1; n <= smallMax; n++ {
		c := classOf(n)
		if sizeOf(c) < n || c > 0 && sizeOf(c-1) >= n || sizeOf(c)%8 != 0 {
			t.Fatalf("%d bytes fall into class %d of %d bytes", n, c, sizeOf(c))
		}
	}
	if classOf(smallMax) != classCount-1 {
		t.Fatalf("the last class is %d, there are %d", classOf(smallMax), classCount)
	}
	for c := range classCount {
		size, pages := sizeOf(c), pagesOf(sizeOf(c))
		if waste := pages << pageShift % size; waste*16 > pages<<pageShift {
			t.Errorf("a span of class %d (%d bytes) wastes %d of %d", c, size, waste, pages<<pageShift)
		}
	}
}

func TestLargeBlocksAreZero(t *testing.T) {
	a := NewArena(Options{})
	defer a.Close()
	for range 3 {
		r := a.Alloc(ForBlob, 700<<10)
		for i, b := range a.Bytes(r, 700<<10) {
			if b != 0 {
				t.Fatalf("byte %d is %d", i, b)
			}
		}
		clear(a.Bytes(r, 700<<10)[:100])
		a.Bytes(r, 700<<10)[99] = 1
		r = a.Resize(ForBlob, r, 700<<10, 9<<20)
		bytes := a.Bytes(r, 9<<20)
		if bytes[99] != 1 || bytes[700<<10] != 0 || bytes[9<<20-1] != 0 {
			t.Fatal("a grown mapping has lost its bytes or shows old ones")
		}
		a.Free(ForBlob, r, 9<<20)
	}
}
