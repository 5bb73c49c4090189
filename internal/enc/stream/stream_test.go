package stream

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/mem"
)

// entry is an entry of the model.
type entry struct {
	id    ID
	pairs string // joined by commas
}

// model is a stream beside a list.
type model struct {
	*rapid.T
	a       *mem.Arena
	s       Stream
	limits  Limits
	entries []entry
	added   int64
}

func (m *model) append(pairs ...string) {
	id := m.s.LastID()
	if rapid.Bool().Draw(m.T, "newMs") {
		id.Ms += rapid.Uint64Range(1, 1<<40).Draw(m.T, "ms")
		id.Seq = rapid.Uint64Range(0, 3).Draw(m.T, "seq")
	} else {
		id.Seq++
	}
	words := make([][]byte, len(pairs))
	for i, p := range pairs {
		words[i] = []byte(p)
	}
	if !m.s.Append(id, words, m.limits) {
		m.Fatal("an entry is refused")
	}
	m.entries = append(m.entries, entry{id, strings.Join(pairs, ",")})
	m.added++
}

// appendMany appends short entries, so many that a trim may leave more nodes behind than are freed at once.
func (m *model) appendMany() {
	for range rapid.IntRange(100, 500).Draw(m.T, "many") {
		id := m.s.LastID()
		id.Seq++
		if !m.s.Append(id, [][]byte{{'n'}, {'1'}}, m.limits) {
			m.Fatal("an entry is refused")
		}
		m.entries = append(m.entries, entry{id, "n,1"})
		m.added++
	}
}

func (m *model) drawPairs() (pairs []string) {
	names := rapid.SampledFrom([]string{"a", "a b", "a b", "a b c", "17 a", "0", "b a"}).Draw(m.T, "names")
	for _, name := range strings.Fields(names) {
		value := rapid.OneOf(rapid.SampledFrom([]string{"", "1", "-1", "127", "128", "99999999999", strings.Repeat("x", 300)}),
			rapid.StringN(0, 20, 70)).Draw(m.T, "value")
		pairs = append(pairs, name, value)
	}
	return pairs
}

// drawID is the ID of an entry, or near one.
func (m *model) drawID() ID {
	if len(m.entries) == 0 {
		return ID{Ms: 5}
	}
	id := m.entries[rapid.IntRange(0, len(m.entries)-1).Draw(m.T, "entry")].id
	switch rapid.IntRange(0, 5).Draw(m.T, "near") {
	case 0:
		id, _ = id.Next()
	case 1:
		id, _ = id.Prev()
	}
	return id
}

func readEntry(it *Iter) entry {
	var words []string
	for range it.Fields {
		f, v := it.Pair()
		words = append(words, string(f.Text(nil)), string(v.Text(nil)))
	}
	return entry{it.ID, strings.Join(words, ",")}
}

func (m *model) checkRange(from, to ID) {
	var want, got []entry
	for _, e := range m.entries {
		if !e.id.Less(from) && !to.Less(e.id) {
			want = append(want, e)
		}
	}
	for it := m.s.Range(from, to); it.Next(); {
		got = append(got, readEntry(&it))
	}
	if !slices.Equal(got, want) {
		m.Fatalf("from %v to %v:\n%v\nwant\n%v", from, to, got, want)
	}
	got = nil
	for it := m.s.RangeBack(from, to); it.Next(); {
		got = append(got, readEntry(&it))
	}
	slices.Reverse(got)
	if !slices.Equal(got, want) {
		m.Fatalf("back from %v to %v:\n%v\nwant\n%v", from, to, got, want)
	}
}

func (m *model) check() {
	if m.s.Len() != int64(len(m.entries)) || m.s.EntriesAdded() != m.added {
		m.Fatalf("%d entries, %d added; want %d and %d", m.s.Len(), m.s.EntriesAdded(), len(m.entries), m.added)
	}
	first := ID{}
	if len(m.entries) > 0 {
		first = m.entries[0].id
	}
	if m.s.FirstID() != first {
		m.Fatalf("the first is %v, not %v", m.s.FirstID(), first)
	}
	last, ok := m.s.Last()
	if ok != (len(m.entries) > 0) || ok && last != m.entries[len(m.entries)-1].id {
		m.Fatalf("the last is %v", last)
	}
	m.s.EachNode(func(_ ID, lp []byte) {
		if err := listpack.Validate(lp, true); err != nil {
			m.Fatal(err)
		}
	})
}

