package keyspace

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds what the model test does with pins: about half of the values that lie outside their records are pinned when
// they are handed over, and read when the pin ends.

// pinned is a value that a cut has pinned.
type pinned struct {
	m       *machine
	l       Lane
	ref     mem.Ref
	rec     Rec // frozen
	want    entry
	hurried bool
	ended   bool
}

// Hurry implements Holder.
func (v *pinned) Hurry() { v.hurried = true }

// Finish implements Holder: who changes the value in place gets it then.
func (v *pinned) Finish() {
	v.look()
	v.ended = true
}

// look compares the value with what it was at the cut.
func (v *pinned) look() {
	if got := v.m.read(v.rec); got != v.want {
		v.m.fail("lane %d: a pinned value is %.200v, must be %.200v", v.l, got, v.want)
	}
}

func (v *pinned) end() {
	if v.ended {
		return
	}
	v.look()
	v.ended = true
	v.m.p.Unpin(v.l, v.ref)
}

// maybePin pins the value of a record that a lane was handed; false when it has to be read now.
func (m *machine) maybePin(l Lane, r Rec, want entry) bool {
	if m.hash(string(r.Key()))>>7&1 == 0 || !r.Pinnable() {
		return false
	}
	v := &pinned{m: m, l: l, rec: r.Frozen(), want: want}
	v.ref = m.p.Pin(l, r, v)
	m.pins = append(m.pins, v)
	return true
}

// unpin ends some pins, or all of a lane.
func (m *machine) unpin(l Lane, most int) {
	left := m.pins[:0]
	for _, v := range m.pins {
		if most > 0 && v.l == l {
			v.end()
			most--
		}
		if !v.ended {
			left = append(left, v)
		}
	}
	m.pins = left
	if len(left) == 0 && m.p.Pinned() != 0 {
		m.fail("%d values are pinned by nobody", m.p.Pinned())
	}
}

func (m *machine) doUnpin(t *rapid.T) {
	m.unpin(Lane(rapid.IntRange(0, Lanes-1).Draw(t, "lane")), rapid.IntRange(1, 3).Draw(t, "most"))
}

// doAwait asks whether a value may be changed, and ends the pins that keep it when it may not.
func (m *machine) doAwait(t *rapid.T) {
	db, name := m.draw(t)
	resumed := 0
	if !m.p.Await(db, m.key(name), func() { resumed++ }) {
		return
	}
	for _, v := range m.pins {
		if v.hurried {
			v.end()
		}
	}
	if resumed != 1 {
		m.fail("%d/%q: resumed %d times", db, name, resumed)
	}
	if m.p.Await(db, m.key(name), nil) {
		m.fail("%d/%q is awaited for ever", db, name)
	}
}

// TestPinnedValueOutlivesItsKey pins a blob and a root and does away with their keys.
func TestPinnedValueOutlivesItsKey(t *testing.T) {
	m := newMachine(t.Fatalf)
	key := m.key("a1")
	for _, end := range []func(){
		func() { m.p.Delete(0, key) },
		func() { m.p.SetString(0, key, []byte("short"), 0) },
		func() { m.p.SetString(0, key, make([]byte, 3*inlineMax), 0) },
		func() { m.p.FlushDB(0) },
		func() { m.p.Rename(0, m.key("a2"), key) },
	} {
		text := make([]byte, 3*inlineMax)
		text[17] = 'x'
		m.p.SetString(0, m.key("a2"), []byte("other"), 0)
		m.p.SetString(0, key, text, 0)
		rec, _ := m.p.Find(0, key)
		v := &pinned{m: m, rec: rec.Frozen(), want: m.read(rec)}
		v.ref = m.p.Pin(0, rec, v)
		end()
		v.end()
		m.p.FlushDB(0)
	}
	m.close()
}
