// Package transport moves bytes between sockets and engine sessions. Plain TCP and Unix sockets on Linux are served by
// event loops that this package owns; every other kind of connection by a goroutine each. Both drive the same session.
package transport

import (
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// Options configures the event loops.
type Options struct {
	Loops     int           // number of event loops, at least 1
	Backend   Backend       // how the event loops move bytes
	KeepAlive time.Duration // tcp-keepalive, 0 is off
	Logf      func(format string, args ...any)
	Debugf    func(format string, args ...any) // of what strangers can cause; nil says nothing
}

// Backend says how event loops move bytes.
type Backend string

// The backends. The empty one is Auto.
const (
	Auto  Backend = "auto"     // io_uring where it can be used, else epoll
	Epoll Backend = "epoll"    // one system call for each read and each write
	Uring Backend = "io_uring" // one system call for all reads and writes of a round
)

// tooManyText is what a client beyond maxclients reads before it is closed.
const tooManyText = "-ERR max number of clients reached\r\n"

// protectedText is what a client from outside reads in protected mode.
const protectedText = "-DENIED Covey is running in protected mode: no password is set for the default user and no bind address " +
	"was given, so only connections from the loopback interface are accepted. To accept this one, set a password " +
	"(requirepass), or bind an address, or turn protected-mode off if the network is trusted.\r\n"

// refusal is the text for a connection that must not become a session, "" to accept it.
func refusal(e *engine.Engine, peer engine.Peer) string {
	if e.Settings.ProtectedMode.Load() && !peer.Loopback && !peer.Unix {
		if e.Access.Users.Default().User().NoPass {
			return protectedText
		}
	}
	if int64(e.Clients.Len()) >= e.Settings.MaxClients.Load() {
		e.Stats.Rejected.Add(1)
		return tooManyText
	}
	return ""
}

// ErrClosed says that the transport was shut down.
var ErrClosed = errors.New("transport closed")

// acceptRetry is the wait after an accept that failed for want of descriptors.
const acceptRetry = 10 * time.Millisecond

// keepAlive sets what every TCP connection of a client gets.
func keepAlive(c net.Conn, every time.Duration) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	_ = t.SetNoDelay(true)
	if every > 0 {
		_ = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: every, Interval: every / 3, Count: 3})
	} else {
		_ = t.SetKeepAlive(false)
	}
}

// peerOf describes a connection from its two addresses.
func peerOf(remote, local net.Addr, fd int) engine.Peer {
	p := engine.Peer{FD: fd}
	if u, ok := local.(*net.UnixAddr); ok {
		p.Unix, p.Loopback = true, true
		p.Local = u.Name + ":0"
		p.Remote = u.Name + ":0"
		return p
	}
	p.Local, p.Remote = addrText(local), addrText(remote)
	if t, ok := remote.(*net.TCPAddr); ok {
		p.Loopback = t.IP.IsLoopback()
	}
	return p
}

// addrText is an address as Redis shows it: IPv6 in brackets, without a zone.
func addrText(a net.Addr) string {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return ""
	}
	return net.JoinHostPort(t.IP.String(), strconv.Itoa(t.Port))
}

// aheadBytes is how far a client whose input has to wait may run ahead.
const aheadBytes = 1 << 20

// pushBytesMax is how much of what is posted or pushed may collect before it is sent.
const pushBytesMax = 1 << 20

// behindBytesMin is how much input has to wait before the arguments that are complete are told apart.
const behindBytesMin = 32 << 10

// behind is how many bytes of the input that waits are whole arguments.
func behind(s *engine.Session, in []byte) int {
	if len(in) < behindBytesMin {
		return 0
	}
	return min(s.Behind(), len(in))
}
