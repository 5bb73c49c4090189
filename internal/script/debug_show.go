package script

import (
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/covey-db/covey/internal/resp"
)

// This file holds what a debugger shows: variables, values, frames, commands and replies.

// depthShown is how deep a table is looked into.
const depthShown = 10

// framesMax bounds how many frames are looked at.
const framesMax = 200

// frames calls fn for the functions of scripts that have called each other, the innermost first, until it returns false.
func frames(L *lua.LState, fn func(frame *lua.Debug, proto *lua.FunctionProto) bool) {
	for level := 1; level < framesMax; level++ {
		frame, ok := L.GetStack(level)
		if !ok {
			return
		}
		f, err := L.GetInfo("Slnf", frame, nil)
		if err != nil {
			return
		}
		if of, isFunction := f.(*lua.LFunction); isFunction && !of.IsG && !fn(frame, of.Proto) {
			return
		}
	}
}

// locals calls fn for the variables of a frame.
func locals(L *lua.LState, frame *lua.Debug, fn func(name string, v lua.LValue) bool) {
	for i := 1; ; i++ {
		name, v := L.GetLocal(frame, i)
		if name == "" || strings.HasPrefix(name, "(*temporary)") || !fn(name, v) {
			return
		}
	}
}

func (d *Debugger) printOne(vm *VM, L *lua.LState, wanted string) {
	found := false
	frames(L, func(frame *lua.Debug, _ *lua.FunctionProto) bool {
		locals(L, frame, func(name string, v lua.LValue) bool {
			if found = name == wanted; found {
				d.show("<value> " + vm.describe(v, 0))
			}
			return !found
		})
		return !found
	})
	switch {
	case found:
	case wanted == "KEYS" || wanted == "ARGV":
		d.show("<value> " + vm.describe(vm.globals.RawGetString(wanted), 0))
	default:
		d.say("No such variable.")
	}
}

func (d *Debugger) printAll(vm *VM, L *lua.LState) {
	n := 0
	frames(L, func(frame *lua.Debug, _ *lua.FunctionProto) bool {
		locals(L, frame, func(name string, v lua.LValue) bool {
			if !strings.HasPrefix(name, "(") {
				d.show("<value> " + name + " = " + vm.describe(v, 0))
				n++
			}
			return true
		})
		return false
	})
	if n == 0 {
		d.say("No local variables in the current context.")
	}
}

func (d *Debugger) trace(L *lua.LState) {
	word, line := "In", d.line
	frames(L, func(frame *lua.Debug, proto *lua.FunctionProto) bool {
		if word != "In" {
			line = frame.CurrentLine
		}
		name := frame.Name
		if proto.LineDefined == 0 || name == "" || name == "?" || strings.HasPrefix(name, "main chunk") {
			name = "top level"
		}
		d.say("%s %s:", word, name)
		d.sayLine(line)
		word = "From"
		return true
	})
}

// eval runs code of the client: an expression, or else statements.
func (d *Debugger) eval(vm *VM, L *lua.LState, code string) {
	p, err := compile("return "+code, "ldb_eval", true)
	if err != nil {
		p, err = compile(code, "ldb_eval", true)
	}
	if err != nil {
		d.say("<error> %s", err.Error())
		return
	}
	f := vm.bind(p)
	f.Env = vm.env
	if v, text := vm.protected(L, f); text != "" {
		d.say("<error> %s", text)
	} else {
		d.show("<retval> " + vm.describe(v, 0))
	}
}

// redis executes a command, which is shown with its reply.
func (d *Debugger) redis(vm *VM, L *lua.LState, words []string) {
	args := make([]lua.LValue, len(words))
	for i, w := range words {
		args[i] = lua.LString(w)
	}
	d.step = true
	_, _ = vm.protected(L, callFn, args...)
	d.step = false
}

// protected calls a function; text says what it threw, "" for nothing.
func (vm *VM) protected(L *lua.LState, f *lua.LFunction, args ...lua.LValue) (v lua.LValue, text string) {
	top := L.GetTop()
	err := L.CallByParam(lua.P{Fn: f, NRet: 1, Protect: true}, args...)
	if err == nil {
		v = L.Get(-1)
	} else {
		text = err.Error()
		if e, ok := err.(*lua.ApiError); ok {
			text = vm.thrown(e.Object)
		}
	}
	L.SetTop(top)
	return v, text
}

