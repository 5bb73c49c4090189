package tests

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestCase_c175_UnauthenticatedClientThatNeverReads(t *testing.T) {
	own(t, "c175", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Password: testkit.AuthPassword})
		before := s.RSS(t)
		c := testkit.Dial(t, s.Addr())
		c.Within = 100 * time.Millisecond
		block := bytes.Repeat(testkit.AppendCommand(nil, "GET", "x"), 4000)
		for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); {
			if err := c.SendRaw(block); err != nil {
				if closed := clientGone(s, c); closed == nil {
					return
				}
			}
		}
		if grown := s.RSS(t) - before; grown > 64<<20 {
			t.Errorf("still connected, and resident memory grew by %d MB", grown>>20)
		}
		s.Want(t, "+PONG", "PING")
	})
}

func TestCase_c188_PatternsAreNotExponential(t *testing.T) {
	own(t, "c188", func(t testing.TB) {
		c := testkit.Start(t, testkit.Options{}).Dial(t)
		c.Want(t, "+OK", "SET", strings.Repeat("a", 60), "v")
		pattern := strings.Repeat("a*", 20) + "b"
		c.Want(t, "[]", "KEYS", pattern)
		c.Want(t, `["0" []]`, "SCAN", "0", "MATCH", pattern)
	})
}

func TestCase_c190_LCSOfHugeStrings(t *testing.T) {
	own(t, "c190", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		c := s.Dial(t)
		c.Want(t, "+OK", "SET", "a", strings.Repeat("abcdefgh", 1<<17))
		c.Want(t, "+OK", "SET", "b", strings.Repeat("stuvwxyz", 1<<17))
		before, most := s.RSS(t), int64(0)
		must(t, c.Send("LCS", "a", "b", "IDX"))
		answer := make(chan error, 1)
		go func() {
			_, err := c.Read()
			answer <- err
		}()
		for {
			most = max(most, s.RSS(t)-before)
			select {
			case err := <-answer:
				if err != nil {
					t.Errorf("no answer: %v", err)
				}
				if most >= 600<<20 {
					t.Errorf("resident memory grew by %d MB", most>>20)
				}
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
}

func TestCase_c195_MoreClientsThanAllowed(t *testing.T) {
	own(t, "c195", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"maxclients 20"}})
		var served, refused int
		var open []*testkit.Client
		for range 60 {
			c := testkit.Dial(t, s.Addr())
			open = append(open, c)
			v, err := c.Try("PING")
			switch {
			case err == nil && v.String() == "+PONG":
				served++
			case err == nil && v.IsError("ERR max number of clients reached"):
				refused++
				must(t, c.Closed(testkit.Patience))
			default: // the refusal may be lost when the server closes before it has read the PING
				refused++
			}
		}
		if served > 20 || served < 15 || served+refused != 60 {
			t.Errorf("%d served, %d refused", served, refused)
		}
		for _, c := range open {
			c.Close()
		}
		eventuallyReply(t, testkit.Patience, s, "+PONG", "PING")
	})
}

func TestCase_c193_ClientsKilledWhileUnblocked(t *testing.T) {
	own(t, "c193", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		admin := s.Dial(t)
		killBlocked(t, s, admin, []string{"BLPOP", "q", "0"}, func(i int) []string { return []string{"RPUSH", "q", strconv.Itoa(i)} })
		admin.Want(t, ":30", "LLEN", "q")
		killBlocked(t, s, admin, []string{"XREAD", "BLOCK", "0", "STREAMS", "x", "$"}, func(int) []string { return []string{"XADD", "x", "*", "f", "v"} })
		admin.Want(t, ":30", "XLEN", "x")
		killBlocked(t, s, admin, []string{"WAIT", "1", "0"}, func(i int) []string { return []string{"SET", "k", strconv.Itoa(i)} })
		admin.Want(t, `"29"`, "GET", "k")
	})
}

// killBlocked blocks 30 clients and lets one transaction kill all of them and do what would wake them.
func killBlocked(t testing.TB, s *testkit.Server, admin *testkit.Client, block []string, wake func(i int) []string) {
	t.Helper()
	const clients = 30
	ids := make([]string, clients)
	for i := range ids {
		c := s.Dial(t)
		ids[i] = c.OK(t, "CLIENT", "ID").Plain()
		if block[0] == "WAIT" {
			c.Want(t, "+OK", "SET", "k", "before")
		}
		must(t, c.Send(block...))
	}
	testkit.Eventually(t, testkit.Patience, func() error {
		if blocked := s.Info(t, "clients")["blocked_clients"]; blocked != strconv.Itoa(clients) {
			return fmt.Errorf("%s clients are blocked", blocked)
		}
		return nil
	})
	admin.Want(t, "+OK", "MULTI")
	for i, id := range ids {
		admin.Want(t, "+QUEUED", "CLIENT", "KILL", "ID", id)
		admin.Want(t, "+QUEUED", wake(i)...)
	}
	if v := admin.Do(t, "EXEC"); v.Kind != reply.Array || len(v.Items) != 2*clients {
		t.Fatalf("EXEC: %v", v)
	}
	testkit.Eventually(t, testkit.Patience, func() error {
		if blocked := s.Info(t, "clients")["blocked_clients"]; blocked != "0" {
			return fmt.Errorf("%s clients are still blocked", blocked)
		}
		return nil
	})
}
