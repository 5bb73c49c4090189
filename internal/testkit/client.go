package testkit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// Client is a raw connection: what is sent and read is up to the test. Its methods with a testing.TB end the test on
// trouble; the others return it. Not safe for concurrent use.
type Client struct {
	conn   net.Conn
	in     *bufio.Reader
	Within time.Duration // how long Do and Read wait for a reply
}

// Dial connects and ends the test if that fails.
func Dial(t testing.TB, address string) *Client {
	t.Helper()
	c, err := TryDial(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TryDial connects.
func TryDial(address string) (*Client, error) {
	conn, err := net.DialTimeout("tcp", address, Patience)
	if err != nil {
		return nil, err
	}
	return &Client{conn: conn, in: bufio.NewReaderSize(conn, 16<<10), Within: Patience}, nil
}

// Close closes the connection.
func (c *Client) Close() { _ = c.conn.Close() }

// Do sends one command and returns its reply, which may be an error reply.
func (c *Client) Do(t testing.TB, args ...string) reply.Value {
	t.Helper()
	v, err := c.Try(args...)
	if err != nil {
		t.Fatalf("%.200q: %v", args, err)
	}
	return v
}

// Try is Do that returns trouble with the connection.
func (c *Client) Try(args ...string) (reply.Value, error) {
	if err := c.Send(args...); err != nil {
		return reply.Value{}, err
	}
	return c.Read()
}

// OK sends a command whose reply is no error.
func (c *Client) OK(t testing.TB, args ...string) reply.Value {
	t.Helper()
	v := c.Do(t, args...)
	if v.Kind == reply.Error {
		t.Fatalf("%.200q: %v", args, v)
	}
	return v
}

// Want sends a command whose reply fits the pattern.
func (c *Client) Want(t testing.TB, pattern string, args ...string) reply.Value {
	t.Helper()
	p, err := reply.Parse(pattern)
	if err != nil {
		t.Fatal(err)
	}
	v := c.Do(t, args...)
	if !p.Matches(v) {
		t.Fatalf("%.200q: got %v, want %s", args, v, pattern)
	}
	return v
}

// Send sends one command without reading its reply.
func (c *Client) Send(args ...string) error { return c.SendRaw(AppendCommand(nil, args...)) }

// SendRaw sends bytes as they are.
func (c *Client) SendRaw(b []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.Within)); err != nil {
		return err
	}
	_, err := c.conn.Write(b)
	return err
}

// Read reads one reply.
func (c *Client) Read() (reply.Value, error) { return c.ReadWithin(c.Within) }

// ReadWithin reads one reply that must be complete within the given time.
func (c *Client) ReadWithin(within time.Duration) (reply.Value, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return reply.Value{}, err
	}
	return reply.Read(c.in)
}

// Next reads one reply and ends the test if none comes.
func (c *Client) Next(t testing.TB) reply.Value {
	t.Helper()
	v, err := c.Read()
	if err != nil {
		t.Fatalf("waiting for a reply: %v", err)
	}
	return v
}

// ReadBytes reads exactly n bytes that are no reply: a snapshot, a bus packet.
func (c *Client) ReadBytes(n int) ([]byte, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.Within)); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	_, err := io.ReadFull(c.in, b)
	return b, err
}

// Quiet returns an error if anything arrives, or the connection ends, within the given time.
func (c *Client) Quiet(during time.Duration) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(during)); err != nil {
		return err
	}
	_, err := c.in.Peek(1)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case err != nil:
		return fmt.Errorf("connection ended: %w", err)
	}
	v, err := c.Read()
	return fmt.Errorf("arrived where nothing should: %v %v", v, err)
}

// Closed returns nil once the server has closed the connection; anything that arrives before is an error.
func (c *Client) Closed(within time.Duration) error {
	if err := c.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	_, err := c.in.Peek(1)
	switch {
	case err == nil:
		v, err := c.Read()
		return fmt.Errorf("arrived instead of the end: %v %v", v, err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("still open")
	}
	return nil
}

// LocalAddr is the address as CLIENT LIST shows it.
func (c *Client) LocalAddr() string { return c.conn.LocalAddr().String() }

// AppendCommand appends a command as an array of bulk strings.
func AppendCommand(dst []byte, args ...string) []byte {
	dst = append(strconv.AppendInt(append(dst, '*'), int64(len(args)), 10), "\r\n"...)
	for _, arg := range args {
		dst = append(strconv.AppendInt(append(dst, '$'), int64(len(arg)), 10), "\r\n"...)
		dst = append(append(dst, arg...), "\r\n"...)
	}
	return dst
}
