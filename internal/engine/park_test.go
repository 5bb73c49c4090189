package engine_test

import (
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// posts is a connection whose work is done by the test.
type posts struct {
	inproc.Nowhere
	work chan func(*engine.Worker)
}

func (p posts) Post(fn func(*engine.Worker)) { p.work <- fn }

// A thread with many clients does not wait for a shard that a long command of a hand has: the session is suspended until the
// shard is given back.
func TestSessionWaitsForATakenShardWithoutItsThread(t *testing.T) {
	begun, end, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	e := inproc.New(t, inproc.Options{Handlers: map[string]engine.Handler{"bitcount": {Run: func(c *engine.Ctx) {
		close(begun)
		<-end
		c.OK()
	}}}})
	hand, loop := e.NewWorker(), e.NewWorker()
	defer hand.Drop()
	defer loop.Drop()
	hand.OwnTime = func() time.Duration { return 0 }
	loop.Shared = true
	long, conn := e.NewSession(inproc.Nowhere{}, engine.Peer{}), posts{work: make(chan func(*engine.Worker), 1)}
	short := e.NewSession(conn, engine.Peer{})
	defer long.Close()
	defer short.Close()
	go func() {
		defer close(ended)
		long.Process(hand, words("BITCOUNT", "k"))
	}()
	<-begun
	set := words("SET", "k", "v")
	if used := short.Process(loop, set); used != 0 || short.Open() {
		t.Fatalf("%d bytes are used, open %v", used, short.Open())
	}
	close(end)
	<-ended
	(<-conn.work)(loop)
	if used := short.Process(loop, set); used != len(set) || !short.Open() {
		t.Fatalf("%d bytes are used in the end, open %v", used, short.Open())
	}
}
