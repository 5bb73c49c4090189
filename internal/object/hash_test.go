package object

import (
	"fmt"
	"hash/maphash"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/slot"
)

// hashField is what the model has of a field.
type hashField struct {
	value    string
	expireAt int64
}

// hashModel is a hash of one key beside a map that does the same.
type hashModel struct {
	part   *keyspace.Part
	key    keyspace.Key
	limits Limits
	fields map[string]hashField
	buf    []byte

	cut    map[string]hashField // the fields at the moment of a cut that is under way
	handed []byte               // the hash that was handed over since
}

func newHashModel(entries, value int64) *hashModel {
	arena := mem.NewArena(mem.Options{})
	hasher := keyspace.NewHasher(maphash.MakeSeed())
	m := &hashModel{key: hasher.Key([]byte("hash")), fields: map[string]hashField{}}
	m.part = keyspace.New(keyspace.Options{
		Shard: keyspace.ShardOf(slot.Of([]byte("hash"))), Databases: 2, Arena: arena, Dropper: NewDropper(arena),
	})
	m.part.SetHasher(hasher)
	m.limits.SetDefaults()
	m.limits.HashEntries.Store(entries)
	m.limits.HashValue.Store(value)
	return m
}

func (m *hashModel) place(db int) Place { return Place{Part: m.part, DB: db, Key: &m.key} }

func (m *hashModel) edit() HashEdit {
	if _, ok := m.part.Find(0, &m.key); ok {
		return EditHash(m.place(0), &m.limits, m.buf)
	}
	return NewHash(m.place(0), &m.limits, m.buf)
}

func (m *hashModel) commit(t *rapid.T, e *HashEdit) {
	if n := e.Commit(); n != len(m.fields) {
		t.Fatalf("%d fields are left, want %d", n, len(m.fields))
	}
	m.buf = e.Scratch()
}

// check compares the hash of a database with the model.
func (m *hashModel) check(t *rapid.T, db int) {
	rec, ok := m.part.Find(db, &m.key)
	if ok != (len(m.fields) > 0) {
		t.Fatalf("the key is there: %v, with %d fields", ok, len(m.fields))
	}
	if !ok {
		return
	}
	if err := m.part.Check(); err != nil {
		t.Fatal(err)
	}
	h := OpenHash(m.part, rec)
	seen, soonest := 0, keyspace.NotDue
	h.Each(func(f Field) bool {
		want, ok := m.fields[string(f.Name.Append(nil))]
		if !ok || string(f.Value.Append(nil)) != want.value || f.ExpireAt != want.expireAt {
			t.Fatalf("%v, want %v", f, want)
		}
		if f.ExpireAt != 0 {
			soonest = min(soonest, f.ExpireAt)
		}
		seen++
		return true
	})
	for name, want := range m.fields {
		if f, found := h.Get([]byte(name)); !found || string(f.Value.Append(nil)) != want.value {
			t.Fatalf("%q is %v, want %v", name, f, want)
		}
	}
	if seen != len(m.fields) || h.Len() != seen || h.NextExpiry() > soonest || h.soonest() != soonest {
		t.Fatalf("%d of %d fields, the first expires at %d, want %d", h.Len(), len(m.fields), h.NextExpiry(), soonest)
	}
	dropper := Dropper{arena: m.part.Arena()}
	if due := dropper.DueAt(rec); due > soonest {
		t.Fatalf("scheduled for %d, but a field expires at %d", due, soonest)
	}
	dice, names := table.Dice(1), map[string]bool{}
	h.Sample(&dice, seen/2, func(f Field) { names[string(f.Name.Append(nil))] = true })
	if len(names) != seen/2 {
		t.Fatalf("a sample of %d has %d different fields", seen/2, len(names))
	}
}

func drawName(t *rapid.T) string {
	n := rapid.IntRange(0, 60).Draw(t, "name")
	if n == 60 {
		return strings.Repeat("long", 20)
	}
	if n%3 == 0 {
		return fmt.Sprint(n * n * n * n * n)
	}
	return fmt.Sprint("field", n)
}

func drawText(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "1", "-7", "5000", "70000", "text", strings.Repeat("x", 30), strings.Repeat("y", 300)}).Draw(t, "value")
}

