package script

import (
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/testkit"
)

// testHost answers ECHO and records nothing; a script is ended after a while.
type testHost struct {
	vm    *VM
	until time.Time
	proto resp.Version
}

func (h *testHost) Call(args [][]byte) ([]byte, string) {
	switch strings.ToLower(string(args[0])) {
	case "echo":
		return resp.AppendBulk(nil, args[1]), ""
	case "raw":
		return args[1], ""
	case "refuse":
		return nil, string(args[1])
	}
	return nil, "Unknown Redis command called from script"
}
func (h *testHost) SetProto(v resp.Version)            { h.proto = v }
func (h *testHost) SetPropagation(bool, bool)          {}
func (h *testHost) Allowed(args [][]byte) (bool, bool) { return true, string(args[0]) == "echo" }
func (h *testHost) Log(int, string)                    {}
func (h *testHost) Look() {
	if time.Now().After(h.until) {
		h.vm.watch.end(&syntaxError{outOfTime})
	}
}

// How long a script of a test may run: one that ends by itself, on any machine, and one that does not.
const (
	lastsMax   = testkit.Patience
	endlessMax = 200 * time.Millisecond
)

const outOfTime = "out of time"

func eval(t testing.TB, vm *VM, body string, keys ...string) string {
	t.Helper()
	p, err := Compile(body, SHA1(body))
	if err != nil {
		return "-ERR " + err.Error() + "\r\n"
	}
	var list [][]byte
	for _, k := range keys {
		list = append(list, []byte(k))
	}
	r := &Reply{Proto: resp.RESP2, Err: func(string, bool) {}}
	vm.Eval(&testHost{vm: vm, until: time.Now().Add(lastsMax)}, p, list, list, r)
	return string(r.Out)
}

func newTestVM() *VM { return NewVM(Options{Version: "7.2.4", VersionNo: 0x00070204, Seed: 1}) }

func TestScripts(t *testing.T) {
	vm := newTestVM()
	for _, c := range []struct{ body, want string }{
		{"return 1", ":1\r\n"},
		{"return 3.99", ":3\r\n"},
		{"return {1,2,nil,4}", "*2\r\n:1\r\n:2\r\n"},
		{"return {ok='fine'}", "+fine\r\n"},
		{"return 'x' .. 1 .. 0.1", "$5\r\nx10.1\r\n"},
		{"return 1/3 .. ''", "$16\r\n0.33333333333333\r\n"},
		{"return tostring(1e15)", "$5\r\n1e+15\r\n"},
		{"return {1, {2, 'x'}, false, true}", "*4\r\n:1\r\n*2\r\n:2\r\n$1\r\nx\r\n$-1\r\n:1\r\n"},
		{"local t={} for i=1,5 do t[i]=i*i end return t", "*5\r\n:1\r\n:4\r\n:9\r\n:16\r\n:25\r\n"},
		{"return KEYS[1]..ARGV[1]", "$2\r\nkk\r\n"},
		{"return redis.call('echo','hi')", "$2\r\nhi\r\n"},
		{"return redis.pcall('nosuch').err", "$44\r\nERR Unknown Redis command called from script\r\n"},
		{"local function f(...) return select('#',...) end return f(1,2,nil)", ":3\r\n"},
		{"local s=0 for k,v in pairs({1,2,a=3}) do s=s+v end return s", ":6\r\n"},
		{"return string.format('%5.2f|%-4s|%04d|%x|%q', 3.14159, 'ab', 7, 255, 'a\"b')", "$25\r\n 3.14|ab  |0007|ff|\"a\\\"b\"\r\n"},
		{"return {string.find('hello world', 'o (w)')}", "*3\r\n:5\r\n:7\r\n$1\r\nw\r\n"},
		{"return string.gsub('hello', 'l', {l='L'})", "$5\r\nheLLo\r\n"},
		{"return cjson.encode({1,2,{a=1.5}})", "$15\r\n[1,2,{\"a\":1.5}]\r\n"},
		{"return cjson.decode('[1,{\"a\":[null,true]}]')[2].a[2]", ":1\r\n"},
		{"return cmsgpack.unpack(cmsgpack.pack({1,2,3}))", "*3\r\n:1\r\n:2\r\n:3\r\n"},
		{"return {struct.unpack('<I2', struct.pack('<I2', 513))}", "*2\r\n:513\r\n:3\r\n"},
		{"return bit.tohex(65535,-2147483648)", "$8\r\n0000FFFF\r\n"},
		{"return redis.sha1hex('')", "$40\r\nda39a3ee5e6b4b0d3255bfef95601890afd80709\r\n"},
		{"local co=coroutine.wrap(function() coroutine.yield(1) coroutine.yield(2) end) return {co(),co()}", "*2\r\n:1\r\n:2\r\n"},
		{"return #{1,2,3}", ":3\r\n"},
		{"return redis.error_reply('My Err')", "-My Err\r\n"},
		{"return {pcall(function() error({code=1}) end)}", "*2\r\n$-1\r\n*0\r\n"},
		{"return redis.status_reply('a\\r\\nb')", "+a  b\r\n"},
	} {
		if got := eval(t, vm, c.body, "k"); got != c.want {
			t.Errorf("%s\n got  %q\n want %q", c.body, got, c.want)
		}
	}
}

