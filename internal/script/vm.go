// Package script runs the Lua of clients: scripts and libraries of functions, in a sandbox that reaches nothing but the
// commands of the server. A machine (VM) is an interpreter with its globals; machines are pooled, programs are compiled
// once and shared. What a script can make grow is bounded, and a script can be ended from outside.
package script

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"github.com/covey-db/covey/internal/resp"
)

// Host is what a running script can reach.
type Host interface {
	// Call executes a command and returns its reply, which lives until the next call, or why it is not executed.
	Call(args [][]byte) (reply []byte, refusal string)
	// SetProto sets the protocol version of the replies.
	SetProto(v resp.Version)
	// SetPropagation says who repeats the effects of commands.
	SetPropagation(replicas, file bool)
	// Allowed says whether the client may execute a command; known is false when there is no such command.
	Allowed(args [][]byte) (allowed, known bool)
	// Log writes to the server's log; levels are those of redis.log.
	Log(level int, text string)
	// Look is called now and then while the script runs.
	Look()
}

// Options of a machine.
type Options struct {
	Functions bool   // for libraries of functions, not for EVAL
	Version   string // of Redis, as scripts see it
	VersionNo int
	Seed      uint64
	Bytes     uint64 // how far the heap may grow while a script runs; 0: 512 MB
}

// Limits of the interpreter.
const (
	callsMax      = 16_000    // functions that have called each other
	registersMax  = 1_000_000 // values on the stack
	registersInit = 1024
	registersStep = 4096
	arrayIndexMax = 1 << 24 // keys up to here are kept in an array, with whatever space is between them
)

// VM is a machine. One goroutine uses it at a time.
type VM struct {
	L     *lua.LState
	watch *watch

	opts       Options
	globals    *lua.LTable                 // what scripts see through env
	env        *lua.LTable                 // read-only
	envMeta    *lua.LTable                 // metatable of env
	loadAPI    *lua.LTable                 // what a library sees while it is loaded
	views      map[*lua.LTable]*lua.LTable // read-only tables and what stands behind them
	nextFn     *lua.LFunction
	stringMeta *lua.LTable // the metatable of strings as scripts see it: read-only, and so is all it leads to
	handler    *lua.LFunction
	rng        uint64

	host        Host         // of the script that runs, or of the last one
	onLook      func()       // its Look
	proto       resp.Version // of replies to the script
	json        jsonConfig
	loading     *Library // library that is being loaded
	loadingInto *loadedLibrary
	libs        map[string]*loadedLibrary
	argv        [][]byte
	buffer      []byte // for replies
	spare       *call  // for the next call of a function of ours
	kept        kept
	arena       []byte
	where       place0
	debugger    *Debugger // of the script that runs; nil for none
}

// place0 is where the last error came from.
type place0 struct {
	source string
	line   int
}

// arrays bounds the arrays of the interpreter, which keeps that figure in a variable of its own.
var arrays = sync.OnceFunc(func() { lua.MaxArrayIndex = arrayIndexMax })

// NewVM makes a machine.
func NewVM(o Options) *VM {
	arrays()
	if o.Bytes == 0 {
		o.Bytes = scriptBytes
	}
	vm := &VM{opts: o, views: make(map[*lua.LTable]*lua.LTable), libs: make(map[string]*loadedLibrary), rng: o.Seed & randMask}
	vm.watch = newWatch(vm, o.Bytes)
	vm.L = lua.NewState(lua.Options{
		CallStackSize: callsMax, MinimizeStackMemory: true, SkipOpenLibs: true,
		RegistrySize: registersInit, RegistryGrowStep: registersStep, RegistryMaxSize: registersMax,
	})
	vm.L.SetContext(vm.watch)
	vm.open()
	return vm
}

// machineOf is the machine of an interpreter; functions that are not bound to a machine find it by the context.
func machineOf(L *lua.LState) *VM { return L.Context().(*watch).vm }

func (vm *VM) chargeString(L *lua.LState, n int) {
	if n > stringMax {
		L.RaiseError("string length overflow")
	}
	vm.charge(n + 32)
}

// Failure is how a script failed.
type Failure struct {
	Text    string // with its code; empty when the script threw a table without one
	Counted bool   // the error statistics know it already
	Source  string // where it happened, empty when unknown
	Line    int
	Stopped bool // it was ended from outside
}

// run calls a function under watch and gives its first result.
func (vm *VM) run(host Host, fn *lua.LFunction, args ...lua.LValue) (v lua.LValue, fail *Failure) {
	if vm.host != host {
		vm.host, vm.onLook = host, host.Look
	}
	vm.proto = resp.RESP2
	vm.watch.reset(vm.onLook)
	vm.json.reset()
	defer vm.L.SetTop(0)
	vm.L.Push(fn)
	for _, a := range args {
		vm.L.Push(a)
	}
	vm.where = place0{}
	if err := vm.L.PCall(len(args), 1, vm.handler); err != nil {
		f := vm.failure(err)
		f.placeIn(fn)
		return nil, f
	}
	return vm.L.Get(-1), nil
}

