package packed

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/rdb/packed/packedtest"
)

// samples are elements around every border of the encodings.
func samples() []string {
	all := []string{"", "a", "0", "-0", "00", "+1", " 1", "1 ", "1.0", "-", "9223372036854775807", "-9223372036854775808",
		"9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999", "123456789012345678901"}
	for _, bits := range []uint{3, 4, 7, 8, 12, 13, 15, 16, 23, 24, 31, 32, 62} {
		for d := int64(-2); d <= 2; d++ {
			all = append(all, strconv.FormatInt(1<<bits+d, 10), strconv.FormatInt(-1<<bits+d, 10))
		}
	}
	for _, n := range []int{62, 63, 64, 65, 125, 126, 127, 252, 253, 254, 255, 4090, 4095, 4096, 16380, 16383, 16384, 70000} {
		all = append(all, strings.Repeat("x", n))
	}
	return all
}

func listpackOf(elems []string) []byte {
	b := AppendListpackHead(nil)
	for _, s := range elems {
		b = AppendListpackString(b, []byte(s))
	}
	return FinishListpack(b, 0, len(elems))
}

func readListpack(b []byte) ([]string, error) {
	l, err := OpenListpack(b)
	if err != nil {
		return nil, err
	}
	var all []string
	for e, ok := l.Next(); ok; e, ok = l.Next() {
		all = append(all, string(e.Text(nil)))
	}
	return all, l.Err()
}

func TestListpackRoundTrip(t *testing.T) {
	want := samples()
	got, err := readListpack(listpackOf(want))
	if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Fatalf("elements changed: %v", err)
	}
}

// The bytes are those of the documented layout; package rdb compares whole values with a real server.
func TestListpackBytes(t *testing.T) {
	for _, c := range []struct {
		elems []string
		want  string
	}{
		{nil, "\x07\x00\x00\x00\x00\x00\xff"},
		{[]string{"a", "1"}, "\x0c\x00\x00\x00\x02\x00\x81a\x02\x01\x01\xff"},
		{[]string{"-1", "128", "4096", "-4096"}, "\x14\x00\x00\x00\x04\x00\xdf\xff\x02\xc0\x80\x02\xf1\x00\x10\x03\xd0\x00\x02\xff"},
	} {
		if got := listpackOf(c.elems); string(got) != c.want {
			t.Errorf("%q: %q, want %q", c.elems, got, c.want)
		}
	}
}

func TestListpackCountMayBeHidden(t *testing.T) {
	b := AppendListpackHead(nil)
	for i := range 70000 {
		b = AppendListpackInt(b, int64(i))
	}
	b = FinishListpack(b, 0, 70000)
	got, err := readListpack(b)
	if err != nil || len(got) != 70000 || got[69999] != "69999" {
		t.Fatalf("%d elements, %v", len(got), err)
	}
}

