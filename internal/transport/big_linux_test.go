package transport

import (
	"strconv"
	"strings"
	"sync"
	"testing"
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
