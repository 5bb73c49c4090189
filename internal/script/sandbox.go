package script

import (
	lua "github.com/yuin/gopher-lua"
)

// readOnlyText is the error of a change of a read-only table.
const readOnlyText = "Attempt to modify a readonly table"

// Globals and libraries are read-only for scripts. The interpreter has no such tables, so a script is given an empty one
// instead, whose metatable reads what stands behind and refuses changes. Functions of ours that read or change tables by
// themselves look behind it, or refuse too.

// view makes a read-only table that shows another one. missing is called for what is not there; it may be nil.
func (vm *VM) view(behind *lua.LTable, missing *lua.LFunction) *lua.LTable {
	L := vm.L
	if missing != nil {
		m := L.NewTable()
		m.RawSetString("__index", missing)
		behind.Metatable = m
	}
	v, meta := L.NewTable(), L.NewTable()
	meta.RawSetString("__index", behind)
	meta.RawSetString("__newindex", vm.refuse())
	v.Metatable = meta
	vm.views[v] = behind
	return v
}

func (vm *VM) refuse() *lua.LFunction {
	return vm.fn("__newindex", func(c *call) { c.Fail(readOnlyText) })
}

// unwrap is what stands behind a read-only table, or the table itself.
func (vm *VM) unwrap(t *lua.LTable) *lua.LTable {
	if behind, ok := vm.views[t]; ok {
		return behind
	}
	return t
}

func (vm *VM) readOnly(t *lua.LTable) bool {
	_, ok := vm.views[t]
	return ok
}

// library makes a read-only table of functions a global.
func (vm *VM) library(name string, list map[string]native) *lua.LTable {
	t := vm.L.NewTable()
	for n, f := range list {
		t.RawSetString(n, vm.fn(n, f))
	}
	vm.globals.RawSetString(name, vm.view(t, nil))
	return t
}

// set stores into a table of a script and checks the key.
func (vm *VM) set(t *lua.LTable, k, v lua.LValue) {
	if n, ok := k.(lua.LNumber); ok {
		if gap := float64(n) - float64(t.Len()); gap > arrayGapMax && float64(n) < arrayIndexMax {
			vm.charge(int(gap) * 16)
		}
	}
	vm.L.RawSet(t, k, v)
}

// missingGlobal is the error of a global that is not there.
func missingGlobal(c *call) {
	name, ok := toText(c.Arg(1))
	if !ok {
		c.Fail("Second argument to luaProtectedTableError must be a string or number")
	}
	c.Fail("Script attempted to access nonexistent global variable '%s'", name)
}

func (vm *VM) open() {
	L := vm.L
	vm.globals = L.NewTable()
	missing := vm.fn("__index", missingGlobal)
	vm.env = vm.view(vm.globals, missing)
	vm.envMeta = vm.env.Metatable.(*lua.LTable)
	L.G.Global = vm.env
	L.Env = vm.env
	vm.handler = L.NewFunction(vm.noteError)
	vm.openBase()
	vm.openString()
	vm.openTable()
	vm.openMath()
	vm.openCoroutine()
	vm.openBit()
	vm.openCJSON()
	vm.openMsgpack()
	vm.openStruct()
	vm.openRedis(missing)
}
