package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// goroutines serves one connection of a pipe with a goroutine, as those on TLS are.
func goroutines(t *testing.T, o inproc.Options) (e *engine.Engine, c net.Conn, next func() reply.Value) {
	t.Helper()
	e = inproc.New(t, o)
	g := NewGoroutines(e, Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		defer close(accepted)
		if s, err := l.Accept(); err == nil {
			accepted <- s
		}
	}()
	c, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server := <-accepted
	l.Close()
	g.Handle(server, nil)
	t.Cleanup(func() { c.Close(); g.Close(); holdsNothing(t, e) })
	in := bufio.NewReader(c)
	return e, c, func() reply.Value {
		t.Helper()
		_ = c.SetReadDeadline(time.Now().Add(testkit.Patience))
		v, err := reply.Read(in)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// holdsNothing says that every buffer of a connection was given back when all have ended.
func holdsNothing(t testing.TB, e *engine.Engine) {
	testkit.Eventually(t, testkit.Patience, func() error {
		if n := e.Buffers.Held(); n != 0 {
			return fmt.Errorf("%d bytes of buffers are lost", n)
		}
		return nil
	})
}

func send(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

func TestGoroutineServes(t *testing.T) {
	e, c, next := goroutines(t, inproc.Options{})
	big := strings.Repeat("v", 3<<20)
	send(t, c, append(testkit.AppendCommand(nil, "SET", "k", big), testkit.AppendCommand(nil, "GET", "k")...))
	if v := next(); v.Text != "OK" {
		t.Fatalf("got %v", v)
	}
	if v := next(); v.Text != big {
		t.Fatalf("%d bytes came back", len(v.Text))
	}
	c.Close()
	testkit.Eventually(t, testkit.Patience, func() error {
		if n := e.Clients.Len(); n != 0 {
			return fmt.Errorf("%d sessions are left", n)
		}
		return nil
	})
}

// TestGoroutineHandsOverFromPostedWork has the hijacking command wait in the input of a suspended session, so that it is
// executed by posted work while the connection's goroutine reads.
func TestGoroutineHandsOverFromPostedWork(t *testing.T) {
	waiting := make(chan engine.Wait, 1)
	_, c, next := goroutines(t, inproc.Options{Handlers: map[string]engine.Handler{
		"wait": {Run: func(c *engine.Ctx) { waiting <- c.Suspend(engine.WaitAcks, 0, nil, nil) }},
		"psync": {Run: func(c *engine.Ctx) {
			s := c.S
			c.Hijack(func(raw engine.Raw, unread []byte) {
				for piece := make([]byte, 16); !bytes.HasSuffix(unread, []byte("rest\r\n")); { // what is left unread resets the connection
					n, err := raw.Read(piece)
					if err != nil {
						break
					}
					unread = append(unread, piece[:n]...)
				}
				_, _ = raw.Write(append([]byte("+taken "), unread...))
				raw.Close()
				s.Close()
			})
		}},
	}})
	send(t, c, append(testkit.AppendCommand(nil, "WAIT", "1", "0"), testkit.AppendCommand(nil, "PSYNC", "?", "-1")...))
	send(t, c, []byte("rest\r\n"))
	w := <-waiting
	if !w.Resume(func(c *engine.Ctx) { c.ReplyInt(7) }) {
		t.Fatal("the wait had ended")
	}
	if w.Resume(nil) {
		t.Fatal("the wait ended twice")
	}
	if v := next(); v.Int != 7 {
		t.Fatalf("got %v", v)
	}
	if v := next(); !strings.HasPrefix(v.Text, "taken") {
		t.Fatalf("got %v", v)
	}
}

func TestGoroutineEndsASubscriberThatDoesNotRead(t *testing.T) {
	e, c, next := goroutines(t, inproc.Options{})
	e.Settings.OutputLimits[2].HardBytes.Store(1 << 20)
	send(t, c, testkit.AppendCommand(nil, "SUBSCRIBE", "news"))
	if v := next(); len(v.Items) != 3 {
		t.Fatalf("got %v", v)
	}
	e.Publish(nil, []byte("news"), []byte("first"), false)
	if v := next(); len(v.Items) != 3 || v.Items[2].Text != "first" {
		t.Fatalf("got %v", v)
	}
	text := []byte(strings.Repeat("x", 1<<16))
	for n := 0; e.Stats.OutputLimit.Load() == 0; n++ {
		if n == 100000 {
			t.Fatal("the subscriber is still there")
		}
		e.Publish(nil, []byte("news"), text, false)
	}
	testkit.Eventually(t, testkit.Patience, func() error {
		if n := e.PubSub.Len(engine.SubChannel); n != 0 {
			return fmt.Errorf("%d channels are left", n)
		}
		return nil
	})
}
