package engine_test

import (
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// TestChangesAreCountedUnderTheLocks: whoever gets the locks that a command gives back early finds all its changes counted,
// and they are counted once.
func TestChangesAreCountedUnderTheLocks(t *testing.T) {
	const changes = 3
	var e *engine.Engine
	flush := func(c *engine.Ctx) {
		c.LockAll()
		c.CountChanges(changes)
		c.PropagateNothing()
		counted := make(chan int64)
		go func() {
			e.LockAll()
			defer e.UnlockAll()
			counted <- e.Stats.Dirty.Load()
		}()
		c.Release()
		if n := <-counted; n != changes {
			t.Errorf("%d changes are counted when the locks are free", n)
		}
		c.OK()
	}
	e = inproc.New(t, inproc.Options{Handlers: map[string]engine.Handler{"flushall": {Run: flush, Scope: engine.ScopeWhole}}})
	w := e.NewWorker()
	s := e.NewSession(&holder{}, engine.Peer{})
	s.Process(w, resp.AppendCommand(nil, []byte("FLUSHALL")))
	if n := e.Stats.Dirty.Load(); n != changes {
		t.Errorf("%d changes are counted at the end", n)
	}
	s.Close()
}
