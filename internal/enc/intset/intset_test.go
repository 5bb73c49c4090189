package intset

import (
	"bytes"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/rdb/packed"
)

var borders = []int64{0, 1, -1, math.MaxInt16, math.MinInt16, math.MaxInt16 + 1, math.MinInt16 - 1, math.MaxInt32,
	math.MinInt32, math.MaxInt32 + 1, math.MinInt32 - 1, math.MaxInt64, math.MinInt64}

func number() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.SampledFrom(borders), rapid.Int64Range(-10, 10), rapid.Int64())
}

func TestAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(make([]byte, 0, rapid.IntRange(0, 100).Draw(t, "capacity")))
		want, narrow := map[int64]bool{}, true // narrow: as narrow as its elements allow, which removing ends
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				sorted := slices.Sorted(maps.Keys(want))
				if Len(s) != len(sorted) || Bytes(s) != len(s) {
					t.Fatalf("%d elements of %d bytes, want %d", Len(s), len(s), len(sorted))
				}
				for i, v := range sorted {
					if at, found := Find(s, v); At(s, i) != v || !found || at != i {
						t.Fatalf("element %d is %d, want %d", i, At(s, i), v)
					}
				}
				if narrow && !bytes.Equal(s, packed.AppendIntset(nil, sorted)) {
					t.Fatal("bytes differ from those in an RDB file")
				}
			},
			"add": func(t *rapid.T) {
				v := number().Draw(t, "v")
				size := SizeWith(s, v)
				out, added := Add(s, v)
				if s = out; added == want[v] || added && len(s) != size {
					t.Fatalf("adding %d: %v, %d bytes, want %d", v, added, len(s), size)
				}
				want[v] = true
			},
			"remove": func(t *rapid.T) {
				v := number().Draw(t, "v")
				if at, found := Find(s, v); found {
					s, narrow = Delete(s, at), false
				}
				delete(want, v)
			},
			"find": func(t *rapid.T) {
				v := number().Draw(t, "v")
				at, found := Find(s, v)
				if found != want[v] || Contains(s, v) != found || at < Len(s) && At(s, at) < v || at > 0 && At(s, at-1) >= v {
					t.Fatalf("%d is at %d: %v", v, at, found)
				}
			},
			"find from": func(t *rapid.T) {
				v := number().Draw(t, "v")
				at, found := Find(s, v)
				from := rapid.IntRange(0, at).Draw(t, "from")
				if x, ok := FindFrom(s, from, v); x != at || ok != found {
					t.Fatalf("%d is at %d, from %d on at %d", v, at, from, x)
				}
			},
		})
	})
}

func TestNothingIsAllocatedWithinTheCapacity(t *testing.T) {
	s := slices.Grow(New(nil), 1000)
	if n := testing.AllocsPerRun(100, func() {
		for i := range int64(20) {
			s, _ = Add(s, i*7%20)
		}
		s, _ = Add(s, math.MaxInt64)
		for Len(s) > 0 {
			s = Delete(s, 0)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkFind(b *testing.B) {
	s := New(nil)
	for i := range int64(512) {
		s, _ = Add(s, i*3)
	}
	b.ReportAllocs()
	for i := int64(0); b.Loop(); i++ {
		Contains(s, i&1023)
	}
}

func BenchmarkAddRemove(b *testing.B) {
	s := New(nil)
	for i := range int64(512) {
		s, _ = Add(s, i*3)
	}
	b.ReportAllocs()
	for b.Loop() {
		s, _ = Add(s, 700)
		at, _ := Find(s, 700)
		s = Delete(s, at)
	}
}
