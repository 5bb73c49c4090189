package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/credential"
)

// This file is who this node is for others, and the connections that it encrypts.

// identityDirectives are those that an identity is made of.
var identityDirectives = []string{
	"tls-cluster", "tls-replication", "tls-auth-clients", "tls-cert-file", "tls-key-file", "tls-key-file-pass",
	"tls-client-cert-file", "tls-client-key-file", "tls-client-key-file-pass", "tls-ca-cert-file", "tls-ca-cert-dir",
	"tls-protocols", "tls-ciphers", "tls-session-caching",
}

// What CONFIG SET and the start say when there can be no identity; the log has the reason.
var (
	errIdentity      = errors.New("Unable to update TLS configuration. Check server logs.")
	errIdentityStart = errors.New("Failed to configure TLS. Check logs for more info.")
)

var authKinds = map[string]credential.Auth{"no": credential.AuthNone, "yes": credential.AuthRequired, "optional": credential.AuthOptional}

// putIdentity reads certificates and keys, if any connection is to be encrypted. What was in force stays if that fails;
// connections that exist keep what they were made with.
func (s *Server) putIdentity(c config.Snapshot) error {
	peers := c.Bool("tls-cluster") || c.Bool("tls-replication")
	if c.Int("tls-port") == 0 && !peers {
		return nil
	}
	id, err := credential.Load(credential.Options{
		FS:     s.fs,
		Server: credential.Pair{CertFile: c.String("tls-cert-file"), KeyFile: c.String("tls-key-file"), Password: c.String("tls-key-file-pass")},
		Client: credential.Pair{CertFile: c.String("tls-client-cert-file"), KeyFile: c.String("tls-client-key-file"), Password: c.String("tls-client-key-file-pass")},
		CAFile: c.String("tls-ca-cert-file"), CADir: c.String("tls-ca-cert-dir"),
		Auth: authKinds[c.String("tls-auth-clients")], Peers: peers,
		Protocols: c.String("tls-protocols"), Ciphers: c.String("tls-ciphers"), NoResumption: !c.Bool("tls-session-caching"),
	})
	if err != nil {
		s.log.Warn("Failed to configure TLS: " + err.Error())
		return errIdentity
	}
	s.identity.Store(id)
	return nil
}

// putTLSPort is CONFIG SET tls-port. The identity comes first: there may have been none before.
func (s *Server) putTLSPort(c config.Snapshot) error {
	if err := s.putIdentity(c); err != nil {
		return err
	}
	return s.relisten(doorTLS, int(c.Int("tls-port")))
}

// dialPrimary opens the connection to a primary.
func (s *Server) dialPrimary(ctx context.Context, addr string) (net.Conn, error) {
	return s.dialAs(ctx, addr, s.store.Bool("tls-replication"))
}

// dialPeer opens a connection to another node of the cluster: its bus, or its client port for MIGRATE.
func (s *Server) dialPeer(ctx context.Context, addr string) (net.Conn, error) {
	return s.dialAs(ctx, addr, s.store.Bool("tls-cluster"))
}

func (s *Server) dialAs(ctx context.Context, addr string, secure bool) (net.Conn, error) {
	conn, err := s.dial(ctx, addr)
	id := s.identity.Load()
	if err != nil || !secure || id == nil {
		return conn, err
	}
	return shake(ctx, tls.Client(conn, id.Outgoing))
}

// peerHandshakeWait bounds how long another node may take to shake hands.
const peerHandshakeWait = 10 * time.Second

// acceptPeer makes a link of the cluster's bus out of an accepted connection.
func (s *Server) acceptPeer(ctx context.Context, conn net.Conn) (net.Conn, error) {
	id := s.identity.Load()
	if !s.store.Bool("tls-cluster") || id == nil {
		return conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, peerHandshakeWait)
	defer cancel()
	return shake(ctx, tls.Server(conn, id.Peers))
}

func shake(ctx context.Context, conn *tls.Conn) (net.Conn, error) {
	if err := conn.HandshakeContext(ctx); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
