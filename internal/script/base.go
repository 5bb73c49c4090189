package script

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

func (vm *VM) openBase() {
	g := vm.globals
	for name, f := range map[string]native{
		"assert": baseAssert, "collectgarbage": baseCollect, "error": baseError, "gcinfo": baseGCInfo, "getfenv": baseGetfenv,
		"getmetatable": baseGetmetatable, "load": baseLoad, "loadstring": baseLoadstring, "newproxy": baseNewproxy,
		"pairs": basePairs, "ipairs": baseIpairs, "next": baseNext, "pcall": basePcall, "rawequal": baseRawequal,
		"rawget": baseRawget, "rawset": baseRawset, "select": baseSelect, "setfenv": baseSetfenv,
		"setmetatable": baseSetmetatable, "tonumber": baseTonumber, "tostring": baseTostring, "type": baseType,
		"unpack": baseUnpack, "xpcall": baseXpcall,
	} {
		g.RawSetString(name, vm.fn(name, f))
	}
	g.RawSetString("_G", vm.env)
	g.RawSetString("_VERSION", lua.LString("Lua 5.1"))
	vm.nextFn = g.RawGetString("next").(*lua.LFunction)
}

func baseAssert(c *call) {
	if !lua.LVAsBool(c.Any(0)) {
		c.Fail("%s", c.OptStr(1, "assertion failed!"))
	}
	c.all(0)
}

// all returns the arguments from i on.
func (c *call) all(i int) {
	for ; i < c.n; i++ {
		c.push(c.L.Get(i + 1))
	}
}

func baseCollect(c *call) {
	switch opt := c.OptStr(0, "collect"); opt {
	case "count":
		c.Return(lua.LNumber(64))
	case "collect", "stop", "restart", "setpause", "setstepmul":
		c.Return(num(0))
	case "step":
		c.Return(lua.LFalse) // never at the end of a cycle
	default:
		c.BadArg(0, "invalid option '"+opt+"'")
	}
}

func baseGCInfo(c *call) { c.Return(num(64)) }

func baseError(c *call) {
	v := c.Arg(0)
	level := c.OptInt(1, 1)
	if s, ok := toText(v); ok && level > 0 {
		v = lua.LString(c.place(level) + s)
	}
	c.Throw(v)
}

func baseGetfenv(c *call) {
	if f, ok := c.Arg(0).(*lua.LFunction); ok && !f.IsG {
		c.Return(f.Env)
		return
	}
	if f := c.function(0); f != nil && !f.IsG {
		c.Return(f.Env)
		return
	}
	c.Return(c.vm.env)
}

// function is the function at the level that an argument names, nil for the outermost one.
func (c *call) function(i int) *lua.LFunction {
	if f, ok := c.Arg(i).(*lua.LFunction); ok {
		return f
	}
	level := c.OptInt(i, 1)
	if level < 0 {
		c.BadArg(i, "level must be non-negative")
	}
	if level == 0 {
		return nil
	}
	d, ok := c.L.GetStack(level)
	if !ok {
		c.BadArg(i, "invalid level")
	}
	v, err := c.L.GetInfo("f", d, nil)
	f, isFn := v.(*lua.LFunction)
	if err != nil || !isFn {
		c.BadArg(i, "invalid level")
	}
	return f
}

func baseSetfenv(c *call) {
	env, ok := c.Arg(1).(*lua.LTable)
	if !ok {
		c.wrongType(1, "table")
	}
	f := c.function(0)
	if f == nil || f.IsG {
		c.Fail("'setfenv' cannot change environment of given object")
	}
	f.Env = env
	c.Return(f)
}

func baseGetmetatable(c *call) {
	v := c.Any(0)
	if t, ok := v.(*lua.LTable); ok && c.vm.readOnly(t) {
		c.Return(c.vm.metaView(c.vm.unwrap(t)))
		return
	}
	found := c.L.GetMetatable(v)
	m, ok := found.(*lua.LTable)
	if !ok {
		c.Return(found)
		return
	}
	if p := m.RawGetString("__metatable"); p != lua.LNil {
		c.Return(p)
		return
	}
	if _, ok := v.(lua.LString); ok {
		c.Return(c.vm.stringMeta)
		return
	}
	c.Return(m)
}

// metaView is a read-only look at the metatable of what stands behind a read-only table.
func (vm *VM) metaView(behind *lua.LTable) lua.LValue {
	m, ok := behind.Metatable.(*lua.LTable)
	if !ok {
		return lua.LNil
	}
	return vm.view(m, nil)
}

