package tests

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// startR2 starts a primary and a replica and opens a connection to each.
func startR2(t testing.TB, conf ...string) (top *testkit.Topology, primary, replica *testkit.Client) {
	t.Helper()
	top = testkit.StartPair(t, conf...)
	return top, top.Nodes[0].Dial(t), top.Nodes[1].Dial(t)
}

func TestCase_c082b_ScriptExpiresAndRecreates(t *testing.T) {
	own(t, "c082b", func(t testing.TB) {
		_, primary, replica := startR2(t)
		script := "redis.call('set',KEYS[1],'5') redis.call('expire',KEYS[1],-1) return redis.call('incr',KEYS[1])"
		primary.Want(t, ":1", "EVAL", script, "1", "k")
		sameData(t, primary, replica)
		replica.Want(t, `"1"`, "GET", "k")
		replica.Want(t, ":-1", "TTL", "k")
	})
}

func TestCase_c083_ExpiredKeyIsOverwritten(t *testing.T) {
	own(t, "c083", func(t testing.TB) {
		_, primary, replica := startR2(t)
		for range 5 {
			primary.Want(t, "+OK", "FLUSHALL")
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				primary.Want(t, "+OK", "SET", key, "1", "PX", "15")
			}
			primary.OK(t, "SADD", "s1", "x", "y")
			primary.OK(t, "SADD", "s2", "y")
			primary.OK(t, "SET", "other", "v")
			testkit.Elapse(40 * time.Millisecond) // the keys are due
			primary.Want(t, "+OK", "SET", "a", "2")
			primary.Want(t, ":1", "INCR", "b")
			primary.Want(t, ":1", "SINTERSTORE", "c", "s1", "s2")
			primary.Want(t, "+OK", "RENAME", "other", "d")
			primary.Want(t, ":1", "HSET", "e", "f", "v")
			sameData(t, primary, replica)
			if len(contents(t, replica)) != 7 {
				t.Errorf("%v", contents(t, replica))
			}
		}
	})
}

func TestCase_c084b_ExpiredKeysOnAReplica(t *testing.T) {
	own(t, "c084b", func(t testing.TB) {
		top, primary, replica := startR2(t, debugCommands)
		primary.Want(t, "+OK", "DEBUG", "SET-ACTIVE-EXPIRE", "0")
		primary.Want(t, "+OK", "SET", "k", "v", "PX", "60")
		eventuallyReply(t, testkit.Patience, top.Nodes[1], ":1", "DBSIZE")
		top.Nodes[0].Pause(t)
		defer top.Nodes[0].Resume(t)
		testkit.Elapse(80 * time.Millisecond) // the key is due, and nobody tells the replica
		replica.Want(t, "nil", "GET", "k")
		replica.Want(t, ":-2", "TTL", "k")
		replica.Want(t, ":0", "EXISTS", "k")
		replica.Want(t, `["0" []]`, "SCAN", "0")
		replica.Want(t, "nil", "RANDOMKEY")
	})
}

func TestCase_c079_LinkCutAndPartialResync(t *testing.T) {
	own(t, "c079", func(t testing.TB) {
		top, primary, replica := startR2(t)
		full, partial := top.Nodes[0].InfoInt(t, "sync_full"), top.Nodes[0].InfoInt(t, "sync_partial_ok")
		primary.Want(t, "+OK", "SET", "before", "1")
		primary.Want(t, "int(>=1)", "CLIENT", "KILL", "TYPE", "replica")
		for i := range 100 {
			primary.Want(t, "+OK", "SET", "k"+strconv.Itoa(i), strings.Repeat("v", i))
		}
		testkit.Eventually(t, testkit.Patience, func() error {
			if err := top.Nodes[1].ReplicaLinked(top.Nodes[0].Port); err != nil {
				return err
			}
			if n := top.Nodes[0].InfoInt(t, "sync_partial_ok"); n <= partial {
				return fmt.Errorf("sync_partial_ok is %d, was %d", n, partial)
			}
			return nil
		})
		sameData(t, primary, replica)
		if n := top.Nodes[0].InfoInt(t, "sync_full"); n != full {
			t.Errorf("sync_full is %d, was %d", n, full)
		}
	})
}

