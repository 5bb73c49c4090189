package tests

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"

	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/testkit"
)

// intFromEnv is a size of a test that the environment can set.
func intFromEnv(t testing.TB, name string, fallback int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	must(t, err)
	return n
}

func loadKeys(t testing.TB) int   { return intFromEnv(t, "COVEY_KEYS", 20_000) }
func loadRounds(t testing.TB) int { return intFromEnv(t, "COVEY_ROUNDS", 1) }

// store is what the load needs of a client library.
type store interface {
	name() string
	set(ctx context.Context, key, value string) error
	get(ctx context.Context, key string) (value string, there bool, err error)
	close()
}

// goRedis is the client library of the go-redis project.
type goRedis struct{ client *redis.ClusterClient }

// silent keeps go-redis from logging every connection that it loses.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func newGoRedis(top *testkit.Topology) store {
	redis.SetLogger(silent{})
	return goRedis{redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: addresses(top), DialTimeout: testkit.Patience, ReadTimeout: testkit.Patience, MaxRedirects: 8,
	})}
}

func (goRedis) name() string { return "go-redis" }

func (s goRedis) set(ctx context.Context, key, value string) error {
	return s.client.Set(ctx, key, value, 0).Err()
}

func (s goRedis) get(ctx context.Context, key string) (string, bool, error) {
	value, err := s.client.Get(ctx, key).Result()
	if err == redis.Nil {
		return "", false, nil
	}
	return value, err == nil, err
}

func (s goRedis) close() { _ = s.client.Close() }

// rueidisStore is the client library rueidis, which pipelines by itself.
type rueidisStore struct{ client rueidis.Client }

func newRueidis(t testing.TB, top *testkit.Topology) store {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addresses(top), DisableCache: true, ConnWriteTimeout: testkit.Patience})
	must(t, err)
	return rueidisStore{client}
}

func (rueidisStore) name() string { return "rueidis" }

func (s rueidisStore) set(ctx context.Context, key, value string) error {
	return s.client.Do(ctx, s.client.B().Set().Key(key).Value(value).Build()).Error()
}

func (s rueidisStore) get(ctx context.Context, key string) (string, bool, error) {
	value, err := s.client.Do(ctx, s.client.B().Get().Key(key).Build()).ToString()
	if rueidis.IsRedisNil(err) {
		return "", false, nil
	}
	return value, err == nil, err
}

func (s rueidisStore) close() { s.client.Close() }

func addresses(top *testkit.Topology) []string {
	var all []string
	for _, node := range top.Nodes {
		all = append(all, node.Addr())
	}
	return all
}

// load writes keys through client libraries and remembers what was acknowledged. A key belongs to one worker, so that its
// versions are written in order, and a worker to one third of the slots, so that a dead primary holds up no worker of
// another.
type load struct {
	stores []store
	keys   []loadKey
	stop   chan struct{}
	wait   sync.WaitGroup
	acked  atomic.Int64

	mu       sync.Mutex // guards failures; a leaf lock
	failures []failure
}

// loadKey is written by its worker only, and read when the workers have ended.
type loadKey struct {
	name      string
	slot      slot.ID
	tried     int       // the last version that was sent
	confirmed int       // the last version that was acknowledged
	at        time.Time // when that was
}

// failure is an error that an application would have seen.
type failure struct {
	slot slot.ID
	at   time.Time
	err  error
}

const (
	shards          = 3
	workersPerShard = 4      // half of them with each store
	failuresKept    = 10_000 // more than enough to see what happened
	pauseAfterError = 20 * time.Millisecond
)

// newLoad makes the stores and writes every key once.
func newLoad(t testing.TB, top *testkit.Topology, keys int) *load {
	t.Helper()
	l := &load{stores: []store{newGoRedis(top), newRueidis(t, top)}, keys: make([]loadKey, keys)}
	t.Cleanup(func() {
		for _, s := range l.stores {
			s.close()
		}
	})
	for i := range l.keys {
		name := "load:" + strconv.Itoa(i)
		l.keys[i] = loadKey{name: name, slot: slot.Of([]byte(name))}
	}
	began := time.Now()
	l.run(1)
	l.wait.Wait()
	t.Logf("%d keys written in %v", keys, time.Since(began).Round(time.Millisecond))
	l.mustNotFail(t)
	return l
}

// start writes the keys again and again in the background.
func (l *load) start() { l.run(1 << 30) }

// end stops the background and waits for the workers.
func (l *load) end() {
	close(l.stop)
	l.wait.Wait()
}

func (l *load) run(passes int) {
	l.stop = make(chan struct{})
	var jobs [shards * workersPerShard][]*loadKey
	for i := range l.keys {
		shard := int(l.keys[i].slot) * shards / slot.Count
		worker := shard*workersPerShard + i%workersPerShard
		jobs[worker] = append(jobs[worker], &l.keys[i])
	}
	for w, keys := range jobs {
		l.wait.Go(func() { l.work(l.stores[w%len(l.stores)], keys, passes) })
	}
}

