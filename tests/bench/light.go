package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/resp"
	"golang.org/x/sys/unix"
)

// This file holds a client that costs little. redis-benchmark takes apart every reply and can use up its processor before the
// server does; then its rates are its own. This one makes its messages beforehand and looks at replies only to count them.

const (
	lightClients = 50
	placeholder  = "__rand_int__" // becomes as many digits of a number below lightNumbers, as in redis-benchmark
	lightNumbers = 100_000
	lightBuffer  = 64 << 10
	lightWait    = 10 * time.Second // for any reply
)

// lightClient is one connection: it sends a message when all replies to the one before have come.
type lightClient struct {
	fd       int
	message  []byte
	places   []int // of numbers in message
	open     int   // replies that have not come; bytes of them when their size is known
	elements int   // of a reply that has begun
	in       []byte
}

// light sends so many requests in messages of a pipeline's length. replyBytes is the size of every reply, 0 where it varies.
func (n *node) light(requests, pipeline, replyBytes int, words ...string) (sample, error) {
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return sample{}, err
	}
	defer unix.Close(poll)
	clients := make(map[int32]*lightClient, lightClients)
	defer func() {
		for _, c := range clients {
			unix.Close(c.fd)
		}
	}()
	for range lightClients {
		c, err := n.lightClient(pipeline, words)
		if err != nil {
			return sample{}, err
		}
		clients[int32(c.fd)] = c
		if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.fd)}); err != nil {
			return sample{}, err
		}
	}
	messages := max(lightClients, requests/pipeline)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cpu, own, began := n.processor(), clockTime(unix.CLOCK_THREAD_CPUTIME_ID), time.Now()
	if err := drive(poll, clients, messages, pipeline, replyBytes); err != nil {
		return sample{}, fmt.Errorf("%s: %w", n.name, err)
	}
	done := float64(messages * pipeline)
	took := time.Since(began)
	used := n.processor() - cpu
	return sample{done / took.Seconds(), float64(used.Nanoseconds()) / 1e3 / done, (clockTime(unix.CLOCK_THREAD_CPUTIME_ID) - own).Seconds() / took.Seconds()}, nil
}

// clockTime is the time of a clock that counts the CPU time of a process or thread; 0 without it.
func clockTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

func (n *node) lightClient(pipeline int, words []string) (*lightClient, error) {
	conn, err := net.Dial("tcp", n.addr())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	file, err := conn.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c := &lightClient{in: make([]byte, 0, lightBuffer)}
	if c.fd, err = unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return nil, err
	}
	var args [][]byte
	for _, w := range words {
		args = append(args, []byte(w))
	}
	c.message = bytes.Repeat(resp.AppendCommand(nil, args...), pipeline)
	for at := 0; ; {
		i := bytes.Index(c.message[at:], []byte(placeholder))
		if i < 0 {
			return c, unix.SetNonblock(c.fd, true)
		}
		c.places = append(c.places, at+i)
		at += i + len(placeholder)
	}
}

// drive sends all messages and returns when their replies have come.
func drive(poll int, clients map[int32]*lightClient, messages, pipeline, replyBytes int) error {
	unit := max(1, replyBytes)
	left, waiting := messages, 0
	next := func(c *lightClient) error {
		if left == 0 {
			return nil
		}
		left--
		waiting++
		c.open = pipeline * unit
		return c.send()
	}
	for _, c := range clients {
		if err := next(c); err != nil {
			return err
		}
	}
	events := make([]unix.EpollEvent, lightClients)
	for waiting > 0 {
		n, err := unix.EpollWait(poll, events, int(lightWait.Milliseconds()))
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("%d clients waited %v for a reply", waiting, lightWait)
		}
		for _, e := range events[:n] {
			c := clients[e.Fd]
			if replyBytes > 0 {
				err = c.discard()
			} else {
				err = c.count()
			}
			if err != nil {
				return err
			}
			if c.open == 0 {
				waiting--
				if err := next(c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *lightClient) send() error {
	for _, at := range c.places {
		digits := strconv.AppendInt(make([]byte, 0, len(placeholder)), int64(1e11)+rand.Int64N(lightNumbers), 10)
		digits[0] = '0'
		copy(c.message[at:], digits)
	}
	switch n, err := unix.Write(c.fd, c.message); {
	case err != nil:
		return err
	case n != len(c.message):
		return fmt.Errorf("%d of %d bytes were taken: the message is too long", n, len(c.message))
	}
	return nil
}

// discard has the kernel throw away replies whose size is known.
func (c *lightClient) discard() error {
	n, _, err := unix.Recvfrom(c.fd, c.in[:cap(c.in)], unix.MSG_TRUNC)
	switch {
	case err == unix.EAGAIN:
		return nil
	case err != nil:
		return err
	case n == 0 || n > c.open:
		return fmt.Errorf("%d bytes came where %d were to come", n, c.open)
	}
	c.open -= n
	return nil
}

// count counts the replies that have come whole.
func (c *lightClient) count() error {
	n, err := unix.Read(c.fd, c.in[len(c.in):cap(c.in)])
	switch {
	case err == unix.EAGAIN:
		return nil
	case err != nil:
		return err
	case n == 0:
		return fmt.Errorf("the connection ended with %d replies to come", c.open)
	}
	c.in = c.in[:len(c.in)+n]
	b := c.in
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			break
		}
		size, elements := end+1, 0
		switch b[0] {
		case '-':
			return fmt.Errorf("answered %q", b[:end])
		case '$', '*':
			number, err := strconv.Atoi(string(b[1 : end-1]))
			if err != nil {
				return err
			}
			if b[0] == '*' {
				elements = max(0, number)
			} else if number >= 0 {
				size += number + 2
			}
		}
		if size > len(b) {
			break
		}
		b = b[size:]
		c.elements = max(0, c.elements-1) + elements
		if c.elements == 0 {
			c.open--
		}
	}
	c.in = slices.Delete(c.in, 0, len(c.in)-len(b))
	return nil
}
