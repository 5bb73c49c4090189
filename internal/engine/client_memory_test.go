package engine_test

import (
	"testing"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// holder is a connection of which the test says what it holds; it counts how often it was closed.
type holder struct {
	output int
	closed int
}

func (h *holder) Post(func(w *engine.Worker))                {}
func (h *holder) CloseSoon(bool)                             { h.closed++ }
func (h *holder) Hijack(func(raw engine.Raw, unread []byte)) {}
func (h *holder) Buffered() (query, output int)              { return 0, h.output }

func TestLargestClientsAreEvicted(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	conns := make([]*holder, 4)
	sessions := make([]*engine.Session, len(conns))
	for i := range conns {
		conns[i] = &holder{}
		sessions[i] = e.NewSession(conns[i], engine.Peer{})
		sessions[i].Hold(engine.Holding{Query: (i + 1) * 100000})
	}
	var told []*engine.Session
	e.ClientMemory.Evicted = func(s *engine.Session) { told = append(told, s) }
	sessions[3].SetNoEvict(true)
	e.SetClientLimit(e.ClientMemory.Sum()-1, 0)
	if len(told) != 1 || told[0] != sessions[2] || conns[2].closed != 1 {
		t.Fatalf("%d clients were ended", len(told))
	}
	if e.Clients.Get(sessions[2].ID) != nil || e.Clients.Len() != 3 {
		t.Error("a client that was ended is still listed")
	}
	if sessions[2].Hold(engine.Holding{}) || !sessions[1].Hold(engine.Holding{Query: 200000}) {
		t.Error("the wrong connection is told to close")
	}
	sessions[2].Close()
	e.SetClientLimit(1, 0)
	if e.Stats.EvictedClients.Load() != 3 || e.Clients.Len() != 1 {
		t.Errorf("%d clients were ended, %d are left", e.Stats.EvictedClients.Load(), e.Clients.Len())
	}
	sessions[3].SetNoEvict(false)
	if conns[3].closed != 1 || e.ClientMemory.Sum() != 0 {
		t.Errorf("the last one stays, %d bytes", e.ClientMemory.Sum())
	}
}

func TestShareOfMaxMemoryForClients(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	c := &holder{}
	s := e.NewSession(c, engine.Peer{})
	s.Hold(engine.Holding{Output: 1 << 20, Pieces: 4})
	e.SetClientLimit(0, 10)
	if c.closed != 0 {
		t.Fatal("a share of no limit is a limit")
	}
	e.Settings.MaxMemory().Store(10 << 20)
	e.LookAtClients()
	if c.closed != 1 {
		t.Error("the share of maxmemory is no limit")
	}
}

func TestSoftOutputLimitEndsByTime(t *testing.T) {
	const uncounted = 16 << 10 // bytes that may always wait
	now := clock.NewManual(1000000)
	e := inproc.New(t, inproc.Options{Clock: now})
	e.Settings.OutputLimits[0].SoftBytes.Store(1000)
	e.Settings.OutputLimits[0].SoftSeconds.Store(3)
	c := &holder{output: uncounted + 1}
	e.NewSession(c, engine.Peer{})
	check := func(after time.Duration, closed int) {
		t.Helper()
		now.Advance(after)
		e.CheckOutputs()
		if c.closed != closed {
			t.Fatalf("closed %d times, not %d", c.closed, closed)
		}
	}
	check(0, 0)
	check(2*time.Second, 0)
	c.output = uncounted
	check(2*time.Second, 0) // it is below: the time begins anew
	c.output = uncounted + 1
	check(2*time.Second, 0)
	check(3*time.Second, 0)
	check(time.Second, 1)
	e.Settings.OutputLimits[0].SoftBytes.Store(0)
	e.Settings.OutputLimits[0].HardBytes.Store(uncounted)
	check(0, 2)
}

func TestLargestBuffersAreRemembered(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	s := e.NewSession(&holder{}, engine.Peer{})
	s.Hold(engine.Holding{Query: 5000, Output: 7000})
	s.Hold(engine.Holding{})
	for range 8 {
		if in, out := e.ClientMemory.Recent(); in != 5000 || out != 7000 {
			t.Fatalf("%d and %d bytes are remembered", in, out)
		}
		e.ClientMemory.TickRecent()
	}
	e.ClientMemory.TickRecent()
	if in, out := e.ClientMemory.Recent(); in+out != 0 {
		t.Errorf("%d and %d bytes are never forgotten", in, out)
	}
}

func TestSlotCosts(t *testing.T) {
	e := inproc.New(t, inproc.Options{})
	w := e.NewWorker()
	s := e.NewSession(&holder{}, engine.Peer{})
	call := func(words ...string) (in, out int) {
		var args [][]byte
		for _, word := range words {
			args = append(args, []byte(word))
		}
		line := resp.AppendCommand(nil, args...)
		before := w.Out.Len()
		s.Process(w, line)
		return len(line), w.Out.Len() - before
	}
	of := slot.Of([]byte("k"))
	call("SET", "k", "v")
	if e.SlotStats.Cost(of) != (engine.SlotCost{}) {
		t.Error("something is counted although that is off")
	}
	e.SlotStats.Enable(true)
	in1, out1 := call("SET", "k", "a longer value")
	in2, out2 := call("GET", "k")
	call("PING")
	call("GET", "other")
	cost := e.SlotStats.Cost(of)
	if cost.In != int64(in1+in2) || cost.Out != int64(out1+out2) || cost.Nanos <= 0 {
		t.Errorf("%+v is counted, and %d and %d bytes went in and out", cost, in1+in2, out1+out2)
	}
	e.ResetStats()
	if e.SlotStats.Cost(of) != (engine.SlotCost{}) {
		t.Error("CONFIG RESETSTAT changed nothing")
	}
}
