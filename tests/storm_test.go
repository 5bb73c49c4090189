package tests

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// A storm is a primary under writes of every type, with replicas of both makes, to which everything happens that can: links
// are cut, held and truncated, processes are stopped and killed, the backlog overruns, data is evicted, flushed and swapped.
// When it is over, all have the same data and are at the same offset.

// stormFor is how long a storm lasts.
func stormFor(t testing.TB) time.Duration {
	return time.Duration(intFromEnv(t, "COVEY_STORM", 4)) * time.Second
}

// storm is one run.
type storm struct {
	t        *testing.T
	dice     *rand.Rand
	primary  *testkit.Server
	replicas []*stormReplica
	over     atomic.Bool
	sent     atomic.Int64
	refused  atomic.Int64
}

// stormReplica is a replica and its link.
type stormReplica struct {
	*testkit.Server
	link *proxy
}

func (r *stormReplica) follow() {
	_, _ = r.Try(append([]string{"REPLICAOF"}, r.link.hostPort()...)...) // it may be stopped: it is told again at the end
}

func startStorm(t *testing.T, seed uint64, primaryConf []string, makes ...testkit.Binary) *storm {
	t.Helper()
	s := &storm{t: t, dice: rand.New(rand.NewPCG(seed, 1<<40))}
	conf := []string{debugCommands, "databases 4", "repl-timeout 5", "repl-ping-replica-period 1", "repl-backlog-size 100kb", "replica-serve-stale-data yes"}
	s.primary = testkit.Start(t, testkit.Options{Conf: append(conf, primaryConf...)})
	for _, b := range makes {
		r := &stormReplica{link: newProxy(t, s.primary.Addr())}
		own := append(conf, "replicaof "+strings.Join(r.link.hostPort(), " "))
		r.Server = testkit.Start(t, testkit.Options{Binary: b, Conf: own})
		s.replicas = append(s.replicas, r)
	}
	return s
}

// load lets one client write until the storm is over.
func (s *storm) load(seed uint64, client int) {
	d := newStormDraw(seed, client)
	var c *testkit.Client
	for !s.over.Load() {
		if c == nil {
			var err error
			if c, err = testkit.TryDial(s.primary.Addr()); err != nil {
				<-time.After(10 * time.Millisecond)
				continue
			}
		}
		batch := d.batch()
		if d.IntN(60) == 0 {
			batch = d.big()
		}
		if err := s.exchange(c, batch); err != nil {
			c.Close()
			c = nil
		}
	}
	if c != nil {
		c.Close()
	}
}

// exchange sends commands and reads their replies.
func (s *storm) exchange(c *testkit.Client, batch [][]string) error {
	var all []byte
	for _, words := range batch {
		all = testkit.AppendCommand(all, words...)
	}
	if err := c.SendRaw(all); err != nil {
		return err
	}
	for _, words := range batch {
		v, err := c.Read()
		if err != nil {
			return err
		}
		s.sent.Add(1)
		if v.IsError("") {
			s.refused.Add(1)
			if v.IsError("ERR unknown") || v.IsError("ERR syntax") || v.IsError("ERR wrong number") {
				s.t.Errorf("%.200q: %v", words, v)
			}
		}
	}
	return nil
}

// strike does something bad to one of the nodes.
func (s *storm) strike(killPrimary bool) {
	r := s.replicas[s.dice.IntN(len(s.replicas))]
	pause := time.Duration(s.dice.IntN(400)) * time.Millisecond
	switch n := s.dice.IntN(22); {
	case n < 4:
		r.link.cut()
	case n < 6:
		r.link.hold()
		<-time.After(pause)
		r.link.release()
	case n < 10:
		r.link.truncate(int64(s.dice.IntN(1 << s.dice.IntN(22))))
	case n < 12:
		s.stop(r.Server, pause)
	case n < 13:
		s.stop(s.primary, pause)
	case n < 15:
		r.Kill(s.t)
		r.Restart(s.t)
	case n < 17: // the backlog overruns while nobody listens
		r.link.hold()
		r.link.cut()
		<-time.After(pause)
		r.link.release()
	case n < 18:
		s.tell("FLUSHALL")
	case n < 19:
		s.tell("SWAPDB", "0", strconv.Itoa(s.dice.IntN(3)))
	case n < 20:
		s.tell("CONFIG", "SET", "maxmemory-policy", []string{"allkeys-lru", "volatile-ttl", "allkeys-random"}[s.dice.IntN(3)], "maxmemory", strconv.Itoa((1+s.dice.IntN(8))<<20))
		<-time.After(pause)
		s.tell("CONFIG", "SET", "maxmemory", "0")
	case n < 21:
		_, _ = r.Try("CONFIG", "SET", "repl-diskless-load", []string{"disabled", "on-empty-db", "swapdb"}[s.dice.IntN(3)])
		s.tell("CONFIG", "SET", "repl-diskless-sync", []string{"yes", "no"}[s.dice.IntN(2)])
	case killPrimary:
		s.primary.Kill(s.t)
		s.primary.Restart(s.t)
	default:
		s.tell("CLIENT", "KILL", "TYPE", "replica")
	}
}

func (s *storm) stop(node *testkit.Server, pause time.Duration) {
	node.Signal(s.t, syscall.SIGSTOP)
	<-time.After(pause)
	node.Signal(s.t, syscall.SIGCONT)
}

