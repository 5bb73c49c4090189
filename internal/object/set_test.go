package object

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/rdb"
)

// setModel is a set beside the map that it should be.
type setModel struct {
	part   *keyspace.Part
	hasher keyspace.Hasher
	limits Limits
	at     Place
	want   map[string]bool
	buf    []byte
}

func newSetModel(intset, entries, value int) *setModel {
	arena := mem.NewArena(mem.Options{})
	m := &setModel{hasher: keyspace.NewHasher(maphash.MakeSeed()), want: map[string]bool{}}
	m.part = keyspace.New(keyspace.Options{Databases: 1, Arena: arena, Dropper: NewDropper(arena)})
	m.part.SetHasher(m.hasher)
	m.limits.SetDefaults()
	m.limits.SetIntset.Store(int64(intset))
	m.limits.SetEntries.Store(int64(entries))
	m.limits.SetValue.Store(int64(value))
	m.at = m.place("s")
	return m
}

// place is a place of the model's only part, whatever the key's slot is.
func (m *setModel) place(name string) Place {
	k := m.hasher.Key([]byte(name))
	k.Slot = 0
	return Place{Part: m.part, Key: &k}
}

// close empties the part and looks for leaks.
func (m *setModel) close(t rapid.TB) {
	m.part.FlushDB(0)
	for m.part.FreeSome(1<<30) > 0 {
	}
	for purpose, bytes := range m.part.Memory().Used {
		if bytes != 0 {
			t.Fatalf("%v leaks %d bytes", mem.Purpose(purpose), bytes)
		}
	}
	m.part.Arena().Close()
}

func (m *setModel) read() (Set, bool) {
	r, ok := m.part.Find(0, m.at.Key)
	if !ok {
		return Set{}, false
	}
	return OpenSet(m.part, r), true
}

func (m *setModel) check(t *rapid.T) {
	s, ok := m.read()
	if ok != (len(m.want) > 0) || s.Len() != len(m.want) {
		t.Fatalf("%d members, want %d", s.Len(), len(m.want))
	}
	got := map[string]bool{}
	s.EachText(func(text []byte) bool {
		got[string(text)] = true
		return true
	})
	if !maps.Equal(got, m.want) {
		t.Fatalf("%v, want %v", got, m.want)
	}
	limit := map[keyspace.Encoding]int64{keyspace.EncIntset: m.limits.SetIntset.Load(), keyspace.EncListpack: m.limits.SetEntries.Load(),
		keyspace.EncHashtable: 1 << 40}[s.Encoding()]
	if int64(s.Len()) > limit {
		t.Fatalf("%d members in encoding %d", s.Len(), s.Encoding())
	}
}

func (m *setModel) edit(first string, n int) SetEdit {
	if _, ok := m.read(); ok {
		return m.editOld()
	}
	var e SetEdit
	e.Begin(m.at, &m.limits, m.buf, []byte(first), n)
	return e
}

func (m *setModel) editOld() SetEdit {
	r, _ := m.part.Find(0, m.at.Key)
	var e SetEdit
	e.Open(m.at, r, &m.limits, m.buf)
	return e
}

func (m *setModel) end(e *SetEdit) {
	e.Commit()
	m.buf = e.Scratch()
}

var someMembers = []string{"", "a", "b", "c", "dd", "01", "-0", "0", "1", "2", "3", "40000", "-40000", "3000000000", "9223372036854775807",
	"-9223372036854775808", "9223372036854775808", strings.Repeat("x", 20), strings.Repeat("y", 21), strings.Repeat("z", 5000)}

func TestSetAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newSetModel(rapid.SampledFrom([]int{0, 2, 6, 512}).Draw(t, "intset"), rapid.SampledFrom([]int{0, 3, 8, 128}).Draw(t, "entries"),
			rapid.SampledFrom([]int{0, 4, 20, 64}).Draw(t, "value"))
		defer m.close(t)
		members := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(someMembers), rapid.Map(rapid.IntRange(0, 20), strconv.Itoa)), 1, 10)
		t.Repeat(map[string]func(*rapid.T){
			"": m.check,
			"add": func(t *rapid.T) {
				list := members.Draw(t, "members")
				e := m.edit(list[0], len(list))
				e.Expect(len(list))
				for _, x := range list {
					if added := e.Add([]byte(x)); added == m.want[x] {
						t.Fatalf("adding %q: %v", x, added)
					}
					m.want[x] = true
				}
				m.end(&e)
			},
			"remove": func(t *rapid.T) {
				if _, ok := m.read(); !ok {
					t.Skip("empty")
				}
				e := m.editOld()
				for _, x := range members.Draw(t, "members") {
					if removed := e.Remove([]byte(x)); removed != m.want[x] {
						t.Fatalf("removing %q: %v", x, removed)
					}
					delete(m.want, x)
				}
				m.end(&e)
			},
			"expire": func(t *rapid.T) { m.part.SetExpire(0, m.at.Key, 1000) },
			"look": func(t *rapid.T) {
				s, _ := m.read()
				for _, x := range append(members.Draw(t, "members"), someMembers...) {
					if s.Contains([]byte(x)) != m.want[x] || s.Has(Member{Str: []byte(x)}) != m.want[x] {
						t.Fatalf("%q: %v", x, !m.want[x])
					}
				}
			},
			"save and build": m.saveAndBuild,
			"copy": func(t *rapid.T) {
				s, ok := m.read()
				if !ok {
					t.Skip("empty")
				}
				enc := s.Encoding()
				r, _ := m.part.Find(0, m.at.Key)
				to := m.place("copy")
				m.buf = Copy(to, r, &m.limits, m.buf)
				m.part.Delete(0, m.at.Key)
				m.part.Rename(0, to.Key, m.at.Key)
				if s, _ = m.read(); s.Encoding() != enc {
					t.Fatalf("the copy of encoding %d has %d", enc, s.Encoding())
				}
			},
			"to intset": m.toIntset,
		})
	})
}

