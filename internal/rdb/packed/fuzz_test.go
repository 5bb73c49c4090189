package packed

import (
	"bytes"
	"slices"
	"testing"

	"github.com/covey-db/covey/internal/rdb/packed/packedtest"
)

func FuzzListpack(f *testing.F) {
	f.Add(listpackOf(nil))
	f.Add(listpackOf([]string{"a", "1", "-5000", "70000", "9000000", "3000000000000"}))
	f.Add(listpackOf(samples()[:60]))
	f.Fuzz(func(t *testing.T, b []byte) {
		elems, err := readListpack(b)
		if err != nil {
			return
		}
		again, err := readListpack(listpackOf(elems))
		if err != nil || !slices.Equal(elems, again) {
			t.Fatalf("written again it reads differently: %v", err)
		}
		canonical, err := CanonicalListpack(nil, b)
		if err != nil || !bytes.Equal(canonical, listpackOf(elems)) {
			t.Fatalf("canonical form differs: %v", err)
		}
	})
}

func FuzzZiplist(f *testing.F) {
	f.Add(packedtest.Ziplist(nil))
	f.Add(packedtest.Ziplist([]string{"2", "5", "Hello World", "300", "-70000", "9000000", "3000000000000"}))
	f.Add(packedtest.Ziplist(samples()[:60]))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, n, err := ListpackOfZiplist(nil, b)
		if err != nil {
			return
		}
		if elems, err := readListpack(out); err != nil || len(elems) != n {
			t.Fatalf("%d elements became %d, %v", n, len(elems), err)
		}
	})
}

func FuzzZipmap(f *testing.F) {
	f.Add(packedtest.Zipmap(nil, 0))
	f.Add(packedtest.Zipmap([]string{"foo", "bar", "hello", "world"}, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, n, err := ListpackOfZipmap(nil, b)
		if err != nil {
			return
		}
		if elems, err := readListpack(out); err != nil || len(elems) != n {
			t.Fatalf("%d elements became %d, %v", n, len(elems), err)
		}
	})
}

func FuzzIntset(f *testing.F) {
	f.Add(AppendIntset(nil, nil))
	f.Add(AppendIntset(nil, []int64{-70000, 1, 2}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := OpenIntset(b)
		if err != nil {
			return
		}
		numbers := make([]int64, s.Len())
		for i := range numbers {
			numbers[i] = s.At(i)
		}
		if again, err := OpenIntset(AppendIntset(nil, numbers)); err != nil || again.Len() != len(numbers) {
			t.Fatalf("written again it reads differently: %v", err)
		}
	})
}
