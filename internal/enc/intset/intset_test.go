package intset

import (
	"bytes"
	"errors"
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
				if err := Validate(s, true); err != nil || Len(s) != len(sorted) || Bytes(s) != len(s) {
					t.Fatalf("%d elements of %d bytes, want %d: %v", Len(s), len(s), len(sorted), err)
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
				out, removed := Remove(s, v)
				if s = out; removed != want[v] {
					t.Fatalf("removing %d: %v", v, removed)
				}
				narrow = narrow && !removed
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
			"truncate": func(t *rapid.T) {
				n := rapid.IntRange(0, Len(s)).Draw(t, "n")
				for _, v := range slices.Sorted(maps.Keys(want))[n:] {
					delete(want, v)
					narrow = false
				}
				s = Truncate(s, n)
			},
		})
	})
}

func TestDamage(t *testing.T) {
	for name, c := range map[string]struct {
		b    string
		want error
	}{
		"short":                      {"\x02\x00\x00\x00\x00\x00\x00", ErrHead},
		"width":                      {"\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00", ErrHead},
		"length":                     {"\x02\x00\x00\x00\x05\x00\x00\x00\x01\x00", ErrHead},
		"length that wraps around":   {"\x08\x00\x00\x00\x00\x00\x00\x20", ErrHead},
		"twice":                      {"\x02\x00\x00\x00\x02\x00\x00\x00\x05\x00\x05\x00", ErrOrder},
		"descending, signed numbers": {"\x02\x00\x00\x00\x02\x00\x00\x00\x05\x00\xff\xff", ErrOrder},
		"sound":                      {"\x02\x00\x00\x00\x02\x00\x00\x00\xff\xff\x05\x00", nil},
	} {
		if err := Validate([]byte(c.b), true); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestNothingIsAllocatedWithinTheCapacity(t *testing.T) {
	s := slices.Grow(New(nil), 1000)
	if n := testing.AllocsPerRun(100, func() {
		for i := range int64(20) {
			s, _ = Add(s, i*7%20)
		}
		s, _ = Add(s, math.MaxInt64)
		for i := range int64(20) {
			s, _ = Remove(s, i)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(New(nil))
	f.Add(packed.AppendIntset(nil, []int64{-70000, 1, 2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if Validate(b, true) != nil {
			return
		}
		for i := range Len(b) {
			if at, found := Find(b, At(b, i)); !found || at != i {
				t.Fatalf("element %d is found at %d", i, at)
			}
		}
	})
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
		s, _ = Remove(s, 700)
	}
}
