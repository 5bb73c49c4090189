package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

func TestCase_c117_ExclusiveBoundWithEqualScores(t *testing.T) {
	own(t, "c117", func(t testing.TB) {
		c := testkit.Start(t, testkit.Options{}).Dial(t)
		for i := range 300 {
			c.Want(t, ":1", "ZADD", "z", "5", fmt.Sprint("m", i))
		}
		c.Want(t, ":0", "ZCOUNT", "z", "(5", "+inf")
		c.Want(t, ":0", "ZREMRANGEBYSCORE", "z", "(5", "+inf")
		c.Want(t, ":300", "ZCARD", "z")
	})
}

func TestCase_c127c_HugeCountOfAClientThatLeaves(t *testing.T) {
	own(t, "c127c", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		other := s.Dial(t)
		other.Want(t, ":3", "SADD", "s", "a", "b", "c")
		leaver := s.Dial(t)
		must(t, leaver.Send("SRANDMEMBER", "s", "-100000000"))
		leaver.Close()
		other.Want(t, "+PONG", "PING")
		if rss := s.RSS(t); rss > 500<<20 {
			t.Errorf("%d MB resident", rss>>20)
		}
		t.Logf("%d MB resident", s.RSS(t)>>20)
	})
}

func TestCase_c151_EvictionWithHighestTenacity(t *testing.T) {
	own(t, "c151", func(t testing.TB) {
		const keys = 20_000
		s := testkit.Start(t, testkit.Options{})
		c := s.Dial(t)
		value := strings.Repeat("x", 1024)
		fill := func(prefix string) {
			for i := range keys {
				c.Want(t, "+OK", "SET", prefix+strconv.Itoa(i), value)
			}
		}
		fill("a")
		limit := s.InfoInt(t, "used_memory") / 2
		c.Want(t, "+OK", "CONFIG", "SET", "maxmemory-policy", "allkeys-random", "lazyfree-lazy-eviction", "yes",
			"maxmemory-eviction-tenacity", "100")
		c.Want(t, "+OK", "CONFIG", "SET", "maxmemory", strconv.FormatInt(limit, 10))
		fill("b")
		testkit.Eventually(t, testkit.Patience, func() error {
			if used := s.InfoInt(t, "used_memory"); used > limit+limit/50 {
				return fmt.Errorf("%d bytes used, the limit is %d", used, limit)
			}
			return nil
		})
	})
}
