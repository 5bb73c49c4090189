package script

import (
	"bytes"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (vm *VM) openString() {
	lib := vm.library("string", map[string]native{
		"byte": strByte, "char": strChar, "dump": strDump, "find": strFind, "format": strFormat, "gfind": strGmatch,
		"gmatch": strGmatch, "gsub": strGsub, "len": strLen, "lower": strLower, "match": strMatch, "rep": strRep,
		"reverse": strReverse, "sub": strSub, "upper": strUpper,
	})
	meta, shown := vm.L.NewTable(), vm.L.NewTable()
	meta.RawSetString("__index", lib)
	vm.L.SetMetatable(lua.LString(""), meta)
	shown.RawSetString("__index", vm.globals.RawGetString("string"))
	vm.stringMeta = vm.view(shown, nil)
}

// position turns a place from the end into one from the start.
func position(i, n int) int {
	if i < 0 {
		i += n + 1
	}
	return max(i, 0)
}

func strByte(c *call) {
	s := c.Str(0)
	i := position(c.OptInt(1, 1), len(s))
	j := position(c.OptInt(2, i), len(s))
	i, j = max(i, 1), min(j, len(s))
	if i > j {
		return
	}
	if j-i+1 >= unpackMax {
		c.Fail("string slice too long")
	}
	for ; i <= j; i++ {
		c.push(num(int(s[i-1])))
	}
}

func strChar(c *call) {
	b := make([]byte, c.n)
	for i := range c.n {
		n := c.Int(i)
		if n < 0 || n > 255 {
			c.BadArg(i, "invalid value")
		}
		b[i] = byte(n)
	}
	c.Return(c.NewString(string(b)))
}

// strDump makes what no other function takes: there are no binary programs.
func strDump(c *call) {
	if c.Function(0).IsG {
		c.Fail("unable to dump given function")
	}
	c.Return(lua.LString("\x1bLuaQ"))
}

func strLen(c *call) { c.Return(num(len(c.Str(0)))) }

func strLower(c *call) { c.Return(c.NewString(asciiLower(c.Str(0)))) }

func asciiLower(s string) string {
	b := []byte(s)
	for i, ch := range b {
		if ch >= 'A' && ch <= 'Z' {
			b[i] = ch + 32
		}
	}
	return string(b)
}

func strUpper(c *call) {
	b := []byte(c.Str(0))
	for i, ch := range b {
		if ch >= 'a' && ch <= 'z' {
			b[i] = ch - 32
		}
	}
	c.Return(c.NewString(string(b)))
}

func strRep(c *call) {
	s, n := c.Str(0), c.Int(1)
	if n <= 0 || s == "" {
		c.Return(lua.LString(""))
		return
	}
	if n > stringMax/len(s) {
		c.Fail("resulting string too large")
	}
	c.vm.charge(len(s) * n)
	c.Return(lua.LString(strings.Repeat(s, n)))
}

func strReverse(c *call) {
	b := []byte(c.Str(0))
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	c.Return(c.NewString(string(b)))
}

func strSub(c *call) {
	s := c.Str(0)
	i := max(position(c.Int(1), len(s)), 1)
	j := min(position(c.OptInt(2, -1), len(s)), len(s))
	if i > j {
		c.Return(lua.LString(""))
		return
	}
	c.vm.charge(32)
	c.Return(lua.LString(s[i-1 : j]))
}

func strFind(c *call)  { c.find(true) }
func strMatch(c *call) { c.find(false) }

func (c *call) find(find bool) {
	s, p := c.Str(0), c.Str(1)
	init := c.OptInt(2, 1)
	if init < 0 {
		init = max(init+len(s)+1, 1)
	}
	init = max(init-1, 0)
	if init > len(s) {
		init = len(s) // as 5.1 does: the end is still a place
	}
	if find && (lua.LVAsBool(c.Arg(3)) || !strings.ContainsAny(p, "^$*+?.([%-")) {
		if i := strings.Index(s[init:], p); i >= 0 {
			c.Return(num(init+i+1), num(init+i+len(p)))
			return
		}
		c.Return(lua.LNil)
		return
	}
	m := &matcher{c: c, src: s, pat: p}
	anchor := p != "" && p[0] == '^'
	from := 0
	if anchor {
		from = 1
	}
	for at := init; at <= len(s); at++ {
		m.level = 0
		c.Burn()
		if e := m.match(at, from); e >= 0 {
			if find {
				c.Return(num(at+1), num(e))
				m.pushCaptures(-1, -1)
			} else {
				m.pushCaptures(at, e)
			}
			return
		}
		if anchor {
			break
		}
	}
	c.Return(lua.LNil)
}

func strGmatch(c *call) {
	s, p := c.Str(0), c.Str(1)
	at := 0
	c.Return(c.vm.fn("gmatch", func(c *call) {
		m := &matcher{c: c, src: s, pat: p}
		for ; at <= len(s); at++ {
			m.level = 0
			c.Burn()
			if e := m.match(at, 0); e >= 0 {
				m.pushCaptures(at, e)
				if e == at {
					e++
				}
				at = e
				return
			}
		}
		c.Return(lua.LNil)
	}))
}

func strGsub(c *call) {
	s, p := c.Str(0), c.Str(1)
	repl := c.Arg(2)
	switch repl.Type() {
	case lua.LTNumber, lua.LTString, lua.LTTable, lua.LTFunction:
	default:
		c.BadArg(2, "string/function/table expected")
	}
	most := c.OptInt(3, len(s)+1)
	anchor := p != "" && p[0] == '^'
	from := 0
	if anchor {
		from = 1
	}
	m := &matcher{c: c, src: s, pat: p}
	var out bytes.Buffer
	at, n := 0, 0
	for n < most {
		m.level = 0
		c.Burn()
		e := m.match(at, from)
		if e >= 0 {
			n++
			before := out.Len()
			m.replace(&out, repl, at, e)
			c.vm.charge(out.Len() - before)
			if out.Len() > stringMax {
				c.Fail("string length overflow")
			}
		}
		if e > at {
			at = e
		} else if at < len(s) {
			out.WriteByte(s[at])
			at++
		} else {
			break
		}
		if anchor {
			break
		}
	}
	c.vm.charge(len(s))
	if at < len(s) {
		out.WriteString(s[at:])
	}
	c.Return(lua.LString(out.String()), num(n))
}

// replace writes what a match is replaced with.
func (m *matcher) replace(out *bytes.Buffer, repl lua.LValue, from, to int) {
	c := m.c
	var v lua.LValue
	switch r := repl.(type) {
	case *lua.LTable:
		v = c.L.GetTable(r, m.capture(0, from, to))
	case *lua.LFunction:
		caps := make([]lua.LValue, 0, 4)
		for i := 0; i < max(m.level, 1); i++ {
			caps = append(caps, m.capture(i, from, to))
		}
		v = c.Call(r, caps...)
	default:
		s, _ := toText(repl)
		m.expand(out, s, from, to)
		return
	}
	if !lua.LVAsBool(v) {
		out.WriteString(m.src[from:to])
		return
	}
	s, ok := toText(v)
	if !ok {
		c.Fail("invalid replacement value (a %s)", v.Type())
	}
	out.WriteString(s)
}

// expand writes a replacement text with its captures.
func (m *matcher) expand(out *bytes.Buffer, s string, from, to int) {
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			out.WriteByte(s[i])
			continue
		}
		i++
		switch {
		case i >= len(s):
			out.WriteByte(0)
		case !isDigit(s[i]):
			out.WriteByte(s[i])
		case s[i] == '0':
			out.WriteString(m.src[from:to])
		default:
			v, _ := toText(m.capture(int(s[i]-'1'), from, to))
			out.WriteString(v)
		}
		if out.Len() > stringMax {
			m.c.Fail("string length overflow")
		}
	}
}
