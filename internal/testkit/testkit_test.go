package testkit

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestTopologies starts every topology with the real server: what these helpers promise must hold for it.
func TestTopologies(t *testing.T) {
	t.Setenv("SUT", Need(t, "redis-server"))
	for _, name := range []string{"single", "auth", "R2", "C1", "C3", "C3+2", "C6"} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			top := StartTopology(t, name)
			t.Logf("started in %v", time.Since(began).Round(time.Millisecond))
			top.Nodes[0].Dial(t).Want(t, "+PONG", "PING")
			if err := top.Reset(); err != nil {
				t.Error(err)
			}
			if got := top.Expand("<p0>"); strings.Contains(got, "<") {
				t.Errorf("not expanded: %s", got)
			}
		})
	}
}

func TestServerLife(t *testing.T) {
	s := Start(t, Options{Binary: Redis(t), Conf: []string{"appendonly yes"}})
	c := s.Dial(t)
	c.Want(t, "+OK", "SET", "k", "v")
	if s.RSS(t) == 0 {
		t.Log("no resident memory on this system")
	}
	s.Kill(t)
	if err := c.Closed(Patience); err != nil {
		t.Error(err)
	}
	s.Restart(t)
	s.Want(t, `"v"`, "GET", "k")
	s.Pause(t)
	if err := s.Dial(t).Quiet(50 * time.Millisecond); err != nil {
		t.Error(err)
	}
	s.Resume(t)
	if status := s.Stop(t); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

func TestClientEdges(t *testing.T) {
	s := Start(t, Options{Binary: Redis(t)})
	c := s.Dial(t)
	if err := c.Quiet(10 * time.Millisecond); err != nil {
		t.Error(err)
	}
	if err := c.Send("PING"); err != nil {
		t.Fatal(err)
	}
	if err := c.Quiet(Patience); err == nil {
		t.Error("a reply was overlooked")
	}
	c.Want(t, "+PONG", "PING")
	if err := c.Closed(10 * time.Millisecond); err == nil {
		t.Error("open, but called closed")
	}
	c.Want(t, "+OK", "QUIT")
	if err := c.Closed(Patience); err != nil {
		t.Error(err)
	}
}

func TestPoll(t *testing.T) {
	tries := 0
	if err := Poll(Patience, func() error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	}); err != nil || tries != 3 {
		t.Errorf("%d tries: %v", tries, err)
	}
	if err := Poll(time.Millisecond, func() error { return errors.New("never") }); err == nil {
		t.Error("a check that never holds was taken for good")
	}
}
