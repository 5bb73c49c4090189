package stream

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/mem"
)

// treeModel is a tree beside a sorted list.
type treeModel struct {
	t    tree
	list []ID
}

func (m *treeModel) find(id ID) (int, bool) {
	return slices.BinarySearchFunc(m.list, id, func(a, b ID) int {
		switch {
		case a == b:
			return 0
		case a.Less(b):
			return -1
		}
		return 1
	})
}

func (m *treeModel) check(t *rapid.T) {
	if m.t.len() != len(m.list) {
		t.Fatalf("%d entries instead of %d", m.t.len(), len(m.list))
	}
	i := 0
	for p := m.t.first(); p.ok(); p = m.t.next(p) {
		id, v := m.t.at(p)
		if id != m.list[i] || len(v) > 0 && v[0] != id.Ms^id.Seq {
			t.Fatalf("entry %d is %v, not %v", i, id, m.list[i])
		}
		i++
	}
	for p := m.t.last(); p.ok(); p = m.t.prev(p) {
		i--
		if id, _ := m.t.at(p); id != m.list[i] {
			t.Fatalf("backwards: entry %d is %v, not %v", i, id, m.list[i])
		}
	}
	if i != 0 {
		t.Fatalf("%d entries are missing", i)
	}
}

func (m *treeModel) probe(t *rapid.T, id ID) {
	at, found := m.find(id)
	if v, ok := m.t.find(id); ok != found || ok && len(v) != m.t.width {
		t.Fatalf("find(%v) is %v", id, ok)
	}
	if p := m.t.seek(id); p.ok() != (at < len(m.list)) {
		t.Fatalf("seek(%v)", id)
	} else if p.ok() {
		if got, _ := m.t.at(p); got != m.list[at] {
			t.Fatalf("seek(%v) is %v", id, got)
		}
	}
	if !found {
		at--
	}
	if p := m.t.floor(id); p.ok() != (at >= 0) {
		t.Fatalf("floor(%v)", id)
	} else if p.ok() {
		if got, _ := m.t.at(p); got != m.list[at] {
			t.Fatalf("floor(%v) is %v", id, got)
		}
	}
}

func (m *treeModel) add(t *rapid.T, id ID) {
	at, found := m.find(id)
	v, added := m.t.put(id)
	if added == found {
		t.Fatalf("put(%v) added %v", id, added)
	}
	if added {
		m.list = slices.Insert(m.list, at, id)
	}
	if len(v) > 0 {
		v[0] = id.Ms ^ id.Seq
	}
}

func (m *treeModel) cutFront(t *rapid.T) {
	if len(m.list) == 0 {
		return
	}
	n := rapid.IntRange(0, len(m.list)-1).Draw(t, "cut")
	p := m.t.seek(m.list[n])
	rest := tree{m.t.a, new([treeWords]uint64), m.t.width}
	rest.head[1] = uint64(m.t.cutFront(p, n))
	m.list = m.list[n:]
	for done := false; !done; {
		_, done = rest.freeLeaves(100, nil)
	}
}

// A tree is an ordered map, whatever is done to it.
func TestTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := mem.NewArena(mem.Options{})
		defer a.Close()
		m := &treeModel{t: tree{a, new([treeWords]uint64), rapid.IntRange(0, 3).Draw(t, "width")}}
		ids := rapid.Uint64Range(0, uint64(rapid.SampledFrom([]int{10, 1000, 100000}).Draw(t, "range")))
		next := ID{Ms: 50000}
		for range rapid.IntRange(1, 8).Draw(t, "phases") {
			id := ID{ids.Draw(t, "ms"), ids.Draw(t, "seq") % 2}
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0: // append
				if n := len(m.list); n > 0 && next.Less(m.list[n-1]) {
					next = m.list[n-1]
				}
				for range rapid.IntRange(1, 5000).Draw(t, "n") {
					next, _ = next.Next()
					m.add(t, next)
				}
			case 1: // scattered
				for range rapid.IntRange(1, 2000).Draw(t, "n") {
					id.Ms = id.Ms*6364136223846793005 + 1442695040888963407
					m.add(t, ID{id.Ms % 100003, id.Seq})
				}
			case 2: // take from the front
				for range min(len(m.list), rapid.IntRange(1, 3000).Draw(t, "n")) {
					m.t.remove(m.list[0])
					m.list = m.list[1:]
				}
			case 3: // take anywhere
				for range min(len(m.list), rapid.IntRange(1, 3000).Draw(t, "n")) {
					id.Ms = id.Ms*6364136223846793005 + 1442695040888963407
					at := int(id.Ms>>33) % len(m.list)
					m.t.remove(m.list[at])
					m.list = slices.Delete(m.list, at, at+1)
				}
			case 4: // cut the front off
				m.cutFront(t)
			case 5:
				m.probe(t, id)
				if len(m.list) > 0 {
					m.probe(t, m.list[int(id.Ms)%len(m.list)])
				}
			}
			m.check(t)
		}
		m.t.freeInner()
		for done := false; !done; {
			_, done = m.t.freeLeaves(100, nil)
		}
		if err := a.CheckLeaks(); err != nil {
			t.Fatal(err)
		}
	})
}
