package command

import (
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

func TestDelExistsTouchType(t *testing.T) {
	h := newHarness(t)
	h.script(`
		MSET a 1 b 2 c 3
		EXISTS a b no a -> :3
		TOUCH a no b -> :2
		TYPE a -> +string
		TYPE no -> +none
		DEL a a no -> :1
		UNLINK b no c -> :2
		DBSIZE -> :0
		DEL -> -ERR wrong number of arguments for 'del' command
	`)
	h.wantEffects("SELECT 0", "MSET a 1 b 2 c 3", "DEL a a no", "UNLINK b no c")
}

func TestExpiredKeyIsGoneForEveryReader(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET k v PX 30
		wait 60ms
		RANDOMKEY -> nil
		SET k v PX 30
		wait 60ms
		SCAN 0 -> ["0" []]
		DBSIZE -> :0
		SET k v PX 30
		wait 60ms
		KEYS * -> []
		EXISTS k -> :0
		DBSIZE -> :0
		TTL k -> :-2
		PTTL k -> :-2
		EXPIRETIME k -> :-2
		TYPE k -> +none
		OBJECT ENCODING k -> nil
		MEMORY USAGE k -> nil
		DUMP k -> nil
		SET k v PX 30
		wait 60ms
		DEL k -> :0
		SET k v PX 30
		wait 60ms
		PERSIST k -> :0
		SET k v PX 30
		wait 60ms
		RENAME k x -> -ERR no such key
		SET k v PX 30
		wait 60ms
		COPY k x -> :0
		SET k v PX 30
		wait 60ms
		MOVE k 1 -> :0
		SET k v PX 30
		wait 60ms
		EXPIRE k 10 -> :0
	`)
}

func TestRename(t *testing.T) {
	h := newHarness(t)
	h.script(`
		RENAME no x -> -ERR no such key
		RENAMENX no x -> -ERR no such key
		SET a 1 EX 100
		RENAME a a -> +OK
		RENAMENX a a -> :0
		RENAME a b -> +OK
		GET b -> "1"
		TTL b -> :100
		EXISTS a -> :0
		SET c 3
		RENAMENX b c -> :0
		RENAME b c -> +OK
		GET c -> "1"
		TTL c -> :100
		RENAMENX c d -> :1
	`)
	h.effects()
	for _, size := range []int{1, 44, 45, 300, 40 << 10, 300 << 10, 3 << 20} { // inline, wide, blobs, a mapping
		value := strings.Repeat("x", size)
		h.args("SET", "{slot}a", value)
		h.want("RENAME {slot}a {slot}b", "+OK")
		h.want("RENAME {slot}b other", "+OK")
		if got := h.do("GET other").Text; got != value {
			t.Fatalf("%d bytes: RENAME changed the value", size)
		}
		h.want("DEL other", ":1")
	}
}

func TestRenameKeepsEncodingAndIdleTime(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET a 12
		APPEND a 3
		OBJECT ENCODING a -> "raw"
		RENAME a far
		OBJECT ENCODING far -> "raw"
		SET i 77
		RENAME i j
		OBJECT ENCODING j -> "int"
		GET j -> "77"
	`)
}

func TestCopy(t *testing.T) {
	h := newHarness(t)
	h.script(`
		COPY no x -> :0
		SET a 1 EX 50
		COPY a b -> :1
		COPY a b -> :0
		COPY a b REPLACE -> :1
		TTL b -> :50
		COPY a a -> -ERR source and destination objects are the same
		COPY a a DB 0 -> -ERR source and destination objects are the same
		COPY a a DB 3 -> :1
		COPY a a DB 3 -> :0
		COPY a a DB 3 REPLACE -> :1
		COPY a c DB 99 -> -ERR DB index is out of range
		COPY a c DB -1 -> -ERR DB index is out of range
		COPY a c DB x -> -ERR value is not an integer or out of range
		COPY a c DB 2147483648 -> -ERR value is out of range, value must between -2147483648 and 2147483647
		COPY a c DB -> -ERR syntax error
		COPY a c NOSUCH -> -ERR syntax error
		SELECT 3
		GET a -> "1"
		TTL a -> :50
	`)
	h.wantEffects("SELECT 0", "SET a 1 PXAT 1700000050000", "COPY a b", "COPY a b REPLACE", "COPY a a DB 3", "COPY a a DB 3 REPLACE")
}