func TestErrors(t *testing.T) {
	vm := newTestVM()
	for _, c := range []struct{ body, want string }{
		{"return foo", "-ERR user_script:1: Script attempted to access nonexistent global variable 'foo' script: SHA, on @user_script:1.\r\n"},
		{"foo = 1", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"\n\nerror('boom')", "-ERR user_script:3: boom script: SHA, on @user_script:3.\r\n"},
		{"error({err='MYCODE x'})", "-MYCODE x script: SHA, on @user_script:1.\r\n"},
		{"return redis.call('nosuch')", "-ERR Unknown Redis command called from script script: SHA, on @user_script:1.\r\n"},
		{"string.rep = 1", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"rawset(_G,'x',1)", "-ERR Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"setmetatable(_G,{})", "-ERR Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"getmetatable(_G).__index = 1", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"getmetatable('').__index = 1", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"table.insert(redis, 1)", "-ERR Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"return string.rep()", "-ERR user_script:1: bad argument #1 to 'rep' (string expected, got no value) script: SHA, on @user_script:1.\r\n"},
		{"\nlocal function f() return 1 + f() end return f()", "-ERR user_script:2: stack overflow script: SHA, on @user_script:2.\r\n"},
		{"local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x", "-ERR user_script:1: loop in gettable script: SHA, on @user_script:1.\r\n"},
		{"return struct.pack('c2147483647', 'x')", "-ERR user_script:1: bad argument #3 to 'pack' (string too short) script: SHA, on @user_script:1.\r\n"},
		{"return struct.pack('c2147483648', 'x')", "-ERR user_script:1: integral size overflow script: SHA, on @user_script:1.\r\n"},
		{"return cmsgpack.unpack('\\207' .. string.rep('\\255', 8))", ":-1\r\n"},
		{"local x = nil + 1", ""},
		{"local x = {} .. 'x'", ""},
		{"local x; x.y = 1", ""},
		{"local x; x()", ""},
		{"x =", ""},
		{"return 1 1", ""},
		{"for", ""},
		{"return 'abc", ""},
	} {
		got := strings.ReplaceAll(eval(t, vm, c.body), SHA1(c.body), "SHA")
		if c.want == "" {
			t.Logf("%s -> %q", c.body, got)
		} else if got != c.want {
			t.Errorf("%s\n got  %q\n want %q", c.body, got, c.want)
		}
	}
}

// What a script can make grow has a bound, and no loop of it is without an end.
func TestBounds(t *testing.T) {
	vm := newTestVM()
	for _, c := range []struct{ body, want string }{
		{"return string.rep('x', 1e9)", "resulting string too large"},
		{"local function f() return 1+f() end return f()", "stack overflow"},
		{"local function f() return pcall(f) end return f()", ":1"},
		{"local t={} t=setmetatable({},{__index=function(t,k) return t[k+1] end}) return t[1]", "-ERR"},
		{"local function f() coroutine.wrap(f)() end f()", "C stack overflow"},
		{"while true do end", outOfTime},
		{"while true do pcall(function() while true do end end) end", outOfTime},
		{"coroutine.wrap(function() while true do end end)()", outOfTime},
		{"return string.find(string.rep('a',100000), '.-.-.-b')", outOfTime},
		{"table.sort({3,1,2}, function() while true do end end)", outOfTime},
		{"string.gsub('aaa', 'a', function() while true do end end)", outOfTime},
		{"setmetatable({}, {__index = function() while true do end end}).x = nil return setmetatable({}, {__index = function() while true do end end}).x", outOfTime},
		{"return " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000), "too many syntax levels"},
		{"return " + strings.Repeat("1+", 100000) + "1", "too many syntax levels"},
		{"return " + strings.Repeat("{", 100000) + strings.Repeat("}", 100000), "too many syntax levels"},
		{"return " + strings.Repeat("- ", 100001) + "1", "too many syntax levels"},
		{"return " + strings.Repeat("not ", 100000) + "1", "too many syntax levels"},
		{strings.Repeat("if x then else ", 50000) + strings.Repeat(" end", 50000), "too many syntax levels"},
		{"if x then " + strings.Repeat("elseif x then ", 50000) + " end", "too many syntax levels"},
		{"return " + strings.Repeat("'x'..", 100000) + "'x'", "too many syntax levels"},
		{"return x" + strings.Repeat(".y", 100000), "too many syntax levels"},
		{"return x" + strings.Repeat("()", 100000), "too many syntax levels"},
		{"return loadstring('return ' .. string.rep('(', 100000))", "$-1"},
		{"local t={} for i=1,2000 do t={t} end return cjson.encode(t)", "excessive nesting"},
		{"local t={} t[1]=t return t", "reached lua stack limit"},
		{"table.insert({}, 67000000, 1)", ""},
		{"return string.format('%99999999d', 1)", "invalid format"},
		{"local t = {} ; t.x = t ; return cjson.encode(t)", "excessive nesting"},
		{"return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "Missing bytes"},
		{"return cmsgpack.unpack(string.rep('\\145', 100000))", "-ERR"},
		{"return cjson.decode(string.rep('[', 100000))", "too many nested"},
	} {
		start := time.Now()
		p, err := Compile(c.body, "sha")
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			r := &Reply{Proto: resp.RESP2, Err: func(string, bool) {}}
			limit := lastsMax
			if c.want == outOfTime {
				limit = endlessMax
			}
			vm.Eval(&testHost{vm: vm, until: time.Now().Add(limit)}, p, nil, nil, r)
			got = string(r.Out)
		}
		if d := time.Since(start); d > 300*time.Millisecond {
			t.Logf("%.60s: %v", c.body, d)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%.60s: got %.200q, want %q", c.body, got, c.want)
		}
	}
	if got := eval(t, vm, "return 1"); got != ":1\r\n" {
		t.Fatal(got)
	}
}

