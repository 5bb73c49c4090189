package command

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
)

// wantPushed compares the messages and replies that a client gets next, each with its items separated by blanks.
func (c *testClient) wantPushed(want ...string) {
	c.t.Helper()
	for _, w := range want {
		if got := strings.Join(c.read().Strings(), " "); got != w {
			c.t.Fatalf("got %q, want %q", got, w)
		}
	}
}

// deliver runs what was posted so far, and returns what the client has got and not read.
func (c *testClient) deliver() string {
	for {
		select {
		case fn := <-c.posted:
			fn(c.w)
			c.collect()
		default:
			return c.out.String()
		}
	}
}

// wantQuiet says that nothing has arrived for a client.
func (c *testClient) wantQuiet() {
	c.t.Helper()
	if got := c.deliver(); got != "" {
		c.t.Fatalf("got %q", got)
	}
}

func TestSubscribe(t *testing.T) {
	h := newHarness(t)
	s := h.client()
	s.send("SUBSCRIBE", "a", "b", "a")
	s.wantPushed("subscribe a 1", "subscribe b 2", "subscribe a 2")
	s.send("PSUBSCRIBE", "a*")
	s.wantPushed("psubscribe a* 3")
	s.send("SSUBSCRIBE", "a")
	s.wantPushed("ssubscribe a 1")
	h.want("PUBLISH a hello", ":2")
	s.wantPushed("message a hello", "pmessage a* a hello")
	h.want("SPUBLISH a hello", ":1")
	s.wantPushed("smessage a hello")
	h.want("PUBLISH c hello", ":0")
	h.want("PUBSUB NUMSUB a b c", `["a" :1 "b" :1 "c" :0]`)
	h.want("PUBSUB NUMPAT", ":1")
	h.want("PUBSUB SHARDCHANNELS", `["a"]`)
	h.want("PUBSUB SHARDNUMSUB a", `["a" :1]`)
	h.want("PUBSUB CHANNELS b*", `["b"]`)
	s.send("UNSUBSCRIBE", "a", "nothing")
	s.wantPushed("unsubscribe a 2", "unsubscribe nothing 2")
	s.send("UNSUBSCRIBE")
	s.wantPushed("unsubscribe b 1")
	s.send("UNSUBSCRIBE")
	s.wantPushed("unsubscribe  1")
	s.want("GET k", "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context")
	s.want("PING", `["pong" ""]`)
	s.want("PING x", `["pong" "x"]`)
	s.send("PUNSUBSCRIBE")
	s.wantPushed("punsubscribe a* 0")
	s.send("SUNSUBSCRIBE")
	s.wantPushed("sunsubscribe a 0")
	s.want("GET k", "nil")
	h.want("PUBLISH a hello", ":0")
	h.want("PUBSUB CHANNELS", "[]")
}

func TestMessagesThatArriveAfterTheEnd(t *testing.T) {
	h := newHarness(t)
	s := h.client()
	s.send("SUBSCRIBE", "a", "b")
	s.wantPushed("subscribe a 1", "subscribe b 2")
	h.want("PUBLISH a late", ":1")
	s.send("UNSUBSCRIBE", "a")
	s.wantPushed("unsubscribe a 1")
	s.wantQuiet()
	h.want("PUBLISH b late", ":1")
	s.want("RESET", "+RESET")
	s.wantQuiet()
	h.want("PUBLISH b late", ":0")
}

func TestSubscriberWithRESP3(t *testing.T) {
	h := newHarness(t)
	s := h.client()
	s.do("HELLO 3")
	s.send("SUBSCRIBE", "a")
	if got := s.out.String(); got != ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n" {
		t.Fatalf("got %q", got)
	}
	s.out.Reset()
	s.want("SET k v", "+OK")
	s.send("PUBLISH", "a", "x") // its own message comes behind the reply
	if got := s.out.String(); got != ":1\r\n>3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n" {
		t.Fatalf("got %q", got)
	}
	s.out.Reset()
	s.send("UNSUBSCRIBE", "a")
	s.out.Reset()
	s.send("UNSUBSCRIBE")
	if got := s.out.String(); got != ">3\r\n$11\r\nunsubscribe\r\n_\r\n:0\r\n" {
		t.Fatalf("got %q", got)
	}
	s.out.Reset()
	s.send("SUBSCRIBE", "a")
	s.out.Reset()
	h.want("PUBLISH a x", ":1") // encoded for RESP3
	s.send("HELLO", "2")
	s.out.Reset()
	s.wantPushed("message a x")
}

