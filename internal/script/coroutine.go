package script

import lua "github.com/yuin/gopher-lua"

// threadBytes is what a coroutine costs: its stack and its calls.
const threadBytes = 32 << 10

// openCoroutine takes the interpreter's coroutines, each under the watch of its machine. It is called while the globals of
// the interpreter are still its own.
func (vm *VM) openCoroutine() {
	L := vm.L
	own := L.G.Global
	L.G.Global = L.NewTable()
	lua.OpenCoroutine(L)
	t := L.Get(-1).(*lua.LTable)
	L.SetTop(0)
	L.G.Global = own
	create := t.RawGetString("create").(*lua.LFunction).GFunction
	wrap := t.RawGetString("wrap").(*lua.LFunction).GFunction
	resume := t.RawGetString("resume").(*lua.LFunction).GFunction
	yield := t.RawGetString("yield").(*lua.LFunction).GFunction
	t.RawSetString("create", L.NewFunction(func(L *lua.LState) int {
		vm.checkBody(L, "create")
		vm.charge(threadBytes)
		n := create(L)
		L.Get(-1).(*lua.LState).SetContext(L.Context())
		return n
	}))
	t.RawSetString("resume", L.NewFunction(func(L *lua.LState) int {
		vm.checkCoroutine(L, "resume")
		vm.enter(L)
		nested := vm.watch.nested
		n := resume(L)
		vm.watch.nested = nested
		vm.leave()
		if text, ok := L.Get(-1).(lua.LString); ok && n == 2 && L.Get(-2) == lua.LFalse {
			L.Pop(1)
			L.Push(lua.LString(reword(string(text))))
		}
		return n
	}))
	status := t.RawGetString("status").(*lua.LFunction).GFunction
	t.RawSetString("status", L.NewFunction(func(L *lua.LState) int {
		vm.checkCoroutine(L, "status")
		return status(L)
	}))
	t.RawSetString("yield", L.NewFunction(func(L *lua.LState) int {
		if L.Parent == nil {
			L.Error(lua.LString("attempt to yield across metamethod/C-call boundary"), 0)
		}
		return yield(L)
	}))
	t.RawSetString("wrap", L.NewFunction(func(L *lua.LState) int {
		vm.checkBody(L, "wrap")
		vm.charge(threadBytes)
		wrap(L)
		inner := L.Get(-1).(*lua.LFunction)
		inner.Upvalues[0].Value().(*lua.LState).SetContext(L.Context())
		L.Push(L.NewFunction(func(L *lua.LState) int {
			n := L.GetTop()
			L.Push(inner)
			for i := 1; i <= n; i++ {
				L.Push(L.Get(i))
			}
			vm.enter(L)
			L.Call(n, lua.MultRet)
			vm.leave()
			return L.GetTop() - n
		}))
		return 1
	}))
	vm.globals.RawSetString("coroutine", vm.view(t, nil))
}

// checkBody demands that the first argument is a function of the script.
func (vm *VM) checkBody(L *lua.LState, name string) {
	if f, ok := L.Get(1).(*lua.LFunction); !ok || f.IsG {
		c := call{L: L, vm: vm, name: name}
		c.BadArg(0, "Lua function expected")
	}
}

// checkCoroutine demands that the first argument is a coroutine.
func (vm *VM) checkCoroutine(L *lua.LState, name string) {
	if L.Get(1).Type() != lua.LTThread {
		c := call{L: L, vm: vm, name: name}
		c.BadArg(0, "coroutine expected")
	}
}
