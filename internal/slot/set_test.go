package slot

import (
	"bytes"
	"iter"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The shape that callers range over.
var _ iter.Seq2[ID, ID] = (*Set)(nil).Ranges

func collect(set *Set) (ranges [][2]ID) {
	for first, last := range set.Ranges {
		ranges = append(ranges, [2]ID{first, last})
	}
	return ranges
}

func TestRanges(t *testing.T) {
	for _, want := range [][][2]ID{
		nil,
		{{0, 0}},
		{{0, Count - 1}},
		{{Count - 1, Count - 1}},
		{{0, 0}, {2, 2}, {Count - 1, Count - 1}},
		{{62, 64}, {127, 128}},
		{{0, 63}},
		{{64, 127}, {129, 191}},
		{{0, 5460}, {10923, 16383}},
	} {
		var set Set
		for _, r := range want {
			set.AddRange(r[0], r[1])
		}
		if got := collect(&set); !slices.Equal(got, want) {
			t.Errorf("ranges %v, want %v", got, want)
		}
	}
	var set Set
	set.AddRange(5, 4)
	if !set.IsEmpty() {
		t.Error("a range that ends before it starts added slots")
	}
}

func TestRangesStops(t *testing.T) {
	var set Set
	set.Add(1)
	set.Add(3)
	for first := range set.Ranges {
		if first != 1 {
			t.Fatal("went on after break")
		}
		break
	}
}

func TestBitmapForm(t *testing.T) {
	var set Set
	set.Add(0)
	set.Add(9)
	set.Add(Count - 1)
	b := set.AppendBitmap([]byte("x"))
	if len(b) != 1+BitmapBytes || b[0] != 'x' {
		t.Fatalf("%d bytes", len(b))
	}
	want := make([]byte, BitmapBytes)
	want[0], want[1], want[BitmapBytes-1] = 1, 2, 0x80
	if !bytes.Equal(b[1:], want) {
		t.Error("bits are elsewhere")
	}
	if back := FromBitmap(b[1:]); !back.Equal(&set) {
		t.Error("did not survive")
	}
}

// Every operation against a map, the model.
func TestSetAgainstModel(t *testing.T) {
	id := rapid.OneOf(rapid.Uint16Max(200), rapid.Uint16Max(Count-1), rapid.Just(uint16(Count-1)))
	rapid.Check(t, func(t *rapid.T) {
		var set Set
		model := map[ID]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(t *rapid.T) { s := ID(id.Draw(t, "s")); set.Add(s); model[s] = true },
			"remove": func(t *rapid.T) { s := ID(id.Draw(t, "s")); set.Remove(s); delete(model, s) },
			"range": func(t *rapid.T) {
				a, b := ID(id.Draw(t, "a")), ID(id.Draw(t, "b"))
				set.AddRange(a, b)
				for s := a; s <= b; s++ {
					model[s] = true
				}
			},
			"clear": func(*rapid.T) { set.Clear(); clear(model) },
			"": func(t *rapid.T) {
				if set.Len() != len(model) || set.IsEmpty() != (len(model) == 0) {
					t.Fatalf("length %d, want %d", set.Len(), len(model))
				}
				covered, before := 0, -2
				for first, last := range set.Ranges {
					if int(first) <= before+1 || last < first {
						t.Fatalf("run %d-%d after %d", first, last, before)
					}
					for s := first; s <= last; s++ {
						if !model[s] || !set.Has(s) {
							t.Fatalf("slot %d", s)
						}
					}
					covered, before = covered+int(last-first)+1, int(last)
				}
				if covered != len(model) {
					t.Fatalf("runs cover %d of %d", covered, len(model))
				}
				if back := FromBitmap(set.AppendBitmap(nil)); back != set {
					t.Fatal("bitmap differs")
				}
			},
		})
	})
}

func FuzzFromBitmap(f *testing.F) {
	f.Add(make([]byte, BitmapBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != BitmapBytes {
			return
		}
		set := FromBitmap(b)
		if !bytes.Equal(set.AppendBitmap(nil), b) {
			t.Fatal("differs")
		}
		var again Set
		for first, last := range set.Ranges {
			again.AddRange(first, last)
		}
		if again != set {
			t.Fatal("ranges do not make the set")
		}
	})
}

func BenchmarkRanges(b *testing.B) {
	var set Set
	for s := ID(0); s < Count; s += 100 {
		set.AddRange(s, s+50)
	}
	b.ReportAllocs()
	for b.Loop() {
		for range set.Ranges {
		}
	}
}
