package transport

import (
	"net"
	"sync"
	"syscall"
	"time"
)

// sink is a connection whose writes do not wait: what the socket does not take at once is kept, and a goroutine sends it.
// A TLS connection lies on top of it, so that a client who reads slowly holds up nobody; who writes looks at Waiting.
type sink struct {
	net.Conn
	raw  syscall.RawConn // nil if the socket cannot be tried
	room func()          // called without locks when everything was sent

	mu      sync.Mutex // guards what follows; a leaf lock
	idle    sync.Cond  // sending has ended
	queue   [][]byte
	waiting int   // bytes in queue and those that are being sent
	sending bool  // a goroutine sends
	direct  bool  // writes wait: the connection has been handed over
	err     error // of the first write that failed
}

func newSink(nc net.Conn, room func()) *sink {
	s := &sink{Conn: nc, room: room}
	s.idle.L = &s.mu
	if sc, ok := nc.(syscall.Conn); ok {
		s.raw, _ = sc.SyscallConn() // nil after an error
	}
	return s
}

// Waiting is the number of bytes that were written and not sent.
func (s *sink) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// Write implements net.Conn.
func (s *sink) Write(b []byte) (int, error) {
	s.mu.Lock()
	switch {
	case s.err != nil:
		defer s.mu.Unlock()
		return 0, s.err
	case s.direct:
		s.mu.Unlock()
		return s.Conn.Write(b)
	}
	defer s.mu.Unlock()
	rest := b
	if s.waiting == 0 {
		n, err := s.try(b)
		if err != nil {
			s.err = err
			return 0, err
		}
		rest = b[n:]
	}
	if len(rest) > 0 {
		s.keepLocked(rest)
	}
	return len(b), nil
}

// try writes what the socket takes at once.
func (s *sink) try(b []byte) (n int, err error) {
	if s.raw == nil {
		return 0, nil
	}
	failed := s.raw.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), b)
		return true
	})
	switch {
	case failed != nil:
		return 0, failed
	case err == syscall.EAGAIN || err == syscall.EINTR:
		return 0, nil
	}
	return max(n, 0), err
}

// sinkPieceBytes is the size up to which small writes are joined.
const sinkPieceBytes = 32 << 10

func (s *sink) keepLocked(b []byte) {
	last := len(s.queue) - 1
	if last >= 0 && len(s.queue[last])+len(b) <= sinkPieceBytes {
		s.queue[last] = append(s.queue[last], b...)
	} else {
		s.queue = append(s.queue, append([]byte(nil), b...))
	}
	s.waiting += len(b)
	if !s.sending {
		s.sending = true
		go s.send()
	}
}

// send sends what is kept until nothing is left.
func (s *sink) send() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 || s.err != nil {
			s.queue, s.sending = nil, false
			if s.err != nil {
				s.waiting = 0
			}
			s.idle.Broadcast()
			s.mu.Unlock()
			s.room()
			return
		}
		piece := s.queue[0]
		s.queue[0] = nil
		s.queue = s.queue[1:]
		s.mu.Unlock()
		_, err := s.Conn.Write(piece)
		s.mu.Lock()
		s.waiting -= len(piece)
		s.err = err
		s.mu.Unlock()
		if err != nil {
			s.Conn.Close() // its reader notices
		}
	}
}

// flush waits until everything was sent, for so long at most; the connection is to be closed then.
func (s *sink) flush(within time.Duration) {
	_ = s.Conn.SetWriteDeadline(time.Now().Add(within))
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.sending {
		s.idle.Wait()
	}
}

// wait makes writes wait from now on, once everything was sent.
func (s *sink) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.sending {
		s.idle.Wait()
	}
	s.direct = true
}
