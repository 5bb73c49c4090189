package transport

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestManyConnections(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		var clients sync.WaitGroup
		for n := range 40 {
			clients.Go(func() {
				c, err := testkit.TryDial(d.addr)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for i := range 100 {
					key, value := fmt.Sprintf("key:%d:%d", n, i%7), fmt.Sprintf("value %d", i)
					if v, err := c.Try("SET", key, value); err != nil || v.Text != "OK" {
						t.Errorf("SET: %v %v", v, err)
					}
					if v, err := c.Try("GET", key); err != nil || v.Text != value {
						t.Errorf("GET: %v %v", v, err)
					}
				}
			})
		}
		clients.Wait()
		d.clientsBecome(0)
	})
}

func TestPipelineInRandomPieces(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		rng := rand.New(rand.NewPCG(1, 2))
		var sent, want bytes.Buffer
		for i := range 600 {
			value := strings.Repeat("v", rng.IntN(500))
			sent.Write(command("SET", "k"+strconv.Itoa(i%10), value))
			want.WriteString("+OK\r\n")
			sent.Write(command("GET", "k"+strconv.Itoa(i%10)))
			fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(value), value)
		}
		sent.Write(command("QUIT"))
		want.WriteString("+OK\r\n")
		c := d.dialRaw()
		var writer sync.WaitGroup
		writer.Go(func() {
			for b := sent.Bytes(); len(b) > 0; {
				n := min(len(b), 1+rng.IntN(700))
				if _, err := c.Write(b[:n]); err != nil {
					t.Error(err)
					return
				}
				b = b[n:]
			}
		})
		got := readAll(t, c)
		writer.Wait()
		if got != want.String() {
			t.Fatalf("got %d bytes, want %d; they differ", len(got), want.Len())
		}
	})
}

func TestLargeValue(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		const size = 100 << 20
		value := strings.Repeat("0123456789abcdef", size/16)
		c := d.dial()
		c.Want(t, "+OK", "SET", "big", value)
		c.Want(t, ":"+strconv.Itoa(size), "STRLEN", "big")
		if v := c.Do(t, "GET", "big"); v.Text != value {
			t.Fatalf("%d bytes came back, or others", len(v.Text))
		}
		c.Want(t, "+PONG", "PING")
	})
}

// TestSlowReaderGetsWhatWasSaid reads the replies of a deep pipeline only when all of it was sent: what the socket does not
// take has to be kept, unharmed by the commands of other clients.
func TestSlowReaderGetsWhatWasSaid(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		slow, other := d.dialRaw(), d.dial()
		const rounds = 3000
		var sent, want bytes.Buffer
		for i := range rounds {
			text := strconv.Itoa(i) + strings.Repeat("x", 1000)
			sent.Write(command("ECHO", text))
			fmt.Fprintf(&want, "$%d\r\n%s\r\n", len(text), text)
		}
		sent.Write(command("QUIT"))
		want.WriteString("+OK\r\n")
		if _, err := slow.Write(sent.Bytes()); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			other.Want(t, `"`+strings.Repeat("y", 70000)+`"`, "ECHO", strings.Repeat("y", 70000))
		}
		if got := readAll(t, slow); got != want.String() {
			t.Fatalf("got %d bytes, want %d; they differ", len(got), want.Len())
		}
	})
}

func TestHalfClosedClientGetsItsReplies(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.dial().Want(t, "+OK", "SET", "k", strings.Repeat("v", 200000))
		c := d.dialRaw()
		const rounds = 60 // 12 MB: more than one visit and more than the socket's buffer
		for range rounds {
			if _, err := c.Write(command("GET", "k")); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, want := len(readAll(t, c)), rounds*(200000+len("$200000\r\n\r\n")); got != want {
			t.Fatalf("%d bytes of %d", got, want)
		}
		d.clientsBecome(1)
	})
}

func TestHalfClosedClientThatWaitsIsGone(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		c := d.dialRaw()
		if _, err := c.Write(command("WAIT", "1", "0")); err != nil {
			t.Fatal(err)
		}
		if err := c.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got := readAll(t, c); got != "" {
			t.Fatalf("got %q", got)
		}
		d.clientsBecome(0)
	})
}

