package transport

import "syscall"

// This file is what comes from a client: it is read, executed, and kept if it is not a whole command yet.

// wantsInput says whether bytes that arrive may be read now. A client that is suspended is still read, up to a bound, so
// that its end is noticed.
func (c *conn) wantsInput() bool {
	switch {
	case c.closed || c.halfOpen:
		return false
	case c.s.Open() && !c.gated:
		return c.s.LoggedIn() || c.outLen == 0
	case c.s.Closing():
		return false
	}
	return len(c.in) < aheadBytes
}

// readsMax is how often a connection is read in one turn while an argument that is known to be long arrives.
const readsMax = 8

// read takes what the socket has and executes it; false when the runner lost the loop.
func (r *runner) read(c *conn) bool {
	for range readsMax {
		some, mine := r.readOnce(c)
		if !mine {
			return false
		}
		if !some || c.closed || c.away || len(c.in) < behindBytesMin || c.s.Need() < readBytes || !c.wantsInput() {
			return true
		}
	}
	return true
}

// shortBytesMax is how much is read at once where short arguments arrive, each of which has to be found: some 500 µs of work.
const shortBytesMax = 256 << 10

// readOnce is one read; some says that it brought something.
func (r *runner) readOnce(c *conn) (some, mine bool) {
	buf := r.buf
	carried, direct := r.carry(c)
	if direct {
		buf = buf[carried:]
	} else {
		buf = r.room(c)
		if c.s.Need() < readBytes {
			buf = buf[:min(len(buf), shortBytesMax)]
		}
	}
	n, errno := rawRead(c.fd, buf)
	if errno != 0 || n <= 0 {
		if errno != syscall.EAGAIN && errno != syscall.EINTR {
			r.inputEnded(c, errno)
		}
		return false, true
	}
	r.countInput(n)
	if direct {
		return true, r.process(c, r.buf[:carried+n], true)
	}
	c.in = c.in[:len(c.in)+n]
	if !r.mayGrow(c) {
		return false, true
	}
	return true, r.advance(c)
}

// arrived executes input that lies in a buffer of the runner; false when the runner lost the loop.
func (r *runner) arrived(c *conn, b []byte) bool {
	r.countInput(len(b))
	if len(c.in) == 0 {
		return r.process(c, b, true)
	}
	if carried, direct := r.carry(c); direct && carried+len(b) <= len(r.buf) {
		return r.process(c, r.buf[:carried+copy(r.buf[carried:], b)], true)
	}
	r.store(c, b)
	return !r.mayGrow(c) || r.advance(c)
}

// store keeps input for later.
func (r *runner) store(c *conn, b []byte) {
	for len(b) > 0 {
		n := copy(r.room(c), b)
		c.in = c.in[:len(c.in)+n]
		b = b[n:]
	}
}

func (r *runner) countInput(n int) {
	r.w.Counters.NetIn.Add(int64(n))
	r.w.Counters.Reads.Add(1)
}

// mayGrow checks the limits for input that is kept; false when the connection was closed for it.
func (r *runner) mayGrow(c *conn) bool {
	if int64(len(c.in)) > r.l.e.Settings.MaxQueryBuffer.Load() {
		r.l.e.Stats.QueryLimit.Add(1)
		r.close(c)
		return false
	}
	return r.holds(c)
}

// inputEnded serves the end of a connection's input, or what broke the connection.
func (r *runner) inputEnded(c *conn, errno syscall.Errno) {
	if errno == 0 && !c.gated && (c.unsent() > 0 || c.queued) && (c.s.Open() || c.s.Closing()) {
		c.halfOpen = true // ended by settle, once everything is answered
		r.gear.rearm(c)
		return
	}
	r.close(c)
}

// carriedMax is how much unused input is copied to where the next of it is read, rather than given a buffer of its own:
// a pipeline is cut somewhere in a command by each read.
const carriedMax = readBytes / 4

// carry puts the unused input of a connection at the start of the runner's buffer, when it is short and no long value
// is pending; it says how much that is.
func (r *runner) carry(c *conn) (carried int, direct bool) {
	if len(c.in) > carriedMax || c.s.Need() > readBytes-carriedMax {
		return 0, false
	}
	return copy(r.buf, c.in), true
}

// room makes space behind the unused input and returns it: as much as the pending value needs, but never more than
// doubles what has really arrived.
func (r *runner) room(c *conn) []byte {
	want := c.s.MoreRoom(len(c.in), readBytes)
	if cap(c.in)-len(c.in) < min(want, readBytes) {
		c.in = r.w.Spare.Grow(c.in, len(c.in)+want, len(c.in)+c.s.Need())
	}
	return c.in[len(c.in):cap(c.in)]
}

// advance goes on with input that is already here; false when the runner lost the loop.
func (r *runner) advance(c *conn) bool {
	if c.closed || c.gated || len(c.in) == 0 || !c.s.Open() {
		return r.settle(c)
	}
	return r.process(c, c.in, false)
}

// process executes in. direct says that it lies in the runner's own buffer, and not in the connection's.
func (r *runner) process(c *conn, in []byte, direct bool) bool {
	used := 0
	mine := true
	if c.s.Open() && !c.gated {
		batch := r.begin(c)
		if direct {
			used = c.s.Process(r.w, in)
		} else {
			used, c.in = c.s.ProcessOwn(r.w, in)
			in = c.in
		}
		mine = r.end(batch)
	}
	r.keep(c, in[used:], direct)
	if !mine {
		r.bringBack(c)
		return false
	}
	if !r.collect(c) {
		return true
	}
	return r.settle(c)
}

// roomyMin is from how much room on a buffer is not kept for input that takes less than half of it.
const roomyMin = 1 << 20

// keep stores unused input.
func (r *runner) keep(c *conn, rest []byte, direct bool) {
	switch {
	case len(rest) == 0:
		r.w.Spare.Put(c.in)
		c.in = nil
	case direct && cap(c.in) >= len(rest):
		c.in = append(c.in[:0], rest...)
	case direct:
		c.in = append(r.w.Spare.Get(max(len(rest)*2, 512), len(rest)+c.s.Need()), rest...)
	case len(rest) != len(c.in) && cap(c.in) >= roomyMin && len(rest) < cap(c.in)/2:
		had := c.in
		c.in = append(r.w.Spare.Get(max(len(rest), readBytes), len(rest)+c.s.Need()), rest...)
		r.w.Spare.Put(had)
	case len(rest) != len(c.in):
		n := copy(c.in, rest)
		c.in = c.in[:n]
	}
	c.shownIn.Store(int32(min(len(c.in), 1<<31-1)))
}
