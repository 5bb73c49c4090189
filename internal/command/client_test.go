package command

import (
	"strings"
	"testing"
)

// CLIENT REPLY SKIP is for the one command behind it, whatever that is.
func TestReplySkip(t *testing.T) {
	h := newHarness(t)
	c := h.client()
	for _, step := range []struct{ sent, want string }{
		{"CLIENT REPLY SKIP|SUBSCRIBE a|PING", "*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*2\r\n$4\r\npong\r\n$0\r\n\r\n"},
		{"RESET|CLIENT REPLY SKIP|CLIENT REPLY SKIP|PING|PING", "+RESET\r\n+PONG\r\n"},
		{"MULTI|CLIENT REPLY SKIP|PING|EXEC|PING|PING", "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n+PONG\r\n+PONG\r\n"},
		{"CLIENT REPLY OFF|CLIENT REPLY SKIP|PING|PING|CLIENT REPLY ON", "+OK\r\n"},
		// In a transaction each reply is kept back or not; the reply of EXEC may be short of some.
		{"MULTI|PING|CLIENT REPLY OFF|PING|EXEC|PING|CLIENT REPLY ON", "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+PONG\r\n+OK\r\n"},
		{"CLIENT REPLY OFF|MULTI|PING|CLIENT REPLY ON|PING|EXEC|PING", "+OK\r\n+PONG\r\n+PONG\r\n"},
		{"CLIENT REPLY OFF|MULTI|NOSUCH|EXEC|CLIENT REPLY ON", "+OK\r\n"},
		{"CLIENT REPLY OFF|MULTI|PING|SUBSCRIBE a|EXEC|UNSUBSCRIBE a|CLIENT REPLY ON",
			"*3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n*3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n+OK\r\n"},
	} {
		for _, line := range strings.Split(step.sent, "|") {
			c.send(strings.Fields(line)...)
		}
		if got := c.out.String(); got != step.want {
			t.Errorf("%s: got %q, want %q", step.sent, got, step.want)
		}
		c.out.Reset()
	}
}

// TestAClientThatEndsItself gets nothing behind the reply to that.
func TestAClientThatEndsItself(t *testing.T) {
	h := newHarness(t)
	c := h.client()
	for _, line := range []string{"MULTI", "PING", "CLIENT KILL TYPE normal SKIPME no", "SET k v", "EXEC"} {
		c.send(strings.Fields(line)...)
	}
	if got, want := c.out.String(), "+OK\r\n+QUEUED\r\n+QUEUED\r\n+QUEUED\r\n*3\r\n+PONG\r\n:2\r\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.s.Open() {
		t.Error("it is still open")
	}
}

// TestAMessageToOneselfArrives although the transaction that publishes it ends the subscription.
func TestAMessageToOneselfArrives(t *testing.T) {
	h := newHarness(t)
	c := h.client()
	for _, line := range []string{"MULTI", "SUBSCRIBE a", "PUBLISH a hi", "UNSUBSCRIBE a", "EXEC"} {
		c.send(strings.Fields(line)...)
	}
	if got, want := c.out.String(), "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want %q at the end", got, want)
	}
}

// A flush is told once to each client that tracks, not once for each database.
func TestFlushIsToldOnce(t *testing.T) {
	h := newHarness(t)
	c := h.client()
	for _, flush := range []string{"FLUSHALL", "FLUSHDB"} {
		for _, line := range []string{"HELLO 3", "CLIENT TRACKING ON", "GET k"} {
			c.do(line)
		}
		h.want("SET other v", "+OK")
		h.want(flush, "+OK")
		for len(c.posted) > 0 {
			(<-c.posted)(c.w)
			c.collect()
		}
		if got, want := c.out.String(), ">2\r\n$10\r\ninvalidate\r\n_\r\n"; got != want {
			t.Errorf("%s: got %q, want %q", flush, got, want)
		}
		c.out.Reset()
	}
}

func TestQueueNeedsMemory(t *testing.T) {
	h := newHarness(t)
	h.e.Settings.MaxMemory().Store(1)
	h.script(`
		GET k -> nil
		MULTI -> +OK
		GET k -> -OOM command not allowed when used memory > 'maxmemory'.
		DISCARD -> +OK
	`)
}

func TestTimeoutTooFar(t *testing.T) {
	h := newHarness(t)
	h.want("BLPOP l 1e400", "-ERR timeout is out of range")
	h.want("BLPOP l x", "-ERR timeout is not a float or out of range")
}
