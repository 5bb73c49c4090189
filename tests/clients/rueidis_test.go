package clients

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/covey-db/covey/internal/testkit"
)

type rueidisSteps struct {
	rueidis.Client
	place
}

func testRueidis(t *testing.T, p place) {
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: p.addresses(), ForceSingleClient: !p.cluster, TLSConfig: p.tls(t), ConnWriteTimeout: stepWithin,
	})
	must(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), scriptWithin)
	defer cancel()
	c := rueidisSteps{client, p}
	c.pipeline(t, ctx)
	c.multi(t, ctx)
	c.scripts(t, ctx)
	c.pubsub(t, ctx)
	c.blocking(t, ctx)
	c.cache(t, ctx)
}

func (c rueidisSteps) pipeline(t *testing.T, ctx context.Context) {
	var sets, gets rueidis.Commands
	for i := range 200 {
		sets = append(sets, c.B().Set().Key(fmt.Sprint("ru:p:", i)).Value(fmt.Sprint(i)).Build())
		gets = append(gets, c.B().Get().Key(fmt.Sprint("ru:p:", i)).Build())
	}
	for _, reply := range c.DoMulti(ctx, sets...) {
		must(t, reply.Error())
	}
	for i, reply := range c.DoMulti(ctx, gets...) {
		want[string](t, fmt.Sprint(i))(reply.ToString())
	}
	keys := []string{"ru:p:1", "ru:p:2", "ru:p:none"}
	values, err := rueidis.MGet(c.Client, ctx, keys)
	must(t, err)
	two, none := values["ru:p:2"], values["ru:p:none"]
	want[string](t, "2")(two.ToString())
	if !none.IsNil() {
		t.Fatalf("MGET over the slots: %s", none.String())
	}
}

func (c rueidisSteps) multi(t *testing.T, ctx context.Context) {
	err := c.Dedicated(func(d rueidis.DedicatedClient) error {
		replies := d.DoMulti(ctx, d.B().Watch().Key("ru:{m}:a").Build(), d.B().Multi().Build(),
			d.B().Set().Key("ru:{m}:a").Value("1").Build(), d.B().Incr().Key("ru:{m}:a").Build(), d.B().Exec().Build())
		list, err := replies[4].ToArray()
		if err != nil {
			return err
		}
		want[int64](t, "2")(list[1].AsInt64())
		must(t, d.Do(ctx, d.B().Watch().Key("ru:{m}:a").Build()).Error())
		must(t, c.Do(ctx, c.B().Incr().Key("ru:{m}:a").Build()).Error())
		broken := d.DoMulti(ctx, d.B().Multi().Build(), d.B().Set().Key("ru:{m}:a").Value("mine").Build(), d.B().Exec().Build())
		if !rueidis.IsRedisNil(broken[2].Error()) {
			t.Fatalf("a broken WATCH: %v", broken[2])
		}
		return nil
	})
	must(t, err)
}

func (c rueidisSteps) scripts(t *testing.T, ctx context.Context) {
	script := rueidis.NewLuaScript(`return redis.call("INCRBY", KEYS[1], ARGV[1])`)
	want[int64](t, "5")(script.Exec(ctx, c, []string{"ru:l"}, []string{"5"}).AsInt64())
	want[int64](t, "10")(script.Exec(ctx, c, []string{"ru:l"}, []string{"5"}).AsInt64())
	for _, node := range c.primaries() {
		node.OK(t, "FUNCTION", "LOAD", "REPLACE", library("rulib"))
	}
	want[string](t, "OK")(c.Do(ctx, c.B().Fcall().Function("rulib_put").Numkeys(1).Key("ru:f").Arg("v").Build()).ToString())
	want[string](t, "v")(c.Do(ctx, c.B().FcallRo().Function("rulib_get").Numkeys(1).Key("ru:f").Build()).ToString())
}

// receive runs a subscription, publishes until a message arrives, and ends the subscription.
func (c rueidisSteps) receive(t *testing.T, ctx context.Context, subscribe, publish rueidis.Completed) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	got, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- c.Receive(ctx, subscribe, func(m rueidis.PubSubMessage) {
			select {
			case got <- m.Channel + " " + m.Message:
			default:
			}
		})
	}()
	publish = publish.Pin()
	testkit.Eventually(t, stepWithin, func() error {
		must(t, c.Do(ctx, publish).Error())
		select {
		case text := <-got:
			want[string](t, publish.Commands()[1]+" hello")(text, nil)
			return nil
		default:
			return fmt.Errorf("no message")
		}
	})
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Fatalf("the subscription ended with %v", err)
	}
}

func (c rueidisSteps) pubsub(t *testing.T, ctx context.Context) {
	publish := func(channel string) rueidis.Completed {
		return c.B().Publish().Channel(channel).Message("hello").Build()
	}
	c.receive(t, ctx, c.B().Subscribe().Channel("ru:ch").Build(), publish("ru:ch"))
	c.receive(t, ctx, c.B().Psubscribe().Pattern("ru:p*").Build(), publish("ru:pat"))
	c.receive(t, ctx, c.B().Ssubscribe().Channel("ru:sharded").Build(),
		c.B().Spublish().Channel("ru:sharded").Message("hello").Build())
}

func (c rueidisSteps) blocking(t *testing.T, ctx context.Context) {
	popped := make(chan rueidis.RedisResult, 1)
	blpop := c.B().Blpop().Key("ru:{q}:a", "ru:{q}:b").Timeout(stepWithin.Seconds()).Build()
	go func() { popped <- c.Do(ctx, blpop) }()
	c.awaitBlocked(t)
	must(t, c.Do(ctx, c.B().Rpush().Key("ru:{q}:b").Element("job").Build()).Error())
	want[[]string](t, "[ru:{q}:b job]")((<-popped).AsStrSlice())
}

// cache reads through the client-side cache: the second read is a hit, and a write elsewhere makes it forget.
func (c rueidisSteps) cache(t *testing.T, ctx context.Context) {
	other := c.primaries()[0]
	for _, node := range c.primaries() { // the owner of the key answers, the others redirect
		if node.Do(t, "SET", "ru:c", "old").Text == "OK" {
			other = node
		}
	}
	get := func() rueidis.RedisResult {
		return c.DoCache(ctx, c.B().Get().Key("ru:c").Cache(), time.Minute)
	}
	want[string](t, "old")(get().ToString())
	again := get()
	want[string](t, "old")(again.ToString())
	if !again.IsCacheHit() {
		t.Fatal("the second read did not come from the cache")
	}
	other.Want(t, "+OK", "SET", "ru:c", "new")
	testkit.Eventually(t, stepWithin, func() error {
		if text, err := get().ToString(); err != nil || text != "new" {
			return fmt.Errorf("got %q %v", text, err)
		}
		return nil
	})
}
