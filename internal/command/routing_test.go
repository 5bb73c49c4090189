package command

import (
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
)

// route gives one slot, by a key of it, another route.
func (h *harness) route(key string, r engine.Route) {
	h.e.Routes.Flip([]engine.RouteChange{{Slot: slot.Of([]byte(key)), Route: r}})
}

// newNode is a cluster node that owns all slots but those of "bar" (5061, another node's) and "none" (12121, nobody's).
func newNode(t *testing.T) *harness {
	h := newHarnessWith(t, harnessOptions{cluster: true})
	h.serveAllSlots()
	h.e.Routes.SetEndpoints([]engine.Endpoint{{Plain: "127.0.0.1:7000"}, {Plain: "127.0.0.1:7001"}})
	h.route("bar", engine.Route{Owner: 1, Other: engine.NoNode})
	h.route("none", engine.Route{Owner: engine.NoNode, Other: engine.NoNode})
	return h
}

func TestRouting(t *testing.T) {
	h := newNode(t)
	h.script(`
		SET foo v -> +OK
		GET bar -> -MOVED 5061 127.0.0.1:7001
		SET bar v -> -MOVED 5061 127.0.0.1:7001
		MGET foo bar -> -CROSSSLOT Keys in request don't hash to the same slot
		GET none -> -CLUSTERDOWN Hash slot not served
		MGET none foo -> -CLUSTERDOWN Hash slot not served
		MGET foo none -> -CROSSSLOT Keys in request don't hash to the same slot
		SSUBSCRIBE none foo -> -CLUSTERDOWN Hash slot not served
		EVAL "return redis.call('get','bar')" 0 -> -ERR Script attempted to access a non local key in a cluster node...
		EVAL "return redis.call('get','none')" 0 -> -ERR Script attempted to access a non local key in a cluster node...
		PING -> +PONG
		ASKING -> +OK
		GET bar -> -MOVED 5061 127.0.0.1:7001
		READONLY -> +OK
		GET bar -> -MOVED 5061 127.0.0.1:7001
		GET foo -> "v"`)
}

func TestRoutingOfALeavingSlot(t *testing.T) {
	h := newNode(t)
	h.do("SET {foo}1 v")
	h.route("foo", engine.Route{Owner: 0, Other: 1, State: engine.RouteMine | engine.RouteMigrating})
	h.script(`
		GET {foo}1 -> "v"
		GET {foo}2 -> -ASK 12182 127.0.0.1:7001
		SET {foo}2 v -> -ASK 12182 127.0.0.1:7001
		MGET {foo}1 {foo}2 -> -TRYAGAIN Multiple keys request during rehashing of slot
		MGET {foo}2 {foo}3 -> -ASK 12182 127.0.0.1:7001
		MULTI -> +OK
		GET {foo}1 -> +QUEUED
		GET {foo}2 -> -ASK 12182 127.0.0.1:7001
		EXEC -> -EXECABORT Transaction discarded because of previous errors.
		SET {foo}2 v -> -ASK 12182 127.0.0.1:7001`)
}

// TestAnOwnSlotThatArrives is at home already: what is not there is nowhere else.
func TestAnOwnSlotThatArrives(t *testing.T) {
	h := newNode(t)
	h.route("foo", engine.Route{Owner: 0, Other: 1, State: engine.RouteMine | engine.RouteImporting})
	h.want("GET foo", "nil")
}

func TestRoutingOfAnArrivingSlot(t *testing.T) {
	h := newNode(t)
	h.route("bar", engine.Route{Owner: 1, Other: 1, State: engine.RouteImporting})
	h.script(`
		SET {bar}1 v -> -MOVED 5061 127.0.0.1:7001
		ASKING -> +OK
		SET {bar}1 v -> +OK
		GET {bar}1 -> -MOVED 5061 127.0.0.1:7001
		ASKING -> +OK
		MGET {bar}1 {bar}2 -> -TRYAGAIN Multiple keys request during rehashing of slot
		ASKING -> +OK
		GET {bar}2 -> nil
		ASKING -> +OK
		MULTI -> +OK
		SET {bar}2 w -> +QUEUED
		INCR {bar}2 -> +QUEUED
		EXEC -> [+OK -ERR...]
		GET {bar}1 -> -MOVED 5061 127.0.0.1:7001`)
}

