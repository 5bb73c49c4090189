package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/covey-db/covey/internal/resp"
)

// This file holds how a server is filled: commands in one long pipeline, whose replies are read beside and thrown away.

// pipe sends commands to a server. An error of the connection, or an error reply, is kept and told by close.
type pipe struct {
	conn net.Conn
	out  *bufio.Writer
	args [][]byte
	buf  []byte
	sent int
	sum  chan int   // receives the number of commands when all are sent
	done chan error // receives the reader's verdict
	err  error
}

const pipeBuffer = 1 << 16

func (n *node) pipe() (*pipe, error) {
	c, err := net.Dial("tcp", n.addr())
	if err != nil {
		return nil, err
	}
	p := &pipe{conn: c, out: bufio.NewWriterSize(c, pipeBuffer), sum: make(chan int, 1), done: make(chan error, 1)}
	go p.read(n.name)
	return p, nil
}

// read reads replies until as many have come as commands were sent.
func (p *pipe) read(name string) {
	in := bufio.NewReaderSize(p.conn, pipeBuffer)
	total := -1
	for seen := 0; seen != total; {
		if total < 0 && in.Buffered() == 0 { // all may have come
			select {
			case total = <-p.sum:
				continue
			default:
			}
		}
		if err := skipReply(in); err != nil {
			p.done <- fmt.Errorf("%s: %w", name, err)
			return
		}
		seen++
	}
	p.done <- nil
}

// send adds a command of words.
func (p *pipe) send(words ...any) {
	p.args = p.args[:0]
	for _, w := range words {
		switch w := w.(type) {
		case string:
			p.args = append(p.args, []byte(w))
		case []byte:
			p.args = append(p.args, w)
		case int:
			p.args = append(p.args, strconv.AppendInt(nil, int64(w), 10))
		default:
			panic(fmt.Sprintf("a word of type %T", w))
		}
	}
	p.buf = resp.AppendCommand(p.buf[:0], p.args...)
	if _, err := p.out.Write(p.buf); err != nil && p.err == nil {
		p.err = err
	}
	p.sent++
}

// close waits for all replies. A PING at the end wakes a reader that waits for more.
func (p *pipe) close() error {
	defer p.conn.Close()
	p.sum <- p.sent + 1
	p.send("PING")
	if err := p.out.Flush(); err != nil && p.err == nil {
		p.err = err
	}
	if p.err != nil {
		return p.err
	}
	return <-p.done
}

// skipReply reads one reply, which must not be an error.
func skipReply(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if line[0] == '-' {
		return fmt.Errorf("answered %q", line)
	}
	n := -1
	if line[0] == '$' || line[0] == '*' {
		if n, err = strconv.Atoi(string(line[1 : len(line)-2])); err != nil {
			return err
		}
	}
	switch {
	case line[0] == '$' && n >= 0:
		_, err = io.CopyN(io.Discard, in, int64(n)+2)
	case line[0] == '*':
		for i := 0; i < n && err == nil; i++ {
			err = skipReply(in)
		}
	}
	return err
}

// ask sends one command and waits for its reply.
func (n *node) ask(words ...any) error {
	return n.send(func(p *pipe) { p.send(words...) })
}

// send sends what fill makes and waits for the replies.
func (n *node) send(fill func(p *pipe)) error {
	p, err := n.pipe()
	if err != nil {
		return err
	}
	fill(p)
	return p.close()
}
