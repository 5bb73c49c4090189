package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file is the library cjson: JSON as the module that Redis embeds writes and reads it. cjson_encode.go and cjson_decode.go have
// its two halves.

// jsonConfig is what the functions of cjson set; every script begins with the defaults.
type jsonConfig struct {
	sparseConvert bool
	sparseRatio   int
	sparseSafe    int
	encodeDepth   int
	decodeDepth   int
	encodeInvalid int // 0 refuse, 1 write, 2 write null
	decodeInvalid bool
	precision     int
	keepBuffer    bool
	null          *lua.LUserData
}

func (j *jsonConfig) reset() {
	null := j.null
	*j = jsonConfig{sparseRatio: 2, sparseSafe: 10, encodeDepth: 1000, decodeDepth: 1000, decodeInvalid: true, precision: 14, keepBuffer: true, null: null}
}

func (vm *VM) openCJSON() {
	vm.json.null = vm.L.NewUserData()
	vm.json.reset()
	vm.globals.RawSetString("cjson", vm.view(vm.newCJSON(), nil))
}

func (vm *VM) newCJSON() *lua.LTable {
	j := &vm.json
	t := vm.L.NewTable()
	for name, f := range map[string]native{
		"encode": jsonEncode, "decode": jsonDecode, "encode_sparse_array": jsonSparse,
		"encode_max_depth":        func(c *call) { c.limit(1); c.intOption(0, &j.encodeDepth, 1, math.MaxInt32) },
		"decode_max_depth":        func(c *call) { c.limit(1); c.intOption(0, &j.decodeDepth, 1, math.MaxInt32) },
		"encode_number_precision": func(c *call) { c.limit(1); c.intOption(0, &j.precision, 1, 14) },
		"encode_keep_buffer":      func(c *call) { c.limit(1); c.boolOption(0, &j.keepBuffer) },
		"decode_invalid_numbers":  func(c *call) { c.limit(1); c.boolOption(0, &j.decodeInvalid) },
		"encode_invalid_numbers":  jsonInvalid,
		"new":                     func(c *call) { c.Return(c.vm.newCJSON()) },
	} {
		t.RawSetString(name, vm.fn(name, f))
	}
	t.RawSetString("null", j.null)
	t.RawSetString("_NAME", lua.LString("cjson"))
	t.RawSetString("_VERSION", lua.LString("2.1.0"))
	return t
}

func (c *call) limit(n int) {
	if c.n > n {
		c.BadArg(n, "found too many arguments")
	}
}

func (c *call) intOption(i int, set *int, low, high int) {
	if c.Arg(i) != lua.LNil {
		n := c.Int(i)
		if n < low || n > high {
			c.BadArg(0, "expected integer between "+strconv.Itoa(low)+" and "+strconv.Itoa(high))
		}
		*set = n
	}
	c.push(num(*set))
}

func (c *call) boolOption(i int, set *bool) {
	switch v := c.Arg(i).(type) {
	case *lua.LNilType:
	case lua.LBool:
		*set = bool(v)
	default:
		switch s := c.Str(i); s {
		case "on", "off":
			*set = s == "on"
		default:
			c.BadArg(i, "invalid option '"+s+"'")
		}
	}
	c.push(lua.LBool(*set))
}

func jsonSparse(c *call) {
	c.limit(3)
	j := &c.vm.json
	c.boolOption(0, &j.sparseConvert)
	c.intOption(1, &j.sparseRatio, 0, math.MaxInt32)
	c.intOption(2, &j.sparseSafe, 0, math.MaxInt32)
}

func jsonInvalid(c *call) {
	c.limit(1)
	set := &c.vm.json.encodeInvalid
	switch v := c.Arg(0).(type) {
	case *lua.LNilType:
	case lua.LBool:
		*set = 0
		if v {
			*set = 1
		}
	default:
		s := c.Str(0)
		i := strings.Index("off on  null", s)
		if s != "off" && s != "on" && s != "null" {
			c.BadArg(0, "invalid option '"+s+"'")
		}
		*set = i / 4
	}
	if *set == 2 {
		c.Return(lua.LString("null"))
		return
	}
	c.Return(lua.LBool(*set == 1))
}

// jsonDepthMax bounds nesting whatever a script sets: each level is a step of Go's stack.
const jsonDepthMax = 100_000
