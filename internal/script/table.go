package script

import (
	"sort"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// elementBytes is what one more element of a table may cost.
const elementBytes = 32

func (vm *VM) openTable() {
	vm.library("table", map[string]native{
		"concat": tableConcat, "foreach": tableForeach, "foreachi": tableForeachi, "getn": tableGetn, "insert": tableInsert,
		"maxn": tableMaxn, "remove": tableRemove, "setn": tableSetn, "sort": tableSort,
	})
}

func tableConcat(c *call) {
	t := c.Table(0)
	sep := c.OptStr(1, "")
	i := c.OptInt(2, 1)
	last := t.Len()
	if c.Arg(3) != lua.LNil {
		last = c.Int(3)
	}
	var out strings.Builder
	for ; i <= last; i++ {
		c.Burn()
		v := t.RawGet(lua.LNumber(i))
		s, ok := toText(v)
		if !ok {
			c.Fail("invalid value (%s) at index %d in table for 'concat'", v.Type(), i)
		}
		if out.Len()+len(s)+len(sep) > stringMax {
			c.Fail("string length overflow")
		}
		c.vm.charge(len(s) + len(sep))
		out.WriteString(s)
		if i < last {
			out.WriteString(sep)
		}
	}
	c.Return(lua.LString(out.String()))
}

func tableForeach(c *call) {
	t, f := c.Table(0), c.Function(1)
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		if r := c.Call(f, k, v); r != lua.LNil {
			c.Return(r)
			return
		}
	}
}

func tableForeachi(c *call) {
	t, f := c.Table(0), c.Function(1)
	for i, n := 1, t.Len(); i <= n; i++ {
		if r := c.Call(f, num(i), t.RawGetInt(i)); r != lua.LNil {
			c.Return(r)
			return
		}
	}
}

func tableGetn(c *call) { c.Return(num(c.Table(0).Len())) }

func tableSetn(c *call) {
	c.Table(0)
	c.Fail("'setn' is obsolete")
}

func tableMaxn(c *call) {
	most := lua.LNumber(0)
	c.Table(0).ForEach(func(k, _ lua.LValue) {
		if n, ok := k.(lua.LNumber); ok && n > most {
			most = n
		}
	})
	c.Return(most)
}

func tableInsert(c *call) {
	t := c.Writable(0)
	n := t.Len()
	c.vm.charge(elementBytes)
	switch c.n {
	case 2:
		c.vm.set(t, num(n+1), c.Arg(1))
	case 3:
		pos := c.Int(1)
		if pos >= 1 && pos <= n {
			t.Insert(pos, c.Arg(2))
			return
		}
		for i := max(n+1, pos); i > pos; i-- {
			c.Burn()
			c.vm.set(t, num(i), t.RawGet(num(i-1)))
		}
		c.vm.set(t, num(pos), c.Arg(2))
	default:
		c.Fail("wrong number of arguments to 'insert'")
	}
}

func tableRemove(c *call) {
	t := c.Writable(0)
	n := t.Len()
	pos := c.OptInt(1, n)
	if pos < 1 || pos > n {
		return
	}
	v := t.RawGetInt(pos)
	if pos == n {
		t.RawSetInt(n, lua.LNil)
	} else {
		t.Remove(pos)
	}
	c.Return(v)
}

// sorter sorts the elements of a table.
type sorter struct {
	c    *call
	list []lua.LValue
	less lua.LValue
}

func (s *sorter) Len() int      { return len(s.list) }
func (s *sorter) Swap(i, j int) { s.list[i], s.list[j] = s.list[j], s.list[i] }
func (s *sorter) Less(i, j int) bool {
	a, b := s.list[i], s.list[j]
	if s.less != lua.LNil {
		return lua.LVAsBool(s.c.Call(s.less, a, b))
	}
	s.c.Burn()
	if t1, t2 := a.Type(), b.Type(); t1 != t2 {
		s.c.Throw(lua.LString("attempt to compare " + t1.String() + " with " + t2.String()))
	} else if t1 != lua.LTNumber && t1 != lua.LTString && s.c.L.GetMetaField(a, "__lt") == lua.LNil {
		s.c.Throw(lua.LString("attempt to compare two " + t1.String() + " values"))
	}
	return s.c.L.LessThan(a, b)
}

func tableSort(c *call) {
	t := c.Writable(0)
	if c.Arg(1) != lua.LNil {
		c.Function(1)
	}
	n := t.Len()
	c.vm.charge(n * elementBytes)
	s := &sorter{c: c, list: make([]lua.LValue, n), less: c.Arg(1)}
	for i := range s.list {
		s.list[i] = t.RawGetInt(i + 1)
	}
	sort.Sort(s)
	for i, v := range s.list {
		t.RawSetInt(i+1, v)
	}
}
