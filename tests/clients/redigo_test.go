package clients

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/testkit"
)

// redigo knows no clusters: it is given the node that owns the slot of its keys, all of which have one tag.
const redigoTag = "{redigo}:"

type redigoSteps struct {
	place
	pool  *redis.Pool
	owner *testkit.Server
}

func testRedigo(t *testing.T, p place) {
	owner := p.primaries()[0]
	for i, node := range p.primaries() {
		if first, last := testkit.SlotShare(i, len(p.primaries())); p.cluster {
			if s := int(slot.Of([]byte(redigoTag))); first <= s && s <= last {
				owner = node
			}
		}
	}
	options := []redis.DialOption{redis.DialUseTLS(p.authority != nil), redis.DialTLSConfig(p.tls(t))}
	pool := &redis.Pool{Dial: func() (redis.Conn, error) { return redis.Dial("tcp", owner.Addr(), options...) }, MaxIdle: 2}
	defer func() { _ = pool.Close() }()
	s := redigoSteps{p, pool, owner}
	s.pipeline(t)
	s.multi(t)
	s.scripts(t)
	s.pubsub(t)
	s.blocking(t)
	if p.cluster {
		s.redirected(t)
	}
}

// conn is a connection of the pool until the test ends.
func (s redigoSteps) conn(t *testing.T) redis.Conn {
	t.Helper()
	c := s.pool.Get()
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s redigoSteps) pipeline(t *testing.T) {
	const keys = 200
	c := s.conn(t)
	for i := range keys {
		must(t, c.Send("SET", fmt.Sprint(redigoTag, i), i))
		must(t, c.Send("GET", fmt.Sprint(redigoTag, i)))
	}
	must(t, c.Flush())
	for i := range keys {
		want[string](t, "OK")(redis.String(c.Receive()))
		want[int](t, fmt.Sprint(i))(redis.Int(c.Receive()))
	}
	want[any](t, "OK")(c.Do("HMSET", redigoTag+"h", "a", 1, "b", 2))
	want[map[string]int](t, "map[a:1 b:2]")(redis.IntMap(c.Do("HGETALL", redigoTag+"h")))
}

func (s redigoSteps) multi(t *testing.T) {
	c, other := s.conn(t), s.conn(t)
	must(t, c.Send("MULTI"))
	must(t, c.Send("SET", redigoTag+"m", 1))
	must(t, c.Send("INCR", redigoTag+"m"))
	want[[]any](t, "[OK 2]")(redis.Values(c.Do("EXEC")))
	want[any](t, "OK")(c.Do("WATCH", redigoTag+"m"))
	want[any](t, "3")(other.Do("INCR", redigoTag+"m"))
	must(t, c.Send("MULTI"))
	must(t, c.Send("SET", redigoTag+"m", "mine"))
	want[any](t, "<nil>")(c.Do("EXEC"))
}

func (s redigoSteps) scripts(t *testing.T) {
	c := s.conn(t)
	script := redis.NewScript(1, `return redis.call("INCRBY", KEYS[1], ARGV[1])`)
	want[any](t, "5")(script.Do(c, redigoTag+"l", 5))
	want[any](t, "10")(script.Do(c, redigoTag+"l", 5))
	want[string](t, "digolib")(redis.String(c.Do("FUNCTION", "LOAD", "REPLACE", library("digolib"))))
	want[any](t, "OK")(c.Do("FCALL", "digolib_put", 1, redigoTag+"f", "v"))
	want[string](t, "v")(redis.String(c.Do("FCALL_RO", "digolib_get", 1, redigoTag+"f")))
}

func (s redigoSteps) pubsub(t *testing.T) {
	sub := redis.PubSubConn{Conn: s.conn(t)}
	must(t, sub.Subscribe("rg:ch"))
	must(t, sub.PSubscribe("rg:p*"))
	receive := func() (any, error) {
		v := sub.ReceiveWithTimeout(stepWithin)
		err, _ := v.(error)
		return v, err
	}
	want[any](t, "{subscribe rg:ch 1}")(receive())
	want[any](t, "{psubscribe rg:p* 2}")(receive())
	publisher := s.conn(t)
	want[any](t, "1")(publisher.Do("PUBLISH", "rg:ch", "one"))
	want[any](t, fmt.Sprint(redis.Message{Channel: "rg:ch", Data: []byte("one")}))(receive())
	want[any](t, "1")(publisher.Do("PUBLISH", "rg:pat", "two"))
	want[any](t, fmt.Sprint(redis.Message{Channel: "rg:pat", Pattern: "rg:p*", Data: []byte("two")}))(receive())
	must(t, sub.Ping("alive"))
	want[any](t, "{alive}")(receive())
	must(t, sub.Unsubscribe())
	want[any](t, "{unsubscribe rg:ch 1}")(receive())
}

func (s redigoSteps) blocking(t *testing.T) {
	type result struct {
		list []string
		err  error
	}
	popped := make(chan result, 1)
	waiting := s.conn(t)
	go func() {
		list, err := redis.Strings(waiting.Do("BLPOP", redigoTag+"a", redigoTag+"b", stepWithin.Seconds()))
		popped <- result{list, err}
	}()
	s.awaitBlocked(t)
	want[any](t, "1")(s.conn(t).Do("RPUSH", redigoTag+"b", "job"))
	got := <-popped
	want[[]string](t, "["+redigoTag+"b job]")(got.list, got.err)
}

// redirected asks the owner for a key that is elsewhere.
func (s redigoSteps) redirected(t *testing.T) {
	c := s.conn(t)
	for i := range 100 {
		var refused redis.Error
		if _, err := c.Do("GET", fmt.Sprint("elsewhere:", i)); errors.As(err, &refused) && refused[:6] == "MOVED " {
			return
		}
	}
	t.Fatal("no key of a hundred was redirected")
}
