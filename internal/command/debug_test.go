package command

import (
	"errors"
	"testing"

	"github.com/covey-db/covey/internal/engine"
)

func newDebugHarness(t *testing.T, d Deps) *harness {
	h := newHarnessWith(t, harnessOptions{deps: d})
	h.e.Settings.DebugAllowed.Store(engine.AllowAll)
	return h
}

func TestDebugIsForbiddenUnlessAllowed(t *testing.T) {
	h := newHarness(t)
	h.want("DEBUG SEGFAULT", "-ERR DEBUG command not allowed...")
	h.want("DEBUG JMAP", "-ERR DEBUG command not allowed...")
	h.e.Settings.DebugAllowed.Store(engine.AllowLocal)
	h.want("DEBUG DIGEST", "+0000000000000000000000000000000000000000")
	h.s.Peer.Loopback = false
	h.want("DEBUG DIGEST", "-ERR DEBUG command not allowed...")
}

func TestDebug(t *testing.T) {
	var logged string
	var reloads []ReloadOptions
	h := newDebugHarness(t, Deps{
		LogWarning: func(s string) { logged = s },
		NewReplID:  func() string { return "b" + h40[1:] },
		Reload: func(o ReloadOptions) error {
			reloads = append(reloads, o)
			return errors.New("no file")
		},
	})
	h.script(`
		DEBUG NOSUCH -> -ERR unknown subcommand or wrong number of arguments for 'NOSUCH'. Try DEBUG HELP.
		DEBUG OBJECT -> -ERR unknown subcommand or wrong number of arguments for 'OBJECT'. Try DEBUG HELP.
		DEBUG OBJECT no -> -ERR no such key
		DEBUG ERROR "OOPS my fault" -> -OOPS my fault
		DEBUG LOG hello -> +OK
		DEBUG SLEEP 0 -> +OK
		DEBUG SLEEP x -> +OK
		DEBUG STRINGMATCH-LEN a* abc -> :1
		DEBUG SET-ACTIVE-EXPIRE 0 -> +OK
		DEBUG CHANGE-REPL-ID -> +OK
		DEBUG RELOAD -> -ERR no file
		DEBUG RELOAD NOSAVE MERGE NOFLUSH -> -ERR no file
		DEBUG RELOAD X -> -ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options.
		DEBUG POPULATE -1 -> -ERR value is out of range, must be positive
		DEBUG POPULATE 3 -> +OK
		GET key:2 -> "value:2"
		DEBUG POPULATE 2 p 12 -> +OK
		GET p:1 -> "value:1\x00\x00\x00\x00\x00"
		DBSIZE -> :5
		DEBUG OBJECT key:1 -> +"Value at:"...
	`)
	if logged != "DEBUG LOG: hello" {
		t.Errorf("logged %q", logged)
	}
	if len(reloads) != 2 || reloads[0] != (ReloadOptions{Save: true, Flush: true}) || reloads[1] != (ReloadOptions{Merge: true}) {
		t.Errorf("reloads %v", reloads)
	}
	if h.e.Settings.ActiveExpire.Load() {
		t.Error("SET-ACTIVE-EXPIRE 0 did nothing")
	}
	if id := h.e.Log.History().ID; id[0] != 'b' {
		t.Errorf("replication id %s", id)
	}
	h.wantEffects()
}

const h40 = "0123456789012345678901234567890123456789"

func TestDebugProtocol(t *testing.T) {
	h := newDebugHarness(t, Deps{})
	h.script(`
		DEBUG PROTOCOL string -> "Hello World"
		DEBUG PROTOCOL integer -> :12345
		DEBUG PROTOCOL double -> "3.141"
		DEBUG PROTOCOL null -> nil
		DEBUG PROTOCOL array -> [:0 :1 :2]
		DEBUG PROTOCOL set -> [:0 :1 :2]
		DEBUG PROTOCOL map -> [:0 :0 :1 :1 :2 :0]
		DEBUG PROTOCOL bignum -> "1234567999999999999999999999999999999"
		DEBUG PROTOCOL true -> :1
		DEBUG PROTOCOL push -> -ERR RESP2 is not supported by this command
		DEBUG PROTOCOL attrib -> "Some real reply following the attribute"
		DEBUG PROTOCOL verbatim -> "This is a verbatim\nstring"
		DEBUG PROTOCOL nosuch -> -ERR Wrong protocol type name...
	`)
}

// What the configuration has not allowed is no call, and nothing that a transaction could execute.
func TestProtectedCommandsAreRefused(t *testing.T) {
	h := newHarness(t)
	h.script(`
		DEBUG JMAP -> -ERR DEBUG command not allowed. If the enable-debug-command option is set to "local", you can run it...
		MODULE LOAD x -> -ERR MODULE command not allowed. If the enable-module-command option is set to "local", you can run it...
		MODULE LIST -> []
		INFO commandstats -> has("cmdstat_debug:calls=0" "cmdstat_module|load:calls=0" "rejected_calls=1,failed_calls=0")
		MULTI -> +OK
		MODULE UNLOAD x -> -ERR MODULE command not allowed...
		EXEC -> -EXECABORT...`)
	h.e.Settings.ModuleAllowed.Store(engine.AllowAll)
	h.want("MODULE LOAD x", "-ERR Error loading the extension...")
}
