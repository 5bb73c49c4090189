package transport

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// serving is the threads that serve clients: those of runners and of hands.
type serving struct {
	mu    sync.Mutex // a leaf: guards what follows
	live  map[int]struct{}
	ended usage // of threads that are gone
}

// usage is processor time in user mode and in all.
type usage struct{ user, all time.Duration }

// begin binds the goroutine to its thread, whose number it returns, and counts that until end.
func (s *serving) begin() (tid int) {
	runtime.LockOSThread()
	tid = unix.Gettid()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = make(map[int]struct{})
	}
	s.live[tid] = struct{}{}
	return tid
}

// end is called on a thread that begin has counted.
func (s *serving) end(tid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, tid)
	s.ended.add(tid)
}

// used is what the threads have used, with those that are gone.
func (s *serving) used() usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := s.ended
	for tid := range s.live {
		sum.add(tid)
	}
	return sum
}

func (u *usage) add(tid int) {
	u.user += clockOf(tid, userClock)
	u.all += clockOf(tid, busyClock)
}

// ServingTime is the processor time of the threads that serve clients, in user mode and in the kernel's.
func (g *Loops) ServingTime() (user, system time.Duration) {
	u := g.serving.used()
	return u.user, u.all - u.user
}