func TestSubscribeInATransaction(t *testing.T) {
	h := newHarness(t)
	h.script(`
		MULTI -> +OK
		SUBSCRIBE a -> +QUEUED
		SSUBSCRIBE a -> +QUEUED
		PUBLISH a x -> +QUEUED
	`)
	h.send("EXEC")
	if got := h.out.String(); got != "*3\r\n*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"+
		"-ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client\r\n:1\r\n*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nx\r\n" {
		t.Fatalf("got %q", got)
	}
}

func TestPublishIsLogged(t *testing.T) {
	h := newHarness(t)
	h.script(`
		PUBLISH a x
		SPUBLISH b y
		MULTI
		PUBLISH c z
		EXEC
	`)
	h.wantEffects("SELECT 0", "PUBLISH a x", "SPUBLISH b y", "PUBLISH c z")
}

func TestPubSubArguments(t *testing.T) {
	h := newHarness(t)
	h.want("PUBSUB CHANNELS a b", "-ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP.")
	h.want("PUBSUB NUMSUB", "[]")
	h.want("SUBSCRIBE", "-ERR wrong number of arguments for 'subscribe' command")
}

func TestShardChannelsFollowTheirSlot(t *testing.T) {
	sent := ""
	h := newHarnessWith(t, harnessOptions{cluster: true, deps: Deps{Broadcast: func(channel, message []byte, sharded bool) {
		sent = string(channel) + " " + string(message)
		if sharded {
			sent += " sharded"
		}
	}}})
	h.serveAllSlots()
	s := h.client()
	s.send("SSUBSCRIBE", "{a}1", "{a}2")
	s.wantPushed("ssubscribe {a}1 1", "ssubscribe {a}2 2")
	s.want("SSUBSCRIBE a b", "-CROSSSLOT Keys in request don't hash to the same slot")
	h.want("SPUBLISH {a}1 x", ":1")
	if sent != "{a}1 x sharded" {
		t.Errorf("sent %q", sent)
	}
	h.want("PUBLISH ch x", ":0")
	if sent != "ch x" {
		t.Errorf("sent %q", sent)
	}
	s.wantPushed("smessage {a}1 x")
	flip := func(r engine.Route) { h.e.Routes.Flip([]engine.RouteChange{{Slot: slot.Of([]byte("{a}")), Route: r}}) }
	h.e.Routes.SetEndpoints([]engine.Endpoint{{Plain: "10.0.0.1:1"}, {Plain: "10.0.0.2:2"}})
	flip(engine.Route{State: engine.RouteMine | engine.RouteMigrating, Other: 1})
	h.want("SPUBLISH {a}1 x", ":1")
	s.wantPushed("smessage {a}1 x")
	flip(engine.Route{State: engine.RouteReplica, Owner: 1})
	h.want("SPUBLISH {a}1 x", ":1")
	s.wantPushed("smessage {a}1 x")
	flip(engine.Route{Owner: 1})
	first, second := s.read().Strings(), s.read().Strings()
	if first[0] != "sunsubscribe" || second[0] != "sunsubscribe" || first[1] == second[1] || first[2] != "1" || second[2] != "0" {
		t.Errorf("got %q, %q", first, second)
	}
	s.want("SSUBSCRIBE {a}1", "-MOVED 15495 10.0.0.2:2")
	h.want("SPUBLISH {a}1 x", "-MOVED 15495 10.0.0.2:2")
	h.want("PUBSUB SHARDCHANNELS", "[]")
}

