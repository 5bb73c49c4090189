// Package credential makes the TLS configurations of a node out of the files and words of its configuration: certificates,
// keys with or without a password, authorities, protocols and cipher suites. It opens no socket.
package credential

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/covey-db/covey/internal/vfs"
)

// Auth is tls-auth-clients: what is asked of clients.
type Auth uint8

// The kinds of authentication.
const (
	AuthNone     Auth = iota // no certificate
	AuthOptional             // a certificate, if there is one, must be good
	AuthRequired             // a good certificate
)

// Pair is a certificate with its key.
type Pair struct {
	CertFile, KeyFile string
	Password          string // of the key; "" for none
}

// Options are what the configuration says.
type Options struct {
	FS vfs.FS // holds the files
	// Server is shown to clients, and to servers where Client has no certificate.
	Server, Client Pair
	// CAFile holds the certificates of the authorities, CADir any number of such files.
	CAFile, CADir string
	Auth          Auth
	Peers         bool   // this node is going to talk to other nodes, and has to know whom it trusts
	Protocols     string // tls-protocols
	Ciphers       string // tls-ciphers
	NoResumption  bool   // tls-session-caching no
}

// Identity is who a node is for its clients and peers. It does not change.
type Identity struct {
	// Clients is for the doors of clients, Peers for those of other nodes, who always need a certificate.
	Clients, Peers *tls.Config
	// Outgoing is for connections that this node opens. As with Redis, a certificate of a trusted authority is enough:
	// nodes are reached by addresses, which certificates do not name.
	Outgoing *tls.Config
}

var (
	errNoCert = errors.New("tls-cert-file is not set")
	errNoKey  = errors.New("tls-key-file is not set")
	errNoCA   = errors.New("tls-ca-cert-file or tls-ca-cert-dir is needed where clients, replicas or nodes must prove who they are")
)

// Load reads everything and makes an identity, or says what is wrong.
func Load(o Options) (*Identity, error) {
	base, err := baseConfig(o)
	if err != nil {
		return nil, err
	}
	pair, err := o.load(o.Server)
	if err != nil {
		return nil, err
	}
	roots, err := o.authorities()
	if err != nil {
		return nil, err
	}
	if roots == nil && (o.Auth != AuthNone || o.Peers) {
		return nil, errNoCA
	}
	clients := base.Clone()
	clients.Certificates = []tls.Certificate{pair}
	clients.ClientCAs = roots
	peers := clients.Clone()
	clients.ClientAuth = [...]tls.ClientAuthType{
		AuthNone: tls.NoClientCert, AuthOptional: tls.VerifyClientCertIfGiven, AuthRequired: tls.RequireAndVerifyClientCert,
	}[o.Auth]
	peers.ClientAuth = tls.RequireAndVerifyClientCert
	switch {
	case o.Client.CertFile != "" && o.Client.KeyFile != "":
		if pair, err = o.load(o.Client); err != nil {
			return nil, err
		}
	case o.Client.CertFile != "": // as with OpenSSL, what cannot be proved is not shown
		pair = tls.Certificate{}
	}
	return &Identity{Clients: clients, Peers: peers, Outgoing: outgoing(base, &pair, roots)}, nil
}

// baseConfig is what all configurations of a node have in common.
func baseConfig(o Options) (*tls.Config, error) {
	c := &tls.Config{SessionTicketsDisabled: o.NoResumption}
	var err error
	if c.MinVersion, c.MaxVersion, err = protocols(o.Protocols); err != nil {
		return nil, err
	}
	c.CipherSuites, err = suites(o.Ciphers)
	return c, err
}

// outgoing verifies the chain of a server, but not its name.
func outgoing(base *tls.Config, pair *tls.Certificate, roots *x509.CertPool) *tls.Config {
	c := base.Clone()
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return pair, nil }
	c.InsecureSkipVerify = true // the chain is verified below
	c.VerifyConnection = func(s tls.ConnectionState) error {
		o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if roots == nil || len(s.PeerCertificates) == 0 {
			return errNoCA
		}
		for _, cert := range s.PeerCertificates[1:] {
			o.Intermediates.AddCert(cert)
		}
		_, err := s.PeerCertificates[0].Verify(o)
		return err
	}
	return c
}

func (o *Options) load(p Pair) (tls.Certificate, error) {
	var none tls.Certificate
	switch {
	case p.CertFile == "":
		return none, errNoCert
	case p.KeyFile == "":
		return none, errNoKey
	}
	cert, err := o.FS.ReadFile(p.CertFile)
	if err != nil {
		return none, err
	}
	key, err := o.FS.ReadFile(p.KeyFile)
	if err != nil {
		return none, err
	}
	if key, err = decryptPEM(key, []byte(p.Password)); err != nil {
		return none, fmt.Errorf("%s: %w", p.KeyFile, err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return none, fmt.Errorf("%s with %s: %w", p.CertFile, p.KeyFile, err)
	}
	return pair, nil
}

// authorities reads whom this node trusts, nil if nothing is configured.
func (o *Options) authorities() (*x509.CertPool, error) {
	if o.CAFile == "" && o.CADir == "" {
		return nil, nil
	}
	pool, found := x509.NewCertPool(), false
	if o.CAFile != "" {
		text, err := o.FS.ReadFile(o.CAFile)
		if err != nil {
			return nil, err
		}
		if found = pool.AppendCertsFromPEM(text); !found {
			return nil, fmt.Errorf("%s: there is no certificate in it", o.CAFile)
		}
	}
	if o.CADir != "" {
		entries, err := o.FS.ReadDir(o.CADir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			text, err := o.FS.ReadFile(filepath.Join(o.CADir, e.Name()))
			if err == nil && pool.AppendCertsFromPEM(text) { // other files may lie there too
				found = true
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("%s: there is no certificate in it", o.CADir)
	}
	return pool, nil
}