func baseSetmetatable(c *call) {
	t, ok := c.Arg(0).(*lua.LTable)
	if !ok {
		c.wrongType(0, "table")
	}
	m, isTable := c.Arg(1).(*lua.LTable)
	if !isTable && (c.n < 2 || c.Arg(1) != lua.LNil) {
		c.BadArg(1, "nil or table expected")
	}
	if c.vm.readOnly(t) {
		c.Throw(lua.LString(readOnlyText))
	}
	if old, ok := t.Metatable.(*lua.LTable); ok && old.RawGetString("__metatable") != lua.LNil {
		c.Fail("cannot change a protected metatable")
	}
	if isTable {
		t.Metatable = m
	} else {
		t.Metatable = lua.LNil
	}
	c.Return(t)
}

func baseNewproxy(c *call) {
	u := c.L.NewUserData()
	switch v := c.Arg(0).(type) {
	case *lua.LUserData:
		u.Metatable = v.Metatable
	case lua.LBool, *lua.LNilType:
		if v == lua.LTrue {
			u.Metatable = c.L.NewTable()
		}
	default:
		c.BadArg(0, "boolean or proxy expected")
	}
	c.Return(u)
}

func baseLoadstring(c *call) {
	s := c.Str(0)
	c.load(s, chunkName(c.OptStr(1, s)))
}

// chunkName is how errors show the name of a source: a file, or the first line of the text.
func chunkName(name string) string {
	const most = 63
	if name != "" && (name[0] == '@' || name[0] == '=') {
		return name[1:]
	}
	first, cut := name, false
	if end := strings.IndexAny(name, "\n\r"); end >= 0 {
		first, cut = name[:end], true
	}
	if len(first) > most {
		first, cut = first[:most], true
	}
	if cut {
		first += "..."
	}
	return `[string "` + first + `"]`
}

func baseLoad(c *call) {
	f := c.Function(0)
	name := c.OptStr(1, "=(load)")
	var src strings.Builder
	for {
		v := c.Call(f)
		if v == lua.LNil {
			break
		}
		piece, ok := toText(v)
		if !ok {
			c.Return(lua.LNil, lua.LString("reader function must return a string"))
			return
		}
		if piece == "" {
			break
		}
		c.vm.chargeString(c.L, src.Len()+len(piece))
		src.WriteString(piece)
	}
	c.load(src.String(), chunkName(name))
}

// sourceCost is how many bytes a byte of source may become when it is compiled.
const sourceCost = 64

func (c *call) load(src, name string) {
	c.vm.charge(sourceCost * len(src))
	p, err := compile(src, name, false)
	if err != nil {
		c.Return(lua.LNil, lua.LString(err.Error()))
		return
	}
	c.Return(c.vm.bind(p))
}

// bind makes a function of a program.
func (vm *VM) bind(p *lua.FunctionProto) *lua.LFunction {
	f := vm.L.NewFunctionFromProto(p)
	f.Env = vm.env
	return f
}

func baseNext(c *call) {
	k, v := c.Table(0).Next(c.Arg(1))
	if k == lua.LNil {
		c.Return(k)
		return
	}
	c.Return(k, v)
}

func basePairs(c *call) { c.Return(c.vm.nextFn, c.Table(0), lua.LNil) }

func baseIpairs(c *call) {
	c.Return(c.vm.fn("ipairs", ipairsStep), c.Table(0), num(0))
}

func ipairsStep(c *call) {
	i := c.Int(1) + 1
	v := c.Table(0).RawGet(num(i))
	if v == lua.LNil {
		c.Return(v)
		return
	}
	c.Return(num(i), v)
}

func basePcall(c *call) {
	if err := c.protect(c.Any(0), c.n-1); err != nil {
		c.Return(lua.LFalse, c.thrown(err))
		return
	}
	c.L.Insert(lua.LTrue, 1)
	c.out = c.L.GetTop()
}

// protect calls a function that lies on the stack with its arguments, and catches what it throws.
func (c *call) protect(fn lua.LValue, args int) error {
	if fn.Type() != lua.LTFunction && c.L.GetMetaField(fn, "__call") == lua.LNil {
		return &lua.ApiError{Type: lua.ApiErrorRun, Object: lua.LString("attempt to call a " + fn.Type().String() + " value")}
	}
	c.vm.enter(c.L)
	nested := c.vm.watch.nested
	err := c.L.PCall(args, lua.MultRet, c.vm.handler)
	c.vm.watch.nested = nested
	c.vm.leave()
	return err
}

