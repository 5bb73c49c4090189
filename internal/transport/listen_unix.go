//go:build unix

package transport

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// setListenOptions lets a restarted node take its port again at once.
func setListenOptions(c syscall.RawConn) error {
	var opErr error
	err := c.Control(func(fd uintptr) { opErr = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) })
	return errors.Join(err, opErr)
}

// setBacklog calls listen again with tcp-backlog: Go uses the system's maximum.
func setBacklog(l *net.TCPListener, backlog int) error {
	raw, err := l.SyscallConn()
	if err != nil || backlog <= 0 {
		return err
	}
	var opErr error
	err = raw.Control(func(fd uintptr) { opErr = unix.Listen(int(fd), backlog) })
	return errors.Join(err, opErr)
}
