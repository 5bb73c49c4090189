package tests

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// startTLS starts a server with a plain port, which Dial uses, and a TLS port.
func startTLS(t testing.TB, ca *testkit.Authority, conf ...string) (s *testkit.Server, addr string) {
	t.Helper()
	port := testkit.FreePort(t)
	s = testkit.Start(t, testkit.Options{Conf: append(append(ca.Conf("node"), "tls-port "+strconv.Itoa(port)), conf...)})
	return s, fmt.Sprintf("127.0.0.1:%d", port)
}

func TestTLSClient(t *testing.T) {
	ca := testkit.NewAuthority(t)
	s, addr := startTLS(t, ca)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		config := ca.Client(t, "node")
		config.MinVersion, config.MaxVersion = version, version
		c := testkit.DialTLS(t, addr, config)
		big := strings.Repeat("v", 5<<20)
		c.Want(t, "+OK", "SET", "k", big)
		if v := c.Do(t, "GET", "k"); v.Text != big {
			t.Errorf("%d bytes came back", len(v.Text))
		}
		c.Want(t, `has("addr=127.0.0.1:" "cmd=client|list")`, "CLIENT", "LIST")
		c.Want(t, "hello", "HELLO", "3")
		other := testkit.DialTLS(t, addr, config)
		if err := other.Send("BLPOP", "list", "0"); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, testkit.Patience, func() error {
			if s.InfoInt(t, "blocked_clients") != 1 {
				return fmt.Errorf("nobody is blocked")
			}
			return nil
		})
		s.Want(t, ":1", "RPUSH", "list", "x")
		if v := other.Next(t); !reply.MustParse(`["list" "x"]`).Matches(v) {
			t.Errorf("got %v", v)
		}
		other.OK(t, "SUBSCRIBE", "news")
		s.Want(t, ":1", "PUBLISH", "news", "hello")
		if v := other.Next(t); !reply.MustParse(`["message" "news" "hello"]`).Matches(v) {
			t.Errorf("got %v", v)
		}
		id := c.OK(t, "CLIENT", "ID").Int
		s.Want(t, ":1", "CLIENT", "KILL", "ID", strconv.FormatInt(id, 10))
		if err := c.Closed(testkit.Patience); err != nil {
			t.Error(err)
		}
		other.Close()
	}
}

// A client that sends a lot before it reads anything is answered in full.
func TestTLSDeepPipeline(t *testing.T) {
	ca := testkit.NewAuthority(t)
	_, addr := startTLS(t, ca)
	c := testkit.DialTLS(t, addr, ca.Client(t, "node"))
	c.Want(t, "+OK", "SET", "k", strings.Repeat("v", 10000))
	const n = 10000
	var all []byte
	for range n {
		all = testkit.AppendCommand(all, "GET", "k")
	}
	if err := c.SendRaw(all); err != nil {
		t.Fatal(err)
	}
	for range n {
		if v := c.Next(t); len(v.Text) != 10000 {
			t.Fatalf("got %v", v)
		}
	}
	c.Want(t, "+OK", "QUIT")
	if err := c.Closed(testkit.Patience); err != nil {
		t.Error(err)
	}
}

func TestTLSAuthClients(t *testing.T) {
	ca, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	s, addr := startTLS(t, ca)
	stranger := ca.Client(t, "")
	stranger.Certificates = other.Client(t, "node").Certificates
	ping := func(config *tls.Config) error {
		c, err := testkit.TryDialTLS(addr, config)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Try("PING")
		return err
	}
	for _, c := range []struct {
		mode                  string
		none, wrong, rightful bool
	}{{"yes", false, false, true}, {"optional", true, false, true}, {"no", true, true, true}} {
		s.Want(t, "+OK", "CONFIG", "SET", "tls-auth-clients", c.mode)
		for config, want := range map[*tls.Config]bool{ca.Client(t, ""): c.none, stranger: c.wrong, ca.Client(t, "node"): c.rightful} {
			if err := ping(config); (err == nil) != want {
				t.Errorf("tls-auth-clients %s: %d certificates: %v", c.mode, len(config.Certificates), err)
			}
		}
	}
	if err := ping(other.Client(t, "")); err == nil {
		t.Error("a client who does not trust the server's authority talks to it")
	}
}

// served is the serial number of the certificate that the server shows.
func served(t testing.TB, addr string, config *tls.Config) string {
	t.Helper()
	c, err := tls.Dial("tcp", addr, config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].SerialNumber.String()
}