func (l *load) work(s store, keys []*loadKey, passes int) {
	for range passes {
		for _, k := range keys {
			select {
			case <-l.stop:
				return
			default:
			}
			l.write(s, k)
		}
	}
}

func (l *load) write(s store, k *loadKey) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	k.tried++
	err := s.set(ctx, k.name, strconv.Itoa(k.tried))
	if err == nil {
		k.confirmed, k.at = k.tried, time.Now()
		l.acked.Add(1)
		return
	}
	l.mu.Lock()
	if len(l.failures) < failuresKept {
		l.failures = append(l.failures, failure{k.slot, time.Now(), fmt.Errorf("%s: %w", s.name(), err)})
	}
	l.mu.Unlock()
	testkit.Elapse(pauseAfterError) // a dead node must not be hammered
}

// mustNotFail fails the test if the application saw an error.
func (l *load) mustNotFail(t testing.TB) {
	t.Helper()
	l.mustFailOnlyIn(t, 1, 0)
}

// mustFailOnlyIn fails the test if the application saw an error for a slot outside first to last.
func (l *load) mustFailOnlyIn(t testing.TB, first, last int) {
	t.Helper()
	outside := map[string]int{}
	inside := 0
	for _, f := range l.failures {
		if int(f.slot) < first || int(f.slot) > last {
			outside[f.err.Error()]++
		} else {
			inside++
		}
	}
	for text, n := range outside {
		t.Errorf("%d errors where none should be: %s", n, text)
	}
	t.Logf("%d writes acknowledged, %d errors in the slots concerned", l.acked.Load(), inside)
}

// lostWrite is an acknowledged write that is not there any more.
type lostWrite struct {
	key   loadKey
	index int
	have  string
}

// verify reads all keys. A key may have any version from the one that was acknowledged last to the one that was tried last.
func (l *load) verify(t testing.TB) (lost []lostWrite) {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	const workers = shards * workersPerShard
	for w := range workers {
		wait.Go(func() {
			for i := w; i < len(l.keys); i += workers {
				k := l.keys[i]
				have, err := readKey(l.stores[w%len(l.stores)], k.name)
				version, _ := strconv.Atoi(have)
				switch {
				case err != nil:
					t.Errorf("GET %s: %v", k.name, err)
					return
				case version > k.tried:
					t.Errorf("%s is %q, only %d versions were written", k.name, have, k.tried)
				case version < k.confirmed:
					mu.Lock()
					lost = append(lost, lostWrite{k, i, have})
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return lost
}

func readKey(s store, name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), testkit.Patience)
	defer cancel()
	value, _, err := s.get(ctx, name)
	return value, err
}

// mustKeepAll fails the test if an acknowledged write is lost.
func (l *load) mustKeepAll(t testing.TB) {
	t.Helper()
	if lost := l.verify(t); len(lost) > 0 {
		t.Errorf("%d acknowledged writes are lost, one of them %s: have %q, acknowledged %d", len(lost), lost[0].key.name, lost[0].have, lost[0].key.confirmed)
	}
}

// sameStrings compares the string keys of two nodes, one of which may be a replica.
func sameStrings(t testing.TB, a, b *testkit.Server, names []string) error {
	t.Helper()
	ca, cb := a.Dial(t), b.Dial(t)
	defer ca.Close()
	defer cb.Close()
	ca.OK(t, "READONLY")
	cb.OK(t, "READONLY")
	for chunk := range slices.Chunk(names, 1000) {
		va, err := pipelinedGets(ca, chunk)
		if err != nil {
			return err
		}
		vb, err := pipelinedGets(cb, chunk)
		if err != nil {
			return err
		}
		for i := range chunk {
			if va[i] != vb[i] {
				return fmt.Errorf("%s is %s on %s and %s on %s", chunk[i], va[i], a, vb[i], b)
			}
		}
	}
	return nil
}

func pipelinedGets(c *testkit.Client, names []string) (values []string, err error) {
	var out []byte
	for _, name := range names {
		out = testkit.AppendCommand(out, "GET", name)
	}
	if err := c.SendRaw(out); err != nil {
		return nil, err
	}
	for range names {
		v, err := c.Read()
		if err != nil {
			return nil, err
		}
		values = append(values, v.String())
	}
	return values, nil
}

// namesIn are the keys of the load whose slots lie between first and last.
func (l *load) namesIn(first, last int) (names []string) {
	for _, k := range l.keys {
		if first <= int(k.slot) && int(k.slot) <= last {
			names = append(names, k.name)
		}
	}
	return names
}

// shortList joins texts for a message.
func shortList(texts []string) string { return strings.Join(texts[:min(len(texts), 5)], ", ") }
