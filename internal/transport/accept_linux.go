package transport

import (
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Serve accepts connections until the listener is closed and deals them to the loops in turn.
func (g *Loops) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			var ne *net.OpError
			if errors.As(err, &ne) {
				g.opts.Logf("Accepting client connection: %v", err)
				time.Sleep(acceptRetry)
				continue
			}
			return err
		}
		g.adopt(c)
	}
}

// adopt moves an accepted connection from Go's poller to a loop of ours.
func (g *Loops) adopt(c net.Conn) {
	defer c.Close()
	sc, ok := c.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	keepAlive(c, g.opts.KeepAlive)
	fd := -1
	if raw.Control(func(p uintptr) { fd, err = unix.FcntlInt(p, unix.F_DUPFD_CLOEXEC, 0) }) != nil || err != nil {
		return
	}
	peer := peerOf(c.RemoteAddr(), c.LocalAddr(), fd)
	if text := refusal(g.e, peer); text != "" {
		_, _ = c.Write([]byte(text))
		unix.Close(fd)
		return
	}
	l := g.loops[g.next.Add(1)%uint32(len(g.loops))]
	mine := &conn{l: l, fd: fd}
	mine.s = g.e.NewSession(mine, peer) // here, so that maxclients counts it before the next accept
	if !l.post(letter{loop: func(r *runner) { r.add(mine) }}) {
		mine.s.Close()
		unix.Close(fd)
	}
}
