package credential_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/credential"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/vfs"
)

func options(ca *testkit.Authority) credential.Options {
	return credential.Options{
		FS: vfs.OS{}, CAFile: ca.Path("ca.crt"), Auth: credential.AuthRequired,
		Server: credential.Pair{CertFile: ca.Path("node.crt"), KeyFile: ca.Path("node.key")},
	}
}

// meet shakes hands over the loopback interface and returns what both sides say.
func meet(t *testing.T, server, client *tls.Config) (serverErr, clientErr error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			done <- err
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(meetWithin))
		s := tls.Server(conn, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte("!"))
		}
		done <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(meetWithin))
	c := tls.Client(conn, client)
	if clientErr = c.Handshake(); clientErr == nil {
		_, clientErr = c.Read(make([]byte, 1)) // in TLS 1.3 a refusal comes after the handshake
	}
	conn.Close()
	return <-done, clientErr
}

const meetWithin = testkit.Patience

func TestPeersMeet(t *testing.T) {
	ca, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	ours, err := credential.Load(options(ca))
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := credential.Load(options(other))
	if err != nil {
		t.Fatal(err)
	}
	if serverErr, clientErr := meet(t, ours.Peers, ours.Outgoing); serverErr != nil || clientErr != nil {
		t.Errorf("two of ours: %v, %v", serverErr, clientErr)
	}
	if _, clientErr := meet(t, theirs.Clients, ours.Outgoing); clientErr == nil {
		t.Error("a server of strangers was believed")
	}
	liar := ours.Outgoing.Clone()
	liar.GetClientCertificate = theirs.Outgoing.GetClientCertificate
	if serverErr, _ := meet(t, ours.Peers, liar); serverErr == nil {
		t.Error("a client of strangers was believed")
	}
}

