package sim

import (
	"os"
	"testing"
	"time"
)

func TestBoot(t *testing.T) {
	for _, conf := range []bool{false, true} {
		start := time.Now()
		w := newWorld(1, os.Stdout)
		w.trace.level = 1
		if err := w.boot(shape{primaries: 3, replicas: 1, timeout: 2 * second, conf: conf}); err != nil {
			t.Fatal(err)
		}
		t.Log(w.clock(), time.Since(start))
		start = time.Now()
		w.trace.say(w, "kill 1")
		w.nodes[0].stop(false)
		if err := w.settle(20 * second); err != nil {
			t.Fatal(err)
		}
		t.Log(w.clock(), time.Since(start))
		w.nodes[0].start()
		if err := w.settle(20 * second); err != nil {
			t.Fatal(err)
		}
		if err := w.runFor(60 * second); err != nil {
			t.Fatal(err)
		}
		t.Log(w.clock(), time.Since(start))
	}
}
