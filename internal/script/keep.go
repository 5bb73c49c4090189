package script

import (
	lua "github.com/yuin/gopher-lua"
)

// This file holds what a machine keeps from one script of EVAL for the next. Globals are read-only and nothing else outlives
// a script, so whatever tables it was given are the machine's own again when it has ended, if it left them as they were.

// kept is what a machine keeps.
type kept struct {
	keys, args words
	mains      map[*lua.FunctionProto]*lua.LFunction // functions of programs
	ok         []*lua.LTable                         // the status OK, as replies of commands
	okGiven    int                                   // how many of them the script has
}

// words is KEYS or ARGV.
type words struct {
	table *lua.LTable // nil: the next script gets a new one
	n     int
	end   lua.LValue // n, for a look at what is behind it; LNil when it is 0
}

const (
	wordsKept = 256 // words in a table that is kept
	mainsKept = 256 // programs whose functions are kept
	okKept    = 8
	okText    = lua.LString("OK")
)

// fill makes a list of strings the content of an array. A string that is there already stays.
func fill(t *lua.LTable, list [][]byte) {
	for i, b := range list {
		if old, ok := t.RawGetInt(i + 1).(lua.LString); ok && string(old) == string(b) {
			continue
		}
		t.RawSetInt(i+1, lua.LString(b))
	}
}

// setWords makes a list the value of KEYS or ARGV.
func (vm *VM) setWords(name string, w *words, list [][]byte) {
	if w.table == nil || w.n > wordsKept || len(list) > wordsKept {
		w.table = vm.strings(list)
		w.size(len(list))
		vm.globals.RawSetString(name, w.table)
		return
	}
	for n := w.n; n > len(list); n-- {
		w.table.Remove(n)
	}
	fill(w.table, list)
	if w.n != len(list) {
		w.size(len(list))
	}
}

func (w *words) size(n int) {
	w.n, w.end = n, lua.LNil
	if n > 0 {
		w.end = lua.LNumber(n)
	}
}

// main is the function of a program. A script may have given it another environment.
func (vm *VM) main(p *lua.FunctionProto) *lua.LFunction {
	f := vm.kept.mains[p]
	if f == nil {
		f = vm.bind(p)
		if vm.kept.mains == nil || len(vm.kept.mains) >= mainsKept {
			vm.kept.mains = make(map[*lua.FunctionProto]*lua.LFunction)
		}
		vm.kept.mains[p] = f
	}
	f.Env = vm.env
	return f
}

// okTable is the table of a status reply OK.
func (vm *VM) okTable() *lua.LTable {
	k := &vm.kept
	if k.okGiven == len(k.ok) || vm.opts.Functions {
		t := vm.L.CreateTable(0, 1)
		t.RawSetString("ok", okText)
		if len(k.ok) < okKept && !vm.opts.Functions {
			k.ok = append(k.ok, t)
			k.okGiven++
		}
		return t
	}
	t := k.ok[k.okGiven]
	k.okGiven++
	return t
}

// tidy takes back what the script was given, after its reply has been made. A script that ran for long may have left
// anything behind.
func (vm *VM) tidy() {
	k := &vm.kept
	short := vm.watch.steps < lookSteps && vm.watch.charged < longBytes
	if !short || !k.keys.intact() {
		k.keys.table = nil
	}
	if !short || !k.args.intact() {
		k.args.table = nil
	}
	for i := k.okGiven - 1; i >= 0; i-- {
		if !short || !intactOK(k.ok[i]) {
			last := len(k.ok) - 1
			k.ok[i] = k.ok[last]
			k.ok = k.ok[:last]
		}
	}
	k.okGiven = 0
}

// intact says whether the table holds an array of its size and nothing else.
func (w *words) intact() bool {
	if w.table.Metatable != lua.LNil || w.table.MaxN() != w.n {
		return false
	}
	k, _ := w.table.Next(w.end)
	return k == lua.LNil
}

// intactOK says whether the table is what okTable makes.
func intactOK(t *lua.LTable) bool {
	if t.Metatable != lua.LNil {
		return false
	}
	k, v := t.Next(lua.LNil)
	if k != lua.LString("ok") || v != okText {
		return false
	}
	k, _ = t.Next(k)
	return k == lua.LNil
}
