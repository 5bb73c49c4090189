package tests

import (
	"fmt"
	"math/rand/v2"
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
	if got := s.Info(t, "clients")["connected_clients"]; got != strconv.Itoa(connections+1) {
		t.Errorf("connected_clients is %s", got)
	}
	for _, c := range clients {
		c.Close()
	}
	testkit.Eventually(t, 10*time.Second, func() error {
		if got := s.Info(t, "clients")["connected_clients"]; got != "1" {
			return fmt.Errorf("connected_clients is %s", got)
		}
		return nil
	})
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
	if v, err := f.do("WAIT", "1", "2000"); err != nil || v.String() != ":1" { // WAIT is about what its own connection wrote
		t.Fatalf("WAIT: %v, %v", v, err)
	}
	top.Nodes[0].Pause(t)
	began := time.Now()
	testkit.Eventually(t, failoverWithin+loadedMachine+4*time.Second, func() error {
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
	testkit.Eventually(t, 15*time.Second, func() error { return top.Nodes[0].ReplicaLinked(top.Nodes[3].Port) })
	testkit.Eventually(t, 15*time.Second, top.Whole)
	checkNumbers(t, f, "{bar}before", 100)
	checkNumbers(t, f, "{bar}after", 100)
}
