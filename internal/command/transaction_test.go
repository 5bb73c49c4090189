package command

import (
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestTransactionEffectsAreOneBlock(t *testing.T) {
	h := newHarness(t)
	h.effects()
	h.script(`
		MULTI
		SET a 1
		GET a
		EXEC -> [+OK "1"]`)
	h.wantEffects("SELECT 0", "SET a 1")
	h.script(`
		MULTI
		SET a 2 EX 10
		SELECT 3
		INCRBYFLOAT f 1.5
		GETDEL nosuch
		EXEC -> [+OK +OK "1.5" nil]`)
	h.wantEffects("MULTI", "SET a 2 PXAT 1700000010000", "SELECT 3", "SET f 1.5 KEEPTTL", "EXEC")
}

func TestEffectsAreDeterministic(t *testing.T) {
	h := newHarness(t)
	for _, step := range []struct{ line, effect string }{
		{"SET k v", "SELECT 0|SET k v"},
		{"SET k v EX 10", "SET k v PXAT 1700000010000"},
		{"SET k v PX 1500", "SET k v PXAT 1700000001500"},
		{"SET k v NX", ""},
		{"SET k GET XX GET KEEPTTL", "SET k GET XX KEEPTTL"}, // nobody waits for the old value
		{"SET k v GET EX 10", "SET k v PXAT 1700000010000"},
		{"GETEX k EX 20", "PEXPIREAT k 1700000020000"},
		{"GETEX k PERSIST", "PERSIST k"},
		{"GETEX k", ""},
		{"SETEX k 10 7", "SET k 7 PXAT 1700000010000"},
		{"INCRBYFLOAT k 0.5", "SET k 7.5 KEEPTTL"},
		{"GETSET k 8", "SET k 8"},
		{"GETEX k PXAT 1", "DEL k"},
		{"GETDEL k", ""},
		{"MSET a 1 b 2", "MSET a 1 b 2"},
		{"GETDEL a", "DEL a"},
		{"SETRANGE b 0 \"\"", ""},
		{"GET nosuch", ""},
	} {
		h.do(step.line)
		if got := joined(h.effects()); got != step.effect {
			t.Errorf("%s: logged %q, want %q", step.line, got, step.effect)
		}
	}
	h.do("SET k v PX 10")
	h.effects()
	h.clock.Advance(time.Second)
	h.want("GET k", "nil")
	h.wantEffects("DEL k")
}

func joined(list []string) string {
	all := ""
	for i, s := range list {
		if i > 0 {
			all += "|"
		}
		all += s
	}
	return all
}

func TestWatch(t *testing.T) {
	h := newHarness(t)
	other := h.client()
	for _, step := range []struct {
		name, before, change string
		broken               bool
	}{
		{"a change breaks it", "SET k 1", "SET k 2", true},
		{"the same value breaks it", "SET k 1", "SET k 1", true},
		{"a key that comes breaks it", "DEL k", "SET k 1", true},
		{"a key that goes breaks it", "SET k 1", "DEL k", true},
		{"a new expiry breaks it", "SET k 1", "EXPIRE k 100", true},
		{"another key does not", "SET k 1", "SET other 1", false},
		{"a failed command does not", "SET k x", "INCR k", false},
		{"another database does not", "SET k 1", "COPY k z DB 5", false},
		{"a flush breaks it", "SET k 1", "FLUSHALL", true},
		{"a flush of nothing does not", "DEL k", "FLUSHALL", false},
		{"a swap breaks it", "SET k 1", "SWAPDB 0 1", true},
	} {
		h.do("FLUSHALL")
		h.do(step.before)
		h.want("WATCH k", "+OK")
		other.do(step.change)
		h.do("MULTI")
		h.do("PING")
		if got := h.do("EXEC"); (got.Kind == reply.NilArray) != step.broken {
			t.Errorf("%s: EXEC gave %v", step.name, got)
		}
		h.want("MULTI", "+OK") // nothing is left of the watch
		h.want("PING", "+QUEUED")
		h.want("EXEC", "[+PONG]")
	}
}

func TestWatchAndExpiry(t *testing.T) {
	h := newHarness(t)
	h.script(`
		SET k v PX 10
		WATCH k -> +OK
		wait 1s
		MULTI
		PING
		EXEC -> nil*
		SET k v PX 10
		wait 1s
		WATCH k -> +OK
		MULTI
		PING
		EXEC -> [+PONG]
		WATCH k
		SET k own
		MULTI
		EXEC -> nil*
		WATCH k
		UNWATCH
		SET k own
		MULTI
		EXEC -> []
		WATCH k
		SET k own
		MULTI
		DISCARD -> +OK
		MULTI
		EXEC -> []`)
}

func TestPause(t *testing.T) {
	h := newHarnessWith(t, harnessOptions{})
	writer, reader := h.client(), h.client()
	h.e.Pause.Begin(engine.PauseByFailover, engine.PauseWrites, h.clock.Now(), h.clock.Now()+3_600_000)
	reader.want("GET k", "nil")
	writer.send("SET", "k", "v")
	writer.send("GET", "k")
	reader.want("GET k", "nil")
	if writer.out.Len() != 0 {
		t.Fatal("a paused client was answered")
	}
	// A transaction that writes waits as a whole; one that reads does not.
	multi := h.client()
	multi.want("MULTI", "+OK")
	multi.want("SET m 1", "+QUEUED")
	multi.send("EXEC")
	reader.want("MULTI", "+OK")
	reader.want("GET k", "+QUEUED")
	reader.want("EXEC", "[nil]")
	h.want("CLIENT UNPAUSE", "+OK") // not the pause of the failover
	if writer.out.Len() != 0 || multi.out.Len() != 0 {
		t.Fatal("CLIENT UNPAUSE ended the pause of a failover")
	}
	h.e.Pause.End(engine.PauseByFailover, h.clock.Now())
	if v := writer.read(); v.Text != "OK" {
		t.Fatalf("got %v", v)
	}
	if v := writer.read(); v.Text != "v" {
		t.Fatalf("got %v", v)
	}
	if v := multi.read(); v.String() != "[+OK]" {
		t.Fatalf("got %v", v)
	}
}

func TestPauseEndsByItself(t *testing.T) {
	h := newHarness(t)
	other := h.client()
	h.want("CLIENT PAUSE 20 ALL", "+OK")
	other.send("PING")
	if v := other.read(); v.Text != "PONG" {
		t.Fatalf("got %v", v)
	}
}

// A pause may be asked for that is longer than any timer.
func TestPauseWithoutEnd(t *testing.T) {
	h := newHarness(t)
	writer := h.client()
	h.want("CLIENT PAUSE 9223370000000000000 WRITE", "+OK")
	writer.send("SET", "k", "v")
	h.want("GET k", "nil")
	if mode := h.e.Pause.Mode(); mode != engine.PauseWrites {
		t.Fatalf("the pause is over: mode %d", mode)
	}
	h.want("CLIENT UNPAUSE", "+OK")
	if v := writer.read(); v.Text != "OK" {
		t.Fatalf("got %v", v)
	}
}

func TestClientThatLeavesDuringAPause(t *testing.T) {
	h := newHarness(t)
	other := h.client()
	h.e.Pause.Begin(engine.PauseByClient, engine.PauseEverything, h.clock.Now(), h.clock.Now()+3_600_000)
	other.send("PING")
	other.s.Close()
	h.e.Pause.End(engine.PauseByClient, h.clock.Now())
	select {
	case <-other.posted:
		t.Fatal("a client that left was resumed")
	default:
	}
}

// An EXEC that is refused ends the transaction, whatever the reason.
func TestRefusedExec(t *testing.T) {
	h := newHarness(t)
	h.script(`
		EXEC x -> -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command
		MULTI -> +OK
		EXEC x -> -EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command
		EXEC -> -ERR EXEC without MULTI
	`)
}

// A transaction that can only fail keeps nothing more, and CLIENT LIST marks those whose watch is broken.
func TestTransactionThatCanOnlyFail(t *testing.T) {
	h := newHarness(t)
	other := h.client()
	h.script(`
		MULTI -> +OK
		PING -> +QUEUED
		NOSUCH -> -ERR unknown command...
		PING -> +QUEUED`)
	other.want("CLIENT LIST", `has("flags=x " "multi=1 ")`)
	h.script(`
		EXEC -> -EXECABORT...
		WATCH k -> +OK
		MULTI -> +OK
		PING -> +QUEUED`)
	other.want("SET k 1", "+OK")
	h.want("PING", "+QUEUED")
	other.want("CLIENT LIST", `has("flags=xd " "multi=1 ")`)
	h.want("EXEC", "nil*")
}