func TestClientKill(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		killer := d.dial()
		for range 4 {
			victim := d.dial()
			id := victim.Do(t, "CLIENT", "ID")
			killer.Want(t, ":1", "CLIENT", "KILL", "ID", strconv.FormatInt(id.Int, 10))
			if err := victim.Closed(testkit.Patience); err != nil {
				t.Fatal(err)
			}
		}
		waiting := d.dial()
		id := waiting.Do(t, "CLIENT", "ID")
		if err := waiting.Send("WAIT", "1", "0"); err != nil {
			t.Fatal(err)
		}
		killer.Want(t, ":1", "CLIENT", "KILL", "ID", strconv.FormatInt(id.Int, 10))
		if err := waiting.Closed(testkit.Patience); err != nil {
			t.Fatal(err)
		}
		own := killer.Do(t, "CLIENT", "ID")
		if err := killer.SendRaw(append(command("CLIENT", "KILL", "ID", strconv.FormatInt(own.Int, 10), "SKIPME", "no"), command("PING")...)); err != nil {
			t.Fatal(err)
		}
		if v := killer.Next(t); v.Int != 1 {
			t.Fatalf("got %v", v)
		}
		if err := killer.Closed(testkit.Patience); err != nil {
			t.Fatal(err)
		}
		d.clientsBecome(0)
	})
}

func TestClientThatNeverReads(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.e.Settings.OutputLimits[0].HardBytes.Store(8 << 20)
		other := d.dial()
		other.Want(t, "+OK", "SET", "k", strings.Repeat("v", 1<<20))
		c := d.dialRaw()
		for range 64 {
			if _, err := c.Write(command("GET", "k")); err != nil {
				break // it has been closed already
			}
		}
		testkit.Eventually(t, testkit.Patience, func() error {
			if n := d.e.Stats.OutputLimit.Load(); n != 1 {
				return fmt.Errorf("%d clients were counted as over their output limit, want 1", n)
			}
			return nil
		})
		d.clientsBecome(1)
		other.Want(t, "+PONG", "PING")
	})
}

func TestQueryBufferLimit(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.e.Settings.MaxQueryBuffer.Store(1 << 20)
		c := d.dialRaw()
		_, _ = c.Write([]byte("*2\r\n$4\r\nECHO\r\n$3000000\r\n"))
		_, _ = c.Write(bytes.Repeat([]byte("x"), 2<<20))
		if got := readAll(t, c); got != "" {
			t.Fatalf("got %q", got)
		}
		if n := d.e.Stats.QueryLimit.Load(); n != 1 {
			t.Errorf("%d clients were counted as over their query limit, want 1", n)
		}
	})
}

func TestMaxClients(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		d.e.Settings.MaxClients.Store(5)
		for range 5 {
			d.dial().Want(t, "+PONG", "PING")
		}
		for range 3 {
			if got := readAll(t, d.dialRaw()); got != tooManyText {
				t.Fatalf("got %q", got)
			}
		}
		if n := d.e.Stats.Rejected.Load(); n != 3 {
			t.Errorf("%d rejected, want 3", n)
		}
	})
}

func TestStrangers(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.e.Access.Users.SetDefaultPassword([]byte("secret"))
		for _, input := range []string{"*11\r\n", "*2\r\n$4\r\nECHO\r\n$16385\r\n"} {
			c := d.dialRaw()
			if _, err := c.Write([]byte(input)); err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, c); !strings.HasPrefix(got, "-ERR Protocol error: unauthenticated") {
				t.Errorf("%q: got %q", input, got)
			}
		}
		c := d.dial()
		c.Want(t, "-NOAUTH...", "GET", "k")
		c.Want(t, "-WRONGPASS...", "AUTH", "wrong")
		c.Want(t, "+OK", "AUTH", "secret")
		c.Want(t, "nil", "GET", "k")
	})
}

// TestStrangerThatReadsLate has more refusals than the socket takes; when it reads at last, all of them come.
func TestStrangerThatReadsLate(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.e.Access.Users.SetDefaultPassword([]byte("secret"))
		c := d.dialRaw()
		const rounds = 100000
		var writer sync.WaitGroup
		writer.Go(func() {
			if _, err := c.Write(bytes.Repeat(command("PING"), rounds)); err != nil {
				t.Error(err)
			}
			if err := c.CloseWrite(); err != nil {
				t.Error(err)
			}
		})
		got := strings.Count(readAll(t, c), "-NOAUTH")
		writer.Wait()
		if got != rounds {
			t.Fatalf("%d refusals, want %d", got, rounds)
		}
	})
}

