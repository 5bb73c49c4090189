package transport

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// door is a server of this process behind real sockets: event loops on TCP and Unix sockets, goroutines on TCP.
type door struct {
	t     testing.TB
	e     *engine.Engine
	loops *Loops
	addr  string
	long  *longCommand
	count *longCommand
	aside atomic.Int32 // how many RPOP and SADD ran on a thread without other clients
}

// longCommand is LOLWUT in these tests: it says that it has begun and ends when it is told to. That makes a command as long
// as a test needs without looking at a clock. Another one is BITCOUNT, whose row says that it may take long.
type longCommand struct {
	begun chan struct{}
	end   chan struct{}
	spins atomic.Bool // it computes meanwhile and does not just wait
	aside atomic.Bool // the last one began on a thread without other clients
}

// lengthyTime is what a long command that was told to end takes of its thread's time, if that counts.
const lengthyTime = 10 * time.Millisecond

func newLongCommand() *longCommand {
	return &longCommand{begun: make(chan struct{}, 16), end: make(chan struct{})}
}

func (l *longCommand) run(c *engine.Ctx) {
	l.aside.Store(!c.W.Shared)
	l.begun <- struct{}{}
	for l.spins.Load() {
	}
	if _, told := <-l.end; told && c.W.OwnTime != nil {
		own := c.W.OwnTime
		c.W.OwnTime = func() time.Duration { return own() + lengthyTime } // so much of its thread's time has it taken
	}
	c.Simple("DONE " + string(c.Args[len(c.Args)-1]))
}

// onEach runs a test on each backend that this machine has.
func onEach(t *testing.T, loops int, test func(t *testing.T, d *door)) {
	for _, b := range []Backend{Epoll, Uring} {
		t.Run(string(b), func(t *testing.T) {
			if _, _, err := choose(b); err != nil {
				t.Skip(err)
			}
			test(t, open(t, Options{Loops: loops, Backend: b}))
		})
	}
}

func open(t testing.TB, o Options) *door {
	t.Helper()
	d := &door{t: t, long: newLongCommand(), count: newLongCommand()}
	handlers := map[string]engine.Handler{
		"lolwut":   {Run: d.long.run},
		"bitcount": {Run: d.count.run},
		"rpop":     {Run: d.noteAside, Count: 2},
		"sadd":     {Run: d.noteAside},
		// PSYNC in these tests gives the raw connection to an echo.
		"psync": {Run: func(c *engine.Ctx) { c.Hijack(echo(c.S)) }},
		"wait":  {Run: func(c *engine.Ctx) { c.Suspend(engine.WaitAcks, 0, func(c *engine.Ctx) { c.ReplyInt(0) }, nil) }},
	}
	d.e = inproc.New(t, inproc.Options{Handlers: handlers})
	o.Logf = t.Logf
	loops, err := NewLoops(d.e, o)
	if err != nil {
		t.Fatal(err)
	}
	d.loops = loops
	t.Cleanup(func() { loops.Close(); holdsNothing(t, d.e) })
	d.addr = d.listen("127.0.0.1")
	return d
}

// noteAside is RPOP and SADD in these tests.
func (d *door) noteAside(c *engine.Ctx) {
	if !c.W.Shared {
		d.aside.Add(1)
	}
	c.OK()
}

func echo(s *engine.Session) func(raw engine.Raw, unread []byte) {
	return func(raw engine.Raw, unread []byte) {
		defer s.Close()
		defer raw.Close()
		b := append(make([]byte, 0, 4096), unread...)
		for {
			if _, err := raw.Write(b); err != nil {
				return
			}
			n, err := raw.Read(b[:cap(b)])
			if err != nil {
				return
			}
			b = b[:n]
		}
	}
}

// listen opens a TCP port on a loopback address and returns where it is.
func (d *door) listen(ip string) string {
	d.t.Helper()
	l, err := ListenTCP(ip, 0, 511)
	if err != nil {
		d.t.Fatal(err)
	}
	d.serve(l)
	return l.Addr().String()
}

// listenUnix opens a Unix socket and returns its path.
func (d *door) listenUnix() string {
	d.t.Helper()
	path := filepath.Join(d.t.TempDir(), "s")
	l, err := ListenUnix(path, 0o700)
	if err != nil {
		d.t.Fatal(err)
	}
	d.serve(l)
	return path
}

func (d *door) serve(l net.Listener) {
	var served sync.WaitGroup
	served.Go(func() {
		if err := d.loops.Serve(l); err != nil {
			d.t.Error(err)
		}
	})
	d.t.Cleanup(func() { l.Close(); served.Wait() })
}

func (d *door) dial() *testkit.Client { return testkit.Dial(d.t, d.addr) }

// dialRaw connects without a client.
func (d *door) dialRaw() *net.TCPConn {
	d.t.Helper()
	c, err := net.Dial("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// clientsBecome waits until so many sessions are left.
func (d *door) clientsBecome(n int) {
	d.t.Helper()
	testkit.Eventually(d.t, testkit.Patience, func() error {
		if have := d.e.Clients.Len(); have != n {
			return fmt.Errorf("%d clients, want %d", have, n)
		}
		return nil
	})
}

func command(args ...string) []byte { return testkit.AppendCommand(nil, args...) }

// readAll reads until the server ends the connection.
func readAll(t testing.TB, c net.Conn) string {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(testkit.Patience))
	var all bytes.Buffer
	if _, err := all.ReadFrom(c); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Fatal(err)
	}
	return all.String()
}

// postedWork notes that it ran.
func postedWork(order chan int, i int) func(*engine.Worker) {
	return func(*engine.Worker) { order <- i }
}
