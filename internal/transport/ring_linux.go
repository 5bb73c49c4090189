package transport

import (
	"fmt"
	"runtime"
	"syscall"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/uring"
	"golang.org/x/sys/unix"
)

// ringGear moves bytes with io_uring. Input arrives without being asked for: one request a connection brings whatever
// comes, in buffers that the kernel picks. Small replies are collected and sent by the call that waits for the next events,
// so that a round of many reads and writes is one system call. Sends never wait: what the socket does not take is kept by
// the connection, and the gear watches for room then. Large values are written and read directly.
//
// A ring belongs to one thread. When a loop is handed over, the new runner makes a ring of its own, takes over the
// completions that are left in the old one and asks for everything anew; the kernel moves no byte for a ring that its
// thread does not enter, so nothing is lost. The old runner closes the old ring when its long command has ended.
type ringGear struct {
	l    *loop
	ring *uring.Ring
	prev *ringGear // whose work this gear takes over, nil once it has
	spin spin

	replies  []byte // off the heap; holds the replies that are being sent
	used     int
	underWay int // sends whose completions were not read

	generation uint32           // of the last connection that was watched
	leaving    map[uint64]*conn // are to be given away when their requests have ended
	unarmed    []*conn          // what they wait for was not asked for yet
	taken      chan struct{}    // closed when a successor has taken over
}

// ringState is what a connection has under way on the ring of its loop.
type ringState struct {
	generation uint32
	input      inputState
	room       bool   // room for output is watched
	unarmed    bool   // in ringGear.unarmed
	older      bool   // requests for it may be left in the ring of a runner that is away
	sending    int    // bytes of its reply whose completion was not read
	at         int    // where they are in ringGear.replies
	ahead      []byte // input that came while it was away or leaving
}

// inputState is how a connection's input is asked for.
type inputState uint8

const (
	inputIdle   inputState = iota // not at all
	inputArmed                    // it arrives by itself
	inputEnding                   // it may arrive until the request has been cancelled
	inputWatch                    // a large value: the ring tells when there is some, read takes it
)

const (
	ringRequests    = 512
	ringCompletions = 4096 // what can complete before they are read: see ringGear.arm
	ringBuffers     = 64
	ringBufferBytes = 32 << 10
	repliesBytes    = 256 << 10
	replyBytesMax   = 16 << 10 // larger replies are written directly
	repliesBatch    = 16       // so many replies are sent without waiting for the end of the round
	armsPerRound    = 256      // after a hand-over
	bulkBytesMin    = 128 << 10
)

// The kinds of requests, in the high byte of what they are known by. Below it are a generation and a descriptor.
const (
	kindWake uint64 = iota << 56
	kindInput
	kindWatch
	kindRoom
	kindSend
	kindCancel

	kindMask = 0xff << 56
)

func (c *conn) key(kind uint64) uint64 {
	return kind | uint64(c.ring.generation&0xffffff)<<32 | uint64(uint32(c.fd))
}

func newRingGear(l *loop) (*ringGear, error) {
	ring, err := uring.New(uring.Options{Requests: ringRequests, Completions: ringCompletions, Buffers: ringBuffers, BufferBytes: ringBufferBytes})
	if err != nil {
		return nil, err
	}
	g := &ringGear{l: l, ring: ring, taken: make(chan struct{})}
	g.replies, err = unix.Mmap(-1, 0, repliesBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		ring.Close()
		return nil, err
	}
	return g, nil
}

func (g *ringGear) take(r *runner) {
	if err := g.ring.Enable(); err != nil {
		panic("enabling a ring: " + err.Error()) // only a ring that is enabled already refuses
	}
	g.ring.WatchOn(g.l.wakefd, unix.POLLIN, kindWake)
	r.w.HoldLog() // the replies of a round leave together, when the file has what they are about
	g.ring.Before(r.w.TellLog)
	if g.prev != nil {
		g.takeOver(r)
	}
}

func (g *ringGear) successor() (gear, error) {
	next, err := newRingGear(g.l)
	if err != nil {
		return nil, err
	}
	next.prev = g
	return next, nil
}

func (g *ringGear) discard() {
	g.ring.Close()
	_ = unix.Munmap(g.replies)
}