// tell sends the primary a command, which may be loading its data.
func (s *storm) tell(args ...string) { _, _ = s.primary.Try(args...) }

// rage has everything happen for a while.
func (s *storm) rage(seed uint64, killPrimary bool) {
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() { s.load(seed, i) })
	}
	strikes := 0
	for end := time.Now().Add(stormFor(s.t)); time.Now().Before(end) && !s.t.Failed(); strikes++ {
		s.strike(killPrimary)
		<-time.After(time.Duration(s.dice.IntN(150)) * time.Millisecond)
	}
	s.over.Store(true)
	clients.Wait()
	s.t.Logf("%d strikes, %d commands, %d of them refused", strikes, s.sent.Load(), s.refused.Load())
}

// calm waits until all nodes have the same data and are at the same offset.
func (s *storm) calm() {
	s.t.Helper()
	s.tell("CONFIG", "SET", "maxmemory", "0", "repl-timeout", "60")
	for _, r := range s.replicas {
		r.link.truncate(-1)
		r.link.release()
		r.follow()
	}
	for _, r := range s.replicas {
		testkit.Eventually(s.t, testkit.Patience, func() error { return r.ReplicaLinked(r.link.port()) })
	}
	err := testkit.Poll(testkit.Patience, s.agree)
	for behind := int64(math.MaxInt64); err != nil; err = testkit.Poll(testkit.Patience, s.agree) {
		now := s.behind()
		if now >= behind || now == 0 {
			break // what is left to be done no longer gets less
		}
		behind = now
	}
	if err == nil {
		return
	}
	s.t.Error(err)
	for _, r := range s.replicas {
		s.t.Logf("%s: %s", r, s.differences(r.Server))
	}
	s.t.FailNow()
}

// behind is how much of the log the replicas have still to take: tens of megabytes after a long storm, more than a loaded machine
// does in the time that a test is patient for.
func (s *storm) behind() (bytes int64) {
	_, at, err := stormState(s.primary, "master_repl_offset")
	for _, r := range s.replicas {
		_, now, failed := stormState(r.Server, "slave_repl_offset")
		if err != nil || failed != nil {
			return math.MaxInt64
		}
		bytes += max(at-now, 0)
	}
	return bytes
}

// agree is an error as long as a node has other data than the primary, or is behind.
func (s *storm) agree() error {
	want, at, err := stormState(s.primary, "master_repl_offset")
	if err != nil {
		return err
	}
	for i, r := range s.replicas {
		digest, now, err := stormState(r.Server, "slave_repl_offset")
		if err != nil {
			return err
		}
		if digest != want || now < at {
			return fmt.Errorf("replica %d (%s) has %s and is at %d, the primary %s at %d", i, r, digest, now, want, at)
		}
	}
	return nil
}

// stormState is the sum over the data of a node and its offset.
func stormState(node *testkit.Server, field string) (digest string, at int64, err error) {
	info, err := node.TryInfo("replication")
	if err != nil {
		return "", 0, err
	}
	if at, err = strconv.ParseInt(info[field], 10, 64); err != nil {
		return "", 0, fmt.Errorf("%s: %s is %q", node, field, info[field])
	}
	c, err := testkit.TryDial(node.Addr())
	if err != nil {
		return "", 0, err
	}
	defer c.Close()
	c.Within = testkit.Patience
	v, err := c.Try("DEBUG", "DIGEST")
	if err != nil {
		return "", 0, fmt.Errorf("%s: DEBUG DIGEST: %w", node, err)
	}
	return v.Text, at, nil
}

// differences names some keys that differ.
func (s *storm) differences(r *testkit.Server) string {
	var out []string
	a, b := s.primary.Dial(s.t), r.Dial(s.t)
	defer a.Close()
	defer b.Close()
	a.Within, b.Within = testkit.Patience, testkit.Patience
	for db := range 4 {
		n := strconv.Itoa(db)
		a.OK(s.t, "SELECT", n)
		b.OK(s.t, "SELECT", n)
		names := map[string]bool{}
		for _, c := range []*testkit.Client{a, b} {
			for _, key := range c.OK(s.t, "KEYS", "*").Strings() {
				names[key] = true
			}
		}
		for key := range names {
			x, y := a.OK(s.t, "DEBUG", "DIGEST-VALUE", key), b.OK(s.t, "DEBUG", "DIGEST-VALUE", key)
			if x.String() != y.String() && len(out) < 5 {
				out = append(out, fmt.Sprintf("%s/%s (%v, %v)", n, key, a.OK(s.t, "TYPE", key), b.OK(s.t, "TYPE", key)))
			}
		}
	}
	return strings.Join(out, " ")
}

// TestStorm has a primary with a replica of each make.
func TestStorm(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	s := startStorm(t, seed, nil, testkit.SUT(t), testkit.Redis(t))
	s.rage(seed, false)
	s.calm()
}

// TestStormKillsThePrimary: the primary is killed too, and comes back with what its append-only file has.
func TestStormKillsThePrimary(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	s := startStorm(t, seed, []string{"appendonly yes", "appendfsync everysec", "auto-aof-rewrite-min-size 1mb"}, testkit.SUT(t), testkit.SUT(t))
	s.rage(seed, true)
	s.calm()
}
