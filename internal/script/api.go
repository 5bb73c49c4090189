package script

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"

	numtext "github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/resp"
)

// This file holds the table redis: what scripts do with the server.

// Levels of redis.log.
const (
	LogDebug = iota
	LogVerbose
	LogNotice
	LogWarning
)

// Flags of redis.set_repl.
const (
	replNone    = 0
	replAOF     = 1
	replReplica = 2
	replAll     = 3
)

func (vm *VM) openRedis(missing *lua.LFunction) {
	t := vm.L.NewTable()
	for name, f := range map[string]native{
		"call": redisCall, "pcall": redisPcall, "sha1hex": redisSha1hex, "error_reply": redisErrorReply,
		"status_reply": redisStatusReply, "set_repl": redisSetRepl, "setresp": redisSetResp, "acl_check_cmd": redisACLCheck,
	} {
		t.RawSetString(name, vm.fn(name, f))
	}
	for name, n := range map[string]int{"REPL_NONE": replNone, "REPL_AOF": replAOF, "REPL_SLAVE": replReplica,
		"REPL_REPLICA": replReplica, "REPL_ALL": replAll} {
		t.RawSetString(name, lua.LNumber(n))
	}
	vm.common(t)
	if !vm.opts.Functions {
		t.RawSetString("breakpoint", vm.fn("breakpoint", redisBreakpoint))
		t.RawSetString("debug", vm.fn("debug", redisDebug))
		t.RawSetString("replicate_commands", vm.fn("replicate_commands", func(c *call) { c.Return(lua.LTrue) }))
	}
	vm.globals.RawSetString("redis", vm.view(t, nil))
	if vm.opts.Functions {
		api := vm.L.NewTable()
		vm.common(api)
		api.RawSetString("register_function", vm.fn("register_function", redisRegister))
		vm.loadAPI = vm.L.NewTable()
		vm.loadAPI.RawSetString("redis", vm.view(api, missing))
		m := vm.L.NewTable()
		m.RawSetString("__index", missing)
		vm.loadAPI.Metatable = m
	}
}

// common is what a script may use at any time.
func (vm *VM) common(t *lua.LTable) {
	t.RawSetString("log", vm.fn("log", redisLog))
	for name, n := range map[string]int{"LOG_DEBUG": LogDebug, "LOG_VERBOSE": LogVerbose, "LOG_NOTICE": LogNotice, "LOG_WARNING": LogWarning} {
		t.RawSetString(name, lua.LNumber(n))
	}
	t.RawSetString("REDIS_VERSION", lua.LString(vm.opts.Version))
	t.RawSetString("REDIS_VERSION_NUM", lua.LNumber(vm.opts.VersionNo))
}

// Raise throws an error table.
func (c *call) raise(text string) { c.Throw(c.vm.errorTable(text)) }

// words are the arguments as the words of a command; they live until the next command.
func (c *call) words() (list [][]byte, refusal string) {
	if c.n == 0 {
		return nil, "Please specify at least one argument for this redis lib call"
	}
	vm := c.vm
	vm.argv, vm.arena = vm.argv[:0], vm.arena[:0]
	size := 0
	for i := 1; i <= c.n; i++ {
		switch v := c.L.Get(i).(type) {
		case lua.LString:
			size += len(v)
		case lua.LNumber:
			size += 32
		default:
			return nil, "Lua redis lib command arguments must be strings or integers"
		}
	}
	if cap(vm.arena) < size {
		vm.charge(size)
		vm.arena = make([]byte, 0, size)
	}
	for i := 1; i <= c.n; i++ {
		from := len(vm.arena)
		switch v := c.L.Get(i).(type) {
		case lua.LString:
			vm.arena = append(vm.arena, v...)
		case lua.LNumber:
			vm.arena = appendNumber(vm.arena, float64(v))
		}
		vm.argv = append(vm.argv, vm.arena[from:len(vm.arena):len(vm.arena)])
	}
	return vm.argv, ""
}

// appendNumber writes a number as an argument: with all its digits.
func appendNumber(dst []byte, f float64) []byte {
	return numtext.AppendFloat(dst, f)
}

// arenaKept is how large the memory for arguments may be that a machine keeps.
const arenaKept = 1 << 20

