package listpack

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/rdb/packed"
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
	for _, n := range []int{62, 63, 64, 65, 123, 124, 125, 126, 127, 252, 253, 4090, 4095, 4096, 16376, 16377, 16378, 16379, 70000} {
		all = append(all, strings.Repeat("x", n))
	}
	return all
}

// reference writes a listpack with the writer of RDB files.
func reference(elems []string) []byte {
	b := packed.AppendListpackHead(nil)
	for _, s := range elems {
		b = packed.AppendListpackString(b, []byte(s))
	}
	return packed.FinishListpack(b, 0, len(elems))
}

func elements(lp []byte) (all []string) {
	for pos := First(lp); pos != 0; pos = Next(lp, pos) {
		all = append(all, string(Get(lp, pos).Append(nil)))
	}
	return all
}

func of(elems []string) []byte {
	lp := New(nil)
	for _, s := range elems {
		lp = Append(lp, []byte(s))
	}
	return lp
}

// model is a listpack beside the slice that it should be.
type model struct {
	lp   []byte
	want []string
}

func (m *model) check(t *rapid.T) {
	if err := Validate(m.lp, true); err != nil {
		t.Fatalf("%v: %q", err, m.lp)
	}
	if !bytes.Equal(m.lp, reference(m.want)) {
		t.Fatalf("holds %q, want %q", elements(m.lp), m.want)
	}
}

func (m *model) seek(t *rapid.T, i int) int {
	pos := Seek(m.lp, i)
	if back := Seek(m.lp, i-len(m.want)); back != pos {
		t.Fatalf("element %d is at %d, counted from the end at %d", i, pos, back)
	}
	return pos
}

func (m *model) readEverywhere(t *rapid.T) {
	positions := make([]int, 0, len(m.want))
	for pos := First(m.lp); pos != 0; pos = Next(m.lp, pos) {
		positions = append(positions, pos)
	}
	i := len(positions)
	for pos := Last(m.lp); pos != 0; pos = Prev(m.lp, pos) {
		i--
		e := Get(m.lp, pos)
		if pos != positions[i] || string(e.Text(nil)) != m.want[i] || e.Len() != len(m.want[i]) || !e.Equal([]byte(m.want[i])) ||
			e.Equal([]byte(m.want[i]+"0")) || pos != m.seek(t, i) {
			t.Fatalf("element %d reads %q at %d, want %q at %d", i, e.Text(nil), pos, m.want[i], positions[i])
		}
	}
	if i != 0 || Len(m.lp) != len(m.want) || Seek(m.lp, len(m.want)) != 0 || Seek(m.lp, -len(m.want)-1) != 0 {
		t.Fatalf("%d elements, %d from the end, want %d", Len(m.lp), i, len(m.want))
	}
}

func (m *model) find(t *rapid.T, want string, from, skip int) {
	pos := 0
	for i := from; i < len(m.want); i += skip + 1 {
		if m.want[i] == want {
			pos = Seek(m.lp, i)
			break
		}
	}
	if got := Find(m.lp, Seek(m.lp, from), skip, []byte(want)); got != pos {
		t.Fatalf("%q from %d, skipping %d: at %d, want %d", want, from, skip, got, pos)
	}
}

func TestAgainstSlice(t *testing.T) {
	all := samples()
	rapid.Check(t, func(t *rapid.T) {
		elem := rapid.SampledFrom(all)
		m := &model{lp: New(make([]byte, 0, rapid.IntRange(0, 100).Draw(t, "capacity")))}
		index := func(t *rapid.T) int {
			if len(m.want) == 0 {
				t.Skip("empty")
			}
			return rapid.IntRange(0, len(m.want)-1).Draw(t, "index")
		}
		t.Repeat(map[string]func(*rapid.T){
			"": m.check,
			"append": func(t *rapid.T) {
				s := elem.Draw(t, "elem")
				before := Bytes(m.lp)
				m.lp, m.want = Append(m.lp, []byte(s)), append(m.want, s)
				if Bytes(m.lp) != before+EncodedSize([]byte(s)) {
					t.Fatalf("grew from %d to %d, said to be by %d", before, Bytes(m.lp), EncodedSize([]byte(s)))
				}
			},
			"prepend": func(t *rapid.T) {
				s := elem.Draw(t, "elem")
				m.lp, m.want = Prepend(m.lp, []byte(s)), slices.Insert(m.want, 0, s)
			},
			"insert": func(t *rapid.T) {
				i, s := index(t), elem.Draw(t, "elem")
				pos := m.seek(t, i)
				if rapid.Bool().Draw(t, "after") {
					m.lp, m.want = Insert(m.lp, pos, After, []byte(s)), slices.Insert(m.want, i+1, s)
				} else {
					m.lp, m.want = Insert(m.lp, pos, Before, []byte(s)), slices.Insert(m.want, i, s)
				}
			},
			"replace": func(t *rapid.T) {
				i, s := index(t), elem.Draw(t, "elem")
				m.lp, m.want[i] = Replace(m.lp, m.seek(t, i), []byte(s)), s
			},
			"delete": func(t *rapid.T) {
				i, n := index(t), rapid.IntRange(0, 5).Draw(t, "count")
				pos := m.seek(t, i)
				m.lp, m.want = Delete(m.lp, pos, n), slices.Delete(m.want, i, min(i+n, len(m.want)))
				if IsEnd(m.lp, pos) != (i == len(m.want)) || i < len(m.want) && pos != m.seek(t, i) {
					t.Fatal("the position is not the next element's")
				}
			},
			"read": m.readEverywhere,
			"find": func(t *rapid.T) {
				m.find(t, elem.Draw(t, "want"), index(t), rapid.IntRange(0, 2).Draw(t, "skip"))
			},
		})
	})
}

func TestNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v, w := rapid.Int64().Draw(t, "v"), rapid.Int64().Draw(t, "w")
		lp := InsertInt(AppendInt(New(nil), v), headSize, Before, w)
		lp = InsertInt(lp, First(lp), After, w)
		lp = ReplaceInt(lp, First(lp), v)
		want := []string{strconv.FormatInt(v, 10), strconv.FormatInt(w, 10), strconv.FormatInt(v, 10)}
		if !bytes.Equal(lp, reference(want)) || FindInt(lp, First(lp), 0, v) != headSize {
			t.Fatalf("%q, want %q", elements(lp), want)
		}
	})
}

func TestCountIsHidden(t *testing.T) {
	lp := New(nil)
	for i := range 70000 {
		lp = AppendInt(lp, int64(i))
	}
	if Len(lp) != 70000 || !Get(lp, Seek(lp, -1)).Equal([]byte("69999")) || !Get(lp, Seek(lp, 69000)).Equal([]byte("69000")) {
		t.Fatal("elements are lost")
	}
	if err := Validate(lp, true); err != nil {
		t.Fatal(err)
	}
	lp = Delete(lp, First(lp), 69990)
	if Len(lp) != 10 || Validate(lp, true) != nil {
		t.Fatalf("%d elements left", Len(lp))
	}
}

func TestNothingIsAllocatedWithinTheCapacity(t *testing.T) {
	lp := of(samples()[:40])
	lp = slices.Grow(lp, 1000)
	text, number := []byte("some text"), []byte("12345678")
	if n := testing.AllocsPerRun(100, func() {
		lp = Append(lp, text)
		lp = Prepend(lp, number)
		lp = Insert(lp, Seek(lp, 5), After, text)
		lp = Replace(lp, Seek(lp, 5), number)
		if Find(lp, First(lp), 0, text) == 0 {
			t.Error("not found")
		}
		lp = Delete(lp, Seek(lp, 6), 1)
		lp = Delete(lp, First(lp), 1)
		lp = Delete(lp, Seek(lp, 40), Len(lp))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDamage(t *testing.T) {
	good := string(of([]string{"a", "b"}))
	set := func(at int, b byte) string { return good[:at] + string([]byte{b}) + good[at+1:] }
	for _, c := range []struct {
		name string
		b    string
		want error
	}{
		{"empty", "", ErrHead},
		{"cut", good[:len(good)-1], ErrHead},
		{"length", set(0, 0xe7), ErrHead},
		{"no end byte", set(12, 0), ErrHead},
		{"count too small", set(4, 1), ErrCount},
		{"count too great", set(4, 3), ErrCount},
		{"string beyond the end", set(9, 0xbf), ErrElement},
		{"middle string beyond the end", set(9, 0xef), ErrElement},
		{"long string beyond the end", set(9, 0xf0), ErrElement},
		{"number beyond the end", set(9, 0xf4), ErrElement},
		{"backward length", set(8, 3), ErrBackward},
		{"unknown encoding", set(6, 0xf5), ErrEncoding},
		{"end byte inside", set(6, 0xff), ErrEncoding},
		{"sound", good, nil},
	} {
		if err := Validate([]byte(c.b), true); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(of(nil))
	f.Add(of([]string{"a", "1", "-5000", "70000", "9000000", "3000000000000"}))
	f.Add(of(samples()[:60]))
	f.Fuzz(func(t *testing.T, b []byte) {
		if Validate(b, true) != nil {
			return
		}
		all := elements(b)
		back := 0
		for pos := Last(b); pos != 0; pos = Prev(b, pos) {
			back++
		}
		if len(all) != Len(b) || len(all) != back {
			t.Fatalf("%d elements, %d from the end, counted %d", len(all), back, Len(b))
		}
		if again := of(all); !slices.Equal(elements(again), all) {
			t.Fatal("written again it reads differently")
		}
	})
}

func BenchmarkFind(b *testing.B) {
	lp := New(nil)
	for i := range 128 {
		lp = Append(lp, []byte("member:"+strconv.Itoa(1000+i)))
	}
	want := []byte("member:1127")
	b.ReportAllocs()
	for b.Loop() {
		if Find(lp, First(lp), 0, want) == 0 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkFindField(b *testing.B) {
	lp := New(nil)
	for i := range 64 {
		lp = AppendInt(Append(lp, []byte("field:"+strconv.Itoa(1000+i))), int64(i)*100)
	}
	want := []byte("field:1063")
	b.ReportAllocs()
	for b.Loop() {
		if Find(lp, First(lp), 1, want) == 0 {
			b.Fatal("not found")
		}
	}
}

func BenchmarkAppendDelete(b *testing.B) {
	lp := of([]string{"alpha", "beta", "gamma"})
	text := []byte("delta")
	b.ReportAllocs()
	for b.Loop() {
		lp = Append(lp, text)
		lp = Delete(lp, First(lp), 1)
	}
}
