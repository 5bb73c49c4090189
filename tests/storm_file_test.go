package tests

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// TestStormOfKills kills a server with an append-only file again and again, at any moment, many of them in a rewrite. With
// appendfsync always everything that was acknowledged is there; with everysec it is the beginning of what each client wrote.
func TestStormOfKills(t *testing.T) {
	t.Parallel()
	for i, policy := range []string{"always", "everysec"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			seed := testkit.Seed(t) + uint64(i)
			dice := rand.New(rand.NewPCG(seed, 1<<40))
			s := &storm{t: t, dice: dice, primary: testkit.Start(t, testkit.Options{Conf: []string{
				"appendonly yes", "appendfsync " + policy, "auto-aof-rewrite-min-size 200kb", "auto-aof-rewrite-percentage 20"}})}
			kills := 0
			for end := time.Now().Add(stormFor(t)); time.Now().Before(end) && !t.Failed(); kills++ {
				s.killOnce(seed+uint64(kills), policy == "always")
			}
			t.Logf("%d kills, %d commands of any type", kills, s.sent.Load())
		})
	}
}

// killOnce lets clients write, kills the server and looks what it has kept.
func (s *storm) killOnce(seed uint64, always bool) {
	s.primary.OK(s.t, "FLUSHALL")
	stop := writeOrdered(s.t, s.primary, 4)
	var others sync.WaitGroup
	s.over.Store(false)
	for i := range 2 {
		others.Go(func() { s.load(seed, i) })
	}
	for range s.dice.IntN(4) {
		<-time.After(time.Duration(s.dice.IntN(200)) * time.Millisecond)
		s.tell("BGREWRITEAOF")
	}
	<-time.After(time.Duration(s.dice.IntN(100)) * time.Millisecond)
	s.primary.Kill(s.t)
	s.over.Store(true)
	acked := stop()
	others.Wait()
	s.primary.Restart(s.t)
	c := s.primary.Dial(s.t)
	defer c.Close()
	for id, n := range acked {
		if there := prefix(s.t, c, id); always && there < n {
			s.t.Errorf("client %d: %d of %d acknowledged writes are there", id, there, n)
		}
	}
}
