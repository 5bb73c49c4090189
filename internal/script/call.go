package script

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// call is what a function of ours sees of one call from a script. Arguments are counted from 0.
type call struct {
	L    *lua.LState
	vm   *VM
	name string
	n    int // arguments
	out  int // results pushed
}

// native is a function of ours.
type native func(c *call)

// fn makes a value of a function of ours.
func (vm *VM) fn(name string, f native) *lua.LFunction {
	return vm.L.NewFunction(func(L *lua.LState) int { return vm.invoke(L, name, f) })
}

// invoke calls a function of ours. The call is kept for the next one, unless an error ends it.
func (vm *VM) invoke(L *lua.LState, name string, f native) int {
	c := vm.spare
	if c == nil {
		c = new(call)
	}
	vm.spare = nil
	*c = call{L: L, vm: vm, name: name, n: L.GetTop()}
	f(c)
	vm.spare = c
	return c.out
}

func num(n int) lua.LValue { return lua.LNumber(n) }

func (c *call) push(v lua.LValue) {
	c.L.Push(v)
	c.out++
}

// Return sets the results.
func (c *call) Return(list ...lua.LValue) {
	c.out = 0
	for _, v := range list {
		c.push(v)
	}
}

// Arg is an argument, nil behind the last one.
func (c *call) Arg(i int) lua.LValue {
	if i >= c.n {
		return lua.LNil
	}
	return c.L.Get(i + 1)
}

// Fail raises an error with the place of the call in front, if it is a script that calls.
func (c *call) Fail(format string, args ...any) {
	if len(args) > 0 {
		format = fmt.Sprintf(format, args...)
	}
	c.Throw(lua.LString(c.place(1) + format))
}

// place is where the function at a level is, to stand in front of an error; "" when it is none of a script.
func (c *call) place(level int) string {
	where := c.L.Where(level)
	if where == "" || strings.HasPrefix(where, "[G]") {
		return ""
	}
	return where + " "
}

// Throw raises a value as it is.
func (c *call) Throw(v lua.LValue) { c.L.Error(v, 0) }

// BadArg raises the error of an argument. The function is called what the script calls it.
func (c *call) BadArg(i int, text string) {
	name := "?"
	if f, ok := frameAt(c.L, 1); ok {
		name = c.name
		how, as := f.calledAs()
		if as != "" {
			name = as
		}
		if how == "method" {
			if i == 0 {
				c.Fail("calling '%s' on bad self (%s)", name, text)
			}
			i--
		}
	}
	c.Fail("bad argument #%d to '%s' (%s)", i+1, name, text)
}

func (c *call) wrongType(i int, wanted string) {
	got := "no value"
	if i < c.n {
		got = c.Arg(i).Type().String()
	}
	c.BadArg(i, wanted+" expected, got "+got)
}

// Any demands that an argument is there.
func (c *call) Any(i int) lua.LValue {
	if i >= c.n {
		c.BadArg(i, "value expected")
	}
	return c.Arg(i)
}

// Table is an argument as a table; of a read-only one it is what stands behind it, for reading.
func (c *call) Table(i int) *lua.LTable {
	t, ok := c.Arg(i).(*lua.LTable)
	if !ok {
		c.wrongType(i, "table")
	}
	return c.vm.unwrap(t)
}

// Writable is an argument as a table that may be changed.
func (c *call) Writable(i int) *lua.LTable {
	t, ok := c.Arg(i).(*lua.LTable)
	if !ok {
		c.wrongType(i, "table")
	}
	if c.vm.readOnly(t) {
		c.Throw(lua.LString(readOnlyText))
	}
	return t
}

// Function is an argument as a function.
func (c *call) Function(i int) *lua.LFunction {
	f, ok := c.Arg(i).(*lua.LFunction)
	if !ok {
		c.wrongType(i, "function")
	}
	return f
}

