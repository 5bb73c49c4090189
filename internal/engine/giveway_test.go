package engine

import (
	"runtime"
	"testing"
	"time"
)

// TestGiveWay: work in slices waits for a command that wants the same shard, but not for ever.
func TestGiveWay(t *testing.T) {
	e := &Engine{}
	s := e.Lock(0)
	served := make(chan struct{})
	go func() {
		e.lockSet(1)
		e.unlockSet(1)
		close(served)
	}()
	for s.waiting.Load() == 0 {
		runtime.Gosched()
	}
	began := time.Now()
	e.GiveWay(0)
	if took := time.Since(began); took < giveWayMost {
		t.Errorf("it waited for %v, and the command still has to", took)
	}
	s.Unlock()
	for s.waiting.Load() > 0 {
		e.GiveWay(0)
	}
	<-served
	s = e.Lock(0)
	defer s.Unlock()
	e.GiveWay(0) // nobody waits
	if n := s.waiting.Load(); n != 0 {
		t.Errorf("%d commands wait, it says", n)
	}
}