// thrown is the text of what was thrown.
func (vm *VM) thrown(v lua.LValue) string {
	if t, ok := v.(*lua.LTable); ok {
		if text, ok := toText(t.RawGetString("err")); ok {
			return text
		}
	}
	return reword(vm.tostring(v))
}

// sayCommand shows a command of the script.
func (d *Debugger) sayCommand(words [][]byte) {
	var b strings.Builder
	b.WriteString("<redis>")
	for i, w := range words {
		if i == wordsLogged {
			fmt.Fprintf(&b, " ... (%d more)", len(words)-i-1)
			break
		}
		b.WriteByte(' ')
		b.Write(w)
	}
	d.say("%s", b.String())
}

// sayReply shows the reply of a command.
func (d *Debugger) sayReply(reply []byte) {
	if v, _, err := resp.ParseReply(reply); err == nil {
		d.show("<reply> " + replyText(&v))
	}
}

// sayDebug shows the arguments of redis.debug.
func (d *Debugger) sayDebug(vm *VM, c *call) {
	texts := make([]string, c.n)
	for i := range texts {
		texts[i] = vm.describe(c.Arg(i), 0)
	}
	d.say("<debug> line %d: %s", d.line, strings.Join(texts, ", "))
}

// describe is the text of a value.
func (vm *VM) describe(v lua.LValue, depth int) string {
	if depth == depthShown {
		return "<max recursion level reached! Nested table?>"
	}
	switch x := v.(type) {
	case lua.LString:
		return quoted(string(x))
	case lua.LNumber:
		return formatG(float64(x), 6)
	case *lua.LTable:
		return vm.describeTable(vm.unwrap(x), depth)
	case lua.LBool, *lua.LNilType:
		return v.String()
	}
	return fmt.Sprintf("%q", fmt.Sprintf("%s@%p", v.Type(), v))
}

// describeTable writes an array as its elements, any other table as pairs.
func (vm *VM) describeTable(t *lua.LTable, depth int) string {
	var list, pairs []string
	isArray := true
	t.ForEach(func(k, v lua.LValue) {
		text := vm.describe(v, depth+1)
		list = append(list, text)
		pairs = append(pairs, "["+vm.describe(k, depth+1)+"]="+text)
		n, ok := k.(lua.LNumber)
		isArray = isArray && ok && int(n) == len(list)
	})
	if !isArray {
		list = pairs
	}
	return "{" + strings.Join(list, "; ") + "}"
}

// quoted writes a string between quotes, what cannot be printed as escapes.
func quoted(s string) string {
	b := []byte{'"'}
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c == '\a':
			b = append(b, `\a`...)
		case c == '\b':
			b = append(b, `\b`...)
		case c < ' ' || c > '~':
			b = fmt.Appendf(b, `\x%02x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// replyText is the text of a reply.
func replyText(v *resp.Value) string {
	join := func(open, between, end string) string {
		texts := make([]string, len(v.Elems))
		for i := range v.Elems {
			texts[i] = replyText(&v.Elems[i])
		}
		return open + strings.Join(texts, between) + end
	}
	switch v.Kind {
	case resp.Integer:
		return strconv.FormatInt(v.Int, 10)
	case resp.Simple:
		return quoted("+" + string(v.Str))
	case resp.Error:
		return quoted("-" + string(v.Str))
	case resp.Null, resp.NullArray:
		return "NULL"
	case resp.Array:
		return join("[", ",", "]")
	case resp.Set:
		return join("~(", ",", ")")
	case resp.Map:
		texts := make([]string, 0, len(v.Elems)/2)
		for i := 0; i+1 < len(v.Elems); i += 2 {
			texts = append(texts, replyText(&v.Elems[i])+" => "+replyText(&v.Elems[i+1]))
		}
		return "{" + strings.Join(texts, ",") + "}"
	case resp.Bool:
		return "#" + strconv.FormatBool(v.Int == 1)
	case resp.Double:
		return "(double) " + string(v.Str)
	}
	return quoted(string(v.Str))
}
