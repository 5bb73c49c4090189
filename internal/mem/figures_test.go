package mem

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/covey-db/covey/internal/invariant"
)

// TestPublishedTotal says that a shared total is never off by more than a step an arena, and exact on demand.
func TestPublishedTotal(t *testing.T) {
	var total atomic.Int64
	arenas := []*Arena{NewArena(Options{Published: &total}), NewArena(Options{Published: &total})}
	var refs [2][]Ref
	for i := range 20_000 {
		a := i & 1
		refs[a] = append(refs[a], arenas[a].Alloc(ForRecord, 100))
		if used := arenas[0].Used() + arenas[1].Used(); abs(used-total.Load()) > 2*publishStep {
			t.Fatalf("%d bytes are used, %d published", used, total.Load())
		}
	}
	for a := range arenas {
		arenas[a].Publish()
	}
	if used := arenas[0].Used() + arenas[1].Used(); used != total.Load() || used != 20_000*104 {
		t.Fatalf("%d bytes are used, %d published", used, total.Load())
	}
	for _, r := range refs[0] {
		arenas[0].Free(ForRecord, r, 100)
	}
	arenas[0].Publish()
	if total.Load() != arenas[1].Used() {
		t.Errorf("%d bytes are used, %d published", arenas[1].Used(), total.Load())
	}
	arenas[0].Close()
	arenas[1].Close()
	if total.Load() != 0 {
		t.Errorf("%d bytes are published for closed arenas", total.Load())
	}
}

func abs(n int64) int64 { return max(n, -n) }

// TestLeakIsNamed says what is left by its purpose.
func TestLeakIsNamed(t *testing.T) {
	a := NewArena(Options{})
	defer a.Close()
	r := a.Alloc(ForZSet, 40)
	if err := a.CheckLeaks(); err == nil || !strings.Contains(err.Error(), "40 bytes for zset") {
		t.Errorf("a leak of a sorted set is called %v", err)
	}
	a.Free(ForZSet, r, 40)
	if err := a.CheckLeaks(); err != nil {
		t.Error(err)
	}
	if Purpose(Purposes).String() != "unknown" {
		t.Error("a purpose that does not exist has a name")
	}
}

// TestFreePagesGoBack says that an arena keeps little of what it does not need.
func TestFreePagesGoBack(t *testing.T) {
	a := NewArena(Options{})
	defer a.Close()
	refs := make([]Ref, 0, 64<<20/4096)
	for range cap(refs) {
		refs = append(refs, a.Alloc(ForRecord, 4096))
	}
	for i, r := range refs {
		if i%16 != 0 { // every fourth page stays in use
			a.Free(ForRecord, r, 4096)
		}
	}
	s := a.Stats()
	if s.FreeDirty > 2<<20 || s.FreeDirty+s.FreeClean < 40<<20 {
		t.Errorf("of %d bytes mapped %d are free and take memory, %d are free and take none", s.Mapped, s.FreeDirty, s.FreeClean)
	}
	for i, r := range refs {
		if i%16 == 0 {
			a.Free(ForRecord, r, 4096)
		}
	}
	if s := a.Stats(); s.Mapped > 2*chunkSize { // a chunk that is kept, and that of the span that is kept
		t.Errorf("%d bytes are mapped though nothing is allocated", s.Mapped)
	}
}

// TestChunkIndicesAreReused keeps a long life of big blocks from using up the indices.
func TestChunkIndicesAreReused(t *testing.T) {
	a := NewArena(Options{})
	defer a.Close()
	for range 1000 {
		r := a.Alloc(ForBlob, 1<<20)
		a.Free(ForBlob, r, 1<<20)
	}
	if len(a.regions) > 3 {
		t.Errorf("%d chunk indices were used for one block at a time", len(a.regions)-1)
	}
}

// TestBigBlocksGoBackInSteps says that freeing a big block never makes the system work for long at once.
func TestBigBlocksGoBackInSteps(t *testing.T) {
	if !canSplit {
		t.Skip("this memory is the garbage collector's")
	}
	a := NewArena(Options{})
	defer a.Close()
	const size = 50 << 20
	r := a.Alloc(ForBlob, size)
	r = a.Resize(ForBlob, r, size, size/2)
	if s := a.Stats(); s.Mapped != size-reclaimBytes || a.Used() != size/2 {
		t.Errorf("%d bytes are mapped, %d used, right after half of %d were freed", s.Mapped, a.Used(), size)
	}
	a.Free(ForBlob, r, size/2)
	steps := 0
	for a.Reclaim() {
		steps++
	}
	if s := a.Stats(); s.Mapped != 0 || steps != size/reclaimBytes-2 {
		t.Errorf("after %d steps %d bytes are mapped", steps, s.Mapped)
	}
}

// TestMisuseIsFound is about builds with invariants, where the ledger knows every block.
func TestMisuseIsFound(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only builds with invariants look for this")
	}
	for name, misuse := range map[string]func(a *Arena){
		"twice":         func(a *Arena) { r := a.Alloc(ForSet, 40); a.Free(ForSet, r, 40); a.Free(ForSet, r, 40) },
		"other size":    func(a *Arena) { a.Free(ForSet, a.Alloc(ForSet, 40), 41) },
		"other purpose": func(a *Arena) { a.Free(ForHash, a.Alloc(ForSet, 40), 40) },
		"never there":   func(a *Arena) { a.Free(ForSet, a.Alloc(ForSet, 40)+1, 40) },
	} {
		t.Run(name, func(t *testing.T) {
			a := NewArena(Options{})
			defer a.Close()
			defer func() {
				if recover() == nil {
					t.Error("nothing was found")
				}
			}()
			misuse(a)
		})
	}
	a := NewArena(Options{})
	defer a.Close()
	r := a.Alloc(ForSet, 40)
	a.Alloc(ForSet, 40)
	stale := a.Bytes(r, 40)
	stale[20] = 1
	a.Free(ForSet, r, 40)
	if stale[20] != poisonFreed {
		t.Error("a freed block is not overwritten")
	}
}

// TestHotPathsAllocateNothing holds for Go memory, once the chunks are there.
func TestHotPathsAllocateNothing(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the ledger is Go memory")
	}
	a := NewArena(Options{})
	defer a.Close()
	keep := a.Alloc(ForRecord, 56)
	if n := testing.AllocsPerRun(1000, func() { a.Free(ForRecord, a.Alloc(ForRecord, 56), 56) }); n != 0 {
		t.Errorf("allocating and freeing a block allocates %v times", n)
	}
	a.Free(ForRecord, keep, 56)
}

func BenchmarkAllocFree(b *testing.B) {
	a := NewArena(Options{})
	defer a.Close()
	a.Alloc(ForRecord, 56)
	b.ReportAllocs()
	for b.Loop() {
		a.Free(ForRecord, a.Alloc(ForRecord, 56), 56)
	}
}

// BenchmarkChurn replaces blocks of many sizes in no order, as a node does whose values change their lengths.
func BenchmarkChurn(b *testing.B) {
	a := NewArena(Options{})
	defer a.Close()
	type held struct {
		r Ref
		n int
	}
	blocks := make([]held, 1<<16)
	x := uint64(88172645463325252)
	b.ReportAllocs()
	for b.Loop() {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		h := &blocks[x%uint64(len(blocks))]
		if h.r != 0 {
			a.Free(ForRecord, h.r, h.n)
		}
		h.n = 16 + int(x>>40%400)
		h.r = a.Alloc(ForRecord, h.n)
	}
	b.ReportMetric(float64(a.Stats().Mapped)/float64(a.Used()), "mapped/used")
}
