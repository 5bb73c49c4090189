package tests

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// writeOrdered lets clients write numbered keys until stop is called, which returns how many of each client were acknowledged.
func writeOrdered(t *testing.T, s *testkit.Server, clients int) (stop func() []int) {
	var stops []func() (int, error)
	for id := range clients {
		c := s.Dial(t)
		stops = append(stops, writing(func(n int) error {
			v, err := c.Try("SET", fmt.Sprintf("{%d}:%d", id, n), strconv.Itoa(n))
			if err == nil && v.String() != "+OK" {
				err = fmt.Errorf("%v", v)
			}
			return err
		}))
	}
	return func() (acked []int) {
		for _, end := range stops {
			n, _ := end() // the connection broke when the server was killed
			acked = append(acked, n)
		}
		return acked
	}
}

// TestKilledUnderLoad kills the process while clients write. With appendfsync always everything that was acknowledged is
// there; with the other policies what is there is the beginning of what every client wrote, in order.
func TestKilledUnderLoad(t *testing.T) {
	for _, policy := range []string{"always", "everysec", "no"} {
		t.Run(policy, func(t *testing.T) {
			s := testkit.Start(t, testkit.Options{Conf: []string{"appendonly yes", "appendfsync " + policy, "auto-aof-rewrite-percentage 0"}})
			for round := range 3 {
				s.OK(t, "FLUSHALL")
				before := s.InfoInt(t, "aof_current_size")
				stop := writeOrdered(t, s, 8)
				testkit.Eventually(t, testkit.Patience, func() error {
					if n := s.InfoInt(t, "aof_current_size"); n < before+20_000 {
						return fmt.Errorf("the file has %d bytes", n)
					}
					return nil
				})
				if round == 2 {
					s.OK(t, "BGREWRITEAOF")
				}
				s.Kill(t)
				acked := stop()
				s.Restart(t)
				c := s.Dial(t)
				for id, n := range acked {
					there := prefix(t, c, id)
					if policy == "always" && there < n {
						t.Errorf("client %d: %d of %d acknowledged writes are there", id, there, n)
					}
				}
			}
		})
	}
}

// prefix is how many of the numbered keys of a client are there from the first on; a key behind the first gap ends the test.
func prefix(t *testing.T, c *testkit.Client, id int) int {
	keys := c.OK(t, "KEYS", fmt.Sprintf("{%d}:*", id)).Strings()
	n := 0
	for ; ; n++ {
		if got := c.OK(t, "EXISTS", fmt.Sprintf("{%d}:%d", id, n)).String(); got == ":0" {
			break
		}
	}
	if n != len(keys) {
		t.Errorf("client %d: %d keys, but only %d from the first on", id, len(keys), n)
	}
	return n
}

// TestFilesOfBothKinds exchanges sets with redis-server: each loads what the other has written, as RDB and as commands.
func TestFilesOfBothKinds(t *testing.T) {
	redis, covey := testkit.Redis(t), testkit.Covey(t)
	for _, way := range []struct{ from, to testkit.Binary }{{redis, covey}, {covey, redis}} {
		for _, preamble := range []string{"yes", "no"} {
			t.Run(way.from.Name+" "+preamble, func(t *testing.T) {
				conf := []string{"appendonly yes", "appendfsync always", "aof-use-rdb-preamble " + preamble, "aof-timestamp-enabled yes"}
				s := testkit.Start(t, testkit.Options{Binary: way.from, Conf: conf})
				c := s.Dial(t)
				fillAllTypes(t, c, "")
				c.OK(t, "BGREWRITEAOF")
				eventuallyReply(t, testkit.Patience, s, `has("aof_rewrite_in_progress:0" "aof_rewrite_scheduled:0")`, "INFO", "persistence")
				fillAllTypes(t, c, "more ")
				c.OK(t, "SELECT", "3")
				c.OK(t, "SET", "other database", "v")
				c.OK(t, "SELECT", "0")
				for _, prefix := range []string{"", "more "} { // Redis 7.0 shows 0.1 with more digits
					c.OK(t, "ZADD", prefix+"zset", "0.5", binaryText)
				}
				want := contents(t, c)
				s.Kill(t)
				next := testkit.Start(t, testkit.Options{Binary: way.to, Conf: conf, Dir: s.Dir})
				must(t, same(contents(t, next.Dial(t)), want))
				next.OK(t, "BGREWRITEAOF")
				eventuallyReply(t, testkit.Patience, next, `has("aof_rewrite_in_progress:0" "aof_rewrite_scheduled:0")`, "INFO", "persistence")
				next.OK(t, "SET", "and", "on")
				want = contents(t, next.Dial(t))
				next.Kill(t)
				last := testkit.Start(t, testkit.Options{Binary: way.from, Conf: conf, Dir: s.Dir})
				must(t, same(contents(t, last.Dial(t)), want))
			})
		}
	}
}

// TestReplicaKeepsItsOwnFile: a replica writes what it receives, also after another full synchronisation, and WAITAOF tells
// when that is on disk.
func TestReplicaKeepsItsOwnFile(t *testing.T) {
	conf := []string{"appendonly yes", "appendfsync always", "enable-debug-command yes"}
	primary := testkit.Start(t, testkit.Options{Conf: conf})
	replica := testkit.Start(t, testkit.Options{Conf: append(conf, "replicaof 127.0.0.1 "+strconv.Itoa(primary.Port))})
	c := primary.Dial(t)
	for round := range 3 {
		fillAllTypes(t, c, fmt.Sprint(round))
		c.OK(t, "PUBLISH", "channel", "message")
		c.Want(t, "[:1 :1]", "WAITAOF", "1", "1", "20000")
		want := c.OK(t, "DEBUG", "DIGEST").String()
		replica.Kill(t)
		alone := testkit.Start(t, testkit.Options{Conf: conf, Dir: replica.Dir})
		if got := alone.OK(t, "DEBUG", "DIGEST").String(); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
		alone.OK(t, "SET", "of its own", "1")
		alone.Kill(t)
		replica.WriteConf(t) // the other server had one of its own there
		replica.Restart(t)
	}
}

// TestCheckCommand mends a cut file through the link that scripts know.
func TestCheckCommand(t *testing.T) {
	s := testkit.Start(t, withAOF(record("SET", "a", "1")))
	s.OK(t, "SET", "b", "2")
	s.Kill(t)
	s.WriteFile(t, aofDir+incrName(1), s.ReadFile(t, aofDir+incrName(1))+"*3\r\n$3\r\nSE")
	link := filepath.Join(t.TempDir(), "redis-check-aof")
	must(t, exec.Command("ln", "-s", testkit.Covey(t).Path, link).Run())
	check := func(in string, args ...string) (string, error) {
		cmd := exec.Command(link, append(args, s.Path(manifest))...)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := check(""); err == nil || !strings.Contains(out, "is not valid") || !strings.Contains(out, "diff=10") {
		t.Fatal(out, err)
	}
	if out, err := check("n\n", "--fix"); err == nil || !strings.Contains(out, "Aborting") {
		t.Fatal(out, err)
	}
	if out, err := check("y\n", "--fix"); err != nil || !strings.Contains(out, "Successfully truncated AOF") {
		t.Fatal(out, err)
	}
	if out, err := check(""); err != nil || !strings.Contains(out, "All AOF files and manifest are valid") {
		t.Fatal(out, err)
	}
	s.Restart(t)
	s.Want(t, `["1" "2"]`, "MGET", "a", "b")
}
