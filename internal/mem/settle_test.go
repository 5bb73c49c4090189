package mem

import (
	"math/rand/v2"
	"testing"
)

// TestMuchThatBecomesFreeGoesBackInSteps frees blocks in another order than they lie in: nothing goes back while that is put
// off, a bounded number of chunks goes back in each step afterwards, and in the end no more is kept than ever.
func TestMuchThatBecomesFreeGoesBackInSteps(t *testing.T) {
	const blocks, size = 400_000, 40
	for name, hugeFrom := range map[string]int64{"chunks": 1 << 62, "pairs": 0} {
		t.Run(name, func(t *testing.T) {
			a := NewArena(Options{})
			defer a.Close()
			a.hugeFrom = hugeFrom
			refs := make([]Ref, blocks)
			for i := range refs {
				refs[i] = a.Alloc(ForSet, size)
			}
			random := rand.New(rand.NewPCG(1, 2))
			random.Shuffle(blocks, func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
			kept, full := refs[0], a.Stats()
			a.PutOff(true)
			for _, r := range refs[1:] {
				a.Free(ForSet, r, size)
			}
			a.PutOff(false)
			if s := a.Stats(); s.Mapped != full.Mapped || s.FreeClean != full.FreeClean {
				t.Errorf("%d of %d bytes are mapped, and %d given back, though that is put off", s.Mapped, full.Mapped, s.FreeClean-full.FreeClean)
			}
			for more := true; more; {
				before := a.Stats().Mapped
				more = a.Settle(true)
				if gone := before - a.Stats().Mapped; gone > 2*settleChunks*chunkSize {
					t.Errorf("%d bytes went back in one step", gone)
				}
				if err := a.Check(); err != nil {
					t.Fatal(err)
				}
			}
			const most = 3 * 2 * chunkSize // that of the last block, a spare one and that of an idle span, with their mates
			if s := a.Stats(); s.Mapped > most || s.FreeDirty > int64(a.dirtyMost())<<pageShift {
				t.Errorf("%d bytes are mapped in the end, and %d bytes of free pages take memory", s.Mapped, s.FreeDirty)
			}
			a.Free(ForSet, kept, size)
		})
	}
}
