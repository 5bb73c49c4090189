package transport

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// Goroutines serves connections with one goroutine each: TLS, and systems without an event loop of ours. The session's
// thread is whoever holds the connection's lock.
type Goroutines struct {
	e    *engine.Engine
	opts Options
	wg   sync.WaitGroup
	quit chan struct{} // closed by Close
	mu   struct {      // a leaf lock
		sync.Mutex
		open   map[*netConn]struct{}
		idle   []*engine.Worker // not in use
		closed bool
	}
}

// NewGoroutines makes an empty set.
func NewGoroutines(e *engine.Engine, opts Options) *Goroutines {
	g := &Goroutines{e: e, opts: opts, quit: make(chan struct{})}
	g.mu.open = make(map[*netConn]struct{})
	return g
}

// idleWorkersMax is how many workers are kept for the next work; each has a buffer of 64 KB.
const idleWorkersMax = 16

func (g *Goroutines) worker() *engine.Worker {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := len(g.mu.idle) - 1
	if last < 0 {
		return g.e.NewWorker()
	}
	w := g.mu.idle[last]
	g.mu.idle = g.mu.idle[:last]
	return w
}

func (g *Goroutines) release(w *engine.Worker) {
	w.Spare.Drop()
	g.mu.Lock()
	keep := len(g.mu.idle) < idleWorkersMax && !g.mu.closed
	if keep {
		g.mu.idle = append(g.mu.idle, w)
	}
	g.mu.Unlock()
	if !keep {
		w.Drop()
	}
}

// Serve accepts connections until the listener is closed. config is asked for each of them; nil makes plain ones.
func (g *Goroutines) Serve(l net.Listener, config func() *tls.Config) error {
	for {
		nc, err := l.Accept()
		switch {
		case err == nil:
			var c *tls.Config
			if config != nil {
				c = config()
			}
			g.Handle(nc, c)
		case errors.Is(err, net.ErrClosed):
			return nil
		default:
			g.opts.Logf("Accepting client connection: %v", err)
			select {
			case <-g.quit:
				return nil
			case <-time.After(acceptRetry):
			}
		}
	}
}

// Handle serves a connection, over TLS if there is a configuration, and returns at once. The session exists before the
// handshake, so that maxclients counts it and CLIENT KILL and timeout end it.
func (g *Goroutines) Handle(nc net.Conn, config *tls.Config) {
	keepAlive(nc, g.opts.KeepAlive)
	peer := peerOf(nc.RemoteAddr(), nc.LocalAddr(), descriptor(nc))
	peer.TLS = config != nil
	if text := refusal(g.e, peer); text != "" {
		if config == nil {
			_, _ = nc.Write([]byte(text))
		}
		nc.Close()
		return
	}
	c := newNetConn(g, nc, config, peer)
	if !g.enter(c) {
		c.s.Close()
		nc.Close()
		return
	}
	go func() {
		defer g.leave(c)
		if c.handshake() {
			c.serve()
		}
		c.finish()
	}()
}

// descriptor is the number of a connection's descriptor, -1 if it has none.
func descriptor(nc net.Conn) int {
	fd := -1
	if sc, ok := nc.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			_ = raw.Control(func(p uintptr) { fd = int(p) })
		}
	}
	return fd
}

func (g *Goroutines) enter(c *netConn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.closed {
		return false
	}
	g.mu.open[c] = struct{}{}
	g.wg.Add(1)
	return true
}

func (g *Goroutines) leave(c *netConn) {
	g.mu.Lock()
	delete(g.mu.open, c)
	g.mu.Unlock()
	g.wg.Done()
}

// Close ends all connections and waits for their goroutines.
func (g *Goroutines) Close() {
	g.mu.Lock()
	if !g.mu.closed {
		g.mu.closed = true
		close(g.quit)
	}
	open := make([]*netConn, 0, len(g.mu.open))
	for c := range g.mu.open {
		open = append(open, c)
	}
	idle := g.mu.idle
	g.mu.idle = nil
	g.mu.Unlock()
	for _, c := range open {
		c.CloseSoon(false)
	}
	for _, w := range idle {
		w.Drop()
	}
	g.wg.Wait()
}