// stoppingHost stops the script that calls it, as SCRIPT KILL does from another goroutine.
type stoppingHost struct{ testHost }

func (h *stoppingHost) Call([][]byte) ([]byte, string) {
	h.vm.Stop(&syntaxError{"killed"})
	return resp.AppendInt(nil, 1), ""
}

// An instruction may take long, as a comparison of long strings does, so that a script must not go on until the next look
// when it is to be stopped.
func TestStopIsImmediate(t *testing.T) {
	vm := newTestVM()
	body := "redis.call('x') for i = 1, 50 do redis.status_reply('x') end return 'went on'"
	p, err := Compile(body, SHA1(body))
	if err != nil {
		t.Fatal(err)
	}
	r := &Reply{Proto: resp.RESP2, Err: func(string, bool) {}}
	h := &stoppingHost{testHost{vm: vm, until: time.Now().Add(lastsMax)}}
	vm.Eval(h, p, nil, nil, r)
	if got := string(r.Out); !strings.Contains(got, "killed") {
		t.Fatal(got)
	}
}

// A script that hoards memory is ended; one that only makes garbage is not.
func TestMemory(t *testing.T) {
	vm := NewVM(Options{Bytes: 48 << 20})
	for body, want := range map[string]string{
		"local s='x' while true do s=s..s end":                                  "not enough memory",
		"local t={} while true do t[#t+1]=string.rep('x',1e6)..#t end":          "not enough memory",
		"local l={} for i=1,100 do local t={} t[2000000]=1 l[i]=t end":          "not enough memory",
		"for i = 1, 200 do local s = string.rep('x', 1e6) .. i end return 'ok'": "ok",
	} {
		p, err := Compile(body, "sha")
		if err != nil {
			t.Fatal(err)
		}
		r := &Reply{Proto: resp.RESP2, Err: func(string, bool) {}}
		vm.Eval(&testHost{vm: vm, until: time.Now().Add(testkit.Slowness * time.Minute)}, p, nil, nil, r)
		if !strings.Contains(string(r.Out), want) {
			t.Errorf("%s: %.200q", body, r.Out)
		}
	}
}

