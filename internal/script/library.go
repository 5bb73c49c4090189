package script

import (
	"fmt"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Function is a function of a library.
type Function struct {
	Name        string
	Description string
	Described   bool // a description was given
	Flags       Flags
	Library     *Library
}

// Library is a loaded library. It never changes.
type Library struct {
	Name, Code string
	Functions  map[string]*Function
	program    *lua.FunctionProto
}

// Sorted lists the functions by name.
func (l *Library) Sorted() []*Function {
	list := make([]*Function, 0, len(l.Functions))
	for _, f := range l.Functions {
		list = append(list, f)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// loadedLibrary is a library in a machine: its functions with what they share.
type loadedLibrary struct {
	lib *Library
	fns map[string]*lua.LFunction
}

// Libraries is a set of libraries. It never changes; With and Without make another one.
type Libraries struct {
	byName    map[string]*Library
	functions map[string]*Function
}

// NoLibraries is an empty set.
func NoLibraries() *Libraries {
	return &Libraries{map[string]*Library{}, map[string]*Function{}}
}

// Sorted lists the libraries by name.
func (s *Libraries) Sorted() []*Library {
	list := make([]*Library, 0, len(s.byName))
	for _, l := range s.byName {
		list = append(list, l)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
}

// Get finds a library, nil when there is none.
func (s *Libraries) Get(name string) *Library { return s.byName[name] }

// Function finds a function by its name, whose case does not matter; nil when there is none.
func (s *Libraries) Function(name string) *Function { return s.functions[strings.ToLower(name)] }

// Count is the number of libraries and of functions.
func (s *Libraries) Count() (libraries, functions int) { return len(s.byName), len(s.functions) }

func (s *Libraries) copy() *Libraries {
	n := NoLibraries()
	for k, v := range s.byName {
		n.byName[k] = v
	}
	for k, v := range s.functions {
		n.functions[k] = v
	}
	return n
}

// Without is the set without a library.
func (s *Libraries) Without(name string) *Libraries {
	n := s.copy()
	if l := n.byName[name]; l != nil {
		delete(n.byName, name)
		for f := range l.Functions {
			delete(n.functions, strings.ToLower(f))
		}
	}
	return n
}

// With is the set with more libraries. Without replace, a library of the same name is an error; a function of the same
// name in another library is one anyway.
func (s *Libraries) With(list []*Library, replace bool) (*Libraries, error) {
	n := s
	for _, l := range list {
		if n.byName[l.Name] != nil {
			if !replace {
				return nil, &syntaxError{fmt.Sprintf("Library %s already exists", l.Name)}
			}
			n = n.Without(l.Name)
		}
	}
	n = n.copy()
	for _, l := range list {
		for _, f := range l.Sorted() {
			if n.Function(f.Name) != nil {
				return nil, &syntaxError{fmt.Sprintf("Function %s already exists", f.Name)}
			}
			n.functions[strings.ToLower(f.Name)] = f
		}
		n.byName[l.Name] = l
	}
	return n, nil
}

const nameText = "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"

func validName(s string) bool {
	for i := range len(s) {
		if !isAlpha(s[i]) && !isDigit(s[i]) {
			return false
		}
	}
	return s != ""
}

// loadTime is how long a library may take to register its functions.
const loadTime = 500 * time.Millisecond

// LibraryName reads the first line of a library's code. The error is what the client gets.
func LibraryName(code string) (string, error) {
	engine, name, _, err := metadata(code)
	switch {
	case err != nil:
		return "", err
	case !validName(name):
		return "", &syntaxError{nameText}
	case !strings.EqualFold(engine, "lua"):
		return "", &syntaxError{fmt.Sprintf("Engine '%s' not found", engine)}
	}
	return name, nil
}

// Load compiles a library and lets it register its functions. The error is what the client gets.
func (vm *VM) Load(code string, hurry bool, log func(level int, text string)) (*Library, error) {
	name, err := LibraryName(code)
	if err != nil {
		return nil, err
	}
	_, _, body, _ := metadata(code)
	p, err := compile(body, "user_function", false)
	if err != nil {
		return nil, &syntaxError{"Error compiling function: " + err.Error()}
	}
	l := &Library{Name: name, Code: code, program: p, Functions: make(map[string]*Function)}
	if _, text := vm.register(l, hurry, log); text != "" {
		return nil, &syntaxError{"Error registering functions: " + text}
	}
	if len(l.Functions) == 0 {
		return nil, &syntaxError{"No functions registered"}
	}
	return l, nil
}

// register runs a library's program in this machine.
func (vm *VM) register(l *Library, hurry bool, log func(int, string)) (*loadedLibrary, string) {
	in := &loadedLibrary{lib: l, fns: make(map[string]*lua.LFunction)}
	vm.loading, vm.loadingInto = l, in
	vm.envMeta.RawSetString("__index", vm.loadAPI)
	defer func() {
		vm.loading, vm.loadingInto = nil, nil
		vm.envMeta.RawSetString("__index", vm.globals)
	}()
	host := &loadHost{log: log, vm: vm}
	if hurry {
		host.until = time.Now().Add(loadTime)
	}
	if _, fail := vm.run(host, vm.bind(l.program)); fail != nil {
		return nil, fail.Text
	}
	return in, ""
}

// loadHost is what a library reaches while it is loaded: the log.
type loadHost struct {
	Host
	vm    *VM
	log   func(int, string)
	until time.Time
}

func (h *loadHost) Log(level int, text string) {
	if h.log != nil {
		h.log(level, text)
	}
}

func (h *loadHost) Look() {
	if !h.until.IsZero() && time.Now().After(h.until) {
		h.vm.watch.end(&syntaxError{"FUNCTION LOAD timeout"})
	}
}

func redisRegister(c *call) {
	l := c.vm.loading
	if l == nil {
		c.raise("redis.register_function can only be called on FUNCTION LOAD command")
	}
	f := &Function{Library: l}
	var fn *lua.LFunction
	switch c.n {
	case 1:
		fn = c.namedFunction(f)
	case 2:
		name, ok := toText(c.Arg(0))
		if !ok {
			c.raise("first argument to redis.register_function must be a string")
		}
		f.Name = name
		if fn, ok = c.Arg(1).(*lua.LFunction); !ok {
			c.raise("second argument to redis.register_function must be a function")
		}
	default:
		c.raise("wrong number of arguments to redis.register_function")
	}
	if !validName(f.Name) {
		c.raise(nameText)
	}
	into := c.vm.loadingInto
	if _, twice := into.fns[f.Name]; twice {
		c.raise("Function already exists in the library")
	}
	into.fns[f.Name] = fn
	if l.Functions[f.Name] == nil {
		l.Functions[f.Name] = f
	}
}

// namedFunction reads the form of register_function with a table.
func (c *call) namedFunction(f *Function) (fn *lua.LFunction) {
	t, ok := c.Arg(0).(*lua.LTable)
	if !ok {
		c.raise("calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).")
	}
	named := false
	for k, v := t.Next(lua.LNil); k != lua.LNil; k, v = t.Next(k) {
		key, ok := toText(k)
		if !ok {
			c.raise("named argument key given to redis.register_function is not a string")
		}
		switch strings.ToLower(key) {
		case "function_name":
			if f.Name, named = toText(v); !named {
				c.raise("function_name argument given to redis.register_function must be a string")
			}
		case "description":
			if f.Description, f.Described = toText(v); !f.Described {
				c.raise("description argument given to redis.register_function must be a string")
			}
		case "callback":
			if fn, ok = v.(*lua.LFunction); !ok {
				c.raise("callback argument given to redis.register_function must be a function")
			}
		case "flags":
			c.readFlags(v, f)
		default:
			c.raise("unknown argument given to redis.register_function")
		}
	}
	if !named {
		c.raise("redis.register_function must get a function name argument")
	}
	if fn == nil {
		c.raise("redis.register_function must get a callback argument")
	}
	return fn
}

func (c *call) readFlags(v lua.LValue, f *Function) {
	t, ok := v.(*lua.LTable)
	if !ok {
		c.raise("flags argument to redis.register_function must be a table representing function flags")
	}
	for i := 1; ; i++ {
		v := t.RawGet(num(i))
		if v == lua.LNil {
			return
		}
		s, _ := toText(v)
		flag, ok := flagOf(s, true)
		if !ok {
			c.raise("unknown flag given")
		}
		f.Flags |= flag
	}
}

// Registry is where the libraries of a server are. Readers take the set that is in force.
type Registry struct{ now atomic.Pointer[Libraries] }

// Now is the set in force.
func (r *Registry) Now() *Libraries {
	if s := r.now.Load(); s != nil {
		return s
	}
	return NoLibraries()
}

// Put puts a set in force.
func (r *Registry) Put(s *Libraries) { r.now.Store(s) }
