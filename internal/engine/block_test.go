package engine_test

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/spec"
)

// The lists of these tests are their elements joined by spaces, in a record of type list: what matters here is who gets
// which element, not how lists are kept.

func elements(c *engine.Ctx, i int) []string {
	rec, ok := c.FindWrite(i)
	if !ok || rec.Type() != keyspace.TypeList {
		return nil
	}
	return strings.Fields(string(rec.Value()))
}

func keep(c *engine.Ctx, i int, list []string) {
	if len(list) == 0 {
		c.Part(i).Delete(c.DB(), c.Key(i))
	} else {
		c.Part(i).PutInline(c.DB(), c.Key(i), keyspace.TypeList, keyspace.EncListpack, []byte(strings.Join(list, " ")), 0)
	}
	c.Changed(i)
}

func cmdRPush(c *engine.Ctx) {
	list := elements(c, 0)
	for _, a := range c.Args[2:] {
		list = append(list, string(a))
	}
	keep(c, 0, list)
	c.ReplyInt(int64(len(list)))
}

func cmdBLPop(c *engine.Ctx) {
	timeout, ok := c.Timeout(len(c.Args) - 1)
	if !ok {
		return
	}
	for i := range c.NumKeys() {
		if list := elements(c, i); len(list) > 0 {
			keep(c, i, list[1:])
			c.Propagate([]byte("LPOP"), c.Key(i).Bytes)
			c.Array(2)
			c.Bulk(c.Key(i).Bytes)
			c.BulkString(list[0])
			return
		}
	}
	c.BlockOnKeys(engine.Block{Type: keyspace.TypeList, Timeout: timeout})
}

func cmdBLMove(c *engine.Ctx) {
	list := elements(c, 0)
	if len(list) == 0 {
		if c.InExec() {
			c.Null()
			return
		}
		c.BlockOnKeys(engine.Block{Type: keyspace.TypeList, Keys: []int{0}})
		return
	}
	keep(c, 0, list[1:])
	keep(c, 1, append(elements(c, 1), list[0]))
	c.Propagate([]byte("LMOVE"), c.Key(0).Bytes, c.Key(1).Bytes, []byte("LEFT"), []byte("RIGHT"))
	c.BulkString(list[0])
}

// cmdXReadGroup waits as long as the key is there.
func cmdXReadGroup(c *engine.Ctx) {
	if _, exists := c.Find(0); !exists {
		c.Err("NOGROUP No such key")
		return
	}
	c.BlockOnKeys(engine.Block{Type: keyspace.TypeStream, OnDelete: true})
}

func testHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"rpush":      {Run: cmdRPush},
		"blpop":      {Run: cmdBLPop},
		"blmove":     {Run: cmdBLMove},
		"xreadgroup": {Run: cmdXReadGroup},
		"del":        {Run: func(c *engine.Ctx) { c.Delete(0); c.OK() }},
		"set": {Run: func(c *engine.Ctx) {
			c.Part(0).SetString(c.DB(), c.Key(0), c.Args[2], 0)
			c.Changed(0)
			c.OK()
		}},
		"multi": {Run: (*engine.Ctx).Multi},
		"exec":  {Run: (*engine.Ctx).Exec},
		"ping":  {Run: func(c *engine.Ctx) { c.Simple("PONG") }},
	}
}

func newEngine(t *testing.T, cluster bool) *engine.Engine {
	t.Helper()
	table, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	opts := engine.Options{Table: table, Handlers: testHandlers(), Clock: clock.Real(), Seed: 1, RunID: strings.Repeat("a", 40),
		HashSeed: maphash.MakeSeed(), Used: new(atomic.Int64), Databases: 2, Cluster: cluster}
	for i := range opts.Parts {
		arena := mem.NewArena(mem.Options{Published: opts.Used})
		t.Cleanup(arena.Close)
		opts.Parts[i] = keyspace.New(keyspace.Options{Shard: i, Databases: 2, Arena: arena})
	}
	return engine.New(opts)
}

// client is a connection without a socket.
type client struct {
	t *testing.T
	w *engine.Worker
	s *engine.Session

	queue struct { // a leaf lock
		sync.Mutex
		posted []func(*engine.Worker)
	}
	wake chan struct{}

	out    bytes.Buffer
	closed bool
}

func connect(t *testing.T, e *engine.Engine) *client {
	c := &client{t: t, w: e.NewWorker(), wake: make(chan struct{}, 1)}
	c.s = e.NewSession(c, engine.Peer{Remote: "127.0.0.1:5000", Local: "127.0.0.1:6379", Loopback: true})
	return c
}