func TestProtectedMode(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.e.Settings.ProtectedMode.Store(true)
		d.dial().Want(t, "+PONG", "PING")
		outside := engine.Peer{Remote: "192.0.2.1:5", Local: "192.0.2.2:6379"}
		if got := refusal(d.e, outside); got != protectedText {
			t.Errorf("got %q", got)
		}
		d.e.Access.Users.SetDefaultPassword([]byte("secret"))
		if got := refusal(d.e, outside); got != "" {
			t.Errorf("with a password: got %q", got)
		}
	})
}

func TestUnixSocketAndIPv6(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		path := d.listenUnix()
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(command("CLIENT", "INFO")); err != nil {
			t.Fatal(err)
		}
		v, err := reply.Read(bufio.NewReader(c))
		if err != nil || !strings.Contains(v.Text, "addr="+path+":0") || !strings.Contains(v.Text, "flags=U") {
			t.Errorf("got %v, %v", v, err)
		}
		addr := d.listen("::1")
		six := testkit.Dial(t, addr)
		if v := six.Do(t, "CLIENT", "INFO"); !strings.Contains(v.Text, " addr=[::1]:") || !strings.Contains(v.Text, " laddr=[::1]:") {
			t.Errorf("got %v", v)
		}
	})
}

func TestTwoThousandConnections(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		const n = 2000
		clients := make([]*testkit.Client, n)
		for i := range clients {
			clients[i] = d.dial()
		}
		for i, c := range clients {
			if err := c.Send("SET", strconv.Itoa(i), "v"); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range clients {
			if v := c.Next(t); v.Text != "OK" {
				t.Fatalf("got %v", v)
			}
		}
		d.clientsBecome(n)
		for _, c := range clients {
			c.Close()
		}
		d.clientsBecome(0)
	})
}

func TestGarbage(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		rng := rand.New(rand.NewPCG(3, 4))
		var clients sync.WaitGroup
		for range 60 {
			b := make([]byte, 1+rng.IntN(3000))
			for i := range b {
				b[i] = "*$\r\n-:0123456789 GETSET\x00\xff"[rng.IntN(25)]
			}
			clients.Go(func() {
				c, err := net.Dial("tcp", d.addr)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = c.Write(b)
				c.Close()
			})
		}
		clients.Wait()
		d.clientsBecome(0)
		d.dial().Want(t, "+PONG", "PING")
	})
}

func TestHijack(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		c := d.dial()
		if err := c.SendRaw(append(append(command("PING"), command("PSYNC", "?", "-1")...), "left over\r\n"...)); err != nil {
			t.Fatal(err)
		}
		if v := c.Next(t); v.Text != "PONG" {
			t.Fatalf("got %v", v)
		}
		if b, err := c.ReadBytes(11); err != nil || string(b) != "left over\r\n" {
			t.Fatalf("got %q, %v", b, err)
		}
		if err := c.SendRaw([]byte("and more")); err != nil {
			t.Fatal(err)
		}
		if b, err := c.ReadBytes(8); err != nil || string(b) != "and more" {
			t.Fatalf("got %q, %v", b, err)
		}
		killer := d.dial()
		killer.Want(t, ":1", "CLIENT", "KILL", "TYPE", "normal")
		if err := c.Closed(testkit.Patience); err != nil {
			t.Fatal(err)
		}
		d.clientsBecome(1)
	})
}

func TestGateHoldsReplies(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		d.e.LockAll()
		d.e.Log.Start()
		d.e.UnlockAll()
		d.e.Gate.Require(true)
		c, other := d.dial(), d.dial()
		if err := c.SendRaw(append(command("SET", "k", "v"), command("GET", "k")...)); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, testkit.Patience, func() error {
			if v := other.Do(t, "GET", "k"); v.Text != "v" {
				return fmt.Errorf("not written yet: %v", v)
			}
			return nil
		})
		if err := c.Send("PING"); err != nil {
			t.Fatal(err)
		}
		if err := c.Quiet(20 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		d.e.Gate.Advance(d.e.Log.End())
		for _, want := range []string{"OK", "v", "PONG"} {
			if v := c.Next(t); v.Text != want {
				t.Fatalf("got %v, want %s", v, want)
			}
		}
		if err := c.Send("SET", "k", "w"); err != nil {
			t.Fatal(err)
		}
		if err := c.Quiet(20 * time.Millisecond); err != nil {
			t.Fatal(err)
		}
		d.e.Gate.Require(false)
		if v := c.Next(t); v.Text != "OK" {
			t.Fatalf("got %v", v)
		}
	})
}
