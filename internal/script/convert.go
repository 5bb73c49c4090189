package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/covey-db/covey/internal/resp"
)

// This file turns replies of commands into values of Lua, and what a script returns into a reply.

// replyDepthMax bounds nesting of what a script returns; the reference implementation ends where its stack does.
const replyDepthMax = 7000

// decoder reads a reply that this server made, so it is well-formed.
type decoder struct {
	vm *VM
	in []byte
	at int
}

// line is the rest of the line at the cursor.
func (d *decoder) line() []byte {
	from := d.at
	for d.in[d.at] != '\r' {
		d.at++
	}
	b := d.in[from:d.at]
	d.at += 2
	return b
}

func (d *decoder) count() int {
	n, neg := 0, false
	for _, c := range d.line() {
		if c == '-' {
			neg = true
			continue
		}
		n = n*10 + int(c-'0')
	}
	if neg {
		return -n
	}
	return n
}

func (d *decoder) bytes(n int) lua.LString {
	s := lua.LString(d.in[d.at : d.at+n])
	d.at += n + 2
	return s
}

func (d *decoder) field(name string, v lua.LValue) *lua.LTable {
	t := d.vm.L.CreateTable(0, 1)
	t.RawSetString(name, v)
	return t
}

func (d *decoder) value() lua.LValue {
	kind := d.in[d.at]
	d.at++
	switch kind {
	case '$':
		n := d.count()
		if n < 0 {
			return lua.LFalse
		}
		return d.bytes(n)
	case ':':
		n, _ := strconv.ParseInt(string(d.line()), 10, 64)
		return lua.LNumber(n)
	case '+':
		text := d.line()
		if string(text) == string(okText) {
			return d.vm.okTable()
		}
		return d.field("ok", lua.LString(text))
	case '-':
		return d.failure(string(d.line()))
	case '*', '>':
		return d.array(d.count())
	case '_':
		d.line()
		return lua.LNil
	case '#':
		return lua.LBool(d.line()[0] == 't')
	case ',':
		return d.field("double", lua.LNumber(parseDouble(string(d.line()))))
	case '(':
		return d.field("big_number", lua.LString(d.line()))
	case '=':
		s := d.bytes(d.count())
		t := d.vm.L.CreateTable(0, 2)
		t.RawSetString("format", s[:3])
		t.RawSetString("string", s[4:])
		return d.field("verbatim_string", t)
	case '%':
		return d.pairs(d.count())
	case '~':
		return d.set(d.count())
	case '|':
		for range 2 * d.count() {
			d.value()
		}
		return d.value()
	}
	return lua.LNil
}

func parseDouble(s string) float64 {
	switch s {
	case "inf":
		return math.Inf(1)
	case "-inf":
		return math.Inf(-1)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// failure makes the table of an error that the command has counted.
func (d *decoder) failure(text string) lua.LValue {
	t := d.vm.errorTable("-" + text)
	t.RawSetString("ignore_error_stats_update", lua.LTrue)
	return t
}

func (d *decoder) array(n int) lua.LValue {
	if n < 0 {
		return lua.LFalse
	}
	d.vm.charge(n * elementBytes)
	t := d.vm.L.CreateTable(n, 0)
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, d.value())
	}
	return t
}

func (d *decoder) pairs(n int) lua.LValue {
	d.vm.charge(n * 4 * elementBytes)
	t := d.vm.L.CreateTable(0, n)
	for range n {
		k := d.value()
		v := d.value()
		if k != lua.LNil {
			t.RawSet(k, v)
		}
	}
	return d.field("map", t)
}

func (d *decoder) set(n int) lua.LValue {
	d.vm.charge(n * 4 * elementBytes)
	t := d.vm.L.CreateTable(0, n)
	for range n {
		if k := d.value(); k != lua.LNil {
			t.RawSet(k, lua.LTrue)
		}
	}
	return d.field("set", t)
}