func TestCase_c085_SeveralClientsInWait(t *testing.T) {
	own(t, "c085", func(t testing.TB) {
		top, primary, _ := startR2(t)
		primary.Want(t, "+OK", "SET", "k", "v")
		primary.Want(t, ":1", "WAIT", "1", "30000")
		top.Nodes[1].Pause(t)
		resumed := false
		defer func() {
			if !resumed {
				top.Nodes[1].Resume(t)
			}
		}()
		endless, short, two := top.Nodes[0].Dial(t), top.Nodes[0].Dial(t), top.Nodes[0].Dial(t)
		for c, wait := range map[*testkit.Client][]string{endless: {"WAIT", "1", "0"}, short: {"WAIT", "1", "150"}, two: {"WAIT", "2", "150"}} {
			c.Want(t, "+OK", "SET", "k", "w")
			must(t, c.Send(wait...))
		}
		for _, c := range []*testkit.Client{short, two} {
			if v := c.Next(t); v.String() != ":0" {
				t.Errorf("short WAIT: %v", v)
			}
		}
		must(t, endless.Quiet(250*time.Millisecond))
		top.Nodes[1].Resume(t)
		resumed = true
		if v := endless.Next(t); v.String() != ":1" {
			t.Errorf("endless WAIT: %v", v)
		}
	})
}

func TestCase_e292_ReplicaByHand(t *testing.T) {
	own(t, "e292", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		s.Want(t, "+OK", "SET", "k", "v")
		c := s.Dial(t)
		c.Want(t, "+PONG", "PING")
		c.Want(t, "+OK", "REPLCONF", "listening-port", "12345")
		c.Want(t, "+OK", "REPLCONF", "capa", "eof", "capa", "psync2")
		v := c.Do(t, "PSYNC", "?", "-1")
		words := strings.Fields(v.Text)
		if v.Kind != reply.Status || len(words) != 3 || words[0] != "FULLRESYNC" || !reply.IsNodeID(words[1]) {
			t.Fatalf("PSYNC: %v", v)
		}
		if rdb := readSnapshot(t, c); !strings.HasPrefix(rdb, "REDIS00") {
			t.Fatalf("no RDB starts with %.20q", rdb)
		}
		offset, err := strconv.Atoi(words[2])
		must(t, err)
		s.Want(t, "+OK", "SET", "later", "x")
		if words := firstWrite(t, c, offset); len(words) != 3 || words[1] != "later" || words[2] != "x" {
			t.Errorf("the write arrived as %q", words)
		}
	})
}

// firstWrite acknowledges once a second, as a replica does, until a SET arrives in the stream.
func firstWrite(t testing.TB, c *testkit.Client, offset int) []string {
	t.Helper()
	for range int(testkit.Patience.Seconds()) {
		must(t, c.Send("REPLCONF", "ACK", strconv.Itoa(offset)))
		for {
			v, err := c.ReadWithin(time.Second)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			must(t, err)
			if v.Kind != reply.Array || len(v.Items) == 0 {
				t.Fatalf("in the stream: %v", v)
			}
			if words := v.Strings(); words[0] == "SET" {
				return words
			}
		}
	}
	t.Fatal("the write did not arrive")
	return nil
}

// readSnapshot reads the payload of a full resynchronisation, with its length in front or a mark at its end.
func readSnapshot(t testing.TB, c *testkit.Client) string {
	t.Helper()
	line := ""
	for line == "" { // empty lines keep the connection alive while the snapshot is made
		for {
			b, err := c.ReadBytes(1)
			must(t, err)
			if b[0] == '\n' {
				break
			}
			line += string(b)
		}
		line = strings.TrimSuffix(line, "\r")
	}
	if mark, ok := strings.CutPrefix(line, "$EOF:"); ok {
		rdb := ""
		for !strings.HasSuffix(rdb, mark) {
			b, err := c.ReadBytes(1)
			must(t, err)
			rdb += string(b)
		}
		return rdb
	}
	n, err := strconv.Atoi(strings.TrimPrefix(line, "$"))
	must(t, err)
	b, err := c.ReadBytes(n)
	must(t, err)
	return string(b)
}

