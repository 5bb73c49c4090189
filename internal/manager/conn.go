// Package manager forms and watches clusters: plans are pure functions, executors send them to nodes as the commands any
// cluster tool sends. It also runs a cluster of processes on this machine.
package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/covey-db/covey/internal/resp"
)

// answerWait bounds how long a node may take for one answer, if nothing else is said.
const answerWait = 5 * time.Second

// Conn is a client connection to one node. One goroutine uses it.
type Conn struct {
	Addr string
	Wait time.Duration // bounds how long the node may take for one answer
	nc   net.Conn
	buf  []byte
}

// Dial connects to a node.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	d := net.Dialer{Timeout: answerWait}
	nc, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{Addr: addr, Wait: answerWait, nc: nc}, nil
}

// Close ends the connection.
func (c *Conn) Close() error { return c.nc.Close() }

// Do sends a command and returns its answer; an error reply is an error.
func (c *Conn) Do(words ...string) (resp.Value, error) {
	args := make([][]byte, len(words))
	for i, w := range words {
		args[i] = []byte(w)
	}
	if err := c.nc.SetDeadline(time.Now().Add(c.Wait)); err != nil {
		return resp.Value{}, err
	}
	if _, err := c.nc.Write(resp.AppendCommand(nil, args...)); err != nil {
		return resp.Value{}, err
	}
	c.buf = c.buf[:0]
	piece := make([]byte, 16<<10)
	for {
		n, err := c.nc.Read(piece)
		if err != nil {
			return resp.Value{}, err
		}
		c.buf = append(c.buf, piece[:n]...)
		v, used, err := resp.ParseReply(c.buf)
		if err != nil {
			return resp.Value{}, err
		}
		if used == 0 {
			continue
		}
		if v.IsError() {
			return v, fmt.Errorf("%s: %s: %w", c.Addr, words[0], errors.New(string(v.Str)))
		}
		return v, nil
	}
}
