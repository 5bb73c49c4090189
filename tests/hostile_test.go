package tests

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// TestGarbageOnThePorts sends noise, and pieces of what is right, to the client port and to the bus port of a cluster that
// serves a client meanwhile.
func TestGarbageOnThePorts(t *testing.T) {
	t.Parallel()
	top := startC3(t)
	const seed = 1
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFollower(top, 0)
	defer f.close()
	stop := writing(setNumber(f, "key:"))
	good := [][]byte{
		testkit.AppendCommand(nil, "SET", "k", strings.Repeat("v", 300)),
		testkit.AppendCommand(nil, "CLUSTER", "NODES"),
		busPacket{Kind: busPing, From: member(t, top, 1)}.bytes(),
		busPacket{Kind: busPing, Count: 2, From: member(t, top, 1),
			Body: append(busGossip(top.IDs[2], top.Nodes[2].Port), busGossip(top.IDs[0], top.Nodes[0].Port)...)}.bytes(),
		busPacket{Kind: busUpdate, From: member(t, top, 2), Body: make([]byte, 8+busNameBytes+2048)}.bytes(),
	}
	unmoved(t, top, func() {
		for i := range 300 {
			noise := spoil(random, good[i%len(good)])
			address := top.Nodes[0].Addr()
			if i%2 == 0 {
				address = top.Nodes[0].BusAddr()
			}
			c, err := testkit.TryDial(address)
			must(t, err)
			_ = c.SendRaw(noise) // the node may have closed already
			c.Close()
		}
	})
	n, err := stop()
	must(t, err)
	checkNumbers(t, f, "key:", n)
	t.Logf("%d writes meanwhile", n)
}

// spoil makes noise of a message: cut, with changed bytes in its head, or random altogether. Only the first bytes change,
// which hold mark, length and version of a bus packet: with another port in it a packet of a member would be good news.
func spoil(random *rand.Rand, message []byte) []byte {
	b := append([]byte{}, message...)
	switch random.IntN(3) {
	case 0:
		return b[:random.IntN(len(b))]
	case 1:
		for range 1 + random.IntN(4) {
			b[random.IntN(min(len(b), 10))] = byte(random.Uint32())
		}
		return b
	}
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// TestStrangersOnTheBus takes all links that the bus gives to strangers, and holds them with pieces of packets: nodes that are
// new to the cluster find their way in.
func TestStrangersOnTheBus(t *testing.T) {
	t.Parallel()
	const linksMax = 1024 // as many as the bus gives to strangers
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	if limit.Max < 4*linksMax {
		t.Skip("too few open files: ", limit.Max)
	}
	a := testkit.Start(t, testkit.Options{Conf: testkit.ClusterConf()})
	b := testkit.Start(t, testkit.Options{Conf: testkit.ClusterConf()})
	packet := busPacket{Kind: busPing, From: stranger(a.Port)}.bytes()
	for i := range linksMax + 10 {
		c, err := testkit.TryDial(a.BusAddr())
		must(t, err)
		defer c.Close()
		_ = c.SendRaw(packet[:i%len(packet)]) // one of the first may be closed already
	}
	b.Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(a.Port))
	for _, s := range []*testkit.Server{a, b} {
		testkit.Eventually(t, testkit.Patience, func() error {
			lines, err := testkit.ParseNodeLines(s.OK(t, "CLUSTER", "NODES").Text)
			if err == nil && (len(lines) != 2 || lines[0].Has("handshake") || lines[1].Has("handshake")) {
				err = fmt.Errorf("nodes: %v", lines)
			}
			return err
		})
	}
}

// TestHalfRequests leaves requests unfinished on many connections: none of them may disturb another.
func TestHalfRequests(t *testing.T) {
	t.Parallel()
	s := testkit.Start(t, testkit.Options{})
	request := testkit.AppendCommand(nil, "SET", "k", strings.Repeat("v", 100))
	var waiting []*testkit.Client
	for i := 1; i < len(request); i++ {
		c := s.Dial(t)
		must(t, c.SendRaw(request[:i]))
		waiting = append(waiting, c)
	}
	s.Want(t, "nil", "GET", "k")
	for i, c := range waiting {
		must(t, c.SendRaw(request[i+1:]))
		if v := c.Next(t); v.String() != "+OK" {
			t.Errorf("after %d bytes: %v", i+1, v)
		}
	}
}

// TestIdleConnections holds very many connections open and looks at what they cost.
func TestIdleConnections(t *testing.T) {
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	connections := int(min(10_000, limit.Max-500)) // the rest is for the process itself
	s := testkit.Start(t, testkit.Options{Conf: []string{fmt.Sprint("maxclients ", connections+100)}})
	before := s.RSS(t)
	clients := make([]*testkit.Client, connections)
	for i := range clients {
		c, err := testkit.TryDial(s.Addr())
		must(t, err)
		defer c.Close()
		clients[i] = c
	}
	for _, c := range clients { // every connection has been served once, so that it has what it needs
		c.Want(t, "+PONG", "PING")
	}
	began := time.Now()
	for _, c := range []*testkit.Client{clients[0], clients[connections/2], clients[connections-1]} {
		c.Want(t, "+PONG", "PING")
	}
	t.Logf("%d connections: %d bytes resident each; a PING takes %v", connections,
		(s.RSS(t)-before)/int64(connections), (time.Since(began) / 3).Round(time.Microsecond))
	connected := func(want int) {
		t.Helper()
		testkit.Eventually(t, testkit.Patience, func() error {
			if got := s.Info(t, "clients")["connected_clients"]; got != strconv.Itoa(want) {
				return fmt.Errorf("connected_clients is %s, want %d", got, want)
			}
			return nil
		})
	}
	connected(connections + 1)
	for _, c := range clients {
		c.Close()
	}
	connected(1)
}

