package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// netConn is one connection with its goroutine, which reads. Who has something for the client takes the lock and writes;
// the sink below sees to it that nobody waits for the client then.
type netConn struct {
	g    *Goroutines
	nc   net.Conn // the TLS connection, or the sink itself
	sink *sink
	mail mailbox[delivery]
	dead atomic.Bool // what was written need not arrive any more

	mu      sync.Mutex // the session's thread; guards what follows
	turn    sync.Cond  // input may be wanted again, or the connection is to end
	s       *engine.Session
	in      []byte
	take    func(raw engine.Raw, unread []byte)
	ended   bool
	shownIn atomic.Int32
}

// delivery is what another goroutine has for a connection: work, or without it a message.
type delivery struct {
	work func(*engine.Worker)
	push engine.Push
}

func newNetConn(g *Goroutines, nc net.Conn, config *tls.Config, peer engine.Peer) *netConn {
	c := &netConn{g: g}
	c.turn.L = &c.mu
	c.sink = newSink(nc, c.wake)
	c.nc = c.sink
	if config != nil {
		c.nc = tls.Server(c.sink, config)
	}
	c.mu.Lock() // the session may be looked at as soon as it exists
	defer c.mu.Unlock()
	c.s = g.e.NewSession(c, peer)
	return c
}

// wake has the reader look again.
func (c *netConn) wake() {
	c.mu.Lock()
	c.turn.Broadcast()
	c.mu.Unlock()
}

// handshakeWait bounds how long a client may take to shake hands.
const handshakeWait = 10 * time.Second

// handshake shakes hands over TLS; false when that failed.
func (c *netConn) handshake() bool {
	secure, ok := c.nc.(*tls.Conn)
	if !ok {
		return true
	}
	c.mu.Lock() // nothing is written before
	defer c.mu.Unlock()
	_ = c.sink.SetReadDeadline(time.Now().Add(handshakeWait))
	if err := secure.Handshake(); err != nil {
		if c.g.opts.Debugf != nil {
			c.g.opts.Debugf("Error accepting a client connection: %v (addr=%s laddr=%s)", err, c.s.Peer.Remote, c.s.Peer.Local)
		}
		return false
	}
	_ = c.sink.SetReadDeadline(time.Time{})
	return true
}

const netReadBytes = 16 << 10 // a TLS record holds no more

// serve reads until the connection is to end.
func (c *netConn) serve() {
	buf := make([]byte, netReadBytes)
	for c.awaitTurn() {
		n, err := c.nc.Read(buf)
		if n > 0 && !c.arrived(buf[:n]) {
			return
		}
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) { // that is interrupt's doing
				c.dead.Store(true)
			}
			return
		}
	}
}

// awaitTurn waits until input is wanted; false when the connection is to end. A client that is suspended is still read, up
// to a bound, so that its end is noticed. A stranger that does not read its refusals gets no more of them.
func (c *netConn) awaitTurn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.dead.Load() || c.s.Closing() || c.s.Taken():
			return false
		case c.s.Open():
			if c.s.LoggedIn() || c.sink.Waiting() == 0 {
				return true
			}
		case len(c.in) < aheadBytes:
			return true
		}
		c.turn.Wait()
	}
}

// closeLinger bounds how long a client may take to read what it was sent before its connection ended.
const closeLinger = 10 * time.Second

// finish ends the session, or hands the connection over.
func (c *netConn) finish() {
	c.mu.Lock()
	c.ended = true
	c.mail.shut()
	c.shownIn.Store(0)
	if c.take != nil && c.s.Taken() {
		take, unread := c.take, slices.Clone(c.in)
		c.g.e.Buffers.Free(c.in)
		c.mu.Unlock()
		_ = c.sink.SetDeadline(time.Time{})
		go func() {
			c.sink.wait()
			take(c.nc, unread)
		}()
		return
	}
	c.mu.Unlock()
	if !c.dead.Load() {
		c.sink.flush(closeLinger)
	}
	c.mu.Lock()
	c.s.Close()
	c.g.e.Buffers.Free(c.in)
	c.in = nil
	c.mu.Unlock()
	c.nc.Close()
}

// arrived adds input and executes it; false ends the connection.
func (c *netConn) arrived(b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.g.worker()
	defer c.g.release(w)
	if room := cap(c.in) - len(c.in); room < len(b) {
		want := len(c.in) + max(len(b), c.s.MoreRoom(len(c.in), len(b)))
		c.in = w.Spare.Grow(c.in, want, want)
	}
	c.in = append(c.in, b...)
	if int64(len(c.in)) > c.g.e.Settings.MaxQueryBuffer.Load() {
		c.g.e.Stats.QueryLimit.Add(1)
		c.dead.Store(true)
		return false
	}
	if !c.holds() {
		return false
	}
	w.Counters.NetIn.Add(int64(len(b)))
	w.Counters.Reads.Add(1)
	return c.advance(w)
}

