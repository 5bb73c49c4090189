package transport

import (
	"iter"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"

	"github.com/covey-db/covey/internal/engine"
	"golang.org/x/sys/unix"
)

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

// piece is a part of a connection's output.
type piece struct {
	bytes []byte
	own   bool // nobody else has it: when it was sent it is used again
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
		if !some || c.closed || c.away || len(c.in) < behindBytesMin || c.s.Need() == 0 || !c.wantsInput() {
			return true
		}
	}
	return true
}

// readOnce is one read; some says that it brought something.
func (r *runner) readOnce(c *conn) (some, mine bool) {
	buf := r.buf
	carried, direct := r.carry(c)
	if direct {
		buf = buf[carried:]
	} else {
		buf = r.room(c)
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

// goOn has the input that is here executed in the next round.
func (r *runner) goOn(c *conn) {
	r.settle(c)
	if !c.closed && !c.away && !c.queued && len(c.in) > 0 && c.s.Open() {
		c.queued = true
		r.l.again = append(r.l.again, c)
	}
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

// flush sends what is kept; false when the connection ended. It asks for an event when the socket is full.
func (r *runner) flush(c *conn) bool {
	if c.gated || c.ring.sending > 0 { // what is under way comes first
		r.gear.rearm(c)
		return true
	}
	for len(c.out) > 0 {
		first := c.out[0]
		n := r.send(c, first.bytes[c.outSkip:])
		if n < 0 {
			return false
		}
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
			if flush && !r.flush(c) {
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