func (g *ringGear) end(last bool) {
	if !last {
		<-g.taken
	}
	for _, c := range g.leaving {
		c.s.Close()
		unix.Close(c.fd)
	}
	g.discard()
}

func (g *ringGear) poll(p patience) int {
	for n := min(len(g.unarmed), armsPerRound); n > 0; n-- {
		c := g.unarmed[0]
		g.unarmed[0] = nil
		g.unarmed = g.unarmed[1:]
		c.ring.unarmed = false
		g.rearm(c)
	}
	switch {
	case len(g.unarmed) > 0 || p == noWait:
		return g.ring.Poll()
	case p == briefWait:
		return g.pollBriefly()
	}
	return g.ring.PollWait()
}

// pollBriefly spins first where that has paid of late.
func (g *ringGear) pollBriefly() int {
	if g.spin.due() {
		if g.ring.Prepared() > 0 {
			if n := g.ring.Poll(); n > 0 {
				return n
			}
		}
		n := g.ring.Spin(spinTime)
		g.spin.learn(n > 0)
		if n > 0 {
			return n
		}
	}
	return g.ring.PollBriefly(g.l.brief)
}

func (g *ringGear) serve(r *runner, _ int) bool {
	for seen := 0; ; seen-- {
		if seen == 0 {
			seen = g.glance(r)
		}
		e, ok := g.ring.Next()
		if !ok {
			return true
		}
		if !g.completed(r, e) {
			return false
		}
	}
}

// glance has what the next completions are going to need fetched, if there are several. It returns how many it looked at, at
// least one.
func (g *ringGear) glance(r *runner) int {
	n := min(g.ring.Ready(), engine.GlanceMost)
	if n < 2 {
		return 1
	}
	for i := range n {
		e := g.ring.Peek(i)
		if e.Data&kindMask != kindInput {
			continue
		}
		if c := g.find(e); c != nil && !c.away && len(c.in) == 0 {
			r.w.Glance(c.s, g.ring.Received(e))
		}
	}
	r.w.Fetch()
	return n
}

// find returns the connection of a completion, nil when it is gone.
func (g *ringGear) find(e uring.Completion) *conn {
	c := g.l.conns.at(int(uint32(e.Data)))
	if c == nil || uint64(c.ring.generation&0xffffff) != e.Data>>32&0xffffff {
		return nil
	}
	return c
}

// completed serves one completion; false when the runner lost the loop.
func (g *ringGear) completed(r *runner, e uring.Completion) bool {
	kind := e.Data & kindMask
	if kind == kindSend {
		g.underWay--
	}
	if kind == kindWake {
		if !e.More() {
			g.ring.WatchOn(g.l.wakefd, unix.POLLIN, kindWake)
		}
		return r.readMail()
	}
	c := g.find(e)
	if c == nil {
		if c := g.leaving[e.Data&^kindMask]; c != nil {
			g.departs(c, e, g)
			if g.gone(c) {
				r.giveAway(c)
			}
		}
		g.ring.Release(e)
		return true
	}
	switch kind {
	case kindInput:
		return g.input(r, c, e)
	case kindSend:
		g.sent(r, c, int(e.Result))
	case kindWatch:
		c.ring.input = inputIdle
		if !c.away && c.wantsInput() {
			return r.read(c)
		}
		g.rearm(c)
	case kindRoom:
		c.ring.room = false
		if !c.away {
			return r.writable(c)
		}
	}
	return true
}

// input serves what arrived; false when the runner lost the loop.
func (g *ringGear) input(r *runner, c *conn, e uring.Completion) bool {
	if !e.More() {
		c.ring.input = inputIdle
	}
	if b := g.ring.Received(e); b != nil {
		if c.away {
			c.ring.ahead = append(c.ring.ahead, b...)
			g.ring.Release(e)
			if c.ring.input == inputArmed && len(c.ring.ahead) >= aheadBytes && g.ring.Cancel(c.key(kindInput), kindCancel) {
				c.ring.input = inputEnding
			}
			return true
		}
		mine := r.arrived(c, b)
		if mine { // else the command that was long may still look at it
			g.ring.Release(e)
		}
		return mine
	}
	g.ring.Release(e)
	switch errno := syscall.Errno(-e.Result); {
	case c.away:
	case e.Result == 0 || errno != unix.ENOBUFS && errno != unix.ECANCELED && errno != unix.EINTR && errno != unix.EAGAIN && errno != unix.ENOMEM:
		r.inputEnded(c, errno)
	default:
		g.rearm(c)
	}
	return true
}

