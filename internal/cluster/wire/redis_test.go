package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// This file lets tests talk with a real redis-server in cluster mode, as a client and as a node of its cluster.
// COVEY_REDIS_SERVER names another executable than the redis-server of the path.

// patience bounds every wait for a redis-server, in time: its slowest reaction here is a failure detection of 2 s.
const patience = testkit.Patience

// redisExe finds the server, or ends the test: as skipped, but as failed where everything must run.
func redisExe(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short, no redis-server is started")
	}
	name := os.Getenv("COVEY_REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	exe, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("redis-server must be there when CI=true: %v", err)
		}
		t.Skipf("SKIPPED: no redis-server: %v", err)
	}
	return exe
}

// redisVersion gives the version as 7.2.4.
func redisVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command(redisExe(t), "--version").Output()
	m := regexp.MustCompile(`v=(\d+\.\d+\.\d+)`).FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("version of redis-server: %q, %v", out, err)
	}
	return string(m[1])
}

// hasAux says whether the version writes and reads aux fields and shards.
func hasAux(version string) bool { return version >= "7.2" || len(version) > len("7.x.yy") }

// redisNode is a running redis-server in cluster mode.
type redisNode struct {
	t         *testing.T
	dir       string
	port, bus int
	process   *os.Process
	lines     chan string // its log
	logged    []string    // what was read of it
	client    *redisClient
}

// startRedis starts a node in dir (a new one if "") and waits until it serves.
func startRedis(t *testing.T, dir string, options ...string) *redisNode {
	t.Helper()
	exe := redisExe(t)
	if dir == "" {
		dir = t.TempDir()
	}
	const attempts = 5 // another process may take a port between our choice and the server's start
	for range attempts {
		n := &redisNode{t: t, dir: dir, port: testkit.FreePort(t), bus: testkit.FreePort(t), lines: make(chan string, 1000)}
		args := append([]string{
			"--port", strconv.Itoa(n.port), "--cluster-port", strconv.Itoa(n.bus), "--bind", "127.0.0.1", "--dir", dir,
			"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000",
			"--save", "", "--appendonly", "no", "--loglevel", "verbose", "--logfile", "", "--daemonize", "no",
		}, options...)
		cmd := exec.Command(exe, args...)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		n.process = cmd.Process
		var done sync.WaitGroup
		done.Go(func() { readLines(out, n.lines) })
		t.Cleanup(func() {
			_ = n.process.Kill() // it may have ended by itself
			done.Wait()
			_ = cmd.Wait()
		})
		if _, ok := n.awaitLog("Ready to accept connections"); ok {
			n.client = dialRedis(t, n.port)
			return n
		}
		t.Logf("redis-server did not start: %v", n.logged)
	}
	t.Fatal("redis-server does not start")
	return nil
}

// readLines sends the lines of the log; when nobody reads them the oldest are kept, the others lost.
func readLines(r io.Reader, lines chan<- string) {
	defer close(lines)
	for s := bufio.NewScanner(r); s.Scan(); {
		select {
		case lines <- s.Text():
		default:
		}
	}
}

// awaitLog reads the log up to a line that has text; ok is false if the log ends before.
func (n *redisNode) awaitLog(text string) (line string, ok bool) {
	n.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, ok := <-n.lines:
			if !ok {
				return "", false
			}
			n.logged = append(n.logged, line)
			if strings.Contains(line, text) {
				return line, true
			}
		case <-late:
			n.t.Fatalf("no %q in the log\n%s", text, strings.Join(n.logged, "\n"))
		}
	}
}

// mustLog is awaitLog for a server that keeps running.
func (n *redisNode) mustLog(text string) {
	n.t.Helper()
	if _, ok := n.awaitLog(text); !ok {
		n.t.Fatalf("the log ended before %q\n%s", text, strings.Join(n.logged, "\n"))
	}
}

// mustNotComplain ends the server and checks that it never called a packet malformed.
func (n *redisNode) mustNotComplain() {
	n.t.Helper()
	_ = n.process.Kill() // it may have ended by itself
	for line := range n.lines {
		n.logged = append(n.logged, line)
	}
	bad := regexp.MustCompile(`(?i)received invalid|without proper padding|Bad message length|unknown extension|ASSERTION`)
	for _, line := range n.logged {
		if bad.MatchString(line) {
			n.t.Errorf("redis-server complains: %s", line)
		}
	}
}

// do sends a command that must not fail, and gives its reply as text.
func (n *redisNode) do(args ...string) string {
	n.t.Helper()
	return n.client.do(args...)
}

// file reads nodes.conf after the server was made to write it.
func (n *redisNode) file() string {
	n.t.Helper()
	n.do("CLUSTER", "SAVECONFIG")
	data, err := os.ReadFile(filepath.Join(n.dir, "nodes.conf"))
	if err != nil {
		n.t.Fatal(err)
	}
	return string(data)
}

// redisClient is a client connection.
type redisClient struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dialRedis(t *testing.T, port int) *redisClient {
	t.Helper()
	c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &redisClient{t: t, c: c, r: bufio.NewReader(c)}
}