// TestClientsLeaveFilesToTheNode opens as many connections as a small limit of open files allows, and more: the node of a
// cluster goes on writing its files.
func TestClientsLeaveFilesToTheNode(t *testing.T) {
	t.Parallel()
	covey := testkit.Covey(t)
	limited := testkit.Binary{Name: "covey", Path: testkit.Need(t, "sh"), Args: []string{"-c", `ulimit -n 300 && exec "$0" server "$@"`, covey.Path}}
	s := testkit.Start(t, testkit.Options{Binary: limited, Conf: testkit.ClusterConf()})
	first := s.Dial(t)
	most := first.OK(t, "CONFIG", "GET", "maxclients").Strings()[1]
	first.Want(t, "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle "+
		"the specified number of clients, try with "+most, "CONFIG", "SET", "maxclients", "300")
	refused := 0
	for range 400 {
		c := s.Dial(t)
		if v, err := c.Try("PING"); err != nil || v.IsError("ERR max number of clients reached") {
			refused++
		}
	}
	if refused == 0 {
		t.Error("nobody was refused")
	}
	first.Want(t, "+OK", "CLUSTER", "ADDSLOTS", "1", "2", "3")
	first.Want(t, "+OK", "CLUSTER", "SAVECONFIG")
	first.Want(t, "+OK", "SAVE")
	contains(t, s.Log(), "maxclients is lowered from 10000 to "+most)
}

// TestPrimaryHangs stops a primary for longer than the node timeout: its replica takes over, and the primary follows when
// it wakes up. What was acknowledged after the failover stays.
func TestPrimaryHangs(t *testing.T) {
	t.Parallel()
	top := startC6NoFullCoverage(t)
	f := newFollower(top, 0)
	defer f.close()
	for n := range 100 {
		must(t, setNumber(f, "{bar}before")(n))
	}
	if v, err := f.do("WAIT", "1", "30000"); err != nil || v.String() != ":1" { // WAIT is about what its own connection wrote
		t.Fatalf("WAIT: %v, %v", v, err)
	}
	top.Hasten(t)
	top.Nodes[0].Pause(t)
	began := time.Now()
	testkit.Eventually(t, testkit.Patience, func() error {
		line, err := top.Nodes[3].Line(top.IDs[3])
		if err == nil && !line.Owns(0) {
			err = fmt.Errorf("node 3 is %v", line.Flags)
		}
		return err
	})
	t.Logf("the replica took over after %v", time.Since(began).Round(10*time.Millisecond))
	f.at = 3
	for n := range 100 {
		must(t, setNumber(f, "{bar}after")(n))
	}
	top.Nodes[0].Resume(t)
	testkit.Eventually(t, testkit.Patience, func() error { return top.Nodes[0].ReplicaLinked(top.Nodes[3].Port) })
	testkit.Eventually(t, testkit.Patience, top.Whole)
	checkNumbers(t, f, "{bar}before", 100)
	checkNumbers(t, f, "{bar}after", 100)
}

// oddArguments are words that some command takes for something. None of them is the name of a host.
var oddArguments = []string{
	"", "0", "1", "-1", "2", "k", "{k}2", "*", "9223372036854775807", "-9223372036854775808", "18446744073709551616", "nan", "1.5", "\x00",
	"%s%n", "0-0", "$", ">", "(1", "127.0.0.1", "16383", "16384", strings.Repeat("9", 40), strings.Repeat("a", 40), "ACK", "GETACK", "CAPA",
	"RDB-ONLY", "IP-ADDRESS", "NODE", "IMPORTING", "MIGRATING", "STABLE", "SOFT", "TYPE", "ID", "KEYS", "COUNT", "LIMIT", "STREAMS", "FREQ",
}

// dangerousCommands end the server, make it wait or follow another one, do not end, ask a name server, or knock at ports where
// nodes of other tests may listen.
var dangerousCommands = []string{
	"shutdown", "debug", "monitor", "sync", "psync", "replicaof", "slaveof", "failover", "migrate", "config|set", "client|pause", "client|reply", "cluster|meet",
}

// TestEveryCommandWithOddArguments sends what a whole server takes, also what belongs to replication, the cluster and the
// files, with arguments that make little sense, few or many. The server must outlive it.
func TestEveryCommandWithOddArguments(t *testing.T) {
	t.Parallel()
	for _, s := range []*testkit.Server{testkit.Start(t, testkit.Options{}), startWholeNode(t)} {
		const seed = 1
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		names := harmlessCommands(t, s)
		for range 300 {
			var batch []byte
			for range 30 {
				words := strings.Split(names[random.IntN(len(names))], "|")
				for range random.IntN(7) {
					words = append(words, oddArguments[random.IntN(len(oddArguments))])
				}
				batch = testkit.AppendCommand(batch, words...)
			}
			c := s.Dial(t)
			must(t, c.SendRaw(testkit.AppendCommand(batch, "QUIT")))
			var err error
			for err == nil {
				_, err = c.Read()
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("no end after %q", batch)
			}
			c.Close()
		}
		s.Want(t, "+PONG", "PING")
	}
}

// harmlessCommands lists the commands of a server without the dangerous ones and those that block.
func harmlessCommands(t *testing.T, s *testkit.Server) (names []string) {
	t.Helper()
	all := s.OK(t, "COMMAND", "LIST").Strings()
	for i, row := range s.OK(t, append([]string{"COMMAND", "INFO"}, all...)...).Items {
		if !slices.Contains(dangerousCommands, all[i]) && !slices.Contains(row.Items[2].Strings(), "blocking") {
			names = append(names, all[i])
		}
	}
	slices.Sort(names)
	return names
}
