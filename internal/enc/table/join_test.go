package table

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What two tables share is what two maps share, in the order of the first, and a table made of that has it; few bits of hash
// make many tags the same.
func TestSiftDoesWhatMapsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		segmentMax, hashBits := rapid.SampledFrom([]int{16, 64, wordsMax}).Draw(t, "segment"), rapid.SampledFrom([]int{4, 10, 64}).Draw(t, "bits")
		a, b := newModel(Members, segmentMax, hashBits), newModel(Members, segmentMax, hashBits)
		b.seed = a.seed
		defer a.close(t, 100)
		defer b.close(t, 100)
		in := map[string]bool{}
		names := rapid.SliceOfN(rapid.StringN(0, 300, 300), 0, 200).Draw(t, "names")
		for _, name := range names {
			where := rapid.IntRange(0, 3).Draw(t, "where")
			if where&1 != 0 {
				a.t.Add(a.hash(name), []byte(name))
			}
			if where&2 != 0 {
				b.t.Add(b.hash(name), []byte(name))
				in[name] = true
			}
		}
		for _, has := range []bool{true, false} {
			var want, got []string
			a.t.Each(func(e Entry) bool {
				if in[string(e.Member())] == has {
					want = append(want, string(e.Member()))
				}
				return true
			})
			made := newModel(Members, segmentMax, hashBits)
			made.seed = a.seed
			made.t.Reserve(rapid.IntRange(0, 300).Draw(t, "room"))
			var batch Batch
			a.t.EachBatch(&batch, func() bool {
				batch.Sift(&b.t, has)
				made.t.AddBatch(&batch)
				for i := range batch.Len() {
					got = append(got, string(batch.Member(i)))
				}
				return true
			})
			if !slices.Equal(got, want) {
				t.Fatalf("with has %v: %q, want %q", has, got, want)
			}
			made.t.Fit()
			for _, name := range want {
				made.fields[name] = field{}
			}
			made.check(t)
			made.close(t, 100)
		}
	})
}
