package hll

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

const defaultMax = 3000

// The sparse and the dense form of the same elements have the same registers and estimate, and a plain array of ranks
// agrees.
func TestFormsAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sparseMax := int64(rapid.SampledFrom([]int{0, 18, 40, 500, defaultMax, 16000}).Draw(t, "max"))
		b := AppendEmpty(nil)
		var model Ranks
		for range rapid.IntRange(0, 400).Draw(t, "raises") {
			index, rank := rapid.IntRange(0, Registers-1).Draw(t, "index"), rapid.Uint8Range(1, 36).Draw(t, "rank")
			var raised bool
			would, err := Raises(b, index, rank)
			if err == nil {
				b, raised, err = Raise(b, index, rank, sparseMax)
			}
			if err != nil || raised != (rank > model[index]) || raised && !would {
				t.Fatalf("raise %d to %d: %v, %v, %v", index, rank, raised, would, err)
			}
			model[index] = max(model[index], rank)
			if !IsDense(b) && int64(len(b)) > max(sparseMax, 18) {
				t.Fatalf("a sparse sketch of %d bytes", len(b))
			}
		}
		checkRanks(t, b, &model)
		if !IsDense(b) {
			dense, err := AppendDense(nil, b)
			if err != nil {
				t.Fatal(err)
			}
			checkRanks(t, dense, &model)
		}
	})
}

func checkRanks(t rapid.TB, b []byte, want *Ranks) {
	t.Helper()
	var got Ranks
	if err := got.Merge(b); err != nil {
		t.Fatal(err)
	}
	if got != *want {
		t.Fatal("other registers than the model")
	}
	n, err := Count(b)
	if err != nil || n != want.Count() {
		t.Fatalf("count %d, %v, the model's is %d", n, err, want.Count())
	}
	for i := 0; IsDense(b) && i < Registers; i++ {
		if Register(b, i) != want[i] {
			t.Fatalf("register %d is %d, not %d", i, Register(b, i), want[i])
		}
	}
}

// Estimates are within four standard errors.
func TestEstimate(t *testing.T) {
	b := AppendEmpty(nil)
	for i := 1; i <= 300_000; i++ {
		index, rank := Place(fmt.Appendf(nil, "element:%d", i))
		b, _, _ = Raise(b, index, rank, defaultMax)
		switch i {
		case 1, 10, 100, 1000, 10_000, 100_000, 300_000:
			n, err := Count(b)
			if off := math.Abs(float64(n) - float64(i)); err != nil || off > math.Ceil(4*0.0081*float64(i)) {
				t.Errorf("%d elements are counted as %d, %v", i, n, err)
			}
		}
	}
}

func TestSelfTest(t *testing.T) {
	if err := SelfTest(1, defaultMax); err != nil {
		t.Error(err)
	}
}

// The numbers are those of redis-server 7.0.15: PFADD, then GET and PFCOUNT.
func TestBytesAreThoseOfRedis(t *testing.T) {
	b := AppendEmpty(nil)
	for _, element := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		index, rank := Place([]byte(element))
		b, _, _ = Raise(b, index, rank, defaultMax)
	}
	Forget(b)
	const want = "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80" +
		"Fm\x80V\f\x80D<\x848\x80P\xb1\x84I\x8c\x80Bm\x80BZ"
	if string(b) != want {
		t.Errorf("%q", b)
	}
	n, err := Count(b)
	if n != 7 || err != nil {
		t.Errorf("count %d, %v", n, err)
	}
}

// FuzzSketch: whatever the bytes are, nothing but ErrCorrupt comes of it.
func FuzzSketch(f *testing.F) {
	b := AppendEmpty(nil)
	f.Add(bytes.Clone(b), 5, uint8(3))
	for i := range 40 {
		b, _, _ = Raise(b, i*i, uint8(i%32+1), defaultMax)
	}
	f.Add(b, 100, uint8(40))
	f.Add(append(AppendEmpty(nil)[:headerBytes], 0x7f), 16000, uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, index int, rank uint8) {
		if !Valid(b) {
			return
		}
		AppendRuns(nil, b[:min(len(b), 1<<16)])
		var ranks Ranks
		_, countErr := Count(b)
		if err := ranks.Merge(b); (err == nil) != (countErr == nil) {
			t.Fatalf("merge: %v, count: %v", err, countErr)
		}
		index, rank = index&(Registers-1), rank%(rankMax+1)
		if rank == 0 {
			return
		}
		if countErr == nil && rank > ranks[index] {
			ranks[index] = rank
		}
		out, _, err := Raise(b, index, rank, defaultMax)
		if countErr != nil {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if !Valid(out) {
			t.Fatalf("no sketch any more: %q", out[:headerBytes])
		}
		if b[len(b)-1]&0xc0 != longBit { // a cut-off run ends elsewhere after a change
			checkRanks(t, out, &ranks)
		}
	})
}

func BenchmarkRaiseDense(b *testing.B) {
	s, _ := AppendDense(nil, AppendEmpty(nil))
	for i := 0; b.Loop(); i++ {
		index, rank := Place([]byte{byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24), 1, 2, 3, 4})
		s, _, _ = Raise(s, index, rank, defaultMax)
	}
}

func BenchmarkRaiseSparse(b *testing.B) {
	s := make([]byte, 0, defaultMax+8)
	for i := 0; b.Loop(); i++ {
		if i%1000 == 0 {
			s = AppendEmpty(s[:0])
		}
		index, rank := Place([]byte{byte(i), byte(i >> 8), byte(i >> 16), byte(i >> 24), 1, 2, 3, 4})
		s, _, _ = Raise(s, index, rank, defaultMax)
	}
}

func BenchmarkCountDense(b *testing.B) {
	s, _ := AppendDense(nil, AppendEmpty(nil))
	for i := range 100_000 {
		index, rank := Place(fmt.Appendf(nil, "element:%d", i))
		s, _, _ = Raise(s, index, rank, defaultMax)
	}
	for b.Loop() {
		if _, err := Count(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMergeDense(b *testing.B) {
	s, _ := AppendDense(nil, AppendEmpty(nil))
	var ranks Ranks
	for b.Loop() {
		_ = ranks.Merge(s)
	}
}