// thrown is what a script catches. An error of a command is a table; scripts of old expect its text.
func (c *call) thrown(err error) lua.LValue {
	e, ok := err.(*lua.ApiError)
	if !ok {
		return lua.LString(err.Error())
	}
	switch v := e.Object.(type) {
	case *lua.LTable:
		if s, ok := toText(v.RawGetString("err")); ok {
			return lua.LString(s)
		}
	case lua.LString:
		return lua.LString(reword(string(v)))
	}
	return e.Object
}

func baseXpcall(c *call) {
	c.Any(1)
	fn, handler := c.Arg(0), c.Arg(1)
	c.L.SetTop(0)
	c.L.Push(fn)
	err := c.protect(fn, 0)
	if err == nil {
		c.L.Insert(lua.LTrue, 1)
		c.out = c.L.GetTop()
		return
	}
	obj := lua.LValue(lua.LString(err.Error()))
	if e, ok := err.(*lua.ApiError); ok {
		obj = e.Object
	}
	c.L.SetTop(0)
	c.L.Push(handler)
	c.L.Push(obj)
	if c.protect(handler, 1) != nil {
		c.Return(lua.LFalse, lua.LString("error in error handling"))
		return
	}
	c.Return(lua.LFalse, c.L.Get(1))
}

func baseRawequal(c *call) { c.Return(lua.LBool(c.L.RawEqual(c.Any(0), c.Any(1)))) }

func baseRawget(c *call) { c.Return(c.Table(0).RawGet(c.Any(1))) }

func baseRawset(c *call) {
	t := c.Writable(0)
	if c.Any(1) == lua.LNil {
		c.Any(2)
		c.Throw(lua.LString("table index is nil"))
	}
	c.vm.set(t, c.Arg(1), c.Any(2))
	c.Return(t)
}

func baseSelect(c *call) {
	if s, ok := c.Arg(0).(lua.LString); ok && strings.HasPrefix(string(s), "#") {
		c.Return(num(c.n - 1))
		return
	}
	i := c.Int(0)
	switch {
	case i < 0:
		i += c.n
	case i > c.n:
		i = c.n
	}
	if i < 1 {
		c.BadArg(0, "index out of range")
	}
	c.all(i)
}

func baseTonumber(c *call) {
	base := c.OptInt(1, 10)
	if base == 10 {
		f, ok := toNumber(c.Any(0))
		if !ok {
			c.Return(lua.LNil)
			return
		}
		c.Return(lua.LNumber(f))
		return
	}
	s := c.Str(0)
	if base < 2 || base > 36 {
		c.BadArg(1, "base out of range")
	}
	c.Return(numberInBase(s, base))
}

// numberInBase reads what strtoul reads.
func numberInBase(s string, base int) lua.LValue {
	s = strings.Trim(s, spaces)
	neg := strings.HasPrefix(s, "-")
	if neg || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	if base == 16 && len(s) > 2 && s[0] == '0' && s[1]|0x20 == 'x' {
		s = s[2:]
	}
	if s == "" {
		return lua.LNil
	}
	n, over := uint64(0), false
	for i := range len(s) {
		d := digitOf(s[i])
		if d >= base {
			return lua.LNil
		}
		over = over || n > (math.MaxUint64-uint64(d))/uint64(base)
		n = n*uint64(base) + uint64(d)
	}
	if over {
		n = math.MaxUint64
	}
	if neg {
		n = -n
	}
	return lua.LNumber(float64(n))
}

func baseTostring(c *call) {
	v := c.Any(0)
	if h := c.L.GetMetaField(v, "__tostring"); h != lua.LNil {
		c.Return(c.Call(h, v))
		return
	}
	c.Return(lua.LString(c.vm.tostring(v)))
}

// tostring is the text of any value, without metamethods.
func (vm *VM) tostring(v lua.LValue) string {
	if s, ok := toText(v); ok {
		return s
	}
	if v == vm.json.null {
		return "userdata: (nil)"
	}
	return v.String()
}

func baseType(c *call) { c.Return(lua.LString(c.Any(0).Type().String())) }

// unpackMax is how many values unpack may give.
const unpackMax = 8000

func baseUnpack(c *call) {
	t := c.Table(0)
	i := c.OptInt(1, 1)
	e := t.Len()
	if c.Arg(2) != lua.LNil {
		e = c.Int(2)
	}
	i, e = int(int32(i)), int(int32(e))
	if i > e {
		return
	}
	if e-i+1 >= unpackMax {
		c.Fail("too many results to unpack")
	}
	for ; i <= e; i++ {
		c.push(t.RawGet(num(i)))
	}
}
