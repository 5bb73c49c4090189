package script

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// The interpreter says of an instruction that failed what kind of value it had, and sometimes not even that. The reference
// implementation says which value it was too: "attempt to index local 'x' (a nil value)". This file finds that out, as the
// reference implementation does, by looking for the instruction that put the value where it was.

// frame is a call of a function of a script, at one of its instructions.
type frame struct {
	L    *lua.LState
	fn   *lua.LFunction
	pc   int // of the instruction
	base int // of the registers
}

// frameAt is the call at a level of the stack; ok is false when it is none of a script.
func frameAt(L *lua.LState, level int) (f frame, ok bool) {
	d, ok := L.GetStack(level)
	if !ok {
		return f, false
	}
	v, err := L.GetInfo("f", d, nil)
	fn, isFn := v.(*lua.LFunction)
	if err != nil || !isFn || fn.IsG {
		return f, false
	}
	// The interpreter keeps these two to itself; they are read only, and only when something has failed.
	inner := reflect.ValueOf(d).Elem().FieldByName("frame").Elem()
	return frame{L: L, fn: fn, pc: int(inner.FieldByName("Pc").Int()) - 1, base: int(inner.FieldByName("LocalBase").Int())}, true
}

// kind is the type of the value in a register; after a coroutine has failed its registers are empty.
func (f frame) kind(reg int) string {
	list := reflect.ValueOf(f.L).Elem().FieldByName("reg").Elem().FieldByName("array")
	at := f.base + reg
	if at >= list.Len() || list.Index(at).IsNil() {
		return lua.LTNil.String()
	}
	return kinds[list.Index(at).Elem().Type()]
}

var kinds = map[reflect.Type]string{
	reflect.TypeOf(lua.LNil):          lua.LTNil.String(),
	reflect.TypeOf(lua.LTrue):         lua.LTBool.String(),
	reflect.TypeOf(lua.LNumber(0)):    lua.LTNumber.String(),
	reflect.TypeOf(lua.LString("")):   lua.LTString.String(),
	reflect.TypeOf(&lua.LFunction{}):  lua.LTFunction.String(),
	reflect.TypeOf(&lua.LUserData{}):  lua.LTUserData.String(),
	reflect.TypeOf(&lua.LState{}):     lua.LTThread.String(),
	reflect.TypeOf(&lua.LTable{}):     lua.LTTable.String(),
	reflect.TypeOf(lua.LChannel(nil)): lua.LTChannel.String(),
}

// instruction is a decoded instruction.
type instruction struct{ op, a, b, c, bx int }

func (f frame) at(pc int) instruction {
	i := f.fn.Proto.Code[pc]
	return instruction{op: int(i >> 26), a: int(i>>18) & 0xff, b: int(i & 0x1ff), c: int(i>>9) & 0x1ff, bx: int(i & 0x3ffff)}
}

// jump is how far an instruction leads away from the next one.
func (i instruction) jump() int { return i.bx - 1<<17 + 1 }

const constantBit = 1 << 8 // in an operand: it is a constant, not a register

// value says of a failing instruction's operand what it is, in the words of the reference implementation.
func (f frame) value(reg int, kind string) string {
	if how, name := f.name(reg, f.pc); name != "" {
		return fmt.Sprintf("%s '%s' (a %s value)", how, name, kind)
	}
	return fmt.Sprintf("a %s value", kind)
}

// name says how the value of a register is called at an instruction, and what kind of name that is; "" for values without.
func (f frame) name(reg, pc int) (how, name string) {
	if name := f.local(reg, pc); name != "" {
		return "local", name
	}
	from := f.setter(reg, pc)
	if from < 0 {
		return "", ""
	}
	p := f.fn.Proto
	switch i := f.at(from); i.op {
	case lua.OP_GETGLOBAL:
		return "global", p.Constants[i.bx].String()
	case lua.OP_MOVE, lua.OP_MOVEN:
		if i.b < i.a {
			return f.name(i.b, from)
		}
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS:
		return "field", f.constant(i.c)
	case lua.OP_SELF:
		return "method", f.constant(i.c)
	case lua.OP_GETUPVAL:
		if i.b < len(p.DbgUpvalues) {
			return "upvalue", p.DbgUpvalues[i.b]
		}
	}
	return "", ""
}

// local is the variable of the function that lives in a register at an instruction; "" for none.
func (f frame) local(reg, pc int) string {
	for _, v := range f.fn.Proto.DbgLocals {
		if v.StartPc > pc || pc >= v.EndPc {
			continue
		}
		if reg == 0 {
			if strings.HasPrefix(v.Name, "(") { // what a loop keeps to itself
				return ""
			}
			return v.Name
		}
		reg--
	}
	return ""
}

// constant is the text of a constant operand that is a string, "?" for any other.
func (f frame) constant(operand int) string {
	if operand&constantBit != 0 {
		if s, ok := f.fn.Proto.Constants[operand&^constantBit].(lua.LString); ok {
			return string(s)
		}
	}
	return "?"
}

