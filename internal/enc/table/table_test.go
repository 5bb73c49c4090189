package table

import (
	"fmt"
	"hash/maphash"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/mem"
)

// field is what the model has of one member.
type field struct {
	value    string
	expireAt int64
	score    float64
}

// model is a table beside a map that does the same.
type model struct {
	t      Table
	arena  *mem.Arena
	seed   maphash.Seed
	bits   int // of the hash that count; few make many equal tags
	fields map[string]field
}

func newModel(l Layout, segmentMax, hashBits int) *model {
	a := mem.NewArena(mem.Options{})
	m := &model{arena: a, seed: maphash.MakeSeed(), bits: hashBits, fields: map[string]field{}}
	m.t = Open(a, New(a, mem.ForHash, l))
	m.t.wordsMax = segmentMax
	return m
}

func (m *model) hash(member string) uint64 {
	return maphash.String(m.seed, member) >> (64 - m.bits) << (64 - m.bits)
}

// close frees the table in slices and looks for leaks.
func (m *model) close(t rapid.TB, budget int) {
	for done := false; !done; {
		spent := 0
		if spent, done = m.t.Free(budget); !done && spent == 0 {
			t.Fatal("Free does nothing")
		}
	}
	if err := m.arena.CheckLeaks(); err != nil {
		t.Fatal(err)
	}
	m.arena.Close()
}

func (m *model) check(t rapid.TB) {
	for _, name := range []string{"a", "b", "absent"} { // fetching changes nothing
		m.t.WarmCell(m.hash(name))
		m.t.WarmEntry(m.hash(name))
	}
	if err := m.t.Check(); err != nil {
		t.Fatal(err)
	}
	if m.t.Len() != len(m.fields) {
		t.Fatalf("%d entries, want %d", m.t.Len(), len(m.fields))
	}
	seen := 0
	m.t.Each(func(e Entry) bool {
		want, ok := m.fields[string(e.Member())]
		if !ok || string(e.Value()) != want.value {
			t.Fatalf("%q has %q, want %q", e.Member(), e.Value(), want.value)
		}
		seen++
		return true
	})
	if seen != len(m.fields) {
		t.Fatalf("Each met %d of %d", seen, len(m.fields))
	}
	volatile := 0
	for name, want := range m.fields {
		e, ok := m.t.Find(m.hash(name), []byte(name))
		if !ok || string(e.Member()) != name || string(e.Value()) != want.value {
			t.Fatalf("%q: found %v", name, ok)
		}
		if m.t.layout == Fields && e.ExpireAt() != want.expireAt || m.t.layout == Scores && e.Score() != want.score {
			t.Fatalf("%q: expiry or score", name)
		}
		if want.expireAt != 0 {
			volatile++
		}
	}
	if m.t.Volatile() != volatile {
		t.Fatalf("%d with expiry, want %d", m.t.Volatile(), volatile)
	}
}

func drawMember(t *rapid.T) string {
	n := rapid.IntRange(0, 400).Draw(t, "member")
	switch n % 50 {
	case 0:
		return strings.Repeat(fmt.Sprint(n, ":"), 60+n) // longer than a length of one byte tells
	case 1:
		return ""
	}
	return fmt.Sprint("m", n)
}

func drawValue(t *rapid.T) string {
	return strings.Repeat("v", rapid.SampledFrom([]int{0, 1, 3, 8, 20, 254, 255, 256, 70000}).Draw(t, "length"))
}

func (m *model) step(t *rapid.T) {
	name := drawMember(t)
	_, there := m.fields[name]
	if rapid.IntRange(0, 9).Draw(t, "delete") < 4 {
		if m.t.Delete(m.hash(name), []byte(name)) != there {
			t.Fatalf("Delete %q", name)
		}
		delete(m.fields, name)
		return
	}
	var added bool
	switch m.t.layout {
	case Members:
		added = m.t.Add(m.hash(name), []byte(name))
		m.fields[name] = field{}
	case Scores:
		score := rapid.Float64().Draw(t, "score")
		var e Entry
		e, added = m.t.Put(m.hash(name), []byte(name), score)
		if !added {
			if e.Score() != m.fields[name].score {
				t.Fatalf("Put %q: the old score is %v, want %v", name, e.Score(), m.fields[name].score)
			}
			e.SetScore(score)
		}
		if at := m.t.At(e.Ref()); string(at.Member()) != name || at.Score() != score {
			t.Fatalf("At %q: %q %v", name, at.Member(), at.Score())
		}
		m.fields[name] = field{score: score}
	case Fields:
		f := field{value: drawValue(t), expireAt: max(0, rapid.Int64Range(-100, 100).Draw(t, "at"))}
		added = m.t.Set(m.hash(name), []byte(name), []byte(f.value), f.expireAt)
		m.fields[name] = f
	}
	if added == there {
		t.Fatalf("%q was added: %v", name, added)
	}
}

func (m *model) expire(t *rapid.T) {
	now := rapid.Int64Range(0, 100).Draw(t, "now")
	budget := rapid.IntRange(1, 100).Draw(t, "budget")
	for more := true; more; {
		var removed, seen int
		removed, more = m.t.ExpireDue(now, budget, func(e Entry) {
			f, ok := m.fields[string(e.Member())]
			if !ok || f.expireAt == 0 || f.expireAt > now {
				t.Fatalf("%q is not due", e.Member())
			}
			delete(m.fields, string(e.Member()))
			seen++
		})
		if removed != seen {
			t.Fatalf("%d removed, %d seen", removed, seen)
		}
	}
	for name, f := range m.fields {
		if f.expireAt != 0 && f.expireAt <= now {
			t.Fatalf("%q is still there", name)
		}
	}
}