func TestWhatIsMissing(t *testing.T) {
	ca := testkit.NewAuthority(t)
	for name, change := range map[string]func(*credential.Options){
		"tls-cert-file is not set": func(o *credential.Options) { o.Server.CertFile = "" },
		"tls-key-file is not set":  func(o *credential.Options) { o.Server.KeyFile = "" },
		"tls-ca-cert-file or":      func(o *credential.Options) { o.CAFile = "" },
		"no certificate in it":     func(o *credential.Options) { o.CAFile = ca.Path("node.key") },
		"no such file":             func(o *credential.Options) { o.Client = credential.Pair{CertFile: "/no/file", KeyFile: "x"} },
		"a gap":                    func(o *credential.Options) { o.Protocols = "TLSv1.1 TLSv1.3" },
		`"SSLv3" is none of`:       func(o *credential.Options) { o.Protocols = "SSLv3" },
		"nothing in":               func(o *credential.Options) { o.Ciphers = "NULL:ALL:!ALL" },
	} {
		o := options(ca)
		change(&o)
		if _, err := credential.Load(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	o := options(ca)
	o.CAFile, o.Auth = "", credential.AuthNone
	if _, err := credential.Load(o); err != nil {
		t.Errorf("without authorities and without authentication: %v", err)
	}
	o = options(ca)
	o.Client = credential.Pair{CertFile: ca.Path("node.crt")}
	if id, err := credential.Load(o); err != nil {
		t.Errorf("with a client's certificate and no key: %v", err)
	} else if a, _ := meet(t, id.Peers, id.Outgoing); a == nil {
		t.Error("a certificate without its key was shown")
	}
	o = options(ca)
	o.CAFile, o.CADir = "", ca.Dir
	if id, err := credential.Load(o); err != nil {
		t.Errorf("with a directory: %v", err)
	} else if a, b := meet(t, id.Peers, id.Outgoing); a != nil || b != nil {
		t.Errorf("with a directory: %v, %v", a, b)
	}
}

func TestProtocolsAndCiphers(t *testing.T) {
	ca := testkit.NewAuthority(t)
	for words, want := range map[string][2]uint16{
		"": {tls.VersionTLS12, tls.VersionTLS13}, "TLSv1.2": {tls.VersionTLS12, tls.VersionTLS12},
		"tlsv1.3 TLSv1.2": {tls.VersionTLS12, tls.VersionTLS13}, "TLSv1 TLSv1.1 TLSv1.2": {tls.VersionTLS10, tls.VersionTLS12},
	} {
		o := options(ca)
		o.Protocols = words
		id, err := credential.Load(o)
		if err != nil || id.Clients.MinVersion != want[0] || id.Clients.MaxVersion != want[1] {
			t.Errorf("%q: %v", words, err)
		}
	}
	const gcm, chacha = tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256
	for list, want := range map[string][]uint16{
		"": nil, "ECDHE-RSA-AES128-GCM-SHA256": {gcm}, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": {gcm},
		"DHE-RSA-AES128-SHA,ECDHE-RSA-CHACHA20-POLY1305 ECDHE-RSA-AES128-GCM-SHA256": {chacha, gcm},
		"ECDHE+CHACHA20:!ECDSA": {chacha}, "ALL:-ALL:ECDHE-RSA-AES128-GCM-SHA256": {gcm}, "@SECLEVEL=2:ECDHE-RSA-AES128-GCM-SHA256@STRENGTH": {gcm}, "!aRSA:HIGH:-AES": {tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
	} {
		o := options(ca)
		o.Ciphers = list
		id, err := credential.Load(o)
		if err != nil || !slices.Equal(id.Clients.CipherSuites, want) {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// encrypted writes an encrypted copy of the key "node" and returns its path.
func encrypted(t *testing.T, ca *testkit.Authority, args ...string) string {
	t.Helper()
	path := ca.Path("encrypted.key")
	args = append(args, "-in", ca.Path("node.key"), "-out", path, "-passout", "pass:secret")
	if out, err := exec.Command(testkit.Need(t, "openssl"), args...).CombinedOutput(); err != nil {
		t.Fatalf("openssl %q: %v: %s", args, err, out)
	}
	return path
}

func TestEncryptedKeys(t *testing.T) {
	ca := testkit.NewAuthority(t)
	for name, args := range map[string][]string{
		"ENCRYPTED PRIVATE KEY": {"pkcs8", "-topk8", "-v2", "aes-256-cbc"},
		"ENCRYPTED":             {"pkcs8", "-topk8", "-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA1"},
		"BEGIN ENCRYPTED":       {"pkcs8", "-topk8", "-v2", "des3", "-v2prf", "hmacWithSHA512"},
		"Proc-Type":             {"ec", "-aes256"},
	} {
		o := options(ca)
		o.Server.KeyFile = encrypted(t, ca, args...)
		if text, err := os.ReadFile(o.Server.KeyFile); err != nil || !strings.Contains(string(text), name) {
			t.Fatalf("%q: openssl wrote %s", args, text)
		}
		for password, want := range map[string]string{"": "there is no password", "wrong": "the password is wrong", "secret": ""} {
			o.Server.Password = password
			_, err := credential.Load(o)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%q with %q: %v", args, password, err)
			}
		}
	}
	o := options(ca)
	o.Server.KeyFile, o.Server.Password = encrypted(t, ca, "pkcs8", "-topk8", "-scrypt"), "secret"
	if _, err := credential.Load(o); err == nil || !strings.Contains(err.Error(), "not supported") {
		t.Errorf("scrypt: %v", err)
	}
}

// FuzzKey feeds key files that are none.
func FuzzKey(f *testing.F) {
	f.Add([]byte("0\x820\x00"))
	f.Fuzz(func(t *testing.T, der []byte) {
		ca := testkit.NewAuthority(t)
		text := pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: der})
		if err := os.WriteFile(ca.Path("node.key"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		o := options(ca)
		o.Server.Password = "secret"
		if _, err := credential.Load(o); err == nil {
			if _, err := x509.ParsePKCS8PrivateKey(der); err == nil {
				t.Error("a plain key was taken for an encrypted one")
			}
		}
	})
}
