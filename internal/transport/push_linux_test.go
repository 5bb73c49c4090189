package transport

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

// TestMessagesArriveInOrder has publishers send messages of all sizes, in pipelines, to subscribers of both protocols on all
// loops: each subscriber gets all of them, whole, and those of a publisher in order.
func TestMessagesArriveInOrder(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		const publishers, subscribers, each = 3, 5, 400
		var published, received sync.WaitGroup
		for i := range subscribers {
			c := d.dial()
			if i%2 == 1 {
				c.Do(t, "HELLO", "3")
			}
			c.Do(t, "SUBSCRIBE", "news")
			received.Go(func() {
				next := make([]int, publishers)
				for range publishers * each {
					v, err := c.Read()
					if err != nil || len(v.Items) != 3 {
						t.Errorf("got %v, %v", v, err)
						return
					}
					head, body, _ := strings.Cut(v.Items[2].Text, ";")
					var from, n int
					if _, err := fmt.Sscanf(head, "%d %d", &from, &n); err != nil || next[from] != n || body != filler(n) {
						t.Errorf("got message %q with %d bytes behind it, want number %d", head, len(body), next[from])
						return
					}
					next[from]++
				}
			})
		}
		for p := range publishers {
			c := d.dial()
			published.Go(func() {
				var batch []byte
				for n := range each {
					batch = append(batch, command("PUBLISH", "news", fmt.Sprintf("%d %d;%s", p, n, filler(n)))...)
				}
				if err := c.SendRaw(batch); err != nil {
					t.Error(err)
				}
				for range each {
					if v, err := c.Read(); err != nil || v.Int != subscribers {
						t.Errorf("PUBLISH: got %v, %v", v, err)
						return
					}
				}
			})
		}
		published.Wait()
		received.Wait()
	})
}

// filler is what message n carries: now and then as much as is not copied any more.
func filler(n int) string {
	if n%50 == 49 {
		return strings.Repeat("x", 10*sharedBytesMin)
	}
	return strings.Repeat("y", n%300)
}

func TestSubscriberThatDoesNotReadIsEnded(t *testing.T) {
	onEach(t, 2, func(t *testing.T, d *door) {
		d.e.Settings.OutputLimits[2].HardBytes.Store(4 << 20)
		slow, c := d.dialRaw(), d.dial()
		if _, err := slow.Write(command("SUBSCRIBE", "news")); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, testkit.Patience, func() error {
			if n := d.e.PubSub.Len(0); n != 1 {
				return fmt.Errorf("%d channels", n)
			}
			return nil
		})
		message := strings.Repeat("x", 1<<16)
		for n := 0; d.e.Stats.OutputLimit.Load() == 0; n++ {
			if n == 10000 {
				t.Fatal("the subscriber is still there")
			}
			c.Do(t, "PUBLISH", "news", message)
		}
		d.clientsBecome(1)
		c.Want(t, ":0", "PUBLISH", "news", message)
	})
}

func TestMessagesToAConnectionThatIsAway(t *testing.T) {
	onEach(t, 1, func(t *testing.T, d *door) {
		long, other := d.dial(), d.dial()
		long.Do(t, "HELLO", "3")
		long.Do(t, "SUBSCRIBE", "news")
		d.begin(long, "1")
		for n := range 3 {
			other.Want(t, ":1", "PUBLISH", "news", strconv.Itoa(n))
		}
		d.long.end <- struct{}{}
		if v := long.Next(t); v.Text != "DONE 1" {
			t.Fatalf("got %v", v)
		}
		for n := range 3 {
			if v := long.Next(t); len(v.Items) != 3 || v.Items[2].Text != strconv.Itoa(n) {
				t.Fatalf("got %v", v)
			}
		}
	})
}
