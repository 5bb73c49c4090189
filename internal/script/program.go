package script

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/covey-db/covey/internal/resp"
)

// Program is a script of EVAL, compiled. It never changes.
type Program struct {
	SHA     string
	Body    string
	Flags   Flags
	program *lua.FunctionProto
}

// Compile makes a program of a script. The error is what the client gets.
func Compile(body, sha string) (*Program, error) { return compileScript(body, sha, false) }

func compileScript(body, sha string, debug bool) (*Program, error) {
	flags, skip, err := Shebang(body)
	if err != nil {
		return nil, err
	}
	p, err := compileFor(body[skip:], "user_script", true, debug)
	if err != nil {
		return nil, &syntaxError{"Error compiling script (new function): " + err.Error()}
	}
	return &Program{sha, body, flags, p}, nil
}

// Reply appends a reply to dst.
type Reply struct {
	Out   []byte
	Proto resp.Version // of the client
	Err   func(text string, counted bool)
}

func (vm *VM) strings(list [][]byte) *lua.LTable {
	t := vm.L.CreateTable(len(list), 0)
	fill(t, list)
	return t
}

// Eval runs a script with its keys and arguments and appends its reply.
func (vm *VM) Eval(host Host, p *Program, keys, args [][]byte, r *Reply) {
	vm.setWords("KEYS", &vm.kept.keys, keys)
	vm.setWords("ARGV", &vm.kept.args, args)
	v, fail := vm.run(host, vm.main(p.program))
	vm.reply(v, fail, p.SHA, r)
	vm.tidy()
}

// Call runs a function of a library.
func (vm *VM) Call(host Host, f *Function, keys, args [][]byte, r *Reply) {
	in := vm.libs[f.Library.Name]
	if in == nil || in.lib != f.Library {
		var text string
		if in, text = vm.register(f.Library, false, nil); text != "" {
			r.Err(text, false)
			r.Out = resp.AppendError(r.Out, text)
			return
		}
		vm.libs[f.Library.Name] = in
	}
	v, fail := vm.run(host, in.fns[f.Name], vm.strings(keys), vm.strings(args))
	vm.reply(v, fail, f.Name, r)
}

// Forget drops the libraries that are not in force any more.
func (vm *VM) Forget(now *Libraries) {
	for name, in := range vm.libs {
		if now.Get(name) != in.lib {
			delete(vm.libs, name)
		}
	}
}

func (vm *VM) reply(v lua.LValue, fail *Failure, name string, r *Reply) {
	if fail != nil {
		text := fail.Text
		if fail.Source != "" {
			text += " script: " + name + ", on " + fail.Source + ":" + formatNumber(float64(fail.Line)) + "."
		}
		r.Err(text, fail.Counted)
		r.Out = resp.AppendError(r.Out, text)
		return
	}
	e := encoder{vm: vm, out: r.Out, proto: r.Proto, err: r.Err}
	e.value(v, 0)
	r.Out = e.out
}

// bufferKept is how large a buffer for replies may be that a machine keeps.
const bufferKept = 64 << 10

// Buffer is an empty buffer for a reply.
func (vm *VM) Buffer() []byte { return vm.buffer[:0] }

// KeepBuffer gives the buffer back for the next reply.
func (vm *VM) KeepBuffer(b []byte) {
	if cap(b) <= bufferKept {
		vm.buffer = b
	}
}
