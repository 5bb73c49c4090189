package transport

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// TestLoopChangesHandsUnderLoad has long commands take the loop from its runner again and again while pipelines of all
// depths are served on it: every reply comes once, whole and in order.
func TestLoopChangesHandsUnderLoad(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		const clients, rounds, changes = 12, 60, 40
		var busy sync.WaitGroup
		for n := range clients {
			c := d.dial()
			busy.Go(func() {
				for round := range rounds {
					if err := echoes(c, 1+(n*7+round)%50, fmt.Sprintf("%d %d ", n, round)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		d.changeHands(changes)
		busy.Wait()
	})
}

// changeHands has long commands take the loop from its runner so many times.
func (d *door) changeHands(times int) {
	d.t.Helper()
	long := d.dial()
	for i := range times {
		d.begin(long, strconv.Itoa(i))
		d.dial().Want(d.t, "+PONG", "PING") // the next runner is in charge
		d.long.end <- struct{}{}
		if v := long.Next(d.t); v.Text != "DONE "+strconv.Itoa(i) {
			d.t.Fatalf("got %v", v)
		}
	}
}

// echoes sends a pipeline and checks what comes back.
func echoes(c *testkit.Client, depth int, mark string) error {
	var sent []byte
	for i := range depth {
		sent = append(sent, command("ECHO", mark+strconv.Itoa(i)+strings.Repeat("x", i*i))...)
	}
	if err := c.SendRaw(sent); err != nil {
		return err
	}
	for i := range depth {
		v, err := c.Read()
		if err != nil {
			return err
		}
		if v.Text != mark+strconv.Itoa(i)+strings.Repeat("x", i*i) {
			return fmt.Errorf("got %.60q as reply %d of %q", v.Text, i, mark)
		}
	}
	return nil
}

// TestHijackBehindAPipeline has a connection given away while replies to it and input of it are under way.
func TestHijackBehindAPipeline(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		for round := range 50 {
			c := d.dialRaw()
			const pings = 40
			var tail strings.Builder
			for i := range 30 {
				fmt.Fprintf(&tail, "piece %d of round %d\n", i, round)
			}
			if _, err := c.Write(append(bytes.Repeat(command("PING"), pings), command("PSYNC", "?", "-1")...)); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(tail.String()) {
				if _, err := c.Write([]byte(line)); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			if got, want := readAll(t, c), strings.Repeat("+PONG\r\n", pings)+tail.String(); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
		d.clientsBecome(0)
	})
}

// TestKillInTheMiddleOfALargeReply ends clients that have taken a part of what they asked for.
func TestKillInTheMiddleOfALargeReply(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		other := d.dial()
		other.Within = time.Minute
		other.Want(t, "+OK", "SET", "big", strings.Repeat("v", 100<<20))
		for range 3 {
			victim := d.dial()
			id := victim.Do(t, "CLIENT", "ID")
			if err := victim.Send("GET", "big"); err != nil {
				t.Fatal(err)
			}
			if b, err := victim.ReadBytes(1 << 20); err != nil || !bytes.HasSuffix(b, []byte("vv")) {
				t.Fatal(err)
			}
			other.Want(t, ":1", "CLIENT", "KILL", "ID", strconv.FormatInt(id.Int, 10))
			d.clientsBecome(1)
		}
		gone := d.dialRaw()
		if _, err := gone.Write(command("GET", "big")); err != nil {
			t.Fatal(err)
		}
		gone.Close()
		d.clientsBecome(1)
		other.Want(t, "+PONG", "PING")
	})
}

// TestValueThatComesInPieces mixes small commands with values that are large enough to be read directly, in one pipeline.
func TestValueThatComesInPieces(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		c := d.dialRaw()
		var sent, want bytes.Buffer
		for i := range 40 {
			value := strings.Repeat(strconv.Itoa(i%10), 1+i*i*400)
			sent.Write(command("SET", "k", value))
			sent.Write(command("STRLEN", "k"))
			sent.Write(command("ECHO", value))
			fmt.Fprintf(&want, "+OK\r\n:%d\r\n$%d\r\n%s\r\n", len(value), len(value), value)
		}
		sent.Write(command("QUIT"))
		want.WriteString("+OK\r\n")
		var writer sync.WaitGroup
		writer.Go(func() {
			if _, err := c.Write(sent.Bytes()); err != nil {
				t.Error(err)
			}
		})
		if got := readAll(t, c); got != want.String() {
			t.Fatalf("got %d bytes, want %d; they differ", len(got), want.Len())
		}
		writer.Wait()
	})
}

// TestManyAtOnce has more connections send at the same moment than the ring has buffers, each more than one buffer holds.
func TestManyAtOnce(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		const clients = 300
		var busy sync.WaitGroup
		start := make(chan struct{})
		for n := range clients {
			c := d.dial()
			busy.Go(func() {
				<-start
				if err := echoes(c, 60, strconv.Itoa(n)+" "); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		busy.Wait()
	})
}

func TestBackends(t *testing.T) {
	if b, why, err := choose(Epoll); b != Epoll || why != nil || err != nil {
		t.Errorf("epoll: %v, %v, %v", b, why, err)
	}
	if _, _, err := choose("kqueue"); err == nil {
		t.Error("kqueue was taken")
	}
	auto, why, err := choose(Auto)
	if err != nil || (auto == Uring) != (why == nil) {
		t.Errorf("auto: %v, %v, %v", auto, why, err)
	}
	forced, _, err := choose(Uring)
	if (err == nil) != (auto == Uring) || err == nil && forced != Uring {
		t.Errorf("io_uring: %v, %v", forced, err)
	}
	if err != nil && !errors.Is(err, why) {
		t.Errorf("got %v, want %v", err, why)
	}
}