func TestTLSReload(t *testing.T) {
	ca := testkit.NewAuthority(t)
	s, addr := startTLS(t, ca, "enable-debug-command yes")
	config := ca.Client(t, "node")
	before := testkit.DialTLS(t, addr, config)
	first := served(t, addr, config)
	ca.Issue(t, "node") // the same files are other ones
	if served(t, addr, config) != first {
		t.Error("a certificate is used that nobody has asked for")
	}
	s.Want(t, "+OK", "CONFIG", "SET", "tls-cert-file", ca.Path("node.crt"))
	second := served(t, addr, config)
	if second == first {
		t.Error("the certificate was not read again")
	}
	for _, bad := range [][2]string{
		{"tls-cert-file", ca.Path("missing.crt")}, {"tls-cert-file", ca.Path("node.key")}, {"tls-key-file", ca.Path("ca.crt")},
		{"tls-ca-cert-file", ca.Path("node.key")}, {"tls-ca-cert-file", ""}, {"tls-protocols", "SSLv3"},
		{"tls-protocols", "TLSv1.1 TLSv1.3"}, {"tls-ciphers", "NULL-MD5"},
	} {
		v := s.Do(t, "CONFIG", "SET", bad[0], bad[1])
		want := "ERR CONFIG SET failed (possibly related to argument '" + bad[0] + "') - Unable to update TLS configuration. Check server logs."
		if v.Kind != reply.Error || v.Text != want {
			t.Errorf("%v: %v", bad, v)
		}
		if got := served(t, addr, config); got != second {
			t.Errorf("%v: another certificate is shown", bad)
		}
	}
	ca.Issue(t, "third")
	s.Want(t, "+OK", "CONFIG", "SET", "tls-cert-file", ca.Path("third.crt"), "tls-key-file", ca.Path("third.key"))
	if served(t, addr, config) == second {
		t.Error("the pair was not taken")
	}
	before.Want(t, "+PONG", "PING")
}

func TestTLSPortMoves(t *testing.T) {
	ca := testkit.NewAuthority(t)
	s := testkit.Start(t, testkit.Options{Conf: ca.Conf("node")})
	config := ca.Client(t, "node")
	first, second := testkit.FreePort(t), testkit.FreePort(t)
	addr := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	s.Want(t, "+OK", "CONFIG", "SET", "tls-port", strconv.Itoa(first))
	c := testkit.DialTLS(t, addr(first), config)
	if info := s.Info(t, "server"); info["listener2"] != fmt.Sprintf("name=tls,bind=127.0.0.1,port=%d", first) {
		t.Errorf("INFO: %q", info["listener2"])
	}
	c.Want(t, "+OK", "CONFIG", "SET", "tls-port", strconv.Itoa(second))
	testkit.DialTLS(t, addr(second), config).Want(t, "+PONG", "PING")
	if _, err := testkit.TryDial(addr(first)); err == nil {
		t.Error("the old port still listens")
	}
	c.Want(t, "+PONG", "PING")
	taken, err := net.Listen("tcp", addr(first))
	must(t, err)
	defer taken.Close()
	c.Want(t, `has("ERR CONFIG SET failed" "Unable to listen on this port. Check server logs.")`, "CONFIG", "SET", "tls-port", strconv.Itoa(first))
	testkit.DialTLS(t, addr(second), config).Want(t, "+PONG", "PING")
	c.Want(t, "+OK", "CONFIG", "SET", "tls-port", "0")
	if _, err := testkit.TryDial(addr(second)); err == nil {
		t.Error("the closed port still listens")
	}
}

