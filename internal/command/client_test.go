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