func TestTableDoesWhatAMapDoes(t *testing.T) {
	for _, l := range []Layout{Members, Fields, Scores} {
		t.Run(fmt.Sprint("layout ", l), rapid.MakeCheck(func(t *rapid.T) {
			m := newModel(l, rapid.SampledFrom([]int{24, 60, 2048}).Draw(t, "max"), rapid.SampledFrom([]int{7, 64}).Draw(t, "bits"))
			if rapid.Bool().Draw(t, "reserve") {
				m.t.Reserve(rapid.IntRange(0, 1000).Draw(t, "room"))
			}
			actions := map[string]func(*rapid.T){
				"":     func(t *rapid.T) { m.check(t) },
				"step": m.step,
				"many": func(t *rapid.T) {
					for range 30 {
						m.step(t)
					}
				},
			}
			if l == Fields {
				actions["expire"] = m.expire
			}
			t.Repeat(actions)
			m.close(t, rapid.IntRange(1, 100).Draw(t, "free"))
		}))
	}
}

// TestScanMeetsWhatStays walks while entries come and go: those that are there all the time are met exactly once.
func TestScanMeetsWhatStays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(Members, rapid.SampledFrom([]int{32, 60, 2048}).Draw(t, "max"), rapid.SampledFrom([]int{7, 64}).Draw(t, "bits"))
		stays := rapid.IntRange(0, 300).Draw(t, "stay")
		for i := range stays {
			name := fmt.Sprint("stays", i)
			m.t.Add(m.hash(name), []byte(name))
			m.fields[name] = field{}
		}
		met := map[string]int{}
		cursor := uint64(0)
		for first := true; first || cursor != 0; first = false {
			cursor = m.t.Scan(cursor, rapid.IntRange(1, 40).Draw(t, "count"), func(e Entry) { met[string(e.Member())]++ })
			for range rapid.IntRange(0, 3).Draw(t, "changes") * 40 {
				m.step(t)
			}
		}
		for i := range stays {
			if n := met[fmt.Sprint("stays", i)]; n != 1 {
				t.Fatalf("member %d was met %d times", i, n)
			}
		}
		m.check(t)
		m.close(t, 1000)
	})
}

// TestGrowthPauses shows that no insertion or removal moves more than the cells of two segments.
func TestGrowthPauses(t *testing.T) {
	m := newModel(Members, wordsMax, 64)
	worst, before := 0, 0
	name := make([]byte, 0, 32)
	hash := func(i int) uint64 {
		name = fmt.Appendf(name[:0], "member:%d", i)
		return maphash.Bytes(m.seed, name)
	}
	const members = 300_000
	for i := range members {
		m.t.Add(hash(i), name)
		worst, before = max(worst, m.t.moved-before), m.t.moved
	}
	if perMember := float64(before) / members; perMember > 12 {
		t.Errorf("growing moved %.1f cells a member", perMember)
	}
	for i := range members {
		m.t.Delete(hash(i), name)
		worst, before = max(worst, m.t.moved-before), m.t.moved
	}
	if worst > 2*wordsMax {
		t.Errorf("one step moved %d cells", worst)
	}
	m.close(t, 1000)
}

func TestRandomIsUniform(t *testing.T) {
	for _, size := range []int{1, 3, 40, 3000} {
		m := newModel(Members, 64, 64)
		for i := range size {
			name := fmt.Sprint(i)
			m.t.Add(m.hash(name), []byte(name))
		}
		counts := map[string]int{}
		dice := Dice(1)
		const rounds = 100
		for range rounds * size {
			counts[string(m.t.Random(&dice).Member())]++
		}
		for name, n := range counts {
			if n < rounds*4/10 || n > rounds*17/10 {
				t.Errorf("of %d, %s was chosen %d times instead of %d", size, name, n, rounds)
			}
		}
		if len(counts) != size {
			t.Errorf("%d of %d were chosen", len(counts), size)
		}
		m.close(t, 7)
	}
}

// TestRandomOfAThinTable asks a table that has lost nearly all it had.
func TestRandomOfAThinTable(t *testing.T) {
	m := newModel(Members, wordsMax, 64)
	for i := range 20000 {
		name := fmt.Sprint(i)
		m.t.Add(m.hash(name), []byte(name))
	}
	for i := range 20000 - 1 {
		name := fmt.Sprint(i)
		m.t.Delete(m.hash(name), []byte(name))
	}
	dice := Dice(1)
	for range 100 {
		if e := m.t.Random(&dice); string(e.Member()) != "19999" {
			t.Fatalf("%q", e.Member())
		}
	}
	m.close(t, 7)
}

func TestHotPathsDoNotAllocate(t *testing.T) {
	m := newModel(Fields, wordsMax, 64)
	value := []byte("value")
	name := make([]byte, 0, 32)
	i := 0
	allocs := testing.AllocsPerRun(2000, func() {
		i++
		name = fmt.Appendf(name[:0], "%d", i%500)
		t := Open(m.arena, m.t.Root())
		hash := maphash.Bytes(m.seed, name)
		t.Set(hash, name, value, int64(i&1))
		e, _ := t.Find(hash, name)
		dice := Dice(i)
		n := e.Size() + t.Random(&dice).Size()
		t.Scan(0, 3, func(e Entry) { n += e.Size() })
	})
	if allocs > 1.5 { // the number that Appendf boxes
		t.Errorf("%.1f allocations", allocs)
	}
	m.close(t, 100)
}
