package replication

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// This file is the transport of the session that applies a primary's stream.

// linkMail is what was posted to the session that applies a stream: that it may go on after a pause.
type linkMail struct {
	conn net.Conn
	wake chan struct{}
	mu   struct { // a leaf lock
		sync.Mutex
		work []func(*engine.Worker)
	}
}

// post has the reader of the stream leave its read and do the work.
func (m *linkMail) post(fn func(*engine.Worker)) {
	m.mu.Lock()
	m.mu.work = append(m.mu.work, fn)
	_ = m.conn.SetReadDeadline(time.Unix(1, 0))
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

func (m *linkMail) waits() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.mu.work) > 0
}

// deliver does what was posted.
func (m *linkMail) deliver(w *engine.Worker) {
	m.mu.Lock()
	work := m.mu.work
	m.mu.work = nil
	m.mu.Unlock()
	for _, fn := range work {
		fn(w)
	}
}

// await waits until something is posted or the link is to end.
func (m *linkMail) await(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-m.wake:
	}
}

// linkConn is the transport of the session that applies a stream.
type linkConn struct {
	c    net.Conn
	mail *linkMail
}

func (l linkConn) Post(fn func(*engine.Worker)) { l.mail.post(fn) }

func (l linkConn) CloseSoon(bool) { l.c.Close() }

func (l linkConn) Hijack(func(engine.Raw, []byte)) {}

func (l linkConn) Buffered() (query, output int) { return 0, 0 }