func (g *ringGear) watch(c *conn) error {
	g.generation++
	c.ring.generation = g.generation
	g.rearm(c)
	return nil
}

func (g *ringGear) rearm(c *conn) {
	if c.closed || c.away {
		return
	}
	ok := true
	wants := c.wantsInput()
	switch c.ring.input {
	case inputIdle:
		switch {
		case !wants:
		case c.bulk():
			if ok = g.ring.Watch(c.fd, unix.POLLIN|unix.POLLRDHUP, c.key(kindWatch)); ok {
				c.ring.input = inputWatch
			}
		default:
			if ok = g.ring.Recv(c.fd, c.key(kindInput)); ok {
				c.ring.input = inputArmed
			}
		}
	case inputArmed:
		if !wants || c.bulk() {
			if ok = g.ring.Cancel(c.key(kindInput), kindCancel); ok {
				c.ring.input = inputEnding
			}
		}
	}
	if c.wantsRoom() && c.ring.sending == 0 && !c.ring.room {
		c.ring.room = g.ring.Watch(c.fd, unix.POLLOUT, c.key(kindRoom))
		ok = ok && c.ring.room
	}
	if !ok {
		g.later(c)
	}
}

// later asks for what a connection waits for in the next round.
func (g *ringGear) later(c *conn) {
	if !c.ring.unarmed {
		c.ring.unarmed = true
		g.unarmed = append(g.unarmed, c)
	}
}

// bulk says that a value is arriving which is better read straight to where it stays, or so many short ones that others wait
// for them.
func (c *conn) bulk() bool { return len(c.in) > 0 && max(c.s.Need(), len(c.in)) >= bulkBytesMin }

func (g *ringGear) reply(r *runner, c *conn, b []byte) int {
	if g.underWay == 0 {
		g.used = 0
	}
	if len(b) > replyBytesMax || g.used+len(b) > len(g.replies) || !c.s.Open() || c.halfOpen {
		return r.send(c, b)
	}
	place := g.replies[g.used : g.used+len(b)]
	copy(place, b)
	if !g.ring.Send(c.fd, place, c.key(kindSend)) {
		return r.send(c, b)
	}
	c.ring.at, c.ring.sending = g.used, len(b)
	g.used += len(b)
	g.underWay++
	if g.ring.Prepared() >= repliesBatch {
		g.ring.Submit()
	}
	return len(b)
}

// sent takes the result of a send.
func (g *ringGear) sent(r *runner, c *conn, result int) {
	if !g.acknowledge(c, result) {
		r.close(c)
		return
	}
	r.w.Counters.NetOut.Add(int64(max(result, 0)))
	r.w.Counters.Writes.Add(1)
	switch {
	case c.away:
	case c.outLen > 0:
		if r.flush(c) && r.checkLimit(c) {
			r.settle(c)
		}
	case !c.s.Open() || c.halfOpen:
		r.settle(c)
	}
}

// acknowledge puts back what a send did not bring to the kernel; false when the connection is broken.
func (g *ringGear) acknowledge(c *conn, result int) bool {
	n, at := c.ring.sending, c.ring.at
	c.ring.sending = 0
	if result < 0 {
		if errno := syscall.Errno(-result); errno != unix.EAGAIN && errno != unix.EINTR && errno != unix.ENOMEM {
			return false
		}
		result = 0
	}
	if result < n {
		c.pushFront(append([]byte(nil), g.replies[at+result:at+n]...))
	}
	return true
}

func (g *ringGear) leave(c *conn) {
	if c.ring.sending > 0 {
		g.ring.Submit()
	}
	if c.ring.input != inputIdle || c.ring.room || c.ring.older {
		_ = unix.Shutdown(c.fd, unix.SHUT_RDWR) // ends the requests; they hold the socket
	}
	c.ring.sending = 0
}