// Str is an argument as a string; numbers are converted.
func (c *call) Str(i int) string {
	s, ok := toText(c.Arg(i))
	if !ok {
		c.wrongType(i, "string")
	}
	return s
}

// OptStr is Str with a default.
func (c *call) OptStr(i int, def string) string {
	if c.Arg(i) == lua.LNil {
		return def
	}
	return c.Str(i)
}

// Num is an argument as a number; strings that spell one are converted.
func (c *call) Num(i int) float64 {
	f, ok := toNumber(c.Arg(i))
	if !ok {
		c.wrongType(i, "number")
	}
	return f
}

// Int is an argument as a whole number, cut towards zero.
func (c *call) Int(i int) int { return cut(c.Num(i)) }

// OptInt is Int with a default.
func (c *call) OptInt(i, def int) int {
	if c.Arg(i) == lua.LNil {
		return def
	}
	return c.Int(i)
}

// NewString makes a string that the script pays for.
func (c *call) NewString(s string) lua.LValue {
	c.vm.charge(len(s) + 32)
	return lua.LString(s)
}

// Burn counts a step of a loop of ours, so that it can be interrupted.
func (c *call) Burn() { c.vm.watch.step(c.L) }

// Call calls a value and returns its first result.
func (c *call) Call(f lua.LValue, args ...lua.LValue) lua.LValue {
	c.L.Push(f)
	for _, a := range args {
		c.L.Push(a)
	}
	c.vm.enter(c.L)
	c.L.Call(len(args), 1)
	c.vm.leave()
	v := c.L.Get(-1)
	c.L.Pop(1)
	return v
}

// cut makes an integer as the hardware does: what does not fit becomes the least one.
func cut(f float64) int {
	if f >= -9223372036854775808 && f < 9223372036854775808 {
		return int(f)
	}
	return math.MinInt64
}

// toText converts as concatenation does: numbers have a text.
func toText(v lua.LValue) (string, bool) {
	switch x := v.(type) {
	case lua.LString:
		return string(x), true
	case lua.LNumber:
		return formatNumber(float64(x)), true
	}
	return "", false
}

// toNumber converts as arithmetic does: strings that spell numbers are numbers.
func toNumber(v lua.LValue) (float64, bool) {
	switch x := v.(type) {
	case lua.LNumber:
		return float64(x), true
	case lua.LString:
		return parseNumber(string(x))
	}
	return 0, false
}

// formatNumber is the text of a number: %.14g of C.
func formatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e14 && (f != 0 || !math.Signbit(f)) {
		return strconv.FormatInt(int64(f), 10)
	}
	return formatG(f, 14)
}

// formatG is %.<digits>g of C.
func formatG(f float64, digits int) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		if math.Signbit(f) {
			return "-nan"
		}
		return "nan"
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}

const spaces = " \t\n\v\f\r"

// parseNumber reads a number as the C library does, with space around it.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(s, spaces)
	if s == "" || strings.IndexByte(s, '_') >= 0 {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err == nil {
		return f, true
	}
	if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
		return f, true
	}
	return parseHex(s)
}

// parseHex reads 0x and digits.
func parseHex(s string) (float64, bool) {
	neg := false
	if s[0] == '-' || s[0] == '+' {
		neg, s = s[0] == '-', s[1:]
	}
	if len(s) < 3 || s[0] != '0' || s[1]|0x20 != 'x' {
		return 0, false
	}
	f := 0.0
	for i := 2; i < len(s); i++ {
		d := digitOf(s[i])
		if d >= 16 {
			return 0, false
		}
		f = f*16 + float64(d)
	}
	if neg {
		f = -f
	}
	return f, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// digitOf is the value of a digit in bases up to 36, 99 for anything else.
func digitOf(c byte) int {
	switch {
	case isDigit(c):
		return int(c - '0')
	case c >= 'a' && c <= 'z':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'Z':
		return int(c-'A') + 10
	}
	return 99
}