// advance executes the input that is here and sends the replies; the lock is held. false ends the connection.
func (c *netConn) advance(w *engine.Worker) bool {
	for len(c.in) > 0 && c.s.Open() && !c.dead.Load() {
		c.g.e.AwaitThaw()
		var used int
		used, c.in = c.s.ProcessOwn(w, c.in)
		if used > 0 {
			c.in = c.in[:copy(c.in, c.in[used:])]
		}
		if !c.send(w) {
			return false
		}
		if !c.s.More() {
			break
		}
	}
	c.shownIn.Store(int32(min(len(c.in), 1<<31-1)))
	if len(c.in) == 0 {
		w.Spare.Put(c.in)
		c.in = nil
	}
	return c.send(w) && !c.s.Closing() && !c.s.Taken() && c.holds()
}

// holds tells the session what its connection takes; false when that is too much and it has to end.
func (c *netConn) holds() bool {
	h := engine.Holding{Query: len(c.in), Behind: behind(c.s, c.in), QueryFree: cap(c.in) - len(c.in), Output: c.sink.Waiting()}
	if c.s.Hold(h) {
		return true
	}
	c.dead.Store(true)
	return false
}

// send writes what the worker collected, once its effects are as durable as configured; the lock is held. false ends the
// connection at once.
func (c *netConn) send(w *engine.Worker) bool {
	if w.Out.Len() == 0 {
		return true
	}
	defer w.Out.Reset()
	if c.s.OverHard(w.Out.Len() + c.sink.Waiting()) {
		c.s.CountOverOutput()
		c.dead.Store(true)
		return false
	}
	if at := c.s.Written(); c.g.e.Gate.Holds(at) {
		open := make(chan struct{})
		c.g.e.Gate.Wait(at, func() { close(open) })
		select {
		case <-open:
		case <-c.g.quit:
			c.dead.Store(true)
			return false
		}
	}
	for _, p := range w.Out.Pieces(nil) {
		if _, err := c.nc.Write(p); err != nil {
			c.dead.Store(true)
			return false
		}
		w.Counters.NetOut.Add(int64(len(p)))
	}
	w.Counters.Writes.Add(1)
	if n := c.sink.Waiting(); n > 0 && c.s.OverOutput(n) {
		c.s.CountOverOutput()
		c.dead.Store(true)
		return false
	}
	return true
}

// Post implements engine.Conn: the work is done in order by a goroutine that takes the session's lock.
func (c *netConn) Post(fn func(w *engine.Worker)) { c.deliver(delivery{work: fn}) }

// Push implements engine.Pusher.
func (c *netConn) Push(p engine.Push) { c.deliver(delivery{push: p}) }

func (c *netConn) deliver(d delivery) {
	first, ok := c.mail.put(d)
	if ok && first {
		go c.drain()
	}
}

// drain does what was posted and goes on with the input.
func (c *netConn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	w := c.g.worker()
	defer c.g.release(w)
	alive := true
	for _, d := range c.mail.take(nil) {
		if d.work != nil {
			d.work(w)
		} else {
			d.push.AppendTo(&w.Out)
		}
		if w.Out.Len() >= pushBytesMax && !c.send(w) {
			alive = false
			break
		}
	}
	if alive = alive && c.send(w) && c.advance(w); !alive {
		c.interrupt()
	}
	c.turn.Broadcast()
}

// interrupt has the reader leave its read and end the connection; the lock is held.
func (c *netConn) interrupt() { _ = c.sink.SetReadDeadline(time.Now()) }

// CloseSoon implements engine.Conn.
func (c *netConn) CloseSoon(flush bool) {
	go func() { // the caller may be the session's thread, and writing the end of a TLS connection takes locks
		if flush {
			c.sink.flush(closeLinger)
		}
		c.dead.Store(true)
		c.nc.Close()
		c.wake()
	}()
}

// Hijack implements engine.Conn.
func (c *netConn) Hijack(take func(raw engine.Raw, unread []byte)) { c.take = take }

// Buffered implements engine.Conn.
func (c *netConn) Buffered() (query, output int) {
	return int(c.shownIn.Load()), c.sink.Waiting()
}
