package list_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/mem"
)

// elements are all elements of a list in order.
func elements(l *list.List, back bool) []string {
	all := []string{}
	from := int64(0)
	if back {
		from = l.Len() - 1
	}
	it := l.Iter(from, back)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		all = append(all, string(e.Append(nil)))
	}
	return all
}

// runs are all elements of a list from an index on, read node by node.
func runs(l *list.List, from int64, back bool) []string {
	all := []string{}
	it := l.Iter(from, back)
	for lp, pos, n, ok := it.Run(); ok; lp, pos, n, ok = it.Run() {
		if pos == 0 {
			all = append(all, string(lp))
			continue
		}
		for range n {
			all = append(all, string(listpack.Get(lp, pos).Append(nil)))
			if back {
				pos = listpack.Prev(lp, pos)
			} else {
				pos = listpack.Next(lp, pos)
			}
		}
	}
	return all
}

// model is a list beside a slice that is to have the same elements.
type model struct {
	*rapid.T
	a    *mem.Arena
	l    list.List
	want []string
}

func (m *model) value() string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "1", "-5", "12345678901", "007", "a", strings.Repeat("x", 63), strings.Repeat("y", 64),
			strings.Repeat("long", 300), strings.Repeat("longer", 1100), strings.Repeat("z", 9000)}),
		rapid.Map(rapid.IntRange(0, 99), strconv.Itoa),
		rapid.StringN(0, 20, 40),
	).Draw(m.T, "value")
}

func (m *model) index(most int) int { return rapid.IntRange(0, most).Draw(m.T, "index") }

func (m *model) push() {
	v, head := m.value(), rapid.Bool().Draw(m.T, "head")
	for range rapid.SampledFrom([]int{1, 1, 1, 5, 300}).Draw(m.T, "times") {
		if len(v) > 1000 && len(m.want) > 2000 {
			return
		}
		if head {
			m.l.PushHead([]byte(v))
			m.want = slices.Insert(m.want, 0, v)
		} else {
			m.l.PushTail([]byte(v))
			m.want = append(m.want, v)
		}
	}
}

func (m *model) pop() {
	head := rapid.Bool().Draw(m.T, "head")
	for range rapid.SampledFrom([]int{1, 1, 1, 5, 300}).Draw(m.T, "times") {
		if len(m.want) == 0 {
			return
		}
		var got, want string
		var end list.End
		if head {
			m.l.HeadEnd(&end)
			got, want = string(end.Elem().Append(nil)), m.want[0]
			m.l.Drop(&end)
			m.want = m.want[1:]
		} else {
			m.l.TailEnd(&end)
			got, want = string(end.Elem().Append(nil)), m.want[len(m.want)-1]
			m.l.Drop(&end)
			m.want = m.want[:len(m.want)-1]
		}
		if got != want {
			m.Fatalf("popped %q, want %q", got, want)
		}
	}
}

func (m *model) insert() {
	if len(m.want) == 0 {
		return
	}
	for range rapid.SampledFrom([]int{1, 1, 20, 150}).Draw(m.T, "times") {
		i, v := m.index(len(m.want)-1), m.value()
		it := m.l.Iter(int64(i), rapid.Bool().Draw(m.T, "back"))
		it.Next()
		if rapid.Bool().Draw(m.T, "after") {
			it.Insert(listpack.After, []byte(v))
			i++
		} else {
			it.Insert(listpack.Before, []byte(v))
		}
		m.want = slices.Insert(m.want, i, v)
	}
}

func (m *model) replace() {
	if len(m.want) == 0 {
		return
	}
	i, v := m.index(len(m.want)-1), m.value()
	it := m.l.Iter(int64(i), rapid.Bool().Draw(m.T, "back"))
	it.Next()
	it.Replace([]byte(v))
	m.want[i] = v
}

