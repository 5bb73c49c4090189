package command

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/engine"
)

// replica makes a second node that applies what it is given as a primary's stream.
func replica(h *harness) (*harness, *testClient) {
	o := newHarnessWith(h.t, harnessOptions{clock: h.clock})
	link := &testClient{t: h.t, h: o, w: o.w, posted: o.posted}
	link.s = o.e.NewPrimaryLink(link, engine.Peer{}, nil)
	h.t.Cleanup(link.s.Close)
	o.e.Settings.DebugAllowed.Store(engine.AllowAll)
	h.e.Settings.DebugAllowed.Store(engine.AllowAll)
	return o, link
}

// Whatever was done, its effects lead another node to the same data and the same times.
func TestEffectsLeadToTheSameData(t *testing.T) {
	h := newHarness(t)
	copyOf, link := replica(h)
	rapid.Check(t, func(rt *rapid.T) {
		h.args("RESET")
		h.args("FLUSHALL")
		d := &draw{T: rt}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			args := d.command()
			if args[0] == "DUMPRESTORE" {
				args = []string{"RESTORE", d.key(), d.millis(), h.args("DUMP", d.key()).Text, "REPLACE"}
			}
			h.args(args...)
			if rapid.IntRange(0, 9).Draw(rt, "wait") == 0 {
				h.clock.Advance(time.Duration(rapid.IntRange(1, 300000).Draw(rt, "ms")) * time.Millisecond)
			}
		}
		h.args("DISCARD")
		h.args("SELECT", "0")
		h.e.ExpireCycle(h.w)
		link.in = append(link.in, h.stream()...)
		link.run()
		for _, ask := range []string{"DEBUG DIGEST", "PEXPIRETIME a", "PEXPIRETIME b", "PEXPIRETIME c", "PEXPIRETIME {a}1"} {
			if ours, theirs := h.do(ask), copyOf.do(ask); ours.String() != theirs.String() {
				rt.Fatalf("%s: %v, on the replica %v", ask, ours, theirs)
			}
		}
	})
}

// Commands of all kinds at the same time leave whole data and a log that leads to the same.
func TestParallelClients(t *testing.T) {
	h := newHarness(t)
	copyOf, link := replica(h)
	var all sync.WaitGroup
	for worker := range 4 {
		c := h.parallelClient()
		all.Go(func() {
			for i := range 300 {
				k := strconv.Itoa((i*7 + worker) % 20)
				for _, args := range [][]string{
					{"SET", k, strconv.Itoa(i)}, {"RENAME", k, "n" + k}, {"COPY", "n" + k, k, "REPLACE"}, {"MOVE", k, "1"},
					{"EXPIRE", k, "100"}, {"KEYS", "*"}, {"SCAN", "0"}, {"RANDOMKEY"}, {"DBSIZE"}, {"DEL", "n" + k, k},
				} {
					c.args(args...)
				}
				switch i % 100 {
				case 30:
					c.args("FLUSHALL", "SYNC")
				case 60:
					c.args("SWAPDB", "0", "1")
				case 90:
					c.args("FLUSHDB", "ASYNC")
				}
			}
		})
	}
	all.Wait()
	link.in = h.stream()
	link.run()
	if ours, theirs := h.do("DEBUG DIGEST").Text, copyOf.do("DEBUG DIGEST").Text; ours != theirs {
		t.Fatalf("digest %s, of the replica %s", ours, theirs)
	}
}
