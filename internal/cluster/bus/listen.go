package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/cluster/core"
)

// This file holds the port of the bus.

const portMax = 65535

// listen opens the bus port on every bind address.
func (b *Bus) listen() error {
	port := b.opts.BusPort
	switch {
	case port > portMax:
		return errors.New("Redis port number too high. Cluster communication port is 10,000 port numbers higher than your " +
			"Redis port. Your Redis port number must be 55535 or less.")
	case len(b.opts.Bind) == 0:
		return errors.New("No bind address is configured, but it is required for the Cluster bus.")
	}
	for _, addr := range b.opts.Bind {
		addr, optional := strings.CutPrefix(addr, "-")
		l, err := listenOn(addr, port)
		if err == nil {
			b.listeners = append(b.listeners, l)
			continue
		}
		b.log.Warn(fmt.Sprintf("Warning: Could not create server TCP listening socket %s:%d: %v", addr, port, err))
		if !optional {
			return fmt.Errorf("Failed listening on port %d (cluster), aborting. %w", port, err)
		}
	}
	if len(b.listeners) == 0 {
		return fmt.Errorf("Failed listening on port %d (cluster), aborting.", port)
	}
	return nil
}

func listenOn(addr string, port int) (net.Listener, error) {
	network := "tcp4"
	switch {
	case addr == "*":
		addr = "0.0.0.0"
	case addr == "::*":
		addr, network = "::", "tcp6"
	case strings.Contains(addr, ":"):
		network = "tcp6"
	}
	return net.Listen(network, net.JoinHostPort(addr, strconv.Itoa(port)))
}

// acceptPause is how long accepting rests after a failure: the system may be out of files.
const acceptPause = 100 * time.Millisecond

// accept takes links of other nodes until the listener is closed.
func (b *Bus) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err == nil {
			b.welcome(conn)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		b.log.Warn("Error accepting cluster node: " + err.Error())
		b.links.dropStranger() // its file may be what is missing
		select {
		case <-b.stopped:
			return
		case <-time.After(acceptPause):
		}
	}
}

// welcome starts a link that a peer has opened.
func (b *Bus) welcome(conn net.Conn) {
	if b.links.strangers.Load() >= strangersMax {
		b.links.dropStranger()
	}
	l := newLink(core.LinkAccepted | core.LinkID(b.links.lastAccepted.Add(1)))
	ctx, cancel := context.WithCancel(context.Background())
	l.quit = cancel
	if !b.links.add(l) {
		cancel()
		conn.Close()
		return
	}
	b.links.strangers.Add(1)
	b.goDo(func() {
		defer b.lost(l)
		raw := conn
		defer raw.Close()
		conn, err := b.opts.Secure(ctx, raw)
		cancel()
		if err != nil || !l.attach(conn) {
			b.log.Debug("Error accepting cluster node", "remote", raw.RemoteAddr().String(), "reason", err)
			b.links.strangers.Add(-1)
			return
		}
		defer conn.Close()
		accepted := core.Accepted{Link: l.id, Remote: hostOf(conn.RemoteAddr()), Local: hostOf(conn.LocalAddr())}
		if !b.post(letter{event: accepted}) {
			b.links.strangers.Add(-1)
			return
		}
		b.converse(l, conn)
	})
}