// What comes to a TLS port and is none harms nobody.
func TestTLSHostile(t *testing.T) {
	ca := testkit.NewAuthority(t)
	s, addr := startTLS(t, ca, "maxclients 600")
	good := testkit.DialTLS(t, addr, ca.Client(t, "node"))
	before := s.RSS(t)
	for _, text := range []string{"PING\r\n", "*1\r\n$4\r\nPING\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\xff\xff\x01\xff\xff\xff", strings.Repeat("\xff", 100000)} {
		c := testkit.Dial(t, addr)
		_ = c.SendRaw([]byte(text)) // the server may be faster
		testkit.Eventually(t, testkit.Patience, func() error {
			if n := s.InfoInt(t, "connected_clients"); n != 2 {
				return fmt.Errorf("%d clients after %.20q", n, text)
			}
			return nil
		})
	}
	var half []net.Conn
	for range 500 { // half a ClientHello that promises the most there can be
		c, err := net.Dial("tcp", addr)
		must(t, err)
		defer c.Close()
		_, err = c.Write([]byte("\x16\x03\x01\x40\x00\x01\x00\xff\xff"))
		must(t, err)
		half = append(half, c)
	}
	testkit.Eventually(t, testkit.Patience, func() error {
		if n := s.InfoInt(t, "connected_clients"); n < 500 {
			return fmt.Errorf("%d clients: handshakes do not count", n)
		}
		return nil
	})
	good.Want(t, "+PONG", "PING")
	grown := s.RSS(t) - before
	t.Logf("%d half handshakes: %d KB more", len(half), grown>>10)
	if grown > 64<<20 && os.Getenv("COVEY_RACE") == "" {
		t.Errorf("%d half handshakes take %d bytes", len(half), grown)
	}
	testkit.Eventually(t, testkit.Patience, func() error {
		if n := s.InfoInt(t, "connected_clients"); n != 2 {
			return fmt.Errorf("%d clients", n)
		}
		return nil
	})
	good.Want(t, "+PONG", "PING")
}

// A subscriber that does not read is ended by its output limit, and holds up nobody before.
func TestTLSOutputLimit(t *testing.T) {
	ca := testkit.NewAuthority(t)
	s, addr := startTLS(t, ca, "client-output-buffer-limit pubsub 4mb 0 0")
	slow := testkit.DialTLS(t, addr, ca.Client(t, "node"))
	slow.OK(t, "SUBSCRIBE", "news")
	c := s.Dial(t)
	text := strings.Repeat("x", 100000)
	for n := 0; c.OK(t, "PUBLISH", "news", text).Int == 1; n++ {
		if n == 1000 {
			t.Fatal("100 MB wait for a subscriber")
		}
	}
	if n := s.InfoInt(t, "client_output_buffer_limit_disconnections"); n != 1 {
		t.Errorf("%d connections were ended", n)
	}
}

func TestTLSReplication(t *testing.T) {
	ca := testkit.NewAuthority(t)
	covey, redis := testkit.SUT(t), testkit.Redis(t)
	for name, pair := range map[string][2]testkit.Binary{"covey": {covey, covey}, "to redis": {covey, redis}, "from redis": {redis, covey}} {
		t.Run(name, func(t *testing.T) {
			primary := testkit.Start(t, testkit.Options{Binary: pair[0], TLS: ca})
			replica := testkit.Start(t, testkit.Options{Binary: pair[1], TLS: ca})
			primary.Want(t, "+OK", "SET", "before", strings.Repeat("v", 1<<20))
			replica.Follow(t, primary)
			primary.Want(t, "+OK", "SET", "after", "2")
			primary.Want(t, ":1", "WAIT", "1", "30000")
			eventuallyReply(t, testkit.Patience, replica, `"2"`, "GET", "after")
			if n := len(replica.Do(t, "GET", "before").Text); n != 1<<20 {
				t.Errorf("%d bytes have arrived", n)
			}
			replica.Kill(t)
			primary.Want(t, "+OK", "SET", "later", "3")
			replica.Restart(t)
			replica.Follow(t, primary)
			eventuallyReply(t, testkit.Patience, replica, `"3"`, "GET", "later")
		})
	}
}

// A replica whose certificate is not trusted gets no data.
func TestTLSReplicationOfStrangers(t *testing.T) {
	ca, other := testkit.NewAuthority(t), testkit.NewAuthority(t)
	primary := testkit.Start(t, testkit.Options{TLS: ca})
	stranger := testkit.Start(t, testkit.Options{TLS: other})
	primary.Want(t, "+OK", "SET", "k", "v")
	stranger.Want(t, "+OK", "REPLICAOF", "127.0.0.1", strconv.Itoa(primary.Port))
	steadily(t, 2*time.Second, func() error {
		info, err := stranger.TryInfo("replication")
		if err == nil && info["master_link_status"] != "down" {
			err = fmt.Errorf("the link is %s", info["master_link_status"])
		}
		return err
	})
	primary.Want(t, `"v"`, "GET", "k")
	stranger.Want(t, "nil", "GET", "k")
}