func TestRoutingOfATransaction(t *testing.T) {
	h := newNode(t)
	h.script(`
		MULTI -> +OK
		GET bar -> -MOVED 5061 127.0.0.1:7001
		EXEC -> -EXECABORT Transaction discarded because of previous errors.
		MULTI -> +OK
		SET foo 1 -> +QUEUED
		SET k 1 -> +QUEUED
		EXEC -> -CROSSSLOT Keys in request don't hash to the same slot
		EXISTS foo -> :0
		MULTI -> +OK
		SET foo 1 -> +QUEUED
		INCR foo -> +QUEUED`)
	h.route("foo", engine.Route{Owner: 1, Other: engine.NoNode})
	h.script(`
		EXEC -> -MOVED 12182 127.0.0.1:7001
		EXEC -> -ERR EXEC without MULTI`)
	h.route("foo", engine.Route{Owner: 0, Other: engine.NoNode, State: engine.RouteMine})
	h.want("EXISTS foo", ":0")
}

// TestRoutingComesBeforeTheFateOfATransaction: a client that has to go elsewhere is told so, not that a watched key was changed
// or that a command could not be queued.
func TestRoutingComesBeforeTheFateOfATransaction(t *testing.T) {
	h := newNode(t)
	other := h.client()
	for _, spoil := range []func(){
		func() { other.do("SET foo 2") },
		func() { h.want("NOSUCH", "-ERR unknown command...") },
	} {
		h.script(`
			WATCH foo -> +OK
			MULTI -> +OK
			GET foo -> +QUEUED`)
		spoil()
		h.route("foo", engine.Route{Owner: 1, Other: engine.NoNode})
		h.script(`
			EXEC -> -MOVED 12182 127.0.0.1:7001
			EXEC -> -ERR EXEC without MULTI`)
		h.route("foo", engine.Route{Owner: 0, Other: engine.NoNode, State: engine.RouteMine})
	}
}

func TestRoutingOnAReplica(t *testing.T) {
	h := newNode(t)
	h.e.LockAll()
	h.e.Role.SetReplica(true)
	h.e.UnlockAll()
	h.e.Role.SetLinkUp(true)
	h.route("bar", engine.Route{Owner: 1, Other: engine.NoNode, State: engine.RouteReplica})
	h.script(`
		GET bar -> -MOVED 5061 127.0.0.1:7001
		READONLY -> +OK
		GET bar -> nil
		SET bar v -> -MOVED 5061 127.0.0.1:7001
		WATCH bar -> +OK
		MULTI -> +OK
		GET bar -> +QUEUED
		EXEC -> [nil]
		MULTI -> +OK
		SET bar v -> -MOVED 5061 127.0.0.1:7001
		DISCARD -> +OK
		EVAL "return redis.call('get', KEYS[1])" 1 bar -> nil
		READWRITE -> +OK
		GET bar -> -MOVED 5061 127.0.0.1:7001`)
}

func TestClusterDown(t *testing.T) {
	h := newNode(t)
	h.do("SET foo v")
	h.e.Routes.SetHealth(engine.HealthDown)
	h.script(`
		GET foo -> -CLUSTERDOWN The cluster is down
		GET none -> -CLUSTERDOWN Hash slot not served
		EVAL "return redis.call('get','foo')" 0 -> -ERR Script attempted to execute a command while the cluster is down...
		EVAL "return redis.call('get','none')" 0 -> -ERR Script attempted to access a non local key in a cluster node...`)
	h.e.Settings.ReadsWhenDown.Store(true)
	h.script(`
		EVAL "return redis.call('get','foo')" 0 -> "v"
		EVAL "return redis.call('get','bar')" 0 -> -ERR Script attempted to access a non local key in a cluster node...
		EVAL "return redis.call('set','foo','w')" 0 -> -ERR Script attempted to execute a write command while the cluster is down and readonly...
		GET foo -> "v"
		SET foo w -> -CLUSTERDOWN The cluster is down and only accepts read commands
		PING -> +PONG`)
}

func TestRedirectionComesBeforeThisNodesTroubles(t *testing.T) {
	h := newNode(t)
	h.e.Settings.WritesRefused.Store(true)
	h.want("SET bar v", "-MOVED 5061 127.0.0.1:7001")
	h.want("SET foo v", "-MISCONF...")
	h.e.Settings.WritesRefused.Store(false)
	h.e.Settings.MinReplicas.Store(1)
	h.want("SET bar v", "-MOVED 5061 127.0.0.1:7001")
	h.want("SET foo v", "-NOREPLICAS...")
}