// remove walks from an index and removes elements by chance.
func (m *model) remove() {
	i, back := m.index(len(m.want)), rapid.Bool().Draw(m.T, "back")
	it := m.l.Iter(int64(i), back)
	every := rapid.IntRange(1, 5).Draw(m.T, "every")
	for n := 0; n < 500 && i >= 0 && i < len(m.want); n++ {
		e, ok := it.Next()
		if got := string(e.Append(nil)); !ok || got != m.want[i] {
			m.Fatalf("at %d: %q %v, want %q", i, got, ok, m.want[i])
		}
		if n%every == 0 {
			it.Delete()
			m.want = slices.Delete(m.want, i, i+1)
			if back {
				i--
			}
			continue
		}
		if back {
			i--
		} else {
			i++
		}
	}
}

// removeEqual walks from an index and removes elements that equal one of them.
func (m *model) removeEqual() {
	i, back := m.index(len(m.want)), rapid.Bool().Draw(m.T, "back")
	if i == len(m.want) {
		return
	}
	v, most := m.want[m.index(len(m.want)-1)], rapid.IntRange(1, 100).Draw(m.T, "most")
	for it := m.l.Iter(int64(i), back); most > 0; most-- {
		for i >= 0 && i < len(m.want) && m.want[i] != v {
			if i++; back {
				i -= 2
			}
		}
		if found := i >= 0 && i < len(m.want); it.Find([]byte(v)) != found {
			m.Fatalf("%.50q is found: %v, want %v", v, !found, found)
		} else if !found {
			return
		}
		it.Delete()
		m.want = slices.Delete(m.want, i, i+1)
		if back {
			i--
		}
	}
}

func (m *model) removeRange() {
	i := m.index(len(m.want))
	n := rapid.IntRange(0, len(m.want)-i).Draw(m.T, "count")
	if rapid.Bool().Draw(m.T, "few") {
		n = min(n, 3)
	}
	if rapid.Bool().Draw(m.T, "detach") {
		husk := m.l.DetachRange(int64(i), int64(n))
		for done := husk == 0; !done; {
			_, done = list.FreeSome(m.a, husk, rapid.IntRange(1, 1000).Draw(m.T, "budget"))
		}
	} else {
		m.l.DeleteRange(int64(i), int64(n))
	}
	m.want = slices.Delete(m.want, i, i+n)
}

func (m *model) appendNode() {
	lp := listpack.New(nil)
	for range rapid.IntRange(1, 5).Draw(m.T, "elements") {
		v := m.value()
		lp = listpack.Append(lp, []byte(v))
		m.want = append(m.want, v)
	}
	m.l.AppendNode(lp)
	if rapid.Bool().Draw(m.T, "plain") {
		m.l.AppendPlain([]byte("plain"))
		m.want = append(m.want, "plain")
	}
}

func (m *model) check() {
	if err := m.l.Check(); err != nil {
		m.Fatal(err)
	}
	if int(m.l.Len()) != len(m.want) {
		m.Fatalf("%d elements, want %d", m.l.Len(), len(m.want))
	}
	if got := elements(&m.l, false); !slices.Equal(got, m.want) {
		m.Fatalf("elements:\n%.300q\nwant\n%.300q", got, m.want)
	}
	back := elements(&m.l, true)
	slices.Reverse(back)
	if !slices.Equal(back, m.want) {
		m.Fatalf("elements from the end:\n%.300q\nwant\n%.300q", back, m.want)
	}
	i := m.index(len(m.want))
	if got := runs(&m.l, int64(i), false); !slices.Equal(got, m.want[i:]) {
		m.Fatalf("from %d: %.300q, want %.300q", i, got, m.want[i:])
	}
	if i < len(m.want) {
		got := runs(&m.l, int64(i), true)
		slices.Reverse(got)
		if !slices.Equal(got, m.want[:i+1]) {
			m.Fatalf("back from %d: %.300q, want %.300q", i, got, m.want[:i+1])
		}
	}
}

