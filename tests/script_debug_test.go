package tests

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// debugged is a script with a function, a loop, calls of the server and of the debugger.
const debugged = `local a = 1
local t = {1,2,{x='y'}}
local function f(n)
  local m = n + 1
  return m
end
for i = 1,2 do
  a = a + f(i)
end
redis.debug(a, t)
redis.call('set', KEYS[1], a)
redis.breakpoint()
local v = redis.call('get', KEYS[1])
return {v, KEYS, ARGV}
`

// session begins a debugging session and returns what the client reads at its first stop.
func session(t *testing.T, s *testkit.Server, mode string) *testkit.Client {
	t.Helper()
	c := s.Dial(t)
	c.Want(t, "+OK", "SCRIPT", "DEBUG", mode)
	says(t, c, "* Stopped at 1, stop reason = step over|-> 1   local a = 1", "EVAL", debugged, "1", "k", "x")
	return c
}

// says wants the lines that the debugger answers a command with.
func says(t *testing.T, c *testkit.Client, lines string, words ...string) {
	t.Helper()
	v := c.Do(t, words...)
	if got := strings.Join(v.Strings(), "|"); got != lines {
		t.Errorf("%q: got\n%s\nwant\n%s", words, strings.ReplaceAll(got, "|", "\n"), strings.ReplaceAll(lines, "|", "\n"))
	}
}

func TestScriptDebugger(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	s.Want(t, "+OK", "SET", "k", "before", "PX", "1000000")
	s.Want(t, ":2", "RPUSH", "l", "a", `"`)
	c := session(t, s, "YES")
	says(t, c, "No local variables in the current context.", "print")
	says(t, c, "* Stopped at 2, stop reason = step over|-> 2   local t = {1,2,{x='y'}}", "s")
	says(t, c, "* Stopped at 6, stop reason = step over|-> 6   end", "next")
	says(t, c, `<value> a = 1|<value> t = {1; 2; {["x"]="y"}}`, "p")
	says(t, c, `<value> {"k"}`, "print", "KEYS")
	says(t, c, "No such variable.", "print", "nosuch")
	says(t, c, "   3   local function f(n)|  #4     local m = n + 1|   5     return m", "break", "4")
	says(t, c, "1 breakpoints set:|  #4     local m = n + 1", "b")
	says(t, c, "Wrong line number.|Invalid argument:'x'|No breakpoint in the specified line.", "b", "99", "x", "-1")
	says(t, c, "* Stopped at 4, stop reason = break point|->#4     local m = n + 1", "continue")
	says(t, c, "In f:|->#4     local m = n + 1|From top level:|   8     a = a + f(i)", "trace")
	says(t, c, "<value> n = 1", "p")
	says(t, c, "<value> 1", "p", "i")
	says(t, c, "All breakpoints removed.", "b", "0")
	says(t, c, "<retval> 3", "e", "1", "+", "2")
	says(t, c, "<error> ldb_eval:1: attempt to perform arithmetic on a nil value", "eval", "1+nil")
	says(t, c, `<redis> get k|<reply> "before"`, "redis", "get", "k")
	says(t, c, `<redis> lrange l 0 -1|<reply> ["a","\""]`, "r", "lrange", "l", "0", "-1")
	says(t, c, `<redis> get l|<error> -WRONGTYPE Operation against a key holding the wrong kind of value|`+
		`<reply> "-WRONGTYPE Operation against a key holding the wrong kind of value"`, "r", "get", "l")
	says(t, c, "<value> replies are truncated at 256 bytes.", "m")
	says(t, c, "<error> Unknown Redis Lua debugger command or wrong number of arguments.", "hello\x00world")
	says(t, c, `<debug> line 10: 6, {1; 2; {["x"]="y"}}|* Stopped at 13, stop reason = redis.breakpoint() called|-> 13  local v = redis.call('get', KEYS[1])`, "c")
	says(t, c, `<redis> get k|<reply> "6"|* Stopped at 14, stop reason = step over|-> 14  return {v, KEYS, ARGV}`, "s")
	says(t, c, "<endsession>", "c")
	if v, err := c.Read(); err != nil || v.String() != `["6" ["k"] ["x"]]` {
		t.Fatal(v, err)
	}
	if _, err := c.Read(); err == nil {
		t.Error("the connection is not closed")
	}
	s.Want(t, `"before"`, "GET", "k") // as it was
	s.Want(t, "int(>=1)", "PTTL", "k")
}

func TestScriptDebuggerEnds(t *testing.T) {
	s := testkit.Start(t, testkit.Options{})
	s.Want(t, "+OK", "SCRIPT", "DEBUG", "NO")
	s.Want(t, "-ERR Use SCRIPT DEBUG YES/SYNC/NO", "SCRIPT", "DEBUG", "x")

	c := session(t, s, "SYNC")
	says(t, c, "<endsession>", "abort")
	if v, err := c.Read(); err != nil || !strings.HasPrefix(v.String(), "-ERR script aborted for user request script: ") {
		t.Fatal(v, err)
	}

	c = session(t, s, "SYNC")
	c.Close() // without its client the script runs to its end
	eventuallyReply(t, testkit.Patience, s, `"6"`, "GET", "k")

	c = session(t, s, "YES")
	says(t, c, "<redis> flushall|<error> ERR Commands that change the data without naming keys cannot be debugged with YES, because they cannot be undone. Use SYNC.", "r", "flushall")
	says(t, c, "<redis> del k l|<reply> 1", "r", "del", "k", "l")
	c.Close()
	eventuallyReply(t, testkit.Patience, s, `"6"`, "GET", "k") // everything is put back
}
