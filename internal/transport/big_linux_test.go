package transport

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/inproc"
)

// TestBigValuesKeepTheirBytes sends values of many sizes to and fro in pipelines, so that buffers are used again while other
// replies wait for room, beside big messages that several subscribers share.
func TestBigValuesKeepTheirBytes(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		const clients, rounds, depth, messages = 4, 12, 6, 40
		big := func(who, n int) string {
			return strings.Repeat(strconv.Itoa(who)+"-"+strconv.Itoa(n)+";", 10_000+9_000*(n%7))
		}
		var all sync.WaitGroup
		for i := range 2 {
			c := d.dial()
			c.Do(t, "SUBSCRIBE", "news")
			all.Go(func() {
				for n := range messages {
					if v, err := c.Read(); err != nil || len(v.Items) != 3 || v.Items[2].Text != big(9, n) {
						t.Errorf("subscriber %d: message %d is damaged: %v", i, n, err)
						return
					}
				}
			})
		}
		publisher := d.dial()
		all.Go(func() {
			for n := range messages {
				if err := publisher.SendRaw(command("PUBLISH", "news", big(9, n))); err != nil {
					t.Error(err)
				}
				if v, err := publisher.Read(); err != nil || v.Int != 2 {
					t.Errorf("PUBLISH: got %v, %v", v, err)
				}
			}
		})
		for who := range clients {
			c := d.dial()
			all.Go(func() {
				for round := range rounds {
					var batch []byte
					for n := range depth {
						batch = append(batch, command("ECHO", big(who, round+n))...)
					}
					if err := c.SendRaw(batch); err != nil {
						t.Error(err)
						return
					}
					for n := range depth {
						if v, err := c.Read(); err != nil || v.Text != big(who, round+n) {
							t.Errorf("client %d: reply %d of round %d is damaged: %v", who, n, round, err)
							return
						}
					}
				}
			})
		}
		all.Wait()
	})
}

// TestBuffersOfBigValuesAreGivenBack ends clients at every stage of a big value: while it arrives, while its reply waits, and
// when the connection is taken with input that was not used. That nothing is lost the end of the test says.
func TestBuffersOfBigValuesAreGivenBack(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		const size = 5 << 20
		set := command("SET", "big", strings.Repeat("v", size))
		other := d.dial()
		if err := other.SendRaw(set); err != nil {
			t.Fatal(err)
		}
		if v, err := other.Read(); err != nil || v.Text != "OK" {
			t.Fatal(v, err)
		}
		for _, part := range []int{1 << 20, 3 << 20, len(set) - 1} { // it comes in part
			c := d.dialRaw()
			if _, err := c.Write(set[:part]); err != nil {
				t.Fatal(err)
			}
			c.Close()
		}
		c := d.dialRaw() // the reply is read in part
		if _, err := c.Write(bytes.Repeat(command("GET", "big"), 4)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, size+100)); err != nil {
			t.Fatal(err)
		}
		c.Close()
		c = d.dialRaw() // what comes after the connection was taken is much
		go func() {
			_, _ = c.Write(append(append(append([]byte(nil), set...), command("PSYNC", "?", "-1")...), set...))
		}()
		want := append([]byte("+OK\r\n"), set...)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the connection that was taken repeats something else: %v", err)
		}
	})
}

// The same for the connections with a goroutine each.
func TestGoroutinesGiveBuffersBack(t *testing.T) {
	_, c, next := goroutines(t, inproc.Options{})
	v := strings.Repeat("v", 3<<20)
	go func() { // beside the reader, as neither side buffers so much
		_, _ = c.Write(append(command("SET", "big", v), command("GET", "big")...))
		_, _ = c.Write(command("SET", "big", v)[:2<<20])
	}()
	if r := next(); r.Text != "OK" {
		t.Fatal(r)
	}
	if r := next(); r.Text != v {
		t.Fatalf("the value came back with %d bytes", len(r.Text))
	}
}

// TestNothingIsTakenForWhatIsOnlyAnnounced says that room is made as the bytes of a value arrive, whatever their number was
// said to be.
func TestNothingIsTakenForWhatIsOnlyAnnounced(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		const clients, sent = 4, 2 << 20
		for range clients {
			c := d.dialRaw()
			if _, err := c.Write(append([]byte("*2\r\n$4\r\nECHO\r\n$536870912\r\n"), make([]byte, sent)...)); err != nil {
				t.Fatal(err)
			}
		}
		testkit.Eventually(t, testkit.Patience, func() error {
			arrived := 0
			for _, s := range d.e.Clients.All() {
				info := s.Info()
				arrived += info.Query + info.Arguments
			}
			if arrived < clients*sent {
				return fmt.Errorf("%d bytes have arrived", arrived)
			}
			return nil
		})
		if held := d.e.Buffers.Held(); held < clients*sent || held > 2*clients*(sent+readBytes) {
			t.Errorf("%d bytes are held for %d that have come", held, clients*sent)
		}
	})
}