func (m *setModel) saveAndBuild(t *rapid.T) {
	r, ok := m.part.Find(0, m.at.Key)
	if !ok {
		t.Skip("empty")
	}
	if size := Size(r, 0); size < int64(keyspace.RecSize(r)) {
		t.Fatalf("takes %d bytes", size)
	}
	saved := AppendTyped(nil, r, nil)
	var b Builder
	b.Begin(m.at, r.ExpireAt(), &m.limits)
	if err := rdb.DecodeValue(saved, &b); err != nil {
		t.Fatal(err)
	}
	// The same again, cut off: it must not touch what is there.
	b.Begin(m.at, 0, &m.limits)
	if err := rdb.DecodeValue(saved[:len(saved)-1], &b); err == nil {
		t.Fatal("half a value was taken")
	}
	b.Abort()
}

func (m *setModel) toIntset(t *rapid.T) {
	s, ok := m.read()
	if !ok {
		t.Skip("empty")
	}
	var e SetEdit
	e.BeginAs(keyspace.EncListpack, m.at, &m.limits, nil)
	numbers := true
	s.Each(func(x Member) bool {
		e.AddMember(x)
		_, isInt := num.ParseInt(x.Text(nil))
		numbers = numbers && isInt
		return true
	})
	if numbers {
		e.MaybeToIntset()
		if fits := int64(e.Len()) <= m.limits.SetIntset.Load(); fits != (e.Encoding() == keyspace.EncIntset) {
			t.Fatalf("%d numbers in encoding %d", e.Len(), e.Encoding())
		}
	}
	if rapid.Bool().Draw(t, "keep") {
		e.PutAt(m.at, 0)
	} else {
		e.Discard()
	}
}

func TestSetByChance(t *testing.T) {
	for _, format := range []string{"%d", "m%d", strings.Repeat("x", 65) + "%d"} {
		m := newSetModel(512, 128, 64)
		e := m.edit(fmt.Sprintf(format, 0), 100)
		for i := range 100 {
			e.Add(fmt.Appendf(nil, format, i))
		}
		m.end(&e)
		dice := table.Dice(1)
		s, _ := m.read()
		for n := range 101 {
			var got []string
			s.RandomDistinct(&dice, n, func(x Member) { got = append(got, string(x.Append(nil))) })
			slices.Sort(got)
			if len(got) != n || len(slices.Compact(got)) != n {
				t.Fatalf("%d of %d distinct members", len(slices.Compact(got)), n)
			}
		}
		if x := s.Random(&dice); !s.Has(x) {
			t.Fatalf("%q is no member", x.Append(nil))
		}
		met := 0
		cursor := uint64(0)
		for {
			if cursor = s.Scan(cursor, 7, func(Member) { met++ }); cursor == 0 {
				break
			}
		}
		if met != 100 {
			t.Fatalf("%d members were met", met)
		}
		m.close(t)
	}
}

// A member that is there twice in a file is refused, and nothing leaks.
func TestSetBuildRefusesDuplicates(t *testing.T) {
	m := newSetModel(2, 2, 64)
	defer m.close(t)
	for _, members := range [][]string{{"1", "1"}, {"a", "a"}, {"a", "b", "c", "d", "a"}, {"1", "a", "1"}} {
		saved := rdb.AppendLen(rdb.AppendType(nil, rdb.TypeSet), uint64(len(members)))
		for _, x := range members {
			saved = rdb.AppendString(saved, []byte(x), nil)
		}
		var b Builder
		b.Begin(m.at, 0, &m.limits)
		if err := rdb.DecodeValue(saved, &b); err == nil {
			t.Errorf("%q was taken", members)
		}
		b.Abort()
	}
	if _, ok := m.read(); ok {
		t.Error("a set was made")
	}
}

// recorder is an observer that saves what it gets.
type recorder struct{ saved [][]byte }

func (o *recorder) BeforeChange(_ int, r keyspace.Rec) {
	o.saved = append(o.saved, AppendTyped(nil, r, nil))
}

// A cut has the set as it was, though it is changed in place.
func TestSetIsHandedOverBeforeItChanges(t *testing.T) {
	for _, format := range []string{"%d", "m%d", strings.Repeat("x", 65) + "%d"} {
		for _, remove := range []bool{false, true} {
			m := newSetModel(512, 128, 64)
			change := func(i int, remove bool) {
				x := fmt.Sprintf(format, i)
				e := m.edit(x, 1)
				if remove {
					e.Remove([]byte(x))
				} else {
					e.Add([]byte(x))
				}
				m.end(&e)
			}
			for i := range 100 {
				change(i, false)
			}
			r, _ := m.part.Find(0, m.at.Key)
			want := AppendTyped(nil, r, nil)
			var o recorder
			m.part.BeginEpoch(0, nil, &o)
			change(50, remove) // the first change adds nothing, or removes
			change(1000, false)
			change(1000, true)
			if len(o.saved) != 1 || !slices.Equal(o.saved[0], want) {
				t.Fatalf("%d states were handed over", len(o.saved))
			}
			m.part.EndEpoch(0)
			for m.part.DrainEpoch(0, 1000) {
			}
			m.close(t)
		}
	}
}
