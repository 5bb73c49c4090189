package clients

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// goRedis is what the steps below need: the client of one node, or of a cluster.
type goRedis struct {
	redis.UniversalClient
	place
}

func testGoRedis(t *testing.T, p place) {
	var c goRedis
	if p.cluster {
		c = goRedis{redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: p.addresses(), TLSConfig: p.tls(t), DialTimeout: stepWithin, ReadTimeout: stepWithin}), p}
	} else {
		c = goRedis{redis.NewClient(&redis.Options{
			Addr: p.addresses()[0], TLSConfig: p.tls(t), DialTimeout: stepWithin, ReadTimeout: stepWithin}), p}
	}
	defer func() { _ = c.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), scriptWithin)
	defer cancel()
	c.types(t, ctx)
	c.pipeline(t, ctx)
	c.multi(t, ctx)
	c.scripts(t, ctx)
	c.pubsub(t, ctx)
	c.blocking(t, ctx)
}

func (c goRedis) types(t *testing.T, ctx context.Context) {
	want[string](t, "OK")(c.Set(ctx, "go:s", "v", time.Hour).Result())
	if left, err := c.TTL(ctx, "go:s").Result(); err != nil || left > time.Hour || left < time.Hour-2*scriptWithin {
		t.Fatalf("TTL: %v %v", left, err)
	}
	want[int64](t, "2")(c.HSet(ctx, "go:h", "a", 1, "b", 2).Result())
	want[map[string]string](t, "map[a:1 b:2]")(c.HGetAll(ctx, "go:h").Result())
	want[int64](t, "2")(c.ZAdd(ctx, "go:z", redis.Z{Score: 1.5, Member: "x"}, redis.Z{Score: 2, Member: "y"}).Result())
	want[[]redis.Z](t, "[{1.5 x} {2 y}]")(c.ZRangeWithScores(ctx, "go:z", 0, -1).Result())
	want[int64](t, "3")(c.SAdd(ctx, "go:set", 1, 2, 3).Result())
	want[[]bool](t, "[true false]")(c.SMIsMember(ctx, "go:set", 1, 9).Result())
	must(t, c.XGroupCreateMkStream(ctx, "go:x", "group", "$").Err())
	want[string](t, "7-1")(c.XAdd(ctx, &redis.XAddArgs{Stream: "go:x", ID: "7-1", Values: []string{"f", "v"}}).Result())
	read := &redis.XReadGroupArgs{Group: "group", Consumer: "me", Streams: []string{"go:x", ">"}, Block: -1}
	streams, err := c.XReadGroup(ctx, read).Result()
	if err != nil || len(streams) != 1 || streams[0].Messages[0].ID != "7-1" {
		t.Fatalf("XREADGROUP: %v %v", streams, err)
	}
	want[int64](t, "1")(c.XAck(ctx, "go:x", "group", "7-1").Result())
	if _, err := c.Get(ctx, "go:none").Result(); !errors.Is(err, redis.Nil) {
		t.Fatalf("GET of nothing: %v", err)
	}
}

func (c goRedis) pipeline(t *testing.T, ctx context.Context) {
	const keys = 200
	pipe := c.Pipeline()
	for i := range keys {
		pipe.Set(ctx, fmt.Sprint("go:p:", i), i, 0)
	}
	_, err := pipe.Exec(ctx)
	must(t, err)
	for i := range keys {
		pipe.Get(ctx, fmt.Sprint("go:p:", i))
	}
	replies, err := pipe.Exec(ctx)
	must(t, err)
	for i, reply := range replies {
		want[string](t, fmt.Sprint(i))(reply.(*redis.StringCmd).Result())
	}
}

func (c goRedis) multi(t *testing.T, ctx context.Context) {
	replies, err := c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Set(ctx, "go:{m}:a", 1, 0)
		pipe.Incr(ctx, "go:{m}:a")
		return nil
	})
	must(t, err)
	want[int64](t, "2")(replies[1].(*redis.IntCmd).Result())
	err = c.Watch(ctx, func(tx *redis.Tx) error {
		must(t, c.Incr(ctx, "go:{m}:a").Err())
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			return pipe.Set(ctx, "go:{m}:a", "mine", 0).Err()
		})
		return err
	}, "go:{m}:a")
	if !errors.Is(err, redis.TxFailedErr) {
		t.Fatalf("a broken WATCH: %v", err)
	}
}

func (c goRedis) scripts(t *testing.T, ctx context.Context) {
	script := redis.NewScript(`return redis.call("INCRBY", KEYS[1], ARGV[1])`)
	want[any](t, "5")(script.Run(ctx, c, []string{"go:l"}, 5).Result())
	want[any](t, "10")(script.Run(ctx, c, []string{"go:l"}, 5).Result())
	for _, node := range c.primaries() {
		node.OK(t, "FUNCTION", "LOAD", "REPLACE", library("golib"))
	}
	want[any](t, "OK")(c.FCall(ctx, "golib_put", []string{"go:f"}, "v").Result())
	want[any](t, "v")(c.FCallRO(ctx, "golib_get", []string{"go:f"}).Result())
	list, err := c.FunctionList(ctx, redis.FunctionListQuery{LibraryNamePattern: "golib", WithCode: true}).Result()
	if err != nil || len(list) != 1 || len(list[0].Functions) != 2 || list[0].Code != library("golib") {
		t.Fatalf("FUNCTION LIST: %v %v", list, err)
	}
}

func (c goRedis) pubsub(t *testing.T, ctx context.Context) {
	sub := c.Subscribe(ctx, "go:ch")
	defer func() { _ = sub.Close() }()
	want[any](t, "subscribe: go:ch")(sub.Receive(ctx))
	must(t, sub.PSubscribe(ctx, "go:p*"))
	want[any](t, "psubscribe: go:p*")(sub.Receive(ctx))
	must(t, c.Publish(ctx, "go:ch", "one").Err())
	want[*redis.Message](t, "Message<go:ch: one>")(sub.ReceiveMessage(ctx))
	must(t, c.Publish(ctx, "go:pat", "two").Err())
	want[*redis.Message](t, "Message<go:pat: two>")(sub.ReceiveMessage(ctx))

	sharded := c.SSubscribe(ctx, "go:sharded")
	defer func() { _ = sharded.Close() }()
	want[any](t, "ssubscribe: go:sharded")(sharded.Receive(ctx))
	want[int64](t, "1")(c.SPublish(ctx, "go:sharded", "three").Result())
	want[*redis.Message](t, "Message<go:sharded: three>")(sharded.ReceiveMessage(ctx))
}

func (c goRedis) blocking(t *testing.T, ctx context.Context) {
	popped := make(chan *redis.StringSliceCmd, 1)
	go func() { popped <- c.BLPop(ctx, stepWithin, "go:{q}:a", "go:{q}:b") }()
	c.awaitBlocked(t)
	want[int64](t, "1")(c.RPush(ctx, "go:{q}:b", "job").Result())
	want[[]string](t, "[go:{q}:b job]")((<-popped).Result())

	moved := make(chan *redis.StringCmd, 1)
	go func() { moved <- c.BLMove(ctx, "go:{q}:a", "go:{q}:c", "LEFT", "RIGHT", stepWithin) }()
	c.awaitBlocked(t)
	want[int64](t, "1")(c.RPush(ctx, "go:{q}:a", "job").Result())
	want[string](t, "job")((<-moved).Result())
	if err := c.Do(ctx, "BZPOPMIN", "go:{q}:z", "0.01").Err(); !errors.Is(err, redis.Nil) {
		t.Fatalf("BZPOPMIN that finds nothing: %v", err)
	}
}