func TestKeyspaceEvents(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"SET k v", "set k"},
		{"SET k v EX 10", "set k, expire k"},
		{"SETEX k 10 v", "set k, expire k"},
		{"SET k v\nSET k w KEEPTTL\nSET k x NX", "set k, set k"},
		{"MSET a 1 b 2", "set a, set b"},
		{"MSETNX a 1 b 2\nMSETNX a 1 c 2", "set a, set b"},
		{"SETNX k v\nGETSET k w\nGETDEL k", "set k, set k, del k"},
		{"INCR k\nDECRBY k 2\nINCRBYFLOAT k 1.5", "incrby k, incrby k, incrbyfloat k"},
		{"APPEND k v\nAPPEND k v\nSETRANGE k 1 x", "append k, append k, setrange k"},
		{"SET a 1\nRENAME a b\nRENAMENX b c", "set a, rename_from a, rename_to b, rename_from b, rename_to c"},
		{"SET a 1\nCOPY a b\nCOPY a b", "set a, copy_to b"},
		{"SET a 1\nMOVE a 1", "set a, move_from a, 1 move_to a"},
		{"SET a 1\nDEL a b\nUNLINK a", "set a, del a"},
		{"SET a 1\nEXPIRE a 10\nPERSIST a\nPERSIST a\nEXPIRE a -1", "set a, expire a, persist a, del a"},
		{"SET a 1\nGETEX a EX 10\nGETEX a PERSIST\nGETEX a PXAT 1", "set a, expire a, persist a, del a"},
		{"SET a 1 PX 5\nwait 1s\nGET a", "set a, expire a, expired a"},
		{"SET a 1 PX 5\nwait 1s\nSET a 2", "set a, expire a, expired a, set a"},
		{"SELECT 2\nSET a 1", "2 set a"},
		{"RPUSH l 1\nLPOP l", "rpush l, lpop l, del l"},
	} {
		h := newHarness(t)
		h.e.SetEvents(config.EventKeyevent | config.EventAll)
		if got := heard(h, c.script); got != c.want {
			t.Errorf("%s:\n  %s\nwant\n  %s", c.script, got, c.want)
		}
	}
}

// heard runs a script and returns the events that a client hears of, each as "event key", with the database if it is not 0.
func heard(h *harness, script string) string {
	h.t.Helper()
	s := h.client()
	s.do("PSUBSCRIBE __keyevent@*")
	h.script(script)
	var list []string
	for s.deliver() != "" {
		m := s.read().Strings() // pmessage, pattern, channel, key
		db, event, _ := strings.Cut(strings.TrimPrefix(m[2], "__keyevent@"), "__:")
		if db != "0" {
			event = db + " " + event
		}
		list = append(list, event+" "+m[3])
	}
	return strings.Join(list, ", ")
}

func TestEventClasses(t *testing.T) {
	for _, c := range []struct {
		classes int64
		script  string
		want    string
	}{
		{config.EventString, "SET k v", ""}, // neither by key nor by event
		{config.EventKeyevent | config.EventGeneric, "SET k v\nDEL k", "del k"},
		{config.EventKeyevent | config.EventNew | config.EventString, "SET k v\nSET k w\nINCR n", "new k, set k, set k, new n, incrby n"},
		{config.EventKeyevent | config.EventNew, "SET a 1\nSET b 2\nRENAME a b\nCOPY b c", "new a, new b, new b, new c"},
		{config.EventKeyevent | config.EventMiss, "SET a 1\nMGET a b\nEXISTS c\nOBJECT ENCODING d\nDEL e\nSET f 1 GET", "keymiss b, keymiss c, keymiss f"},
		{config.EventKeyevent | config.EventExpired, "SET a 1 PX 1\nwait 1s\nEXISTS a", "expired a"},
	} {
		h := newHarness(t)
		h.e.SetEvents(c.classes)
		if got := heard(h, c.script); got != c.want {
			t.Errorf("%s:\n  %s\nwant\n  %s", c.script, got, c.want)
		}
	}
}

func TestEventsByKey(t *testing.T) {
	h := newHarness(t)
	h.e.SetEvents(config.EventKeyspace | config.EventKeyevent | config.EventAll)
	s := h.client()
	s.do("PSUBSCRIBE __key*")
	h.script("SELECT 3\nSET k v")
	s.wantPushed("pmessage __key* __keyspace@3__:k set", "pmessage __key* __keyevent@3__:set k")
}

func TestEventsOfTheCron(t *testing.T) {
	h := newHarness(t)
	h.e.SetEvents(config.EventKeyevent | config.EventExpired)
	s := h.client()
	s.do("SUBSCRIBE __keyevent@1__:expired")
	h.script("SELECT 1\nSET k v PX 10\nwait 1s")
	h.e.ExpireCycle(h.e.NewWorker())
	s.wantPushed("message __keyevent@1__:expired k")
}
