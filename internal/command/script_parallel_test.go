package command

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// together runs fn for n clients, each on a thread of its own.
func (h *harness) together(n int, fn func(i int, c *testClient)) {
	var wg sync.WaitGroup
	for i := range n {
		c := h.parallelClient()
		wg.Go(func() { fn(i, c) })
	}
	wg.Wait()
}

// Scripts that use undeclared keys in all orders, transactions and plain commands on several keys never wait for each other
// for ever, and none sees another half done.
func TestScriptsAreAtomic(t *testing.T) {
	h := newHarnessWith(t, harnessOptions{})
	const rounds, accounts = 150, 8
	for i := range accounts {
		h.args("SET", fmt.Sprint("acct", i), "1000")
	}
	move := "redis.call('incrby', 'acct'..ARGV[1], -1) redis.call('incrby', 'acct'..ARGV[2], 1) return 1"
	sum := "local s = 0 for i = 0, 7 do s = s + redis.call('get', 'acct'..i) end return s"
	h.together(6, func(i int, c *testClient) {
		for n := range rounds {
			a, b := (i+n)%accounts, (i*3+n*5+1)%accounts
			switch i % 3 {
			case 0:
				v := c.args("EVAL", move, "0", fmt.Sprint(a), fmt.Sprint(b))
				if v.Kind == reply.Error && !strings.Contains(v.Text, "Declare all keys") {
					t.Errorf("move: %v", v)
				}
				if v.Kind == reply.Error { // half of it was done: the other half by hand
					c.args("INCRBY", fmt.Sprint("acct", a), "1")
				}
			case 1:
				c.args("EVAL", sum, "1", "acct0")
			case 2:
				c.args("MGET", "acct0", "acct3", "acct7", "acct5")
			}
		}
	})
	h.want("DBSIZE", ":8")
	if v := h.args("EVAL", sum, "0"); v.Int != 8000 {
		t.Fatalf("the accounts hold %v", v)
	}
}

// A sum over all accounts is the same at every moment, because the scripts that move declare their keys.
func TestScriptsSeeNoHalves(t *testing.T) {
	h := newHarnessWith(t, harnessOptions{})
	h.args("MSET", "x", "500", "y", "500")
	h.together(4, func(i int, c *testClient) {
		for range 200 {
			if i < 2 {
				c.args("EVAL", "redis.call('decr', KEYS[1]) redis.call('incr', KEYS[2]) return 1", "2", []string{"x", "y"}[i], []string{"y", "x"}[i])
			} else if v := c.args("EVAL", "return redis.call('get','x') + redis.call('get','y')", "0"); v.Int != 1000 {
				t.Errorf("sum %v", v)
			}
		}
	})
}

// A script that runs for long is told of, can be killed unless it has written, and keeps nobody from other shards.
func TestScriptKill(t *testing.T) {
	h := newHarnessWith(t, harnessOptions{})
	h.e.Settings.BusyAfter.Store(20)
	h.want("SCRIPT KILL", "-NOTBUSY No scripts in execution right now.")
	run := func(body string, keys ...string) chan reply.Value {
		c := h.parallelClient()
		out := make(chan reply.Value, 1)
		args := append([]string{"EVAL", body, fmt.Sprint(len(keys))}, keys...)
		go func() { out <- c.args(args...) }()
		return out
	}
	until := func(c *testClient, prefix string, args ...string) {
		t.Helper()
		deadline := time.Now().Add(testkit.Patience)
		for {
			v := c.args(args...)
			if strings.HasPrefix(v.String(), prefix) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%q: %v, want %s", args, v, prefix)
			}
		}
	}
	c := h.parallelClient()
	out := run("while true do end", "k")
	until(c, "-BUSY Redis is busy running a script", "PING")
	c.want("SET other 1", "+OK")
	for _, words := range [][]string{{"INFO", "keyspace"}, {"MEMORY", "STATS"}} { // they wait for nobody
		if v := c.args(words...); v.Kind == reply.Error {
			t.Fatal(v)
		}
	}
	c.want("GET k", "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")
	c.want("FUNCTION KILL", "-BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.")
	c.want("SCRIPT KILL", "+OK")
	if v := <-out; !strings.Contains(v.Text, "Script killed by user with SCRIPT KILL") {
		t.Fatal(v)
	}
	c.want("GET k", "nil")
	c.want("PING", "+PONG")

	out = run("while true do pcall(redis.call, 'get', 'k') end")
	until(c, "-BUSY", "SET", "other", "2")
	c.want("SCRIPT KILL", "+OK")
	<-out

	out = run("redis.call('set', KEYS[1], 1) while true do end", "w")
	until(c, "-UNKILLABLE", "SCRIPT", "KILL")
	h.e.AbortScripts()
	<-out
	c.want("GET w", `"1"`)
}
