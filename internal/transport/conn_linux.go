package transport

import (
	"iter"
	"math"
	"net"
	"os"
	"slices"
	"sync/atomic"

	"github.com/covey-db/covey/internal/engine"
	"golang.org/x/sys/unix"
)

// This file is a connection from its arrival to its end or hand-over; input_linux.go and output_linux.go are what it does between.

// conn is one connection of a loop. The runner in charge of the loop owns it, except while it is away: then the thread that
// executes its long command does.
type conn struct {
	l  *loop
	fd int
	s  *engine.Session

	in      []byte // input that was read but not used
	out     []piece
	outLen  int
	outSkip int // bytes of out[0] that were sent

	events    uint32    // what the poll set reports
	ring      ringState // what the ring has under way
	queued    bool      // in loop.again
	gated     bool      // replies wait for the gate
	away      bool      // a deposed runner or a hand has it
	pushed    bool      // in loop.pushed
	tail      bool      // the last piece of out is a buffer of its own, which may grow
	unwatched bool      // its descriptor was taken off the poll set
	halfOpen  bool      // the client sends no more: what it sent is still executed and answered
	closed    bool
	leaving   bool // closed for the loop, and on its way to who hijacked it
	endSoon   bool // it was to be closed meanwhile
	take      func(raw engine.Raw, unread []byte)
	raw       net.Conn               // after the hand-over
	later     []func(*engine.Worker) // posted while it was away

	shownIn, shownOut atomic.Int32 // for Buffered
}

// connTable holds the connections of a loop by descriptor.
type connTable []*conn

func (t connTable) at(fd int) *conn {
	if fd >= len(t) {
		return nil
	}
	return t[fd]
}

func (t *connTable) set(fd int, c *conn) {
	if fd >= len(*t) {
		*t = append(*t, make([]*conn, fd+1-len(*t)+len(*t)/2)...)
	}
	(*t)[fd] = c
}

func (t connTable) all() iter.Seq[*conn] {
	return func(yield func(*conn) bool) {
		for _, c := range t {
			if c != nil && !yield(c) {
				return
			}
		}
	}
}

// add takes an accepted connection into the loop.
func (r *runner) add(c *conn) {
	if c.closed { // killed before it arrived
		return
	}
	if err := r.gear.watch(c); err != nil || r.l.closing {
		r.close(c)
		return
	}
	r.l.conns.set(c.fd, c)
}

// goOn has the input that is here executed in the next round.
func (r *runner) goOn(c *conn) {
	r.settle(c)
	if !c.closed && !c.away && !c.queued && len(c.in) > 0 && c.s.Open() {
		c.queued = true
		r.l.again = append(r.l.again, c)
	}
}

// holds tells the session what its connection takes; false when it took too much and was closed.
func (r *runner) holds(c *conn) bool {
	h := engine.Holding{Query: len(c.in), Behind: behind(c.s, c.in), QueryFree: cap(c.in) - len(c.in), Output: c.outLen, Pieces: len(c.out)}
	if c.closed || c.s.Hold(h) {
		return !c.closed
	}
	r.close(c)
	return false
}

// settle decides what comes next for a connection after its turn.
func (r *runner) settle(c *conn) bool {
	if !c.s.Taken() && !r.holds(c) {
		return true
	}
	switch {
	case c.closed:
		return true
	case c.s.Taken():
		r.handOver(c)
		return true
	case c.s.Closing():
		if c.unsent() == 0 {
			r.close(c)
		}
	case c.outLen > 0 && !c.s.LoggedIn():
		// A stranger that does not read its refusals gets no more of them.
	case c.s.Long() && c.s.Open() && !c.gated:
		r.sendAway(c)
		return true
	case len(c.in) > 0 && c.s.Open() && !c.gated && c.s.More():
		if !c.queued {
			c.queued = true
			r.l.again = append(r.l.again, c)
		}
	case c.halfOpen && c.unsent() == 0:
		r.close(c)
	}
	r.gear.rearm(c)
	return true
}

