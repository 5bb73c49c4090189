package transport

import (
	"golang.org/x/sys/unix"
)

// eventsMax bounds how many connections one wake-up serves.
const eventsMax = 256

// pollGear moves bytes with epoll: one system call for each read and each write. It goes from runner to runner.
type pollGear struct {
	l      *loop
	epfd   int
	events []unix.EpollEvent
}

func newPollGear(l *loop) (*pollGear, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	g := &pollGear{l: l, epfd: epfd, events: make([]unix.EpollEvent, eventsMax)}
	if err := g.control(unix.EPOLL_CTL_ADD, l.wakefd, unix.EPOLLIN); err != nil {
		unix.Close(epfd)
		return nil, err
	}
	return g, nil
}

func (g *pollGear) control(op, fd int, events uint32) error {
	return unix.EpollCtl(g.epfd, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

func (g *pollGear) take(*runner) {}

func (g *pollGear) poll(p patience) int {
	switch p {
	case noWait:
		return pollBriefly(g.epfd, g.events, 0)
	case briefWait:
		return pollBriefly(g.epfd, g.events, uintptr(g.l.brief))
	}
	return pollWait(g.epfd, g.events)
}

func (g *pollGear) serve(r *runner, n int) bool {
	l := g.l
	for i := range n {
		ev := &g.events[i]
		if int(ev.Fd) == l.wakefd {
			var word [8]byte
			_, _ = rawRead(l.wakefd, word[:])
			if !r.readMail() {
				return false
			}
			continue
		}
		c := l.conns.at(int(ev.Fd))
		if c == nil {
			continue // closed by an earlier event of this round
		}
		if c.away {
			g.quiet(c)
			continue
		}
		if !g.ready(r, c, ev.Events) {
			return false
		}
	}
	return true
}

// ready serves one event of a connection; false when the runner lost the loop.
func (g *pollGear) ready(r *runner, c *conn, events uint32) bool {
	if events&unix.EPOLLOUT != 0 && !r.writable(c) {
		return false
	}
	switch {
	case c.closed || c.away:
	case events&(unix.EPOLLIN|unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) != 0 && c.wantsInput():
		return r.read(c)
	case events&(unix.EPOLLHUP|unix.EPOLLERR) != 0:
		r.close(c)
	default:
		g.rearm(c)
	}
	return true
}

// quiet stops events of a connection that is busy elsewhere; back adds it again.
func (g *pollGear) quiet(c *conn) {
	_ = unix.EpollCtl(g.epfd, unix.EPOLL_CTL_DEL, c.fd, nil)
	c.unwatched = true
}

// inputEvents is what a connection that may send is watched for.
const inputEvents = unix.EPOLLIN | unix.EPOLLRDHUP

func (g *pollGear) watch(c *conn) error {
	c.events = inputEvents
	return g.control(unix.EPOLL_CTL_ADD, c.fd, c.events)
}

func (g *pollGear) rearm(c *conn) {
	if c.closed || c.unwatched {
		return
	}
	var events uint32
	if c.wantsInput() {
		events = inputEvents
	}
	if c.wantsRoom() {
		events |= unix.EPOLLOUT
	}
	if events == c.events {
		return
	}
	c.events = events
	_ = g.control(unix.EPOLL_CTL_MOD, c.fd, events)
}

func (g *pollGear) reply(r *runner, c *conn, b []byte) int { return r.send(c, b) }

func (g *pollGear) leave(*conn) {} // the kernel does with the descriptor

func (g *pollGear) release(c *conn) bool {
	g.quiet(c)
	return true
}

func (g *pollGear) back(_ *runner, c *conn) {
	if c.unwatched {
		c.unwatched = false
		_ = g.watch(c)
	}
}

func (g *pollGear) successor() (gear, error) {
	return &pollGear{l: g.l, epfd: g.epfd, events: make([]unix.EpollEvent, eventsMax)}, nil
}

func (g *pollGear) discard() {}

func (g *pollGear) end(last bool) {
	if last {
		unix.Close(g.epfd)
	}
}
