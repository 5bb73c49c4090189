package transport

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// A big buffer that has been dropped is collected at once, a small one when the collector sees fit.
func TestBigBuffersAreGivenBack(t *testing.T) {
	var g Loops
	forced := func() uint32 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.NumForcedGC
	}
	before := forced()
	g.outgrown(outgrownMin - 1)
	if g.givesBack.Load() || forced() != before {
		t.Fatal("a small buffer was worth a collection")
	}
	g.outgrown(outgrownMin)
	testkit.Eventually(t, 10*time.Second, func() error {
		if g.givesBack.Load() || forced() == before {
			return errors.New("it is still held")
		}
		return nil
	})
}