func TestListpackDamage(t *testing.T) {
	good := string(listpackOf([]string{"a", "b"}))
	set := func(at int, b byte) string { return good[:at] + string([]byte{b}) + good[at+1:] }
	for _, c := range []struct {
		name string
		b    string
		want error
	}{
		{"empty", "", ErrListpackHead},
		{"cut", good[:len(good)-1], ErrListpackHead},
		{"length (public case c184d)", set(0, 0xe7), ErrListpackHead},
		{"no end byte (public case c184e)", set(12, 0), ErrListpackHead},
		{"count too small", set(4, 1), ErrListpackCount},
		{"count too great", set(4, 3), ErrListpackCount},
		{"string beyond the end", set(9, 0xbf), ErrListpackElement},
		{"long string beyond the end", set(9, 0xf0), ErrListpackElement},
		{"number beyond the end", set(9, 0xf4), ErrListpackElement},
		{"backward length", set(8, 3), ErrListpackBackward},
		{"unknown encoding", set(6, 0xf5), ErrListpackEncoding},
		{"end byte inside", set(6, 0xff), ErrListpackEncoding},
	} {
		if _, err := readListpack([]byte(c.b)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestZiplistBecomesListpack(t *testing.T) {
	want := samples()
	out, n, err := ListpackOfZiplist([]byte("head"), packedtest.Ziplist(want))
	if err != nil || n != len(want) || !bytes.Equal(out[4:], listpackOf(want)) {
		t.Fatalf("%d elements, %v", n, err)
	}
	if _, n, err := ListpackOfZiplist(nil, packedtest.Ziplist(nil)); n != 0 || err != nil {
		t.Fatalf("empty: %d, %v", n, err)
	}
}

func TestZiplistDamage(t *testing.T) {
	good := string(packedtest.Ziplist([]string{"aa", "300"}))
	set := func(at int, b byte) string { return good[:at] + string([]byte{b}) + good[at+1:] }
	for _, c := range []struct {
		name string
		b    string
		want error
	}{
		{"empty", "", ErrZiplistHead},
		{"cut", good[:len(good)-1], ErrZiplistHead},
		{"length", set(0, 99), ErrZiplistHead},
		{"no end byte", set(len(good)-1, 0), ErrZiplistHead},
		{"tail beyond the end", set(4, 99), ErrZiplistTail},
		{"tail not on the last element", set(4, 10), ErrZiplistTail},
		{"count too small", set(8, 1), ErrZiplistCount},
		{"count too great", set(8, 3), ErrZiplistCount},
		{"previous size", set(14, 3), ErrZiplistBackward},
		{"previous size cut", set(14, 0xfe), ErrZiplistElement},
		{"string beyond the end", set(15, 0x3f), ErrZiplistElement},
		{"long string beyond the end", set(15, 0x80), ErrZiplistElement},
		{"number beyond the end", set(15, 0xe0), ErrZiplistElement},
		{"unknown encoding", set(15, 0xff), ErrZiplistEncoding},
		{"end byte inside", set(10, 0xff), ErrZiplistElement},
	} {
		out, _, err := ListpackOfZiplist([]byte("kept"), []byte(c.b))
		if !errors.Is(err, c.want) || string(out) != "kept" {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestZipmapBecomesListpack(t *testing.T) {
	many := make([]string, 600)
	for i := range many {
		many[i] = fmt.Sprint("item", i)
	}
	for _, pairs := range [][]string{nil, {"foo", "bar", "hello", "world"}, {"", "", strings.Repeat("f", 253), strings.Repeat("v", 254)}, many} {
		for unused := range 5 {
			out, n, err := ListpackOfZipmap(nil, packedtest.Zipmap(pairs, unused))
			if err != nil || n != len(pairs) || !bytes.Equal(out, listpackOf(pairs)) {
				t.Errorf("%d pairs with %d unused bytes: %d elements, %v", len(pairs)/2, unused, n, err)
			}
		}
	}
}

func TestZipmapDamage(t *testing.T) {
	for _, c := range []struct {
		name string
		b    string
		want error
	}{
		{"empty", "", ErrZipmapHead},
		{"no end byte", "\x00\x00", ErrZipmapHead},
		{"end byte inside", "\x00\xff\xff", ErrZipmapElement},
		{"count too great", "\x02\x01a\x01\x00b\xff", ErrZipmapCount},
		{"count too small", "\x00\x01a\x01\x00b\xff", ErrZipmapCount},
		{"field beyond the end", "\x01\x05a\x01\x00b\xff", ErrZipmapElement},
		{"field without value", "\x01\x01a\xff", ErrZipmapElement},
		{"value beyond the end", "\x01\x01a\x05\x00b\xff", ErrZipmapElement},
		{"unused beyond the end", "\x01\x01a\x01\x01b\xff", ErrZipmapElement},
		{"long length cut", "\x01\xfe\x00\x00\xff", ErrZipmapElement},
	} {
		if _, _, err := ListpackOfZipmap(nil, []byte(c.b)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestIntset(t *testing.T) {
	for _, c := range []struct {
		numbers []int64
		width   int
	}{
		{nil, 2},
		{[]int64{-1, 0, 5}, 2},
		{[]int64{math.MinInt16, math.MaxInt16}, 2},
		{[]int64{-1, 1 << 15}, 4},
		{[]int64{math.MinInt32, math.MaxInt32}, 4},
		{[]int64{0, 1 << 31}, 8},
		{[]int64{math.MinInt64, math.MaxInt64}, 8},
	} {
		b := AppendIntset(nil, c.numbers)
		s, err := OpenIntset(b)
		if err != nil || s.Len() != len(c.numbers) || len(b) != intsetHead+c.width*len(c.numbers) {
			t.Fatalf("%v: %q, %v", c.numbers, b, err)
		}
		for i, v := range c.numbers {
			if s.At(i) != v {
				t.Errorf("%v: element %d is %d", c.numbers, i, s.At(i))
			}
		}
	}
	for name, c := range map[string]struct {
		b    string
		want error
	}{
		"short":                      {"\x02\x00\x00\x00\x00\x00\x00", ErrIntsetHead},
		"width":                      {"\x03\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00", ErrIntsetHead},
		"length (public case e286)":  {"\x02\x00\x00\x00\x05\x00\x00\x00\x01\x00", ErrIntsetHead},
		"length that wraps around":   {"\x08\x00\x00\x00\x00\x00\x00\x20", ErrIntsetHead},
		"twice (public case e287)":   {"\x02\x00\x00\x00\x02\x00\x00\x00\x05\x00\x05\x00", ErrIntsetOrder},
		"descending, signed numbers": {"\x02\x00\x00\x00\x02\x00\x00\x00\x05\x00\xff\xff", ErrIntsetOrder},
	} {
		if _, err := OpenIntset([]byte(c.b)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestCanonicalListpack(t *testing.T) {
	odd := "\x10\x00\x00\x00\x02\x00\x8212\x03\xf1\x05\x00\x03\xff"
	odd = "\x0f" + odd[1:]
	got, err := CanonicalListpack(nil, []byte(odd))
	if err != nil || !bytes.Equal(got, listpackOf([]string{"12", "5"})) {
		t.Fatalf("%q, %v", got, err)
	}
}