// placeIn says that the failure is in a function, if nobody knows where it is: nothing can be called any more when the stack
// is full.
func (f *Failure) placeIn(fn *lua.LFunction) {
	if f.Source != "" || fn.Proto == nil || len(fn.Proto.DbgSourcePositions) == 0 {
		return
	}
	f.Source, f.Line = "@"+fn.Proto.SourceName, fn.Proto.DbgSourcePositions[0]
	if text, ok := strings.CutPrefix(f.Text, "ERR stack overflow"); ok {
		f.Text = "ERR " + fn.Proto.SourceName + ":" + strconv.Itoa(f.Line) + ": stack overflow" + text
	}
}

func (vm *VM) failure(err error) *Failure {
	f := &Failure{Source: vm.where.source, Line: vm.where.line, Stopped: vm.watch.dead}
	obj := lua.LValue(lua.LString(err.Error()))
	if e, ok := err.(*lua.ApiError); ok {
		obj = e.Object
		if e.Type == lua.ApiErrorPanic {
			obj = lua.LString(strings.SplitN(fmt.Sprint(e.Object), "\n", 2)[0])
		}
	}
	if t, ok := obj.(*lua.LTable); ok {
		text, ok := toText(t.RawGetString("err"))
		if !ok {
			text = "ERR unknown error"
		}
		f.Text = text
		f.Counted = t.RawGetString("ignore_error_stats_update") == lua.LTrue
		return f
	}
	if vm.watch.dead {
		f.Text = "ERR " + vm.watch.why.Error()
		return f
	}
	f.Text = "ERR " + reword(vm.tostring(obj))
	return f
}

// rewordings are texts of the interpreter and what the reference implementation says instead, where the instruction that
// failed cannot be seen any more: that of a coroutine.
var rewordings = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`cannot perform \w+ operation between (string) and (?:number|string)$`), "attempt to perform arithmetic on a $1 value"},
	{regexp.MustCompile(`cannot perform \w+ operation between (?:number|string) and (\w+)$`), "attempt to perform arithmetic on a $1 value"},
	{regexp.MustCompile(`cannot perform \w+ operation between (\w+) and \w+$`), "attempt to perform arithmetic on a $1 value"},
	{indexText, "attempt to index a $1 value"},
	{regexp.MustCompile(notCallable + `$`), "attempt to call a nil value"},
	{regexp.MustCompile(`__len undefined$`), "attempt to get length of a nil value"},
	{regexp.MustCompile(`__unm undefined$`), "attempt to perform arithmetic on a nil value"},
	{regexp.MustCompile(`for statement init must be a number$`), "'for' initial value must be a number"},
	{regexp.MustCompile(`for statement (limit|step) must be a number$`), "'for' $1 must be a number"},
	{regexp.MustCompile(`too many recursions in (gettable|settable)$`), "loop in $1"},
	{regexp.MustCompile(`can not resume a dead thread$`), "cannot resume dead coroutine"},
	{regexp.MustCompile(`can not resume a running thread$`), "cannot resume running coroutine"},
	{regexp.MustCompile(`^(lua callstack|registry) overflow$`), "stack overflow"},
}

// reword puts an error of the interpreter into the words of the reference implementation.
func reword(text string) string {
	for _, r := range rewordings {
		if r.from.MatchString(text) {
			return r.from.ReplaceAllString(text, r.to)
		}
	}
	if m := compareText.FindStringSubmatchIndex(text); m != nil && text[m[2]:m[3]] == text[m[4]:m[5]] {
		return text[:m[0]] + "attempt to compare two " + text[m[2]:m[3]] + " values"
	}
	return text
}

// noteError is called before the stack is unwound, with what was thrown.
func (vm *VM) noteError(L *lua.LState) int {
	if s, ok := L.Get(-1).(lua.LString); ok {
		if f, ok := frameAt(L, 1); ok {
			L.Pop(1)
			L.Push(lua.LString(f.blame(string(s))))
		}
	}
	for level := 1; ; level++ {
		d, ok := L.GetStack(level)
		if !ok {
			break
		}
		if fn, err := L.GetInfo("Slf", d, nil); err == nil {
			if f, ok := fn.(*lua.LFunction); ok && !f.IsG {
				vm.where = place0{"@" + d.Source, d.CurrentLine}
				break
			}
		}
	}
	return 1
}

// Stop ends the script that runs; any goroutine may call it.
func (vm *VM) Stop(why error) { vm.watch.stop.Store(&why) }