func TestMove(t *testing.T) {
	h := newHarness(t)
	h.script(`
		MOVE no 1 -> :0
		SET a 1 EX 50
		MOVE a 0 -> -ERR source and destination objects are the same
		MOVE a 16 -> -ERR DB index is out of range
		MOVE a x -> -ERR value is not an integer or out of range
		MOVE a 1 -> :1
		EXISTS a -> :0
		SET a 2
		MOVE a 1 -> :0
		SELECT 1
		GET a -> "1"
		TTL a -> :50
		wait 51s
		SELECT 0
		MOVE a 1 -> :1
		SELECT 1
		GET a -> "2"
	`)
	h.wantEffects("SELECT 0", "SET a 1 PXAT 1700000050000", "MOVE a 1", "SET a 2",
		"MULTI", "SELECT 1", "DEL a", "SELECT 0", "MOVE a 1", "EXEC")
}

func TestClusterRefusesOtherDatabases(t *testing.T) {
	h := newHarnessWith(t, harnessOptions{cluster: true})
	h.serveAllSlots()
	h.script(`
		SET {a}1 x
		COPY {a}1 {a}2 -> :1
		COPY {a}1 {a}2 DB 0 -> :0
		COPY {a}1 {a}3 DB 1 -> -ERR Copying to another database is not allowed in cluster mode
		MOVE {a}1 1 -> -ERR MOVE is not allowed in cluster mode
		SWAPDB 0 1 -> -ERR SWAPDB is not allowed in cluster mode
		RENAME {a}1 b -> -CROSSSLOT Keys in request don't hash to the same slot
		RENAME {a}1 {a}9 -> +OK
		DBSIZE -> :2
		RANDOMKEY -> "{a}9" | "{a}2"
	`)
}

func TestWatchedKeysOfBothDatabases(t *testing.T) {
	for _, c := range []struct{ watchIn, watch, change string }{
		{"0", "a", "MOVE a 1"},
		{"1", "a", "MOVE a 1"},
		{"2", "b", "COPY a b DB 2"},
		{"0", "a", "RENAME a b"},
		{"0", "b", "RENAME a b"},
		{"0", "a", "FLUSHDB"},
		{"0", "a", "FLUSHALL"},
		{"0", "a", "SWAPDB 0 5"},
		{"5", "a", "SWAPDB 0 5"},
		{"0", "a", "EXPIRE a -1"},
		{"0", "a", "PERSIST t"},
		{"0", "t", "PERSIST t"},
	} {
		h := newHarness(t)
		h.script("MSET a 1 t 2\nEXPIRE t 100")
		other := h.client()
		other.want("SELECT "+c.watchIn, "+OK")
		other.want("WATCH "+c.watch, "+OK")
		h.do(c.change)
		other.want("MULTI", "+OK")
		other.want("PING", "+QUEUED")
		want := "nil*"
		if c.watch == "a" && c.change == "PERSIST t" {
			want = "[+PONG]"
		}
		other.want("EXEC", want)
	}
}

func TestWatchSurvivesWhatDoesNotConcernIt(t *testing.T) {
	for _, change := range []string{"FLUSHDB", "FLUSHALL", "SWAPDB 0 1", "FLUSHDB ASYNC"} {
		h := newHarness(t)
		h.script("SET other 1")
		h.script("WATCH missing")
		h.client().do(change)
		h.script("MULTI\nPING\nEXEC -> [+PONG]")
	}
}

func TestRandomKeyFindsEveryKey(t *testing.T) {
	h := newHarness(t)
	seen := map[string]bool{}
	for _, k := range strings.Fields("a b c d e f") {
		h.args("SET", k, "1")
	}
	for range 300 {
		seen[h.do("RANDOMKEY").Text] = true
	}
	if len(seen) != 6 {
		t.Fatalf("300 calls of RANDOMKEY found %v", seen)
	}
	h.want("FLUSHALL", "+OK")
	h.want("RANDOMKEY", "nil")
}