// setter is the instruction before pc that gave a register its value; jumps forward are followed. -1 stands for none.
func (f frame) setter(reg, pc int) int {
	last := -1
	for at := 0; at < pc; at++ {
		i := f.at(at)
		switch {
		case i.op == lua.OP_JMP || i.op == lua.OP_FORPREP:
			if to := at + 1 + i.jump(); to > at && to <= pc {
				at = to - 1
			}
		case i.sets(reg):
			last = at
		}
		switch {
		case i.op == lua.OP_CLOSURE: // words behind it name the variables of the function
			at += int(f.fn.Proto.FunctionPrototypes[i.bx].NumUpvalues)
		case i.op == lua.OP_SETLIST && i.c == 0:
			at++
		}
	}
	return last
}

// sets says whether an instruction gives a register a value.
func (i instruction) sets(reg int) bool {
	switch i.op {
	case lua.OP_LOADNIL:
		return i.a <= reg && reg <= i.b
	case lua.OP_SELF:
		return reg == i.a || reg == i.a+1
	case lua.OP_CALL, lua.OP_TAILCALL, lua.OP_VARARG:
		return reg >= i.a
	case lua.OP_TFORLOOP:
		return reg >= i.a+2
	case lua.OP_SETGLOBAL, lua.OP_SETUPVAL, lua.OP_SETTABLE, lua.OP_SETTABLEKS, lua.OP_JMP, lua.OP_EQ, lua.OP_LT, lua.OP_LE,
		lua.OP_TEST, lua.OP_RETURN, lua.OP_SETLIST, lua.OP_CLOSE, lua.OP_NOP:
		return false
	}
	return reg == i.a
}

// calledAs is the name by which the call at an instruction calls its function, and what kind of name it is.
func (f frame) calledAs() (how, name string) {
	switch i := f.at(f.pc); i.op {
	case lua.OP_CALL, lua.OP_TAILCALL:
		return f.name(i.a, f.pc)
	}
	return "", ""
}

// What the interpreter says of values that are not what an instruction needs.
var (
	arithmeticText = regexp.MustCompile(`cannot perform \w+ operation between (\w+) and (\w+)$`)
	indexText      = regexp.MustCompile(`(?s)attempt to index a non-table object\((\w+)\) with key '.*'$`)
	compareText    = regexp.MustCompile(`attempt to compare (\w+) with (\w+)$`)
)

// blame words the error of an instruction as the reference implementation does.
func (f frame) blame(text string) string {
	i := f.at(f.pc)
	switch i.op {
	case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV, lua.OP_MOD, lua.OP_POW:
		m := arithmeticText.FindStringSubmatchIndex(text)
		if m == nil {
			return text
		}
		operand, kind := i.b, text[m[2]:m[3]]
		if kind == lua.LTNumber.String() { // or a string that spells one: it is the other that is wrong
			operand, kind = i.c, text[m[4]:m[5]]
		}
		return text[:m[0]] + "attempt to perform arithmetic on " + f.value(operand, kind)
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF, lua.OP_SETTABLE, lua.OP_SETTABLEKS, lua.OP_GETGLOBAL, lua.OP_SETGLOBAL:
		return f.blameIndex(text, i)
	case lua.OP_UNM:
		if head, ok := strings.CutSuffix(text, "__unm undefined"); ok {
			return head + "attempt to perform arithmetic on " + f.operand(i.b)
		}
	case lua.OP_LEN:
		if head, ok := strings.CutSuffix(text, "__len undefined"); ok {
			return head + "attempt to get length of " + f.operand(i.b)
		}
	case lua.OP_CALL, lua.OP_TAILCALL:
		if head, ok := strings.CutSuffix(text, notCallable); ok {
			return head + "attempt to call " + f.value(i.a, f.kind(i.a))
		}
	case lua.OP_TFORLOOP:
		if head, ok := strings.CutSuffix(text, notCallable); ok {
			return head + "attempt to call a " + f.kind(i.a) + " value"
		}
	}
	return reword(text)
}

const notCallable = "attempt to call a non-function object"

// operand is value of an operand whose kind the interpreter has not told.
func (f frame) operand(operand int) string {
	if operand&constantBit != 0 {
		return "a " + f.fn.Proto.Constants[operand&^constantBit].Type().String() + " value"
	}
	return f.value(operand, f.kind(operand))
}

// blameIndex words the error of an index. When it is a metatable that leads to the value, the value has no name.
func (f frame) blameIndex(text string, i instruction) string {
	m := indexText.FindStringSubmatchIndex(text)
	if m == nil {
		return reword(text)
	}
	reg, kind := i.b, text[m[2]:m[3]]
	if i.op == lua.OP_SETTABLE || i.op == lua.OP_SETTABLEKS {
		reg = i.a
	}
	what := "a " + kind + " value"
	if has := f.kind(reg); has == kind || has == lua.LTNil.String() {
		what = f.value(reg, kind)
	}
	return text[:m[0]] + "attempt to index " + what
}