func TestTLSCluster(t *testing.T) {
	ca := testkit.NewAuthority(t)
	top := testkit.StartCluster(t, testkit.ClusterOptions{Primaries: 3, Replicas: []int{0, 1, 2}, TLS: ca})
	node := top.Nodes[0]
	moved := fmt.Sprintf(`-MOVED %d 127.0.0.1:%d`, slotOfFoo, top.Nodes[2].Port)
	node.Want(t, moved, "SET", keyOfNode2, "v")
	node.Want(t, "+OK", "SET", keyOfNode0, "v")
	node.Want(t, ":1", "WAIT", "1", "30000")
	conf := node.ReadFile(t, "nodes.conf")
	if want := fmt.Sprintf("127.0.0.1:%d@%d,,tls-port=%d,", 0, node.BusPort, node.Port); !strings.Contains(conf, want) {
		t.Errorf("nodes.conf: %s", conf)
	}
	out := redisCLI(t, "--tls", "--cert", ca.Path("node.crt"), "--key", ca.Path("node.key"), "--cacert", ca.Path("ca.crt"),
		"-p", strconv.Itoa(node.Port), "-c", "SET", keyOfNode2, "w")
	if strings.TrimSpace(out) != "OK" {
		t.Errorf("redis-cli: %s", out)
	}
	top.Nodes[2].Want(t, `"w"`, "GET", keyOfNode2)
	// A slot moves, with its key.
	from, to := top.Nodes[0], top.Nodes[1]
	slot := strconv.Itoa(slotOfBar)
	to.Want(t, "+OK", "CLUSTER", "SETSLOT", slot, "IMPORTING", top.IDs[0])
	from.Want(t, "+OK", "CLUSTER", "SETSLOT", slot, "MIGRATING", top.IDs[1])
	from.Want(t, "+OK", "MIGRATE", "127.0.0.1", strconv.Itoa(to.Port), keyOfNode0, "0", "30000")
	from.Want(t, fmt.Sprintf(`-ASK %d 127.0.0.1:%d`, slotOfBar, to.Port), "GET", keyOfNode0)
	to.Want(t, "+OK", "CLUSTER", "SETSLOT", slot, "NODE", top.IDs[1])
	from.Want(t, "+OK", "CLUSTER", "SETSLOT", slot, "NODE", top.IDs[1])
	to.Want(t, `"v"`, "GET", keyOfNode0)
	from.Want(t, "+OK", "SET", "{06S}k", "kept") // slot 0
	from.Want(t, ":1", "WAIT", "1", "30000")
	top.Hasten(t)
	from.Kill(t)
	awaitPrimary(t, top, 3)
	top.Nodes[3].Want(t, `"kept"`, "GET", "{06S}k")
	from.Restart(t)
	top.AwaitWhole(t)
}

// Clients are sent to ports of the kind that they came by.
func TestTLSClusterPorts(t *testing.T) {
	ca := testkit.NewAuthority(t)
	for _, secure := range []string{"yes", "no"} {
		var nodes []*testkit.Server
		var addrs []string
		for range 2 {
			s, addr := startTLS(t, ca, append(testkit.ClusterConf(), "tls-cluster "+secure, "tls-replication "+secure)...)
			nodes, addrs = append(nodes, s), append(addrs, addr)
		}
		_, tlsPort, _ := net.SplitHostPort(addrs[1])
		meet := strconv.Itoa(nodes[1].Port)
		if secure == "yes" {
			meet = tlsPort
		}
		nodes[1].Want(t, "+OK", "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
		nodes[0].Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", meet)
		eventuallyReply(t, testkit.Patience, nodes[0], fmt.Sprintf(`-MOVED %d 127.0.0.1:%d`, slotOfFoo, nodes[1].Port), "GET", "foo")
		c := testkit.DialTLS(t, addrs[0], ca.Client(t, "node"))
		c.Want(t, fmt.Sprintf(`-MOVED %d 127.0.0.1:%s`, slotOfFoo, tlsPort), "GET", "foo")
		c.Want(t, fmt.Sprintf(`[[:0 :16383 ["127.0.0.1" :%s ...]]]`, tlsPort), "CLUSTER", "SLOTS")
		nodes[0].Want(t, fmt.Sprintf(`[[:0 :16383 ["127.0.0.1" :%d ...]]]`, nodes[1].Port), "CLUSTER", "SLOTS")
		c.Want(t, fmt.Sprintf(`has("127.0.0.1:%s@")`, tlsPort), "CLUSTER", "NODES")
		nodes[0].Want(t, fmt.Sprintf(`has("127.0.0.1:%d@")`, nodes[1].Port), "CLUSTER", "NODES")
		both := fmt.Sprintf(`field("port" :%d) & field("tls-port" :%s)`, nodes[1].Port, tlsPort)
		c.Want(t, `holds(field("nodes" holds(`+both+`)))`, "CLUSTER", "SHARDS")
	}
}