func (m *model) delete() {
	ids := []ID{m.drawID(), m.drawID()}
	before := len(m.entries)
	m.entries = slices.DeleteFunc(m.entries, func(e entry) bool { return e.id == ids[0] || e.id == ids[1] })
	if n := m.s.Delete(ids); n != before-len(m.entries) {
		m.Fatalf("%d deleted, not %d", n, before-len(m.entries))
	}
}

// freeHusk frees what a removal has left to be freed.
func freeHusk(a *mem.Arena, husk mem.Ref) {
	for done := husk == 0; !done; {
		_, done = FreeSome(a, husk, 7)
	}
}

func (m *model) trim() {
	o := Trim{ByID: rapid.Bool().Draw(m.T, "byID"), Approx: rapid.Bool().Draw(m.T, "approx")}
	o.AtMost = rapid.SampledFrom([]int64{0, 0, 1, 10, 1000}).Draw(m.T, "atMost")
	keep := len(m.entries)
	if o.ByID {
		o.MinID = m.drawID()
		for keep > 0 && m.entries[len(m.entries)-keep].id.Less(o.MinID) {
			keep--
		}
	} else {
		o.MaxLen = int64(rapid.IntRange(0, len(m.entries)+1).Draw(m.T, "len"))
		keep = min(keep, int(o.MaxLen))
	}
	deleted, husk := m.s.Trim(o)
	n := int(deleted)
	freeHusk(m.a, husk)
	if most := len(m.entries) - keep; n > most || !o.Approx && o.AtMost == 0 && n != most {
		m.Fatalf("%+v trimmed %d, not %d", o, n, most)
	}
	m.entries = m.entries[n:]
}

// A stream is a list of entries, whatever its nodes are like.
func TestEntries(t *testing.T) { rapid.Check(t, checkEntries) }

func checkEntries(t *rapid.T) {
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	m := &model{T: t, a: a, s: New(a)}
	m.limits.Bytes = rapid.SampledFrom([]int64{0, 10, 100, 4096}).Draw(t, "bytes")
	m.limits.Entries = rapid.SampledFrom([]int64{0, 1, 3, 100}).Draw(t, "entries")
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		switch rapid.IntRange(0, 6).Draw(t, "what") {
		case 6:
			m.appendMany()
		case 0, 1:
			m.append(m.drawPairs()...)
		case 2:
			pairs := m.drawPairs()
			for range rapid.IntRange(1, 100).Draw(t, "n") {
				id, _ := m.s.LastID().Next()
				m.s.SetLastID(id)
				m.append(pairs...)
			}
		case 3:
			m.delete()
		case 4:
			m.trim()
		case 5:
			m.checkRange(m.drawID(), m.drawID())
		}
		m.check()
	}
	m.checkRange(ID{}, MaxID())
	if got, want := m.s.Bytes(0), a.Used(); got != want {
		t.Fatalf("the stream counts %d bytes, the arena %d", got, want)
	}
	freeAll(t, a, m.s, 7)
}

func freeAll(t *rapid.T, a *mem.Arena, s Stream, budget int) {
	for done := false; !done; {
		_, done = FreeSome(a, s.Root(), budget)
	}
	if err := a.CheckLeaks(); err != nil {
		t.Fatal(err)
	}
}

// A node whose counts outgrow a byte keeps its shape.
func TestCountsGrow(t *testing.T) {
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	s := New(a)
	const n = 5000 // a number takes more bytes from 128 and from 4096 on
	for i := range n {
		s.Append(ID{Ms: uint64(i + 1)}, [][]byte{[]byte("f"), []byte("v")}, Limits{})
	}
	for i := 0; i < n; i += 2 {
		s.Delete([]ID{{Ms: uint64(i + 1)}})
	}
	if s.Nodes() != 1 || s.Len() != n/2 {
		t.Fatal(s.Nodes(), s.Len())
	}
	s.EachNode(func(_ ID, lp []byte) {
		if m := readMaster(lp); m.live != n/2 || m.deleted != n/2 {
			t.Fatal(m)
		}
		if err := listpack.Validate(lp, true); err != nil {
			t.Fatal(err)
		}
	})
	FreeSome(a, s.Root(), 1<<30)
	if err := a.CheckLeaks(); err != nil {
		t.Fatal(err)
	}
}