func (c *redisClient) do(args ...string) string {
	c.t.Helper()
	var b bytes.Buffer
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if err := c.c.SetDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.c.Write(b.Bytes()); err != nil {
		c.t.Fatal(err)
	}
	return c.reply()
}

// reply reads one reply; the elements of an array are joined by spaces.
func (c *redisClient) reply() string {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	kind, text := line[0], strings.TrimSuffix(line[1:], "\r\n")
	size, _ := strconv.Atoi(text)
	switch {
	case kind == '-':
		c.t.Fatalf("error reply: %s", text)
	case kind == '$' && size >= 0:
		b := make([]byte, size+2)
		if _, err := io.ReadFull(c.r, b); err != nil {
			c.t.Fatal(err)
		}
		return string(b[:size])
	case kind == '*':
		elements := make([]string, max(size, 0))
		for i := range elements {
			elements[i] = c.reply()
		}
		return strings.Join(elements, " ")
	}
	return text
}

// peer plays a node: it listens on a bus port, answers heartbeats and keeps what it gets.
type peer struct {
	t        *testing.T
	listener net.Listener
	got      chan received
	mu       struct { // a leaf lock
		sync.Mutex
		self Packet // what it says of itself in heartbeats
	}
}

// received is a packet that a peer got, with its bytes.
type received struct {
	p     *Packet
	bytes []byte
	on    *peerConn
}

// startPeer starts a node that says of itself what sample packets say, but its own id, addresses and slots.
func startPeer(t *testing.T, id NodeID) *peer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, listener: l, got: make(chan received, 1000)}
	p.mu.self = Packet{Header: Header{
		Sender: id, Port: uint16(testkit.FreePort(t)), BusPort: uint16(l.Addr().(*net.TCPAddr).Port), IP: testHost(t, "127.0.0.1"),
		Flags: FlagMyself | FlagPrimary,
	}}
	p.mu.self.Ext.Hostname = []byte("host-1.example")
	var done sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		done.Wait()
	})
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(c)
		}
	})
	return p
}

// change edits what the peer says of itself.
func (p *peer) change(edit func(self *Packet)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit(&p.mu.self)
}

// packet is a packet of the peer.
func (p *peer) packet(kind Type) *Packet {
	p.mu.Lock()
	defer p.mu.Unlock()
	self := p.mu.self
	self.Type = kind
	return &self
}

// peerConn is a bus connection of a peer.
type peerConn struct {
	peer *peer
	c    net.Conn
}

// connect opens a bus connection to a node.
func (p *peer) connect(n *redisNode) *peerConn {
	p.t.Helper()
	c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n.bus)), patience)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.serve(c)
}

// serve reads a connection until it ends. Pings are answered.
func (p *peer) serve(c net.Conn) *peerConn {
	conn := &peerConn{peer: p, c: c}
	p.t.Cleanup(func() { c.Close() })
	go conn.read() // ends with the connection
	return conn
}

func (c *peerConn) read() {
	var buf []byte
	chunk := make([]byte, 16<<10)
	for {
		n, err := c.c.Read(chunk)
		if err != nil {
			return
		}
		buf = append(buf, chunk[:n]...)
		for {
			p := &Packet{}
			n, err := Parse(buf, DefaultMaxBytes, p)
			if err != nil {
				p.Type = TypeCount // await fails on it
			}
			if n == 0 && err == nil {
				break
			}
			if err == nil && (p.Type == TypePing || p.Type == TypeMeet) {
				c.send(c.peer.packet(TypePong))
			}
			c.peer.got <- received{p, bytes.Clone(buf[:n]), c}
			if err != nil {
				return
			}
			buf = bytes.Clone(buf[n:]) // p points into the old one
		}
	}
}

// send writes a packet; a connection that is gone shows in what does not come.
func (c *peerConn) send(p *Packet) {
	_, _ = c.c.Write(AppendPacket(nil, p))
}

// await gives the next packet for which want holds.
func (p *peer) await(what string, want func(r received) bool) received {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case r := <-p.got:
			if r.p.Type >= TypeCount {
				p.t.Fatalf("waiting for %s: a packet of redis-server cannot be parsed: %x", what, r.bytes)
			}
			if want(r) {
				return r
			}
		case <-late:
			p.t.Fatalf("no %s", what)
		}
	}
}

// awaitType gives the next packet of a type.
func (p *peer) awaitType(kind Type) received {
	p.t.Helper()
	return p.await(kind.String(), func(r received) bool { return r.p.Type == kind })
}

// barrier returns when the node has processed everything sent on c.
func (c *peerConn) barrier() {
	c.peer.t.Helper()
	c.send(c.peer.packet(TypePing))
	c.peer.await("pong", func(r received) bool { return r.on == c && r.p.Type == TypePong })
}

// join makes the peer a known node of n's cluster.
func (p *peer) join(n *redisNode) *peerConn {
	p.t.Helper()
	c := p.connect(n)
	c.send(p.packet(TypeMeet))
	p.await("pong to our meet", func(r received) bool { return r.on == c && r.p.Type == TypePong })
	for range 2 { // the node sends its second ping when our answer to the first was taken
		p.await("ping", func(r received) bool {
			return r.on != c && r.p.Type == TypePing && r.p.Sender.String() == n.do("CLUSTER", "MYID")
		})
	}
	return c
}
