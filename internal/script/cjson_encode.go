package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file is cjson.encode.

// jsonWriter writes a value.
type jsonWriter struct {
	c   *call
	cfg *jsonConfig
	out []byte
}

func jsonEncode(c *call) {
	if c.n != 1 {
		c.BadArg(0, "expected 1 argument")
	}
	w := jsonWriter{c: c, cfg: &c.vm.json}
	w.value(c.Arg(0), 0)
	c.Return(c.NewString(string(w.out)))
}

func (w *jsonWriter) refuse(v lua.LValue, why string) {
	w.c.Fail("Cannot serialise %s: %s", v.Type(), why)
}

func (w *jsonWriter) value(v lua.LValue, depth int) {
	switch x := v.(type) {
	case lua.LString:
		w.string(string(x))
	case lua.LNumber:
		w.number(x)
	case lua.LBool:
		w.out = strconv.AppendBool(w.out, bool(x))
	case *lua.LTable:
		w.table(w.c.vm.unwrap(x), depth+1)
	default:
		if v != lua.LNil && v != w.cfg.null {
			w.refuse(v, "type not supported")
		}
		w.out = append(w.out, "null"...)
	}
}

const hexDigits = "0123456789abcdef"

func (w *jsonWriter) string(s string) {
	if len(w.out)+len(s) > stringMax {
		w.c.Fail("string length overflow")
	}
	w.c.vm.charge(len(s))
	w.out = append(w.out, '"')
	for i := range len(s) {
		ch := s[i]
		switch {
		case ch == '"' || ch == '\\' || ch == '/':
			w.out = append(w.out, '\\', ch)
		case ch >= ' ' && ch != 127:
			w.out = append(w.out, ch)
		default:
			if k := strings.IndexByte("\b\t\n\f\r", ch); k >= 0 {
				w.out = append(w.out, '\\', "btnfr"[k])
			} else {
				w.out = append(w.out, '\\', 'u', '0', '0', hexDigits[ch>>4], hexDigits[ch&15])
			}
		}
	}
	w.out = append(w.out, '"')
}

func (w *jsonWriter) number(n lua.LNumber) {
	f := float64(n)
	bad := math.IsNaN(f) || math.IsInf(f, 0)
	switch {
	case bad && w.cfg.encodeInvalid == 0:
		w.refuse(n, "must not be NaN or Inf")
	case bad && w.cfg.encodeInvalid == 2:
		w.out = append(w.out, "null"...)
	case math.IsNaN(f):
		w.out = append(w.out, "nan"...)
	default:
		w.out = append(w.out, formatG(f, w.cfg.precision)...)
	}
}

// length is the size of a pure array, -1 for an object.
func (w *jsonWriter) length(t *lua.LTable) int {
	most, items := 0.0, 0
	for k, _ := t.Next(lua.LNil); k != lua.LNil; k, _ = t.Next(k) {
		n, ok := k.(lua.LNumber)
		if !ok || n < 1 || float64(n) != math.Floor(float64(n)) {
			return -1
		}
		most = max(most, float64(n))
		items++
	}
	if w.cfg.sparseRatio > 0 && most > float64(items*w.cfg.sparseRatio) && most > float64(w.cfg.sparseSafe) {
		if !w.cfg.sparseConvert {
			w.refuse(t, "excessively sparse array")
		}
		return -1
	}
	return int(min(most, math.MaxInt32))
}

func (w *jsonWriter) table(t *lua.LTable, depth int) {
	if depth > w.cfg.encodeDepth || depth > jsonDepthMax {
		w.c.Fail("Cannot serialise, excessive nesting (%d)", depth)
	}
	if n := w.length(t); n > 0 {
		w.out = append(w.out, '[')
		for i := 1; i <= n; i++ {
			w.c.Burn()
			if i > 1 {
				w.out = append(w.out, ',')
			}
			w.value(t.RawGet(num(i)), depth)
		}
		w.out = append(w.out, ']')
		return
	}
	w.out = append(w.out, '{')
	first := true
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		w.c.Burn()
		if !first {
			w.out = append(w.out, ',')
		}
		first = false
		switch x := k.(type) {
		case lua.LNumber:
			w.out = append(w.out, '"')
			w.number(x)
			w.out = append(w.out, '"')
		case lua.LString:
			w.string(string(x))
		default:
			w.refuse(k, "table key must be a number or string")
		}
		w.out = append(w.out, ':')
		w.value(v, depth)
	}
	w.out = append(w.out, '}')
}
