package tests

import (
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
)

// proxy stands between two servers: it can cut, hold and truncate what goes through it.
type proxy struct {
	l      net.Listener
	target string
	mu     struct {
		sync.Mutex
		open  map[net.Conn]struct{}
		free  chan struct{} // closed while bytes may pass
		limit int64         // bytes that may still pass before everything is cut, -1 for any number
	}
}

// newProxy listens for connections to the server at target until the test ends.
func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{l: l, target: target}
	p.mu.open = make(map[net.Conn]struct{})
	p.mu.free = make(chan struct{})
	p.mu.limit = -1
	close(p.mu.free)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.release()
		p.cut()
		running.Wait()
	})
	return p
}

func (p *proxy) port() int { return p.l.Addr().(*net.TCPAddr).Port }

// serve connects one client with the target.
func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer s.Close()
	p.mu.Lock()
	p.mu.open[c], p.mu.open[s] = struct{}{}, struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{c, s}, {s, c}} {
		both.Go(func() {
			_, _ = io.Copy(gate{p, way[1]}, way[0]) // how a connection ends does not matter
			c.Close()
			s.Close()
		})
	}
	both.Wait()
	p.mu.Lock()
	delete(p.mu.open, c)
	delete(p.mu.open, s)
	p.mu.Unlock()
}

// gate writes what may pass.
type gate struct {
	p *proxy
	c net.Conn
}

func (g gate) Write(b []byte) (int, error) {
	g.p.mu.Lock()
	free := g.p.mu.free
	g.p.mu.Unlock()
	<-free
	g.p.mu.Lock()
	n := len(b)
	if g.p.mu.limit >= 0 {
		n = int(min(int64(n), g.p.mu.limit))
		g.p.mu.limit -= int64(n)
	}
	g.p.mu.Unlock()
	written, err := g.c.Write(b[:n])
	if err == nil && n < len(b) {
		g.p.mu.Lock()
		g.p.mu.limit = -1
		g.p.mu.Unlock()
		err = io.ErrShortWrite
		g.p.cut()
	}
	return written, err
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.mu.open {
		c.Close()
	}
}

// hold lets nothing pass until release.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.mu.free:
		p.mu.free = make(chan struct{})
	default:
	}
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.mu.free:
	default:
		close(p.mu.free)
	}
}

// truncate cuts every connection when so many bytes more have passed.
func (p *proxy) truncate(bytes int64) {
	p.mu.Lock()
	p.mu.limit = bytes
	p.mu.Unlock()
}

func (p *proxy) hostPort() []string { return []string{"127.0.0.1", strconv.Itoa(p.port())} }
