package transport

import (
	"slices"
	"syscall"

	"github.com/covey-db/covey/internal/engine"
)

// This file is what goes to a client: it is sent, or kept while the socket is full or the gate is closed.

// piece is a part of a connection's output.
type piece struct {
	bytes []byte
	own   bool // nobody else has it: when it was sent it is used again
}

// writable goes on with a connection whose output has room again; false when the runner lost the loop.
func (r *runner) writable(c *conn) bool {
	if !r.flush(c) {
		return true
	}
	return c.outLen > 0 || r.advance(c)
}

// unsent is how many bytes of output the kernel has not taken for sure.
func (c *conn) unsent() int { return c.outLen + c.ring.sending }

// wantsRoom says whether output waits for room in the socket.
func (c *conn) wantsRoom() bool { return c.outLen > 0 && !c.gated }

// collect sends what the worker's Out holds, or keeps what the socket does not take; false when the connection ended.
func (r *runner) collect(c *conn) bool {
	o := &r.w.Out
	if o.Len() == 0 {
		return !c.closed
	}
	if c.closed {
		o.Reset()
		return false
	}
	e := r.l.e
	if c.s.OverHard(o.Len() + c.outLen) {
		o.Reset()
		c.s.CountOverOutput()
		r.close(c)
		return false
	}
	if at := c.s.Written(); e.Gate.Holds(at) {
		r.gate(c, at)
	}
	if one, single := o.Single(); single && c.unsent() == 0 && !c.gated {
		sent := r.gear.reply(r, c, one)
		if sent < 0 {
			o.Reset()
			return false
		}
		if sent < len(one) {
			c.push(append([]byte(nil), one[sent:]...))
		}
		o.Reset()
		return r.checkLimit(c)
	}
	for _, p := range o.Take() {
		c.pushOwn(p)
	}
	return r.flush(c) && r.checkLimit(c)
}

// gate keeps the replies of a connection until the log is durable up to at.
func (r *runner) gate(c *conn, at engine.Offset) {
	c.gated = true
	r.l.e.Gate.Wait(at, func() { c.l.post(letter{loop: func(r *runner) { r.ungate(c) }}) })
}

// ungate sends what waited, unless the client has written more that is not durable yet: then its later wait does that.
func (r *runner) ungate(c *conn) {
	if c.closed || !c.gated || r.l.e.Gate.Holds(c.s.Written()) {
		return
	}
	c.gated = false
	if !r.flush(c) || !r.checkLimit(c) {
		return
	}
	r.goOn(c)
}

// pushFront puts back what was to be sent and could not.
func (c *conn) pushFront(b []byte) {
	c.out = slices.Insert(c.out, 0, piece{bytes: b})
	c.outLen += len(b)
	c.shownOut.Store(int32(min(c.outLen, 1<<31-1)))
}

// push appends bytes that others may have, too.
func (c *conn) push(b []byte) { c.pushPiece(piece{bytes: b}) }

// pushOwn appends bytes that are nobody else's.
func (c *conn) pushOwn(b []byte) { c.pushPiece(piece{bytes: b, own: true}) }

func (c *conn) pushPiece(p piece) {
	if len(p.bytes) == 0 {
		return
	}
	c.tail = false
	c.out = append(c.out, p)
	c.outLen += len(p.bytes)
	c.shownOut.Store(int32(min(c.outLen, 1<<31-1)))
}

// send writes once; -1 when the connection is broken (and closed).
func (r *runner) send(c *conn, b []byte) int {
	r.w.TellLog()
	n, errno := rawWrite(c.fd, b)
	if errno != 0 {
		if errno == syscall.EAGAIN || errno == syscall.EINTR {
			return 0
		}
		r.close(c)
		return -1
	}
	r.w.Counters.NetOut.Add(int64(n))
	r.w.Counters.Writes.Add(1)
	return n
}

// flushBytesMax is about how much is sent to one client in one go: the kernel copies it in 500 µs.
const flushBytesMax = 2 << 20

// flush sends what is kept, or a part of it; false when the connection ended. It asks for an event when something is left.
func (r *runner) flush(c *conn) bool { return r.flushUpTo(c, flushBytesMax) }

// flushUpTo is flush for about so many bytes.
func (r *runner) flushUpTo(c *conn, most int) bool {
	if c.gated || c.ring.sending > 0 { // what is under way comes first
		r.gear.rearm(c)
		return true
	}
	for sent := 0; len(c.out) > 0 && sent < most; {
		first := c.out[0]
		n := r.send(c, first.bytes[c.outSkip:])
		if n < 0 {
			return false
		}
		sent += n
		c.outLen -= n
		c.outSkip += n
		if c.outSkip < len(first.bytes) {
			break
		}
		if first.own {
			r.w.Spare.Put(first.bytes)
		}
		c.out[0] = piece{}
		c.out = c.out[1:]
		c.outSkip = 0
	}
	if c.outLen == 0 {
		c.out = nil
	}
	c.shownOut.Store(int32(min(c.outLen, 1<<31-1)))
	r.gear.rearm(c)
	if c.outLen == 0 && c.s.Closing() {
		r.close(c)
		return false
	}
	return true
}

func (r *runner) checkLimit(c *conn) bool {
	if c.outLen == 0 {
		return true
	}
	r.gear.rearm(c)
	if c.s.OverOutput(c.outLen) {
		c.s.CountOverOutput()
		r.close(c)
		return false
	}
	return r.holds(c)
}