// groupModel is what a group should hold.
type groupModel struct {
	pending   map[ID]string // its owner
	consumers map[string]bool
}

func (m *groupModel) check(t *rapid.T, g Group) {
	if g.PendingLen() != len(m.pending) || g.Consumers() != len(m.consumers) {
		t.Fatalf("%d pending, %d consumers", g.PendingLen(), g.Consumers())
	}
	for it := g.PendingFrom(ID{}); it.Next(); {
		owner, _ := g.Owner(it.Pending())
		if string(owner.Name()) != m.pending[it.ID] {
			t.Fatalf("%v belongs to %s, not %s", it.ID, owner.Name(), m.pending[it.ID])
		}
	}
	var before []byte
	for i := range g.Consumers() {
		c := g.ConsumerAt(i)
		if i > 0 && bytes.Compare(before, c.Name()) >= 0 || !m.consumers[string(c.Name())] {
			t.Fatalf("%s after %s", c.Name(), before)
		}
		before = c.Name()
		n := 0
		for it := g.OwnedFrom(c, ID{}); it.Next(); n++ {
			if m.pending[it.ID] != string(c.Name()) || it.Pending().Deliveries() != int64(it.ID.Ms) {
				t.Fatalf("%v is not %s's", it.ID, c.Name())
			}
		}
		if n != c.PendingLen() {
			t.Fatal(n, c.PendingLen())
		}
	}
}

func (m *groupModel) removeConsumer(t *rapid.T, g Group, name string) {
	n, found := g.RemoveConsumer([]byte(name))
	if found != m.consumers[name] {
		t.Fatal(found)
	}
	delete(m.consumers, name)
	for id, owner := range m.pending {
		if owner == name {
			n--
			delete(m.pending, id)
		}
	}
	if n != 0 {
		t.Fatal(n)
	}
}

// Groups know what is pending, and who owns it.
func TestGroups(t *testing.T) { rapid.Check(t, checkGroups) }

func checkGroups(t *rapid.T) {
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	s := New(a)
	models := map[string]*groupModel{}
	names := rapid.SampledFrom([]string{"", "a", "b", "ab", "group-with-a-long-name"})
	for range rapid.IntRange(1, 30).Draw(t, "steps") {
		name := names.Draw(t, "group")
		g, ok := s.Group([]byte(name))
		m := models[name]
		if ok != (m != nil) {
			t.Fatalf("group %q: %v", name, ok)
		}
		if !ok {
			s.AddGroup([]byte(name), ID{}, Unknown)
			models[name] = &groupModel{map[ID]string{}, map[string]bool{}}
			continue
		}
		consumer := fmt.Sprint("c", rapid.IntRange(0, 12).Draw(t, "consumer"))
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0:
			if rapid.IntRange(0, 5).Draw(t, "sure") == 0 {
				husk, _ := s.RemoveGroup([]byte(name))
				freeHusk(a, husk)
				delete(models, name)
				continue
			}
		case 1:
			m.removeConsumer(t, g, consumer)
		case 2, 3:
			c, ok := g.Consumer([]byte(consumer))
			if !ok {
				c, _ = g.AddConsumer([]byte(consumer), 5)
				m.consumers[consumer] = true
			}
			start := rapid.IntRange(1, 200).Draw(t, "start")
			for i := range rapid.IntRange(1, 100).Draw(t, "n") {
				id := ID{Ms: uint64(start + i)}
				p, _ := g.AddPending(id)
				p.SetDeliveries(int64(id.Ms))
				g.Give(id, p, c)
				m.pending[id] = consumer
			}
		case 4, 5:
			for i := range rapid.IntRange(1, 100).Draw(t, "n") {
				id := ID{Ms: uint64(3*i + 1)}
				_, ok := m.pending[id]
				if g.Ack(id) != ok {
					t.Fatal("ack", id)
				}
				delete(m.pending, id)
			}
		}
		m.check(t, g)
	}
	freeAll(t, a, s, 5)
}