func TestObject(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET i 5
		SET e short
		SET big 100000
		OBJECT ENCODING i -> "int"
		OBJECT ENCODING e -> "embstr"
		OBJECT REFCOUNT i -> :2147483647
		OBJECT REFCOUNT e -> :1
		OBJECT REFCOUNT big -> :1
		OBJECT IDLETIME e -> :0
		wait 7s
		OBJECT IDLETIME e -> :7
		GET e -> "short"
		OBJECT IDLETIME e -> :0
		wait 3s
		EXISTS e -> :1
		TYPE e -> +string
		TTL e -> :-1
		OBJECT IDLETIME e -> :3
		TOUCH e -> :1
		OBJECT IDLETIME e -> :0
		OBJECT FREQ e -> -ERR An LFU maxmemory policy is not selected...
		OBJECT ENCODING no -> nil
		OBJECT FREQ no -> nil
		OBJECT ENCODING -> -ERR wrong number of arguments for 'object|encoding' command
		OBJECT NOSUCH k -> -ERR unknown subcommand 'NOSUCH'. Try OBJECT HELP.
		OBJECT HELP -> array
	`)
	value := strings.Repeat("v", 45)
	h.args("SET", "r", value)
	h.want("OBJECT ENCODING r", `"raw"`)
}

func TestNoTouchClient(t *testing.T) {
	h := newHarness(t)
	h.script("SET k v")
	h.s.SetNoTouch(true)
	h.script(`
		wait 5s
		GET k -> "v"
		OBJECT IDLETIME k -> :5
		TOUCH k -> :1
		OBJECT IDLETIME k -> :0
	`)
}

func TestMemoryCommands(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET k v
		MEMORY USAGE no -> nil
		MEMORY USAGE k SAMPLES -> -ERR syntax error
		MEMORY USAGE k SAMPLES -1 -> -ERR syntax error
		MEMORY USAGE k SAMPLES x -> -ERR value is not an integer or out of range
		MEMORY USAGE k NOSUCH 1 -> -ERR syntax error
		MEMORY PURGE -> +OK
	`)
	if v := h.do("MEMORY USAGE k SAMPLES 0"); v.Int < 10 || v.Int > 100 {
		t.Fatalf("MEMORY USAGE: %v", v)
	}
	stats := h.do("MEMORY STATS")
	if len(stats.Items) != 2*28 {
		t.Fatalf("MEMORY STATS has %d elements", len(stats.Items))
	}
	if keys, _ := stats.Field("keys.count"); keys.Int != 1 {
		t.Fatalf("keys.count: %v", keys)
	}
	h.do("MEMORY DOCTOR")
	h.do("MEMORY MALLOC-STATS")
	h.do("MEMORY HELP")
}

func TestFreezeIsAsked(t *testing.T) {
	var asked time.Duration
	h := newHarnessWith(t, harnessOptions{deps: Deps{Freeze: func(d time.Duration) { asked = d }}})
	h.want("DEBUG SLEEP 0.25", "-ERR DEBUG command not allowed...")
	h.e.Settings.DebugAllowed.Store(engine.AllowLocal)
	h.want("DEBUG SLEEP 0.25", "+OK")
	if asked != 250*time.Millisecond {
		t.Fatalf("froze for %v", asked)
	}
}

// Numbers at the edge of what a command takes.
func TestNumbersOutOfRange(t *testing.T) {
	newHarness(t).script(`
		SELECT 16 -> -ERR DB index is out of range
		SELECT 2147483648 -> -ERR value is out of range, value must between -2147483648 and 2147483647
		SELECT x -> -ERR value is not an integer or out of range
		SLOWLOG GET -2 -> -ERR count should be greater than or equal to -1
		SLOWLOG GET x -> -ERR count should be greater than or equal to -1
		CLIENT KILL ID 0 -> -ERR client-id should be greater than 0
		CLIENT KILL ID +1 -> -ERR client-id should be greater than 0
	`)
}

// Under LFU a key that is set again counts as used once more, whoever sets it, and a key with a new name as new.
func TestOverwritingCountsAsAnAccess(t *testing.T) {
	h := newHarness(t)
	h.e.Evictor.SetPolicy(engine.AllKeysLFU)
	h.e.Evictor.SetLFU(0, 0)
	h.e.TickClock()
	for _, overwrite := range []string{"SET k w", "SET k w XX", "SET k w KEEPTTL", "SET k w NX", "SETEX k 100 w", "MSET k w", "BITOP OR k s s",
		"SINTERSTORE k m m", "ZUNIONSTORE k 1 m", "ZRANGESTORE k z 0 -1", "SORT m STORE k",
		"GEOSEARCHSTORE k z FROMLONLAT 0 0 BYRADIUS 22000 km"} {
		h.script(`
			DEL k
			SET s v
			SADD m 1 2
			ZADD z 1 a
			SET k v
			OBJECT FREQ k -> :5
			` + overwrite + `
			OBJECT FREQ k -> :6
		`)
	}
	h.script(`
		DEL k
		SET k v
		GETSET k w -> "v"
		SET k w GET -> "w"
		OBJECT FREQ k -> :9
		RENAME k l
		OBJECT FREQ l -> :5
	`)
}
