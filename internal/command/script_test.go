package command

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// lua sends a script with its keys and wants a reply.
func (c *testClient) lua(body, pattern string, keys ...string) {
	c.t.Helper()
	args := append([]string{"EVAL", body, "0"}, keys...)
	args[2] = string(rune('0' + len(keys)))
	p, err := reply.Parse(pattern)
	if err != nil {
		c.t.Fatal(err)
	}
	if v := c.args(args...); !p.Matches(v) {
		c.t.Fatalf("%s: got %v, want %s", body, v, pattern)
	}
}

func TestScriptCallsCommands(t *testing.T) {
	h := newHarness(t)
	h.lua("return redis.call('set', KEYS[1], 'v')", "+OK", "k")
	h.lua("return redis.call('get', KEYS[1])", `"v"`, "k")
	h.lua("redis.call('set', KEYS[1], 1) return redis.call('incrby', KEYS[1], 41)", ":42", "n")
	h.lua("return redis.call('mget', 'k', 'n', 'none')", `["v" "42" nil]`)
	h.lua("redis.call('select', 3) return redis.call('set', 'other', 'x')", "+OK")
	h.want("EXISTS other", ":0")
	h.want("SELECT 3", "+OK")
	h.want("GET other", `"x"`)
	h.want("SELECT 0", "+OK")
	h.lua("return redis.call('lpush', KEYS[1], 'x')", "-WRONGTYPE Operation against a key holding the wrong kind of value script: ...", "k")
	h.lua("return redis.pcall('lpush', KEYS[1], 'x')['err']", `"WRONGTYPE Operation against a key holding the wrong kind of value"`, "k")
	h.lua("return redis.call('dbsize')", ":2")
	h.lua("return redis.call('flushall')", "+OK")
	h.want("DBSIZE", ":0")
	h.lua("return redis.call('eval', 'return 1', 0)", "-ERR This Redis command is not allowed from script script: ...")
	h.lua("return redis.call('multi')", "-ERR This Redis command is not allowed from script script: ...")
	h.lua("redis.call('lpush', 'l', 1) return redis.call('blpop', 'none', 0)", "nil")
}

// What a script does is one block of the log.
func TestScriptEffectsAreOneBlock(t *testing.T) {
	h := newHarness(t)
	h.effects()
	h.lua("redis.call('set','a',1) redis.call('incr','a') redis.call('get','a') return redis.call('spop','none')", "nil", "a")
	want := []string{"MULTI", "SELECT 0", "set a 1", "incr a", "EXEC"}
	got := h.effects()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	h.lua("redis.set_repl(redis.REPL_NONE) redis.call('set','b',1) redis.set_repl(redis.REPL_ALL) return redis.call('set','c',1)", "+OK")
	if got := h.effects(); len(got) != 1 || got[0] != "set c 1" {
		t.Fatalf("got %q", got)
	}
}

func TestScriptsInTransactions(t *testing.T) {
	h := newHarness(t)
	h.want("MULTI", "+OK")
	h.want("SET a 1", "+QUEUED")
	h.lua("return redis.call('incr', 'a') + redis.call('incr', 'far away')", "+QUEUED", "a")
	h.want("INCR a", "+QUEUED")
	h.want("EXEC", "[+OK :3 :3]")
	h.want("WATCH a", "+OK")
	other := h.client()
	other.lua("return redis.call('set', 'a', 9)", "+OK")
	h.want("MULTI", "+OK")
	h.want("GET a", "+QUEUED")
	h.want("EXEC", "nil*")
	h.want("GET a", `"9"`)
}

func TestFunctions(t *testing.T) {
	h := newHarness(t)
	lib := "#!lua name=lib\nlocal n = 0\nredis.register_function('f', function(keys, args) n = n + 1 return {keys[1], args[1]} end)\n" +
		"redis.register_function{function_name='g', callback=function() return redis.call('get', 'x') end, flags={'no-writes'}, description='reads'}"
	if v := h.args("FUNCTION", "LOAD", lib); v.Text != "lib" {
		t.Fatal(v)
	}
	h.want("FCALL f 1 k v", `["k" "v"]`)
	h.want("FCALL_RO f 1 k v", "-ERR Can not execute a script with write flag using *_ro command.")
	h.want("FCALL_RO g 0", "nil")
	h.want("FCALL nosuch 0", "-ERR Function not found")
	h.want("FCALL f x", "-ERR Bad number of keys provided")
	h.want("FUNCTION LIST", `[["library_name" "lib" "engine" "LUA" "functions" [["name" "f" "description" nil "flags" []] ["name" "g" "description" "reads" "flags" [+no-writes]]]]]`)
	dump := h.args("FUNCTION", "DUMP").Text
	h.want("FUNCTION FLUSH", "+OK")
	h.want("FCALL f 1 k v", "-ERR Function not found")
	if v := h.args("FUNCTION", "RESTORE", dump); v.Text != "OK" {
		t.Fatal(v)
	}
	if v := h.args("FUNCTION", "RESTORE", dump); v.Kind != reply.Error {
		t.Fatal(v)
	}
	h.want("FCALL f 1 k v", `["k" "v"]`)
	h.want("FUNCTION DELETE lib", "+OK")
	h.want("FUNCTION STATS", `["running_script" nil "engines" ["LUA" ["libraries_count" :0 "functions_count" :0]]]`)
}

// In a cluster a script uses keys of this node, and with a first line keys of one slot.
func TestScriptsInCluster(t *testing.T) {
	h := newHarnessWith(t, harnessOptions{cluster: true})
	h.serveAllSlots()
	h.lua("return redis.call('get','bar')", "nil", "foo")
	h.lua("#!lua\nreturn redis.call('get','bar')", "-ERR Script attempted to access keys that do not hash to the same slot...", "foo")
	h.lua("return 1", "-CROSSSLOT Keys in request don't hash to the same slot", "foo", "bar")
	h.lua("return redis.call('mget','foo','bar')", "-ERR Script attempted to access a non local key in a cluster node...", "foo")
	h.lua("#!lua flags=no-cluster\nreturn 1", "-ERR Can not run script on cluster, 'no-cluster' flag is set.")
}

// TestPayloadWithoutFunctions is well formed, but holds something else.
func TestPayloadWithoutFunctions(t *testing.T) {
	h := newHarness(t)
	if v := h.args("FUNCTION", "RESTORE", strings.Repeat("\x00", 20)); v.Text != "ERR given type is not a function" {
		t.Errorf("%v", v)
	}
}
