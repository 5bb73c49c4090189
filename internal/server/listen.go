package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/covey-db/covey/internal/transport"
)

// listeners are the open doors of a node.
type listeners struct {
	mu   sync.Mutex // guards what follows
	open []net.Listener
	port int    // of the TCP doors
	unix string // path of the Unix socket, removed at the end
}

func (l *listeners) add(one net.Listener) {
	l.mu.Lock()
	l.open = append(l.open, one)
	l.mu.Unlock()
}

func (l *listeners) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range l.open {
		one.Close()
	}
	l.open = nil
}

// listen opens all doors.
func (s *Server) listen() error {
	port := int(s.store.Int("port"))
	s.listeners.port = port
	if port != 0 {
		open, err := s.listenTCP(port)
		if err != nil {
			return err
		}
		for _, l := range open {
			s.listeners.add(l)
		}
	}
	if path := s.store.String("unixsocket"); path != "" {
		l, err := transport.ListenUnix(path, os.FileMode(s.store.Int("unixsocketperm")))
		if err != nil {
			s.log.Warn(fmt.Sprintf("Failed opening Unix socket: bind: %v", err))
			return err
		}
		s.listeners.add(l)
		s.listeners.unix = path
	}
	return nil
}

// listenTCP listens on every bind address. An address with "-" in front may be missing on this machine.
func (s *Server) listenTCP(port int) ([]net.Listener, error) {
	var open []net.Listener
	for _, addr := range s.store.Strings("bind") {
		optional := strings.HasPrefix(addr, "-")
		addr = strings.TrimPrefix(addr, "-")
		l, err := transport.ListenTCP(addr, port, int(s.store.Int("tcp-backlog")))
		if err == nil {
			open = append(open, l)
			continue
		}
		s.log.Warn(fmt.Sprintf("Warning: Could not create server TCP listening socket %s:%d: %v", addr, port, err))
		if optional {
			continue
		}
		for _, one := range open {
			one.Close()
		}
		s.log.Warn(fmt.Sprintf("Failed listening on port %d (tcp), aborting.", port))
		return nil, err
	}
	if len(open) == 0 && len(s.store.Strings("bind")) > 0 {
		s.log.Warn(fmt.Sprintf("Failed listening on port %d (tcp), aborting.", port))
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

func (s *Server) accept(l net.Listener) {
	s.actors.Add(1)
	go func() {
		defer s.actors.Done()
		if err := s.loops.Serve(l); err != nil {
			s.log.Warn("Accepting clients ended", "reason", err)
		}
	}()
}

// What CONFIG SET says when the doors cannot be moved.
var (
	errNoPort    = errors.New("Unable to listen on this port. Check server logs.")
	errNoAddress = errors.New("Failed to bind to specified addresses.")
)

// relisten moves the doors to another port or other addresses: CONFIG SET port, CONFIG SET bind.
func (s *Server) relisten(port int) error {
	var fresh []net.Listener
	s.listeners.mu.Lock()
	defer s.listeners.mu.Unlock()
	var kept []net.Listener
	for _, l := range s.listeners.open {
		if _, tcp := l.(*net.TCPListener); tcp {
			l.Close()
			continue
		}
		kept = append(kept, l)
	}
	if port != 0 {
		open, err := s.listenTCP(port)
		if err != nil {
			s.listeners.open = kept
			if port == s.listeners.port {
				return errNoAddress
			}
			return errNoPort
		}
		fresh = open
	}
	s.listeners.open, s.listeners.port = append(kept, fresh...), port
	for _, l := range fresh {
		s.accept(l)
	}
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