// A list has what was put in, whatever was done to it, and gives all memory back.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := mem.NewArena(mem.Options{})
		defer a.Close()
		m := &model{T: rt, a: a, l: list.New(a, rapid.SampledFrom([]int{-5, -2, -1, 1, 2, 3, 50}).Draw(rt, "fill")), want: []string{}}
		m.l.SetPlainMin(rapid.SampledFrom([]int{1 << 30, 100, 1}).Draw(rt, "plain"))
		steps := []func(){m.push, m.push, m.pop, m.insert, m.replace, m.remove, m.removeEqual, m.removeRange, m.appendNode, m.check}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			steps[rapid.IntRange(0, len(steps)-1).Draw(rt, "step")]()
		}
		m.check()
		root := m.l.Root()
		for done := false; !done; {
			_, done = list.FreeSome(a, root, rapid.IntRange(1, 1000).Draw(rt, "budget"))
		}
		if err := a.CheckLeaks(); err != nil {
			rt.Fatal(err)
		}
	})
}

// The directory finds any element of a list with many nodes, and keeps working while it is taken apart.
func TestManyNodes(t *testing.T) {
	a := mem.NewArena(mem.Options{})
	l := list.New(a, 1)
	const n = 40000
	for i := range n / 2 {
		l.PushHead([]byte(strconv.Itoa(n/2 - 1 - i)))
		l.PushTail([]byte(strconv.Itoa(n/2 + i)))
	}
	at := func(i int64) string {
		it := l.Iter(i, false)
		e, _ := it.Next()
		return string(e.Append(nil))
	}
	for i := int64(0); i < n; i += 7 {
		if at(i) != strconv.Itoa(int(i)) {
			t.Fatalf("at %d: %s", i, at(i))
		}
	}
	for l.Len() > 10 {
		l.DeleteRange(l.Len()/3, min(l.Len()/3, 5000))
		if err := l.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if at(0) != "0" || at(l.Len()-1) != strconv.Itoa(n-1) {
		t.Fatalf("the ends are %s and %s", at(0), at(l.Len()-1))
	}
	list.FreeSome(a, l.Root(), n)
	if err := a.CheckLeaks(); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkPush(b *testing.B) {
	v := []byte("xxx")
	for _, head := range []bool{false, true} {
		b.Run(fmt.Sprintf("head=%v", head), func(b *testing.B) {
			a := mem.NewArena(mem.Options{})
			defer a.Close()
			l := list.New(a, -2)
			for b.Loop() {
				if head {
					l.PushHead(v)
				} else {
					l.PushTail(v)
				}
			}
		})
	}
}

func BenchmarkPop(b *testing.B) {
	for _, side := range []struct {
		name string
		find func(*list.List, *list.End)
	}{{"head", (*list.List).HeadEnd}, {"tail", (*list.List).TailEnd}} {
		b.Run(side.name, func(b *testing.B) {
			v := []byte("xxx")
			a := mem.NewArena(mem.Options{})
			defer a.Close()
			l := list.New(a, -2)
			var end list.End
			for b.Loop() {
				if l.Len() == 0 {
					b.StopTimer()
					for range 100000 {
						l.PushTail(v)
					}
					b.StartTimer()
				}
				side.find(&l, &end)
				end.Elem()
				l.Drop(&end)
			}
		})
	}
}

// A queue of a thousand elements: one in, one out.
func BenchmarkQueue(b *testing.B) {
	v := []byte("xxx")
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	l := list.New(a, -2)
	for range 1500 {
		l.PushTail(v)
	}
	var end list.End
	for b.Loop() {
		l.PushTail(v)
		l.HeadEnd(&end)
		l.Drop(&end)
	}
}

func BenchmarkIndex(b *testing.B) {
	v := []byte(strings.Repeat("v", 100))
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	l := list.New(a, -2)
	for range 2_000_000 {
		l.PushTail(v)
	}
	b.ReportMetric(float64(a.Used())/2e6, "bytes/elem")
	i := int64(0)
	for b.Loop() {
		i = (i + 7_654_321) % l.Len()
		it := l.Iter(i, false)
		it.Next()
	}
}