// errorTable is an error as scripts see it: "-CODE text", or a text without a code.
func (vm *VM) errorTable(text string) *lua.LTable {
	code, msg := "ERR", text
	if rest, ok := strings.CutPrefix(text, "-"); ok {
		msg = rest
		if c, m, ok := strings.Cut(rest, " "); ok {
			code, msg = c, m
		}
	}
	t := vm.L.CreateTable(0, 2)
	t.RawSetString("err", lua.LString(code+" "+strings.Trim(msg, "\r\n")))
	return t
}

// encoder writes a value as a reply in the client's protocol.
type encoder struct {
	vm    *VM
	out   []byte
	proto resp.Version // of the client
	err   func(text string, counted bool)
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func (e *encoder) value(v lua.LValue, depth int) {
	switch x := v.(type) {
	case lua.LString:
		e.out = resp.AppendBulkString(e.out, string(x))
	case lua.LNumber:
		e.out = resp.AppendInt(e.out, int64(cut(float64(x))))
	case lua.LBool:
		switch {
		case e.vm.proto == resp.RESP3:
			e.out = resp.AppendBool(e.out, e.proto, bool(x))
		case bool(x):
			e.out = resp.AppendInt(e.out, 1)
		default:
			e.out = resp.AppendNull(e.out, e.proto)
		}
	case *lua.LTable:
		if depth > replyDepthMax {
			e.out = resp.AppendError(e.out, "ERR reached lua stack limit")
			return
		}
		e.table(e.vm.unwrap(x), depth)
	default:
		e.out = resp.AppendNull(e.out, e.proto)
	}
}

func (e *encoder) table(t *lua.LTable, depth int) {
	if s, ok := t.RawGetString("err").(lua.LString); ok {
		counted := t.RawGetString("ignore_error_stats_update") == lua.LTrue
		e.err(string(s), counted)
		e.out = resp.AppendError(e.out, string(s))
		return
	}
	if s, ok := t.RawGetString("ok").(lua.LString); ok {
		e.out = resp.AppendSimple(e.out, oneLine.Replace(cString(string(s))))
		return
	}
	if f, ok := t.RawGetString("double").(lua.LNumber); ok {
		e.out = resp.AppendDouble(e.out, e.proto, float64(f))
		return
	}
	if s, ok := t.RawGetString("big_number").(lua.LString); ok {
		e.out = resp.AppendBigNumber(e.out, e.proto, oneLine.Replace(string(s)))
		return
	}
	if v, ok := t.RawGetString("verbatim_string").(*lua.LTable); ok {
		format, ok1 := v.RawGetString("format").(lua.LString)
		text, ok2 := v.RawGetString("string").(lua.LString)
		if ok1 && ok2 {
			e.out = resp.AppendVerbatim(e.out, e.proto, (string(format) + "   ")[:3], string(text))
			return
		}
	}
	if m, ok := t.RawGetString("map").(*lua.LTable); ok {
		e.entries(m, depth, true)
		return
	}
	if s, ok := t.RawGetString("set").(*lua.LTable); ok {
		e.entries(s, depth, false)
		return
	}
	e.array(t, depth)
}

// cString ends a text where C does.
func cString(s string) string {
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return s
}

func (e *encoder) entries(t *lua.LTable, depth int, pairs bool) {
	n := 0
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n++
	}
	if pairs {
		e.out = resp.AppendMap(e.out, e.proto, n)
	} else {
		e.out = resp.AppendSet(e.out, e.proto, n)
	}
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		e.value(k, depth+1)
		if pairs {
			e.value(v, depth+1)
		}
	}
}

func (e *encoder) array(t *lua.LTable, depth int) {
	n := 0
	for t.RawGet(num(n+1)) != lua.LNil {
		n++
	}
	e.out = resp.AppendArray(e.out, n)
	for i := 1; i <= n; i++ {
		e.value(t.RawGet(num(i)), depth+1)
	}
}