func (c *client) Post(fn func(*engine.Worker)) {
	c.queue.Lock()
	c.queue.posted = append(c.queue.posted, fn)
	c.queue.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *client) CloseSoon(bool)                  {}
func (c *client) Hijack(func(engine.Raw, []byte)) {}
func (c *client) Buffered() (query, output int)   { return 0, 0 }

// send executes one command and keeps the reply.
func (c *client) send(line string) {
	var words [][]byte
	for _, w := range strings.Fields(line) {
		words = append(words, []byte(w))
	}
	c.s.Process(c.w, resp.AppendCommand(nil, words...))
	c.collect()
}

func (c *client) collect() {
	for _, p := range c.w.Out.Pieces(nil) {
		c.out.Write(p)
	}
	c.w.Out.Reset()
	c.closed = c.closed || c.s.Closing()
}

// deliver runs what was posted.
func (c *client) deliver() {
	c.queue.Lock()
	list := c.queue.posted
	c.queue.posted = nil
	c.queue.Unlock()
	for _, fn := range list {
		fn(c.w)
		c.collect()
	}
}

// reply waits for output and returns it as a line.
func (c *client) reply() string {
	c.t.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for c.deliver(); c.out.Len() == 0; c.deliver() {
		select {
		case <-c.wake:
		case <-deadline.C:
			c.t.Fatal("no reply")
		}
	}
	line := strings.TrimSuffix(strings.ReplaceAll(c.out.String(), "\r\n", " "), " ")
	c.out.Reset()
	return line
}

func (c *client) do(line string) string {
	c.t.Helper()
	c.send(line)
	return c.reply()
}

func (c *client) want(line, reply string) {
	c.t.Helper()
	if got := c.do(line); got != reply {
		c.t.Fatalf("%s: got %q, want %q", line, got, reply)
	}
}

func (c *client) wants(reply string) {
	c.t.Helper()
	if got := c.reply(); got != reply {
		c.t.Fatalf("got %q, want %q", got, reply)
	}
}

// wantsNothing says that the client is still blocked.
func (c *client) wantsNothing() {
	c.t.Helper()
	c.deliver()
	if c.out.Len() != 0 || c.s.Flags()&engine.FlagBlocked == 0 {
		c.t.Fatalf("got %q, want no reply", c.out.String())
	}
}

func connectAll(t *testing.T, e *engine.Engine, n int) []*client {
	list := make([]*client, n)
	for i := range list {
		list[i] = connect(t, e)
	}
	return list
}

func TestBlockedClientsAreServedInOrder(t *testing.T) {
	e := newEngine(t, false)
	pusher := connect(t, e)
	waiting := connectAll(t, e, 4)
	for i, c := range waiting {
		c.send(fmt.Sprintf("BLPOP k%d k 0", i%2))
		c.wantsNothing()
	}
	pusher.want("RPUSH k a b c", ":3")
	for i, element := range []string{"a", "b", "c"} {
		waiting[i].wants("*2 $1 k $1 " + element)
	}
	waiting[3].wantsNothing()
	pusher.want("RPUSH k1 d", ":1")
	waiting[3].wants("*2 $2 k1 $1 d")
	pusher.want("BLPOP k0 k1 k 0.001", "*-1")
}

func TestBlockedClientIsServedOnceForKeysOfATransaction(t *testing.T) {
	e := newEngine(t, false)
	pusher, c := connect(t, e), connect(t, e)
	c.send("BLPOP a b c 0")
	pusher.want("MULTI", "+OK")
	for _, key := range []string{"c", "b", "a"} {
		pusher.want("RPUSH "+key+" x"+key, "+QUEUED")
	}
	pusher.want("EXEC", "*3 :1 :1 :1")
	c.wants("*2 $1 a $2 xa") // the command runs again: the first of its keys counts
	c.want("BLPOP a b c 0", "*2 $1 b $2 xb")
	c.want("BLPOP a b c 0", "*2 $1 c $2 xc")
}

func TestServingCanMakeOtherKeysReady(t *testing.T) {
	e := newEngine(t, false)
	pusher := connect(t, e)
	chain := connectAll(t, e, 3)
	chain[0].send("BLPOP d 0")
	chain[1].send("BLMOVE b d LEFT RIGHT 0")
	chain[2].send("BLMOVE a b LEFT RIGHT 0")
	pusher.want("RPUSH a x", ":1")
	chain[2].wants("$1 x")
	chain[1].wants("$1 x")
	chain[0].wants("*2 $1 d $1 x")
}

func TestKeyOfAnotherTypeDoesNotServe(t *testing.T) {
	e := newEngine(t, false)
	pusher, c := connect(t, e), connect(t, e)
	c.send("BLPOP k 0")
	pusher.want("SET k v", "+OK")
	c.wantsNothing()
}

