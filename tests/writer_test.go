package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// follower sends commands to a cluster over raw connections and goes where it is sent: MOVED, ASK, another node when one
// is gone. It belongs to one goroutine.
type follower struct {
	top   *testkit.Topology
	at    int // the node that is asked first
	conns map[int]*testkit.Client
	asked int // replies ASK and MOVED that were followed
}

func newFollower(top *testkit.Topology, at int) *follower {
	return &follower{top: top, at: at, conns: map[int]*testkit.Client{}}
}

func (f *follower) close() {
	for _, c := range f.conns {
		c.Close()
	}
}

// do sends one command until a node answers it itself. An answer may be an error reply; trouble with connections is
// not an answer. A command may have been executed although its connection broke, so that it can be executed twice.
func (f *follower) do(args ...string) (reply.Value, error) {
	var v reply.Value
	asking := false
	err := testkit.Poll(testkit.Patience, func() error {
		for range 8 { // redirections in a row
			var err error
			v, err = f.once(asking, args)
			if err != nil {
				return err
			}
			port, redirected := redirection(v)
			asking = v.IsError("ASK ")
			if !redirected {
				if v.IsError("TRYAGAIN") || v.IsError("CLUSTERDOWN") {
					return fmt.Errorf("%v", v)
				}
				return nil
			}
			f.asked++
			f.at = f.nodeAt(port)
		}
		return fmt.Errorf("redirected in a circle: %v", v)
	})
	return v, err
}

// once sends one command to the node that is asked now.
func (f *follower) once(asking bool, args []string) (reply.Value, error) {
	c, err := f.conn()
	if err == nil && asking {
		_, err = c.Try("ASKING")
	}
	var v reply.Value
	if err == nil {
		v, err = c.Try(args...)
	}
	if err != nil {
		if c != nil {
			c.Close()
		}
		delete(f.conns, f.at)
		f.at = (f.at + 1) % len(f.top.Nodes)
	}
	return v, err
}

func (f *follower) conn() (*testkit.Client, error) {
	if f.conns[f.at] == nil {
		c, err := testkit.TryDial(f.top.Nodes[f.at].Addr())
		if err != nil {
			return nil, err
		}
		f.conns[f.at] = c
	}
	return f.conns[f.at], nil
}

// nodeAt is the node with that port; an address that no node has sends the follower back to the start.
func (f *follower) nodeAt(port int) int {
	for i, node := range f.top.Nodes {
		if node.Port == port {
			return i
		}
	}
	return 0
}

// redirection reads the port of MOVED and ASK.
func redirection(v reply.Value) (port int, ok bool) {
	if !v.IsError("MOVED ") && !v.IsError("ASK ") {
		return 0, false
	}
	port, err := strconv.Atoi(v.Text[strings.LastIndexByte(v.Text, ':')+1:])
	return port, err == nil
}

// writing runs write again and again in the background, with rising numbers, until stop is called; stop returns how many
// numbers were written. A number that could not be written ends it, with the error.
func writing(write func(n int) error) (stop func() (int, error)) {
	end, done := make(chan struct{}), make(chan struct{})
	var n int
	var err error
	go func() {
		defer close(done)
		for {
			select {
			case <-end:
				return
			default:
			}
			if err = write(n); err != nil {
				return
			}
			n++
		}
	}()
	return func() (int, error) {
		close(end)
		<-done
		return n, err
	}
}

// setNumber writes the key that belongs to a number.
func setNumber(f *follower, tag string) func(n int) error {
	return func(n int) error {
		v, err := f.do("SET", tag+strconv.Itoa(n), strconv.Itoa(n))
		if err == nil && v.String() != "+OK" {
			err = fmt.Errorf("SET: %v", v)
		}
		return err
	}
}

// checkNumbers makes sure that all numbers below n were kept.
func checkNumbers(t testing.TB, f *follower, tag string, n int) {
	t.Helper()
	lost := 0
	for i := range n {
		v, err := f.do("GET", tag+strconv.Itoa(i))
		must(t, err)
		if v.Text != strconv.Itoa(i) {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, n)
	}
}
