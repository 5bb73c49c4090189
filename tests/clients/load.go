// Package clients tests a cluster with the clients that users run, under load, while nodes die, roles change and slots move.
package clients

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// store is a client under test.
type store interface {
	set(ctx context.Context, key, value string) error
	get(ctx context.Context, key string) (string, error) // "" when missing
	close()
}

type goRedis struct{ c *redis.ClusterClient }

func newGoRedis(addrs []string) store {
	return goRedis{redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addrs, MaxRedirects: 8, DialTimeout: time.Second, ReadTimeout: time.Second,
		// Without this the client dials a dead node for a minute before it asks who has taken over.
		ClusterStateReloadInterval: 200 * time.Millisecond, DialerRetries: 1,
	})}
}

func (g goRedis) set(ctx context.Context, k, v string) error { return g.c.Set(ctx, k, v, 0).Err() }
func (g goRedis) close()                                     { g.c.Close() }
func (g goRedis) get(ctx context.Context, k string) (string, error) {
	v, err := g.c.Get(ctx, k).Result()
	if err == redis.Nil {
		err = nil
	}
	return v, err
}

type ruEidis struct{ c rueidis.Client }

func newRueidis(addrs []string) (store, error) {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true, ConnWriteTimeout: 2 * time.Second})
	return ruEidis{c}, err
}

func (r ruEidis) set(ctx context.Context, k, v string) error {
	return r.c.Do(ctx, r.c.B().Set().Key(k).Value(v).Build()).Error()
}
func (r ruEidis) close() { r.c.Close() }
func (r ruEidis) get(ctx context.Context, k string) (string, error) {
	v, err := r.c.Do(ctx, r.c.B().Get().Key(k).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		err = nil
	}
	return v, err
}

// fromEnv is a number of the environment, for the long forms of these tests.
func fromEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// writers are goroutines that each own a range of keys and write increasing numbers into them.
type writers struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	s      store
	keys   []string
	acked  []atomic.Int64 // the highest number that was acknowledged, by key
	tried  []atomic.Int64 // the highest number that was sent
	fails  atomic.Int64
	lastOK []atomic.Int64 // when the last write succeeded, by key; Unix nanoseconds
	onFail func(key string, err error)
}

const writerCount = 8

// startWriters begins the load. onFail hears of every error; it may be nil.
func startWriters(s store, keys []string, onFail func(string, error)) *writers {
	w := &writers{s: s, keys: keys, acked: make([]atomic.Int64, len(keys)), tried: make([]atomic.Int64, len(keys)),
		lastOK: make([]atomic.Int64, len(keys)), onFail: onFail}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	for i := range writerCount {
		w.wg.Add(1)
		go func() {
			defer w.wg.Done()
			w.write(i)
		}()
	}
	return w
}

// writeTimeout bounds one write.
const writeTimeout = time.Second

func (w *writers) write(first int) {
	for n := int64(1); w.ctx.Err() == nil; n++ {
		for i := first; i < len(w.keys) && w.ctx.Err() == nil; i += writerCount {
			w.tried[i].Store(n)
			ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
			err := w.s.set(ctx, w.keys[i], strconv.FormatInt(n, 10))
			cancel()
			if err != nil {
				w.fails.Add(1)
				if w.onFail != nil {
					w.onFail(w.keys[i], err)
				}
				continue
			}
			w.acked[i].Store(n)
			w.lastOK[i].Store(time.Now().UnixNano())
		}
	}
}

func (w *writers) stop() {
	w.cancel()
	w.wg.Wait()
}

// total is the number of acknowledged writes.
func (w *writers) total() (n int64) {
	for i := range w.acked {
		n += w.acked[i].Load()
	}
	return n
}

// verify reads every key: wrong counts values that nobody wrote, lost those older than an acknowledged write.
func (w *writers) verify(ctx context.Context) (lost, wrong int, err error) {
	for i, key := range w.keys {
		text, err := w.s.get(ctx, key)
		if err != nil {
			return lost, wrong, fmt.Errorf("GET %s: %w", key, err)
		}
		n, _ := strconv.ParseInt(text, 10, 64)
		switch {
		case n > w.tried[i].Load():
			wrong++
		case n < w.acked[i].Load():
			lost++
		}
	}
	return lost, wrong, nil
}