// An array may have as many elements as there is memory for: its length and what is added behind its end stay right.
func TestLongArray(t *testing.T) {
	vm := newTestVM()
	for _, body := range []string{
		"local t = {} for i = 1, 2100000 do t[i] = i end t[#t+1] = 1 return {#t, t[2097152]}",
		"local t = {} for i = 1, 2100000 do t[i] = i end table.insert(t, 1) return {#t, t[2097152]}",
	} {
		p, err := Compile(body, "sha")
		if err != nil {
			t.Fatal(err)
		}
		r := &Reply{Proto: resp.RESP2, Err: func(string, bool) {}}
		vm.Eval(&testHost{vm: vm, until: time.Now().Add(time.Minute)}, p, nil, nil, r)
		if got := string(r.Out); got != "*2\r\n:2100001\r\n:2097152\r\n" {
			t.Errorf("%s: %q", body, got)
		}
	}
}

// A script cannot reach what the sandbox keeps from it, however it tries.
func TestSandbox(t *testing.T) {
	vm := newTestVM()
	for _, body := range []string{
		"getmetatable('').__index = function() return 1 end", "getmetatable(_G).__index = nil", "getmetatable(redis).__newindex = nil",
		"getmetatable(string).__index.rep = 1", "setmetatable(string, {})", "rawset(string, 'rep', 1)", "table.insert(string, 1)", "table.sort(_G)",
		"local g = getfenv(0) g.x = 1", "setfenv(0, {})", "_G.print = 1", "string.rep = nil", "redis.call = nil", "_G['string'] = 1",
		"local m = getmetatable(getmetatable(_G)) m.x = 1", "KEYS = 1", "getfenv(string.rep).x = 1", "coroutine.create = 1", "math.random = 1",
		"for k, v in pairs(_G) do if type(v) == 'table' and k ~= '_G' then v.x = 1 end end", "local _, f = next(string) getfenv(f).x = 1",
		"getmetatable(getmetatable('').__index).x = 1", "getmetatable('').__index.x = 1", "rawset(getmetatable('').__index, 'rep', 1)", "debug.getregistry()", "io.open('/etc/passwd')", "os.execute('true')", "require('os')",
		"package.loadlib('x', 'y')", "dofile('/etc/passwd')", "loadfile('/etc/passwd')", "channel.make()", "_printregs()", "module('x')",
		"loadstring('\\27Lua')()", "string.dump(string.rep)",
	} {
		if got := eval(t, vm, body); got[0] != '-' {
			t.Errorf("%s: %q", body, got)
		}
	}
	for body, want := range map[string]string{
		"return string.rep('x', 2)": "$2\r\nxx\r\n", "return redis.call('echo', 'a')": "$1\r\na\r\n", "return ('a'):upper()": "$1\r\nA\r\n",
		"local n = 0 for k in pairs(_G) do n = n + 1 end return n > 30": ":1\r\n", "local n = 0 for k in pairs(redis) do n = n + 1 end return n > 10": ":1\r\n",
	} {
		if got := eval(t, vm, body); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// Whatever a script says, it ends in time with one reply.
func FuzzScript(f *testing.F) {
	for _, s := range []string{
		"return 1", "for i=1,10 do redis.call('echo', i) end", "return cjson.decode(ARGV[1])", "return {pcall(error, {})}", "local t = {} t[1e9] = 1 return #t",
		"return string.format('%s%d%q', 'x', 1, 'y')", "return string.gsub('abc', '(a)(b)', '%2%1')", "return cmsgpack.unpack(ARGV[1])", "return struct.unpack('<i4', 'abcd')",
		"local co = coroutine.wrap(function(...) coroutine.yield(...) end) return co(1)", "return setmetatable({}, {__index = _G}).redis", "goto x ::x::", "#!lua flags=no-writes\nreturn 1",
	} {
		f.Add(s)
	}
	vm := newTestVM()
	f.Fuzz(func(t *testing.T, body string) {
		p, err := Compile(body, "sha")
		if err != nil {
			return
		}
		r := &Reply{Proto: resp.RESP3, Err: func(string, bool) {}}
		start := time.Now()
		vm.Eval(&testHost{vm: vm, until: start.Add(100 * time.Millisecond)}, p, nil, [][]byte{[]byte(body)}, r)
		if took := time.Since(start); took > 3*time.Second {
			t.Fatalf("took %v", took)
		}
		v, n, err := resp.ParseReply(r.Out)
		if err != nil || n != len(r.Out) {
			t.Fatalf("%q is not one reply: %v, %d, %v", r.Out, v, n, err)
		}
	})
}

// What a script does to the tables it is given is not there for the next one.
func TestTablesAreAsNewForEachScript(t *testing.T) {
	vm := newTestVM()
	state := "local r = redis.call('raw', '+OK\\r\\n') " +
		"return {#KEYS, KEYS[1] or '', KEYS.x or '', tostring(getmetatable(KEYS)), r.ok, r.x or '', r[1] or '', tostring(getmetatable(r)), tostring(next(r, 'ok'))}"
	want := "*9\r\n:1\r\n$1\r\nk\r\n$0\r\n\r\n$3\r\nnil\r\n$2\r\nOK\r\n$0\r\n\r\n$0\r\n\r\n$3\r\nnil\r\n$3\r\nnil\r\n"
	for _, change := range []string{
		"KEYS[1] = 'other'", "KEYS[2] = 'more'", "KEYS.x = 1", "KEYS[1] = nil", "setmetatable(KEYS, {})", "table.remove(KEYS)",
		"r.ok = 'no'", "r.x = 1", "r[1] = 1", "r.ok = nil", "r.err = 'e'", "setmetatable(r, {})", "setfenv(1, {})", "error('e')",
		"for i = 1, 20 do redis.call('raw', '+OK\\r\\n').x = i end",
	} {
		eval(t, vm, "local r = redis.call('raw', '+OK\\r\\n') "+change+" return r", "k")
		if got := eval(t, vm, state, "k"); got != want {
			t.Errorf("after %s: %q", change, got)
		}
	}
}

// A name that is not the global redis is looked up.
func TestCallOfAnotherRedis(t *testing.T) {
	vm := newTestVM()
	for body, want := range map[string]string{
		"local redis = {call = function() return 7 end} return redis.call('x')":                                       ":7\r\n",
		"local function f() return redis.call('x') end setfenv(f, {redis={call=function() return 8 end}}) return f()": ":8\r\n",
		"return pcall(redis.call, 'raw', ':9\\r\\n') and 1":                                                           ":1\r\n",
	} {
		if got := eval(t, vm, body); got != want {
			t.Errorf("%s: %q", body, got)
		}
	}
}