// close ends a connection. The session hears it first; the descriptor is closed last, so that no late write can reach a
// stranger who got the same number.
func (r *runner) close(c *conn) {
	if c.closed {
		return
	}
	c.closed = true
	c.s.Close()
	r.l.conns.set(c.fd, nil)
	r.gear.leave(c)
	r.w.Spare.Put(c.in)
	for _, p := range c.out {
		if p.own {
			r.w.Spare.Put(p.bytes)
		}
	}
	c.in, c.out, c.outLen, c.later = nil, nil, 0, nil
	unix.Close(c.fd)
}

// bringBack gives the connection of a long command back to its loop, which is not this runner's, or not any more.
func (r *runner) bringBack(c *conn) {
	r.lost = true
	r.l.group.away.Add(-1)
	r.w.TellLog()
	pieces := r.w.Out.Take()
	if !r.l.post(letter{loop: func(in *runner) { in.takeBack(c, pieces) }}) {
		for _, p := range append(pieces, c.in) {
			r.w.Spare.Put(p)
		}
		c.s.Close()
		unix.Close(c.fd)
	}
}

// takeBack goes on with a connection that was away; pieces is what its command replied.
func (r *runner) takeBack(c *conn, pieces [][]byte) {
	c.away = false
	for _, p := range pieces {
		c.pushOwn(p)
	}
	if c.s.OverHard(c.outLen) {
		c.s.CountOverOutput()
		r.close(c)
		return
	}
	r.gear.back(r, c)
	if at := c.s.Written(); c.outLen > 0 && r.l.e.Gate.Holds(at) {
		r.gate(c, at)
	}
	if !r.flush(c) || !r.checkLimit(c) {
		return
	}
	front := make([]letter, 0, len(c.later)+len(r.l.letters))
	for _, work := range c.later {
		front = append(front, letter{c: c, work: work})
	}
	c.later = nil
	r.l.letters = append(front, r.l.letters...) // they are older than what is still to be read
	r.goOn(c)
}

// handOver takes the connection off the loop, to give it to whoever hijacked it.
func (r *runner) handOver(c *conn) {
	r.l.conns.set(c.fd, nil)
	c.closed, c.leaving = true, true
	if r.gear.release(c) {
		r.giveAway(c)
	}
}

// giveAway gives the connection to whoever hijacked it; nothing reads it any more.
func (r *runner) giveAway(c *conn) {
	c.leaving = false
	c.shownIn.Store(0)
	c.shownOut.Store(0)
	out, skip, take, buffers := c.out, c.outSkip, c.take, &r.l.e.Buffers
	unread := slices.Concat(c.in, c.ring.ahead)
	buffers.Free(c.in)
	file := os.NewFile(uintptr(c.fd), "client")
	raw, err := net.FileConn(file)
	file.Close()
	if err != nil {
		c.s.Close()
		return
	}
	c.raw = raw
	if c.endSoon {
		raw.Close()
	}
	go func() {
		for _, p := range out {
			_, _ = raw.Write(p.bytes[skip:]) // after an error the reader of raw finds the same one
			skip = 0
			buffers.Free(p.bytes)
		}
		take(raw, unread)
	}()
}

// Post implements engine.Conn.
func (c *conn) Post(fn func(w *engine.Worker)) { c.l.post(letter{c: c, work: fn}) }

// CloseSoon implements engine.Conn.
func (c *conn) CloseSoon(flush bool) {
	c.l.post(letter{loop: func(r *runner) {
		switch {
		case c.raw != nil:
			c.raw.Close() // whoever hijacked it finds out
		case c.leaving:
			c.endSoon = true
		case c.closed:
		case c.away:
			c.later = append(c.later, func(*engine.Worker) { c.CloseSoon(flush) })
		default:
			if flush && !r.flushUpTo(c, math.MaxInt) {
				return
			}
			r.close(c)
		}
	}})
}

// Hijack implements engine.Conn.
func (c *conn) Hijack(take func(raw engine.Raw, unread []byte)) { c.take = take }

// Buffered implements engine.Conn.
func (c *conn) Buffered() (query, output int) {
	return int(c.shownIn.Load()), int(c.shownOut.Load())
}
