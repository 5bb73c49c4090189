package transport

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
)

// ListenTCP opens a listening socket. An address of "" or "*" is every IPv4 address, "::" and "::*" every IPv6 one.
func ListenTCP(addr string, port, backlog int) (*net.TCPListener, error) {
	network := "tcp4"
	switch {
	case addr == "*" || addr == "":
		addr = "0.0.0.0"
	case addr == "::*":
		addr, network = "::", "tcp6"
	case strings.Contains(addr, ":"):
		network = "tcp6"
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return setListenOptions(c) }}
	l, err := lc.Listen(context.Background(), network, net.JoinHostPort(addr, fmt.Sprint(port)))
	if err != nil {
		return nil, err
	}
	t, ok := l.(*net.TCPListener)
	if !ok {
		l.Close()
		return nil, fmt.Errorf("listen on %s: not a TCP listener", addr)
	}
	return t, setBacklog(t, backlog)
}

// ListenUnix opens a Unix socket with the given permissions (0 leaves them as the umask made them). A file that is in
// the way is removed, as Redis does.
func ListenUnix(path string, perm os.FileMode) (*net.UnixListener, error) {
	_ = os.Remove(path)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	if perm != 0 {
		if err := os.Chmod(path, perm); err != nil {
			l.Close()
			return nil, err
		}
	}
	return l, nil
}
