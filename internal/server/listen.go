package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/covey-db/covey/internal/transport"
)

// doorKind is what comes in by a door.
type doorKind uint8

const (
	doorTCP doorKind = iota
	doorTLS
	doorUnix
)

func (k doorKind) String() string { return [...]string{"tcp", "tls", "unix"}[k] }

// door is a socket that listens.
type door struct {
	net.Listener
	kind doorKind
}

// listeners are the open doors of a node.
type listeners struct {
	mu    sync.Mutex // guards what follows
	open  []door
	shut  bool          // the node ends: no door opens any more
	ports [doorUnix]int // of the TCP and the TLS doors
	unix  string        // path of the Unix socket, removed at the end
}

func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.open {
		one.Close()
	}
	l.open, l.shut = nil, true
}

// listen opens all doors.
func (s *Server) listen() error {
	l := &s.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, name := range [...]string{doorTCP: "port", doorTLS: "tls-port"} {
		port := int(s.store.Int(name))
		l.ports[kind] = port
		if port == 0 {
			continue
		}
		open, err := s.listenTCP(doorKind(kind), port)
		if err != nil {
			return err
		}
		l.open = append(l.open, open...)
	}
	if path := s.store.String("unixsocket"); path != "" {
		unix, err := transport.ListenUnix(path, os.FileMode(s.store.Int("unixsocketperm")))
		if err != nil {
			s.log.Warn(fmt.Sprintf("Failed opening Unix socket: bind: %v", err))
			return err
		}
		l.open = append(l.open, door{unix, doorUnix})
		l.unix = path
	}
	return nil
}

// listenTCP listens on every bind address. An address with "-" in front may be missing on this machine.
func (s *Server) listenTCP(kind doorKind, port int) ([]door, error) {
	var open []door
	for _, addr := range s.store.Strings("bind") {
		optional := strings.HasPrefix(addr, "-")
		addr = strings.TrimPrefix(addr, "-")
		l, err := transport.ListenTCP(addr, port, int(s.store.Int("tcp-backlog")))
		if err == nil {
			open = append(open, door{l, kind})
			continue
		}
		s.log.Warn(fmt.Sprintf("Warning: Could not create server TCP listening socket %s:%d: %v", addr, port, err))
		if optional {
			continue
		}
		for _, one := range open {
			one.Close()
		}
		s.log.Warn(fmt.Sprintf("Failed listening on port %d (%s), aborting.", port, kind))
		return nil, err
	}
	if len(open) == 0 && len(s.store.Strings("bind")) > 0 {
		s.log.Warn(fmt.Sprintf("Failed listening on port %d (%s), aborting.", port, kind))
		return nil, fmt.Errorf("no bind address could be used")
	}
	return open, nil
}

// serve lets clients in.
func (s *Server) serve() {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	for _, l := range s.listeners.open {
		s.accept(l)
	}
}

// sayReady tells of each kind of door that clients are let in.
func (s *Server) sayReady() {
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	for _, kind := range [...]doorKind{doorTCP, doorUnix, doorTLS} {
		if slices.ContainsFunc(s.listeners.open, func(d door) bool { return d.kind == kind }) {
			s.log.Info("Ready to accept connections " + kind.String())
		}
	}
}

func (s *Server) accept(d door) {
	s.actors.Add(1)
	go func() {
		defer s.actors.Done()
		var err error
		if d.kind == doorTLS {
			err = s.streams.Serve(d.Listener, func() *tls.Config { return s.identity.Load().Clients })
		} else {
			err = s.loops.Serve(d.Listener)
		}
		if err != nil {
			s.log.Warn("Accepting clients ended", "reason", err)
		}
	}()
}

// What CONFIG SET says when the doors cannot be moved.
var (
	errNoPort    = errors.New("Unable to listen on this port. Check server logs.")
	errNoAddress = errors.New("Failed to bind to specified addresses.")
)

// relisten moves the doors of a kind to another port or other addresses: CONFIG SET port, tls-port and bind.
func (s *Server) relisten(kind doorKind, port int) error {
	l := &s.listeners
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return nil
	}
	l.open = slices.DeleteFunc(l.open, func(d door) bool {
		if d.kind == kind {
			d.Close()
		}
		return d.kind == kind
	})
	if port != 0 {
		fresh, err := s.listenTCP(kind, port)
		if err != nil {
			if port == l.ports[kind] {
				return errNoAddress
			}
			return errNoPort
		}
		l.open = append(l.open, fresh...)
		for _, d := range fresh {
			s.accept(d)
		}
	}
	l.ports[kind] = port
	return nil
}

func joinHostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }

// dial opens a TCP connection to another node, from bind-source-addr where that is possible.
func (s *Server) dial(ctx context.Context, addr string) (net.Conn, error) {
	if source := s.store.String("bind-source-addr"); source != "" {
		from, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(source, "0"))
		if err == nil {
			var conn net.Conn
			if conn, err = (&net.Dialer{LocalAddr: from}).DialContext(ctx, "tcp", addr); err == nil {
				return conn, nil
			}
		}
		s.log.Debug("Cannot connect from bind-source-addr", "source", source, "to", addr, "reason", err)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
}
