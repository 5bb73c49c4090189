package transport

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// Goroutines serves connections with one goroutine each: TLS, and systems without an event loop of ours. The session's
// thread is whoever holds the connection's lock.
type Goroutines struct {
	e       *engine.Engine
	workers sync.Pool
	wg      sync.WaitGroup
	mu      struct {
		sync.Mutex
		open   map[*netConn]struct{}
		closed bool
	}
}

// NewGoroutines makes an empty set.
func NewGoroutines(e *engine.Engine) *Goroutines {
	g := &Goroutines{e: e}
	g.workers.New = func() any { return e.NewWorker() }
	g.mu.open = make(map[*netConn]struct{})
	return g
}

// netConn is one connection with its goroutine.
type netConn struct {
	g    *Goroutines
	nc   net.Conn
	mail mailbox[func(*engine.Worker)]

	mu      sync.Mutex // the session's thread; guards what follows
	s       *engine.Session
	in      []byte
	take    func(raw engine.Raw, unread []byte)
	ended   bool
	shownIn atomic.Int32

	pushes struct { // messages of subscriptions that wait for the client to read; a leaf lock
		sync.Mutex
		bytes     int
		softSince time.Time
	}
}

// Handle serves a connection until it ends.
func (g *Goroutines) Handle(nc net.Conn, tls bool) {
	peer := peerOf(nc.RemoteAddr(), nc.LocalAddr(), -1)
	peer.TLS = tls
	if text := refusal(g.e, peer); text != "" {
		_, _ = nc.Write([]byte(text))
		nc.Close()
		return
	}
	c := &netConn{g: g, nc: nc}
	if !g.enter(c) {
		nc.Close()
		return
	}
	defer g.leave(c)
	c.s = g.e.NewSession(c, peer)
	c.serve()
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
	g.mu.closed = true
	for c := range g.mu.open {
		c.nc.Close()
	}
	g.mu.Unlock()
	g.wg.Wait()
}

const goroutineReadBytes = 16 << 10

// serve reads until the connection ends. While the session is suspended it goes on reading, up to the query-buffer limit,
// so that the client's end is noticed.
func (c *netConn) serve() {
	buf := make([]byte, goroutineReadBytes)
	for {
		n, err := c.nc.Read(buf)
		if err != nil || !c.arrived(buf[:n]) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	c.mail.shut()
	if c.take != nil && c.s.Taken() {
		_ = c.nc.SetDeadline(time.Time{})
		go c.take(c.nc, c.in)
		return
	}
	c.s.Close()
	c.nc.Close()
}

// arrived adds input and executes it; false ends the connection.
func (c *netConn) arrived(b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.in = append(c.in, b...)
	if int64(len(c.in)) > c.g.e.Settings.MaxQueryBuffer.Load() {
		c.g.e.Stats.QueryLimit.Add(1)
		return false
	}
	w := c.g.workers.Get().(*engine.Worker)
	defer c.g.workers.Put(w)
	w.Counters.NetIn.Add(int64(len(b)))
	w.Counters.Reads.Add(1)
	return c.advance(w)
}

// advance executes the input that is here and sends the replies; the lock is held. false ends the connection.
func (c *netConn) advance(w *engine.Worker) bool {
	for len(c.in) > 0 && c.s.Open() {
		used := c.s.Process(w, c.in)
		c.in = c.in[:copy(c.in, c.in[used:])]
		if !c.send(w) || !c.s.More() {
			break
		}
	}
	c.shownIn.Store(int32(min(len(c.in), 1<<31-1)))
	if len(c.in) == 0 {
		c.in = nil
	}
	return c.send(w) && !c.s.Closing() && !c.s.Taken()
}

// send writes what the worker collected, once its effects are as durable as configured.
func (c *netConn) send(w *engine.Worker) bool {
	if w.Out.Len() == 0 {
		return true
	}
	if at := c.s.Written(); c.g.e.Gate.Holds(at) {
		open := make(chan struct{})
		c.g.e.Gate.Wait(at, func() { close(open) })
		<-open
	}
	_ = c.nc.SetWriteDeadline(time.Now().Add(goroutineWriteWait))
	for _, p := range w.Out.Pieces(nil) {
		if _, err := c.nc.Write(p); err != nil {
			w.Out.Reset()
			return false
		}
		w.Counters.NetOut.Add(int64(len(p)))
	}
	w.Counters.Writes.Add(1)
	w.Out.Reset()
	return true
}

// goroutineWriteWait bounds how long a client may not read before it is cut off.
const goroutineWriteWait = 60 * time.Second

// Post implements engine.Conn: the work is done in order by a goroutine that takes the session's lock.
func (c *netConn) Post(fn func(w *engine.Worker)) {
	first, ok := c.mail.put(fn)
	if ok && first {
		go c.drain()
	}
}

// Push implements engine.Pusher. A subscriber that does not read is ended by its output limit.
func (c *netConn) Push(p engine.Push) {
	n := p.Len()
	c.pushes.Lock()
	c.pushes.bytes += n
	over := overOutput(c.g.e, outputClass(c.s.Flags()), c.pushes.bytes, &c.pushes.softSince)
	c.pushes.Unlock()
	if over {
		c.g.e.Stats.OutputLimit.Add(1)
		c.nc.Close()
		return
	}
	c.Post(func(w *engine.Worker) {
		c.pushes.Lock()
		c.pushes.bytes -= n
		c.pushes.Unlock()
		p.AppendTo(&w.Out)
	})
}

func (c *netConn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	w := c.g.workers.Get().(*engine.Worker)
	defer c.g.workers.Put(w)
	for _, fn := range c.mail.take(nil) {
		fn(w)
	}
	switch {
	case c.send(w) && c.advance(w):
	case c.s.Taken():
		_ = c.nc.SetReadDeadline(time.Now()) // serve leaves its read and hands over
	default:
		c.nc.Close()
	}
}

// CloseSoon implements engine.Conn.
func (c *netConn) CloseSoon(bool) { c.nc.Close() }

// Hijack implements engine.Conn.
func (c *netConn) Hijack(take func(raw engine.Raw, unread []byte)) { c.take = take }

// Buffered implements engine.Conn.
func (c *netConn) Buffered() (query, output int) {
	c.pushes.Lock()
	defer c.pushes.Unlock()
	return int(c.shownIn.Load()), c.pushes.bytes
}
