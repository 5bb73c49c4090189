package script

import (
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/resp"
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
func (h *testHost) SetPropagation(bool)                {}
func (h *testHost) Allowed(args [][]byte) (bool, bool) { return true, string(args[0]) == "echo" }
func (h *testHost) Log(int, string)                    {}
func (h *testHost) Look() {
	if time.Now().After(h.until) {
		h.vm.watch.end(&syntaxError{"out of time"})
	}
}

// lastsMax is how long a script of a test may run.
const lastsMax = 2 * time.Second

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
		{"rawset(_G,'x',1)", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"setmetatable(_G,{})", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"getmetatable(_G).__index = 1", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"getmetatable('').__index = 1", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"table.insert(redis, 1)", "-ERR user_script:1: Attempt to modify a readonly table script: SHA, on @user_script:1.\r\n"},
		{"return string.rep()", "-ERR user_script:1: bad argument #1 to 'rep' (string expected, got no value) script: SHA, on @user_script:1.\r\n"},
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

func TestBounds(t *testing.T) {
	vm := newTestVM()
	for _, body := range []string{
		"local s='x' while true do s=s..s end",
		"return string.rep('x', 1e9)",
		"local t={} while true do t[#t+1]=string.rep('x',1e6)..#t end",
		"local t={} for i=1,1e9 do t[i]=i end",
		"local l={} for i=1,100 do local t={} t[60000000]=1 l[i]=t end",
		"local function f() return 1+f() end return f()",
		"local function f() return pcall(f) end return f()",
		"local t={} t=setmetatable({},{__index=function(t,k) return t[k+1] end}) return t[1]",
		"while true do end",
		"while true do pcall(function() while true do end end) end",
		"coroutine.wrap(function() while true do end end)()",
		"local function f() coroutine.wrap(f)() end f()",
		"return string.find(string.rep('a',100000), '.-.-.-b')",
		"local t={} while true do t={t} end",
		"local t={} for i=1,1e8 do t['k'..i]=i end",
		"return " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000),
		"return " + strings.Repeat("1+", 100000) + "1",
		"return " + strings.Repeat("{", 100000) + strings.Repeat("}", 100000),
		"return " + strings.Repeat("-", 100001) + "1",
		"return " + strings.Repeat("not ", 100000) + "1",
		strings.Repeat("if x then else", 50000) + strings.Repeat(" end", 50000),
		"if x then " + strings.Repeat("elseif x then ", 50000) + " end",
		"return " + strings.Repeat("'x'..", 100000) + "'x'",
		"return x" + strings.Repeat(".y", 100000),
		"return x" + strings.Repeat("()", 100000),
		"local t={} for i=1,2000 do t={t} end return cjson.encode(t)",
		"local t={} t[1]=t return t",
		"table.insert({}, 67000000, 1)",
		"return string.format('%99999999d', 1)",
		"return table.concat({}, 'x', 1, 1e9)",
		"local t = {} ; t.x = t ; return cjson.encode(t)",
		"return cmsgpack.unpack('\\221\\255\\255\\255\\255')",
	} {
		start := time.Now()
		got := eval(t, vm, body)
		name := body
		if len(name) > 60 {
			name = name[:60]
		}
		if len(got) > 200 {
			got = got[:200]
		}
		t.Logf("%8s %-60s %q", time.Since(start).Round(time.Millisecond), name, got)
	}
	if got := eval(t, vm, "return 1"); got != ":1\r\n" {
		t.Fatal(got)
	}
}