func (g *ringGear) release(c *conn) bool {
	if c.ring.input == inputArmed {
		g.ring.Cancel(c.key(kindInput), kindCancel)
	}
	if g.leaving == nil {
		g.leaving = make(map[uint64]*conn)
	}
	g.leaving[c.key(0)] = c
	return g.gone(c)
}

// gone says whether nothing is under way any more for a connection that is leaving.
func (g *ringGear) gone(c *conn) bool {
	if c.ring.sending > 0 || c.ring.input == inputArmed || c.ring.input == inputEnding {
		return false
	}
	delete(g.leaving, c.key(0))
	return true
}

// departs takes what comes for a connection that is leaving, from the gear that asked for it.
func (g *ringGear) departs(c *conn, e uring.Completion, from *ringGear) {
	switch e.Data & kindMask {
	case kindInput:
		c.ring.ahead = append(c.ring.ahead, from.ring.Received(e)...)
		if !e.More() {
			c.ring.input = inputIdle
		}
	case kindSend:
		_ = from.acknowledge(c, int(e.Result)) // who gets the connection finds out that it is broken
	}
}

func (g *ringGear) back(r *runner, c *conn) {
	r.store(c, c.ring.ahead)
	c.ring.ahead = nil
}

// takeOver goes on where the gear of a runner that lost the loop stopped. What its ring had still to do is asked for anew, a
// part each round. No command is executed here, so that this runner cannot lose the loop halfway.
func (g *ringGear) takeOver(r *runner) {
	old := g.prev
	g.prev = nil
	g.l.e.Log.Kick() // the replies that the other runner has not sent are sent by this one
	g.generation = old.generation
	var served []*conn
	for e, ok := old.ring.Next(); ok; e, ok = old.ring.Next() {
		if c := g.leftOver(r, e, old); c != nil {
			served = append(served, c)
		}
	}
	for c := range g.l.conns.all() {
		old.unsend(c)
		c.ring = ringState{generation: c.ring.generation, older: true, unarmed: true, ahead: c.ring.ahead}
		g.unarmed = append(g.unarmed, c)
	}
	for _, c := range old.leaving {
		old.unsend(c)
		r.giveAway(c)
	}
	old.leaving = nil
	close(old.taken)
	for _, c := range served {
		if !c.closed && !c.away {
			r.goOn(c)
		}
	}
}

// unsend takes back a reply that the kernel has not seen.
func (g *ringGear) unsend(c *conn) {
	if c.ring.sending > 0 {
		_ = g.acknowledge(c, 0)
	}
}

// leftOver takes a completion that the runner before did not come to, and returns the connection that has to go on.
func (g *ringGear) leftOver(r *runner, e uring.Completion, old *ringGear) *conn {
	kind := e.Data & kindMask
	c := g.find(e)
	if c == nil {
		if c := old.leaving[e.Data&^kindMask]; c != nil {
			g.departs(c, e, old)
		}
		return nil
	}
	switch {
	case kind == kindSend && !old.acknowledge(c, int(e.Result)):
		r.close(c)
	case kind == kindInput && c.away:
		c.ring.ahead = append(c.ring.ahead, old.ring.Received(e)...)
	case kind == kindInput:
		r.store(c, old.ring.Received(e))
	}
	return c
}

// tryRing does once what a loop does, to find out whether the kernel lets us.
func tryRing() error {
	ended := make(chan error, 1)
	go func() { ended <- tryRingOnce() }()
	return <-ended
}

func tryRingOnce() error {
	runtime.LockOSThread() // the thread ends with the goroutine
	ring, err := uring.New(uring.Options{Requests: 4, Completions: 16, Buffers: 2, BufferBytes: 16})
	if err != nil {
		return err
	}
	defer ring.Close()
	if err := ring.Enable(); err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	ring.Recv(pair[0], 1)
	ring.Poll()
	if _, err := unix.Write(pair[1], []byte("ping")); err != nil {
		return err
	}
	ring.Poll()
	e, ok := ring.Next()
	if !ok || string(ring.Received(e)) != "ping" || !e.More() {
		return fmt.Errorf("%w: it does not receive as it should", uring.ErrUnsupported)
	}
	return nil
}
