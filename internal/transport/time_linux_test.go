package transport

import (
	"testing"
	"time"
)

// TestServingTimeOutlivesItsThreads: what a thread has used stays counted when it is gone.
func TestServingTimeOutlivesItsThreads(t *testing.T) {
	var s serving
	var own time.Duration
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tid := s.begin()
		defer s.end(tid)
		for clockOf(tid, busyClock) < 10*time.Millisecond && threadTime(tid) < time.Minute { // the first clock goes on by ticks
		}
		if own = s.used().all; own < 10*time.Millisecond {
			t.Errorf("%v while it lives", own)
		}
	}()
	<-ended
	if u := s.used(); u.all < own || u.user > u.all || len(s.live) != 0 {
		t.Errorf("%+v, %d threads when it is gone", u, len(s.live))
	}
}