func TestNothingBlocksInATransaction(t *testing.T) {
	c := connect(t, newEngine(t, false))
	c.want("MULTI", "+OK")
	c.want("BLPOP a b 0", "+QUEUED")
	c.want("BLMOVE a b LEFT RIGHT 0", "+QUEUED")
	c.want("EXEC", "*2 *-1 $-1")
}

func TestTimeouts(t *testing.T) {
	c := connect(t, newEngine(t, false))
	for timeout, reply := range map[string]string{
		"-1":                 "-ERR timeout is negative",
		"x":                  "-ERR timeout is not a float or out of range",
		"nan":                "-ERR timeout is not a float or out of range",
		"0x7FFFFFFFFFFFFFFF": "-ERR timeout is out of range",
		"9223372036854775":   "-ERR timeout is out of range",
		"0.0001":             "*-1",
		"1e-30":              "*-1",
		"1e-400":             "*-1",
		"1e-5000":            "-ERR timeout is not a float or out of range",
		"1e-3":               "*-1",
	} {
		c.want("BLPOP k "+timeout, reply)
	}
	c.send("BLPOP k 9223370000000000")
	c.wantsNothing()
}

func TestUnblock(t *testing.T) {
	e := newEngine(t, false)
	pusher, c := connect(t, e), connect(t, e)
	for _, withError := range []bool{false, true} {
		c.send("BLPOP k 0")
		if !c.s.Unblock(withError) || c.s.Unblock(withError) {
			t.Error("the client can be unblocked once")
		}
		c.wants(map[bool]string{false: "*-1", true: "-UNBLOCKED client unblocked via CLIENT UNBLOCK"}[withError])
	}
	pusher.want("RPUSH k x", ":1")
	c.want("BLPOP k 0", "*2 $1 k $1 x")
}

func TestClientThatLeftGetsNothing(t *testing.T) {
	e := newEngine(t, false)
	pusher, gone, c := connect(t, e), connect(t, e), connect(t, e)
	gone.send("BLPOP a k 0")
	c.send("BLPOP k 0")
	gone.s.Close()
	pusher.want("RPUSH k x", ":1")
	c.wants("*2 $1 k $1 x")
}

func TestKilledClientGetsNothing(t *testing.T) {
	e := newEngine(t, false)
	pusher, killed := connect(t, e), connect(t, e)
	killed.send("BLPOP k 0")
	killed.s.Kill() // the connection has not heard of it
	pusher.want("RPUSH k x", ":1")
	pusher.want("BLPOP k 0", "*2 $1 k $1 x")
	killed.deliver()
	if killed.out.Len() != 0 {
		t.Errorf("got %q", killed.out.String())
	}
}

func TestWaitEndsWithTheRole(t *testing.T) {
	e := newEngine(t, false)
	c := connect(t, e)
	c.send("BLPOP k 0")
	e.LockAll()
	e.Role.SetReplica(true)
	e.UnlockAll()
	c.wants("-UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)")
	if !c.closed {
		t.Error("the connection stays")
	}
}

func TestWaitEndsWithTheSlot(t *testing.T) {
	e := newEngine(t, true)
	key := e.Key([]byte("k"))
	flip := func(r engine.Route) { e.Routes.Flip([]engine.RouteChange{{Slot: key.Slot, Route: r}}) }
	e.Routes.SetEndpoints([]engine.Endpoint{{Plain: "10.0.0.1:1"}, {Plain: "10.0.0.2:2"}})
	mine := engine.Route{State: engine.RouteMine}
	away := engine.Route{Owner: 1}
	flip(mine)
	e.Routes.SetHealth(engine.HealthOK)
	c := connect(t, e)
	c.send("BLPOP k 0")
	flip(engine.Route{State: engine.RouteMine | engine.RouteMigrating, Other: 1})
	c.wantsNothing()
	flip(away)
	c.wants(fmt.Sprintf("-MOVED %d 10.0.0.2:2", key.Slot))
	flip(mine)
	c.send("BLPOP k 0")
	flip(engine.Route{Owner: engine.NoNode})
	c.wants("-CLUSTERDOWN Hash slot not served")
	flip(mine)
	c.send("BLPOP k 0")
	e.Routes.SetHealth(engine.HealthDown)
	c.wants("-CLUSTERDOWN The cluster is down")
}