// execute runs a command; failed says that the value is an error.
func (c *call) execute() (v lua.LValue, failed bool) {
	words, refusal := c.words()
	if refusal != "" {
		return c.vm.errorTable(refusal), true
	}
	c.Burn()
	d := c.vm.debugger
	shown := d != nil && d.step
	if shown {
		d.sayCommand(words)
	}
	reply, refusal := c.vm.host.Call(words)
	if cap(c.vm.arena) > arenaKept {
		c.vm.arena = nil
	}
	if refusal != "" {
		t := c.vm.errorTable(refusal)
		t.RawSetString("ignore_error_stats_update", lua.LTrue)
		if shown {
			d.say("<error> %s", refusal)
		}
		return t, true
	}
	if shown {
		if len(reply) > 0 && reply[0] == '-' {
			d.say("<error> %s", strings.TrimRight(string(reply), "\r\n"))
		}
		d.sayReply(reply)
	}
	c.vm.charge(len(reply))
	in := decoder{vm: c.vm, in: reply}
	return in.value(), len(reply) > 0 && reply[0] == '-'
}

func redisCall(c *call) {
	v, failed := c.execute()
	if failed {
		c.Throw(v)
	}
	c.Return(v)
}

// redisBreakpoint stops a script that is debugged at its next line, and says whether it is.
func redisBreakpoint(c *call) {
	d := c.vm.debugger
	if d != nil {
		d.called = true
	}
	c.Return(lua.LBool(d != nil))
}

// redisDebug shows values to the client that debugs the script.
func redisDebug(c *call) {
	if d := c.vm.debugger; d != nil {
		d.sayDebug(c.vm, c)
	}
}

func plainCall(L *lua.LState) int  { return machineOf(L).invoke(L, "call", redisCall) }
func plainPcall(L *lua.LState) int { return machineOf(L).invoke(L, "pcall", redisPcall) }

func redisPcall(c *call) {
	v, _ := c.execute()
	c.Return(v)
}

func redisSha1hex(c *call) {
	if c.n != 1 {
		c.raise("wrong number of arguments")
	}
	s, _ := toText(c.Arg(0))
	c.Return(lua.LString(SHA1(s)))
}

// SHA1 is the name of a script: 40 hexadecimal digits.
func SHA1(s string) string {
	sum := sha1.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

func redisErrorReply(c *call) {
	s, ok := c.Arg(0).(lua.LString)
	if c.n != 1 || !ok {
		c.Return(c.vm.errorTable("wrong number or type of arguments"))
		return
	}
	text := cString(string(s))
	if !strings.HasPrefix(text, "-") {
		text = "-" + text
	}
	c.Return(c.vm.errorTable(text))
}

func redisStatusReply(c *call) {
	s, ok := c.Arg(0).(lua.LString)
	if c.n != 1 || !ok {
		c.Return(c.vm.errorTable("wrong number or type of arguments"))
		return
	}
	t := c.L.CreateTable(0, 1)
	t.RawSetString("ok", s)
	c.Return(t)
}

func redisSetRepl(c *call) {
	if c.n != 1 {
		c.raise("redis.set_repl() requires one argument.")
	}
	f, _ := toNumber(c.Arg(0))
	flags := cut(f)
	if flags&^replAll != 0 {
		c.raise("Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	c.vm.host.SetPropagation(flags&replReplica != 0, flags&replAOF != 0)
}

func redisSetResp(c *call) {
	if c.n != 1 {
		c.raise("redis.setresp() requires one argument.")
	}
	f, _ := toNumber(c.Arg(0))
	v := resp.Version(0)
	switch cut(f) {
	case 2:
		v = resp.RESP2
	case 3:
		v = resp.RESP3
	default:
		c.raise("RESP version must be 2 or 3.")
	}
	c.vm.proto = v
	c.vm.host.SetProto(v)
}

func redisACLCheck(c *call) {
	words, refusal := c.words()
	if refusal != "" {
		c.raise(refusal)
	}
	allowed, known := c.vm.host.Allowed(words)
	if !known {
		c.raise("Invalid command passed to redis.acl_check_cmd()")
	}
	c.Return(lua.LBool(allowed))
}

func redisLog(c *call) {
	if c.n < 2 {
		c.raise("redis.log() requires two arguments or more.")
	}
	f, ok := toNumber(c.Arg(0))
	if !ok {
		c.raise("First argument must be a number (log level).")
	}
	level := cut(f)
	if level < LogDebug || level > LogWarning {
		c.raise("Invalid debug level.")
	}
	var parts []string
	for i := 1; i < c.n; i++ {
		if s, ok := toText(c.Arg(i)); ok {
			parts = append(parts, s)
		}
	}
	if c.vm.host != nil {
		c.vm.host.Log(level, strings.Join(parts, " "))
	}
}