func (m *hashModel) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"": func(t *rapid.T) { m.check(t, 0) },
		"set": func(t *rapid.T) {
			e := m.edit()
			for range rapid.IntRange(1, 5).Draw(t, "fields") {
				name, value := drawName(t), drawText(t)
				at := max(0, rapid.Int64Range(-200, 100).Draw(t, "at"))
				_, there := m.fields[name]
				if e.Set([]byte(name), []byte(value), at) == there {
					t.Fatalf("%q: there %v", name, there)
				}
				m.fields[name] = hashField{value, at}
			}
			m.commit(t, &e)
		},
		"expire": func(t *rapid.T) {
			e := m.edit()
			name, at := drawName(t), rapid.Int64Range(0, 100).Draw(t, "at")
			f, there := m.fields[name]
			if e.SetExpire([]byte(name), at) != there {
				t.Fatalf("%q: there %v", name, there)
			}
			if there {
				m.fields[name] = hashField{f.value, at}
			}
			m.commit(t, &e)
		},
		"delete": func(t *rapid.T) {
			e := m.edit()
			for range rapid.IntRange(1, 20).Draw(t, "fields") {
				name := drawName(t)
				_, there := m.fields[name]
				if e.Delete([]byte(name)) != there {
					t.Fatalf("%q: there %v", name, there)
				}
				delete(m.fields, name)
			}
			m.commit(t, &e)
		},
		"due": m.due,
		"cut": m.cutOrCompare,
		"copy": func(t *rapid.T) {
			if rec, ok := m.part.Find(0, &m.key); ok {
				Copy(m.place(1), rec, &m.limits, nil)
				m.check(t, 1)
				m.part.Delete(1, &m.key)
			}
		},
		"save": func(t *rapid.T) {
			rec, ok := m.part.Find(0, &m.key)
			if !ok {
				return
			}
			var b Builder
			b.Begin(m.place(1), 0, &m.limits)
			if err := rdb.DecodeValue(AppendTyped(nil, rec, nil), &b); err != nil {
				t.Fatal(err)
			}
			m.check(t, 1)
			m.part.Delete(1, &m.key)
		},
	}
}

// BeforeChange implements keyspace.Observer.
func (m *hashModel) BeforeChange(db int, r keyspace.Rec) {
	if db == 0 {
		m.handed = AppendTyped(nil, r, nil)
	}
}

// cutOrCompare begins a cut, or ends it and looks whether the hash was handed over as it was.
func (m *hashModel) cutOrCompare(t *rapid.T) {
	if m.cut == nil {
		m.cut, m.handed = maps.Clone(m.fields), nil
		if !m.part.BeginEpoch(0, nil, m) {
			t.Fatal("the last cut is not over")
		}
		return
	}
	m.part.VisitSlot(0, 0, m.key.Slot, 0, 1<<30, func(r keyspace.Rec) int { m.BeforeChange(0, r); return 1 })
	if !m.part.EndEpoch(0) || (m.handed != nil) != (len(m.cut) > 0) {
		t.Fatalf("of %d fields, %d bytes were handed over", len(m.cut), len(m.handed))
	}
	if m.handed != nil {
		var b Builder
		b.Begin(m.place(1), 0, &m.limits)
		if err := rdb.DecodeValue(m.handed, &b); err != nil {
			t.Fatal(err)
		}
		now := m.fields
		m.fields = m.cut
		m.check(t, 1)
		m.part.Delete(1, &m.key)
		m.fields = now
	}
	m.cut = nil
}

// due takes fields away as the cron does.
func (m *hashModel) due(t *rapid.T) {
	now, budget := rapid.Int64Range(0, 100).Draw(t, "now"), rapid.IntRange(1, 30).Draw(t, "budget")
	for {
		_, _, found, _ := m.part.PopDue(now, nil)
		if !found {
			break
		}
		_, left := ExpireFields(m.place(0), &m.limits, now, budget, func(field []byte) {
			f, there := m.fields[string(field)]
			if !there || f.expireAt == 0 || f.expireAt > now {
				t.Fatalf("%q is not due", field)
			}
			delete(m.fields, string(field))
		})
		if left != len(m.fields) {
			t.Fatalf("%d fields are left, want %d", left, len(m.fields))
		}
	}
	for name, f := range m.fields {
		if f.expireAt != 0 && f.expireAt <= now {
			t.Fatalf("%q was due at %d", name, f.expireAt)
		}
	}
}

func TestHashDoesWhatAMapDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newHashModel(rapid.SampledFrom([]int64{0, 5, 20, 512}).Draw(t, "entries"), rapid.SampledFrom([]int64{0, 64}).Draw(t, "value"))
		t.Repeat(m.actions())
		if m.cut != nil {
			m.cutOrCompare(t)
		}
		m.part.FlushDB(0)
		for left := m.part.FreeSome(10); left > 0; left = m.part.FreeSome(10) {
		}
		if err := m.part.Arena().CheckLeaks(); err != nil {
			t.Fatal(err)
		}
		m.part.Arena().Close()
	})
}

func TestNothingIsAllocatedForHashes(t *testing.T) {
	for _, entries := range []int64{512, 0} {
		m := newHashModel(entries, 64)
		field, value := []byte("field7"), []byte("value")
		m.buf = make([]byte, 0, 4096)
		e := m.edit()
		for i := range 20 {
			e.Set(fmt.Appendf(nil, "field%d", i), value, 0)
		}
		e.Commit()
		if n := testing.AllocsPerRun(100, func() {
			e := EditHash(m.place(0), &m.limits, m.buf)
			e.Set(field, value, 0)
			e.Delete(field)
			e.Commit()
			e = EditHash(m.place(0), &m.limits, m.buf)
			e.Set(field, value, 0)
			e.Commit()
			rec, _ := m.part.Find(0, &m.key)
			h := OpenHash(m.part, rec)
			if _, found := h.Get(field); !found {
				t.Fatal("not found")
			}
			n := 0
			h.Each(func(f Field) bool { n += f.Value.Len(); return true })
		}); n != 0 {
			t.Errorf("up to %d fields in a listpack: %v allocations", entries, n)
		}
		m.part.FlushDB(0)
		m.part.Arena().Close()
	}
}