// Who waits in a group of a stream that is moved away goes after it.
func TestWaitFollowsTheKey(t *testing.T) {
	e := newEngine(t, true)
	slot := e.Key([]byte("k")).Slot
	flip := func(r engine.Route) { e.Routes.Flip([]engine.RouteChange{{Slot: slot, Route: r}}) }
	e.Routes.SetEndpoints([]engine.Endpoint{{Plain: "10.0.0.1:1"}, {Plain: "10.0.0.2:2"}})
	flip(engine.Route{State: engine.RouteMine})
	e.Routes.SetHealth(engine.HealthOK)
	mover, c := connect(t, e), connect(t, e)
	mover.want("SET k v", "+OK")
	c.send("XREADGROUP GROUP g c BLOCK 0 STREAMS k >")
	mover.want("DEL k", "+OK")
	c.wants("-NOGROUP No such key")
	mover.want("SET k v", "+OK")
	c.send("XREADGROUP GROUP g c BLOCK 0 STREAMS k >")
	flip(engine.Route{State: engine.RouteMine | engine.RouteMigrating, Other: 1})
	c.wantsNothing()
	mover.want("DEL k", "+OK")
	c.wants(fmt.Sprintf("-ASK %d 10.0.0.2:2", slot))
}

func TestBlockedCommandIsCountedOnce(t *testing.T) {
	e := newEngine(t, false)
	pusher, c := connect(t, e), connect(t, e)
	id := e.Table().Find([]byte("blpop")).ID
	counted := func(calls, failed int64) {
		t.Helper()
		if got := e.Calls()[id]; got.Calls != calls || got.Failed != failed {
			t.Errorf("counted %d calls, %d of them failed; want %d, %d", got.Calls, got.Failed, calls, failed)
		}
	}
	c.send("BLPOP k 0")
	counted(0, 0)
	pusher.want("RPUSH k x", ":1")
	c.wants("*2 $1 k $1 x")
	counted(1, 0)
	c.want("BLPOP k 0.001", "*-1")
	counted(2, 0)
	c.send("BLPOP k 0")
	c.s.Unblock(true)
	c.reply()
	counted(3, 1)
}

// TestElementsAreServedOnce has many clients block on keys of several shards while others push, alone and in transactions:
// every element arrives, and only once.
func TestElementsAreServedOnce(t *testing.T) {
	const takers, pushers, perPusher, keys = 12, 6, 400, 8
	e := newEngine(t, false)
	var pushing, taking sync.WaitGroup
	got := make([]atomic.Int32, pushers*perPusher)
	var total atomic.Int32
	stop := make(chan struct{})
	for i := range takers {
		taking.Go(func() { take(t, e, i, keys, got, &total, stop) })
	}
	for p := range pushers {
		pushing.Go(func() { push(t, e, p, perPusher, keys) })
	}
	pushing.Wait()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	for total.Load() < int32(len(got)) {
		select {
		case <-deadline.C:
			t.Fatalf("%d elements of %d arrived", total.Load(), len(got))
		case <-time.After(time.Millisecond):
		}
	}
	close(stop)
	taking.Wait()
	for i := range got {
		if n := got[i].Load(); n != 1 {
			t.Errorf("element %d arrived %d times", i, n)
		}
	}
}

func take(t *testing.T, e *engine.Engine, i, keys int, got []atomic.Int32, total *atomic.Int32, stop chan struct{}) {
	c := connect(t, e)
	defer func() { c.s.Close() }()
	for round := 0; ; round++ {
		a, b := (i+round)%keys, (i*3+round*5)%keys
		switch {
		case i%4 == 3:
			c.send(fmt.Sprintf("BLMOVE k%d k%d LEFT RIGHT 0", a, b))
		case round%7 == 0:
			c.send(fmt.Sprintf("BLPOP k%d k%d 0.001", a, b))
		default:
			var all strings.Builder
			for k := range keys {
				fmt.Fprintf(&all, " k%d", (a+k)%keys)
			}
			c.send("BLPOP" + all.String() + " 0")
		}
		for c.deliver(); c.out.Len() == 0; c.deliver() {
			select {
			case <-c.wake:
			case <-stop:
				return
			}
		}
		line := strings.Fields(c.reply())
		if len(line) == 5 {
			var n int
			if _, err := fmt.Sscan(line[4], &n); err != nil {
				t.Error(err)
			}
			got[n].Add(1)
			total.Add(1)
		}
	}
}

func push(t *testing.T, e *engine.Engine, p, count, keys int) {
	c := connect(t, e)
	for n := 0; n < count; n += 4 {
		id := p*count + n
		c.do(fmt.Sprintf("RPUSH k%d %d %d", id%keys, id, id+1))
		c.do("MULTI")
		c.do(fmt.Sprintf("RPUSH k%d %d", (id+3)%keys, id+2))
		c.do(fmt.Sprintf("RPUSH k%d %d", (id+6)%keys, id+3))
		c.do("EXEC")
	}
	c.s.Close()
}
