package testkit

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for tests.
type Authority struct {
	Dir  string // where its files are
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

const certLife = 24 * time.Hour

// nodeCert is the name of the certificate that servers of tests show.
const nodeCert = "node"

// NewAuthority makes an authority whose certificate is in the file ca.crt of a new directory, with a certificate "node".
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{Dir: t.TempDir()}
	a.key = newKey(t)
	a.cert = a.sign(t, "Test authority", a.key)
	a.Issue(t, nodeCert)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign makes a certificate, the authority's own as long as there is none.
func (a *Authority) sign(t testing.TB, name string, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	want := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-certLife), NotAfter: now.Add(certLife),
		KeyUsage: x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
	}
	parent := a.cert
	if parent == nil {
		parent = want
		want.IsCA, want.KeyUsage = true, x509.KeyUsageCertSign
	}
	der, err := x509.CreateCertificate(rand.Reader, want, parent, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	if want == parent {
		a.write(t, "ca.crt", "CERTIFICATE", der)
	}
	return cert
}

func (a *Authority) write(t testing.TB, name, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(a.Path(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Path is the path of one of the authority's files.
func (a *Authority) Path(name string) string { return filepath.Join(a.Dir, name) }

// Issue writes a certificate and its key into the files name.crt and name.key, over what is there.
func (a *Authority) Issue(t testing.TB, name string) {
	t.Helper()
	key := newKey(t)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	a.write(t, name+".key", "PRIVATE KEY", der)
	a.write(t, name+".crt", "CERTIFICATE", a.sign(t, name, key).Raw)
}

// Conf are the lines that give a server the certificate of that name.
func (a *Authority) Conf(name string) []string {
	return []string{"tls-cert-file " + a.Path(name+".crt"), "tls-key-file " + a.Path(name+".key"), "tls-ca-cert-file " + a.Path("ca.crt")}
}

// Client is the configuration of a client who trusts the authority and shows the certificate of that name, none for "".
func (a *Authority) Client(t testing.TB, name string) *tls.Config {
	t.Helper()
	c, err := a.client(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (a *Authority) client(name string) (*tls.Config, error) {
	c := &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
	c.RootCAs.AddCert(a.cert)
	if name == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(a.Path(name+".crt"), a.Path(name+".key"))
	c.Certificates = []tls.Certificate{pair}
	return c, err
}

// TryDialTLS connects over TLS.
func TryDialTLS(address string, config *tls.Config) (*Client, error) {
	c, err := TryDial(address)
	if err != nil {
		return nil, err
	}
	secure := tls.Client(c.conn, config)
	_ = c.conn.SetDeadline(time.Now().Add(Patience))
	if err := secure.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	c.conn = secure
	c.in.Reset(secure)
	return c, nil
}

// DialTLS connects over TLS and ends the test if that fails.
func DialTLS(t testing.TB, address string, config *tls.Config) *Client {
	t.Helper()
	c, err := TryDialTLS(address, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
