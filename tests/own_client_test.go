package tests

import (
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

func TestCase_e166_SlowReaderIsCut(t *testing.T) {
	own(t, "e166", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		s.Want(t, "+OK", "CONFIG", "SET", "client-output-buffer-limit", "normal 2mb 0 0")
		s.Want(t, "+OK", "SET", "k", strings.Repeat("x", 1<<20))
		slow, other := s.Dial(t), s.Dial(t)
		for range 20 {
			must(t, slow.Send("GET", "k"))
		}
		other.Want(t, "+PONG", "PING")
		testkit.Eventually(t, testkit.Patience, func() error { return clientGone(s, slow) })
		other.Want(t, "+PONG", "PING")
	})
}

// clientGone returns nil once CLIENT LIST does not show the connection any more.
func clientGone(s *testkit.Server, c *testkit.Client) error {
	v, err := s.Try("CLIENT", "LIST")
	if err == nil && strings.Contains(v.Plain(), " addr="+c.LocalAddr()+" ") {
		err = errStillThere
	}
	return err
}
