package bus

import (
	"runtime"
	"testing"

	"github.com/covey-db/covey/internal/vfs"
)

// The timer of an fsync that was put off may fire when the fsync has been made: nodes.conf is written all the same from then
// on.
func TestDiskOutlivesATimerThatComesTooLate(t *testing.T) {
	d := newDisk(vfs.NewMem(), "nodes.conf")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.run()
	}()
	for range 3 {
		if !d.await(d.put([]byte("x"), true)) {
			t.Fatal("not written")
		}
		for range 20_000 { // at any moment of the wait for the next write
			d.rest()
			runtime.Gosched()
		}
	}
	select {
	case <-ended:
		t.Fatal("nobody writes any more")
	default:
	}
	d.end()
	<-ended
}
