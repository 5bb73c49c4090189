package tests

import (
	"strconv"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// wantPush reads the next message of a client that tracks.
func wantPush(t testing.TB, c *testkit.Client, pattern string) {
	t.Helper()
	v, err := c.Read()
	if err != nil {
		t.Fatal(err)
	}
	if p := reply.MustParse(pattern); !p.Matches(v) {
		t.Fatalf("got %v, want %s", v, pattern)
	}
}

func TestTrackedKeysAreInvalidated(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{})
	reader, writer := s.Dial(t), s.Dial(t)
	reader.OK(t, "HELLO", "3")
	reader.Want(t, "+OK", "CLIENT", "TRACKING", "ON")
	for _, change := range [][]string{
		{"SET", "k", "2"}, {"DEL", "k"}, {"PEXPIRE", "k", "1"}, {"RENAME", "k", "other"}, {"EVAL", "return redis.call('SET', KEYS[1], 'x')", "1", "k"},
	} {
		writer.OK(t, "SET", "k", "1")
		reader.Want(t, `"1"`, "GET", "k")
		writer.OK(t, change...)
		wantPush(t, reader, `>["invalidate" ["k"]]`)
	}
	reader.Want(t, "null", "GET", "missing")
	writer.OK(t, "FLUSHALL")
	wantPush(t, reader, `>["invalidate" null]`)
	writer.Want(t, `has("tracking_total_keys:0")`, "INFO", "stats")
}

// TestTrackingTableIsBounded: what does not fit is said to have changed.
func TestTrackingTableIsBounded(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{Conf: []string{"tracking-table-max-keys 10"}})
	reader := s.Dial(t)
	reader.OK(t, "HELLO", "3")
	reader.Want(t, "+OK", "CLIENT", "TRACKING", "ON")
	for i := range 1000 {
		reader.Send("GET", "{same}"+strconv.Itoa(i))
	}
	told := 0
	for replies := 0; replies < 1000; {
		v, err := reader.Read()
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Items) == 2 {
			told++
		} else {
			replies++
		}
	}
	for told < 990 {
		if _, err := reader.Read(); err != nil {
			t.Fatal(err)
		}
		told++
	}
	s.Want(t, `has("tracking_total_keys:10")`, "INFO", "stats")
}

func TestTrackingByPrefixAndRedirection(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{})
	reader, listener, writer := s.Dial(t), s.Dial(t), s.Dial(t)
	id := listener.OK(t, "CLIENT", "ID").Plain()
	listener.Want(t, `["subscribe" "__redis__:invalidate" :1]`, "SUBSCRIBE", "__redis__:invalidate")
	reader.Want(t, "+OK", "CLIENT", "TRACKING", "ON", "REDIRECT", id, "BCAST", "PREFIX", "user:", "PREFIX", "item:", "NOLOOP")
	reader.OK(t, "SET", "user:own", "not told")
	writer.OK(t, "SET", "other", "not told")
	writer.OK(t, "MSET", "user:1", "a", "user:2", "b")
	wantPush(t, listener, `["message" "__redis__:invalidate" ["user:1" "user:2"]]`)
	writer.OK(t, "SET", "item:1", "a")
	wantPush(t, listener, `["message" "__redis__:invalidate" ["item:1"]]`)
	reader.Want(t, "-ERR Prefix 'user:1' overlaps...", "CLIENT", "TRACKING", "ON", "BCAST", "PREFIX", "user:1")
	reader.Want(t, "+OK", "CLIENT", "TRACKING", "OFF")
	writer.Want(t, `has("tracking_clients:0")`, "INFO", "clients")
}