// falsePrimary listens as a primary would and answers by script. It counts the connections that came to PSYNC.
type falsePrimary struct {
	listener net.Listener
	answer   func(args []string) (raw string, last bool)
	psyncs   chan struct{}
}

func startFalsePrimary(t testing.TB, answer func(args []string) (string, bool)) *falsePrimary {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f := &falsePrimary{listener: listener, answer: answer, psyncs: make(chan struct{}, 1000)}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return f
}

func (f *falsePrimary) port() string {
	_, port, _ := net.SplitHostPort(f.listener.Addr().String())
	return port
}

func (f *falsePrimary) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		v, err := reply.Read(in)
		if err != nil {
			return
		}
		args := v.Strings()
		raw, last := f.answer(args)
		if _, err := io.WriteString(conn, raw); err != nil {
			return
		}
		if len(args) > 0 && strings.EqualFold(args[0], "PSYNC") {
			f.psyncs <- struct{}{}
		}
		if last {
			return
		}
	}
}

// handshake answers all that comes before PSYNC as a primary does.
func handshake(psync string, last bool) func(args []string) (string, bool) {
	return func(args []string) (string, bool) {
		switch strings.ToUpper(args[0]) {
		case "PING":
			return "+PONG\r\n", false
		case "PSYNC":
			return psync, last
		}
		return "+OK\r\n", false
	}
}

// survives makes a server with data a replica of a false primary, waits until it came back for more, and checks the server.
func survives(t testing.TB, what string, answer func(args []string) (string, bool), keepsData bool) {
	t.Helper()
	s := testkit.Start(t, testkit.Options{})
	s.Want(t, "+OK", "SET", "mine", "v")
	dials := make(chan struct{}, 1000)
	primary := startFalsePrimary(t, func(args []string) (string, bool) {
		if strings.EqualFold(args[0], "PING") {
			dials <- struct{}{}
		}
		return answer(args)
	})
	s.Want(t, "+OK", "REPLICAOF", "127.0.0.1", primary.port())
	for range 2 {
		select {
		case <-dials:
		case <-time.After(testkit.Patience):
			t.Fatalf("%s: the replica does not try again\n%s", what, s.LogTail())
		}
	}
	s.Want(t, "+OK", "REPLICAOF", "NO", "ONE")
	if keepsData {
		s.Want(t, `"v"`, "GET", "mine")
	}
	s.Want(t, "+PONG", "PING")
}

func TestCase_c087_PrimaryGoesInTheMiddleOfTheSnapshot(t *testing.T) {
	own(t, "c087", func(t testing.TB) {
		id := strings.Repeat("a", 40)
		survives(t, "cut snapshot", handshake("+FULLRESYNC "+id+" 0\r\n$5000\r\nREDIS0009"+strings.Repeat("\x00", 991), true), true)
	})
}

func TestCase_c089_GarbageInsteadOfASnapshot(t *testing.T) {
	own(t, "c089", func(t testing.TB) {
		full := "+FULLRESYNC " + strings.Repeat("a", 40) + " 0\r\n"
		for what, psync := range map[string]string{
			"garbage": "*3\r\nwhat is this\r\n\x00\xff", "an error": "-ERR no\r\n", "a length that is no number": full + "$notanumber\r\n",
			"a huge length": full + "$9223372036854775807\r\nabc",
		} {
			survives(t, what, handshake(psync, true), true)
		}
		survives(t, "an integer for PING", func([]string) (string, bool) { return ":1\r\n", false }, true)
	})
}

func TestCase_e294_ReplicaWithoutItsPrimary(t *testing.T) {
	own(t, "e294", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"replica-serve-stale-data no"}})
		c := s.Dial(t)
		c.Want(t, "+OK", "SET", "k", "v")
		c.Want(t, "+OK", "REPLICAOF", "127.0.0.1", strconv.Itoa(testkit.FreePort(t)))
		c.Want(t, "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "GET", "k")
		c.Want(t, `has("role:slave" "master_link_status:down")`, "INFO", "replication")
		c.Want(t, "+OK", "REPLICAOF", "NO", "ONE")
		c.Want(t, `"v"`, "GET", "k")
	})
}
