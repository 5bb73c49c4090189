package tests

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

func TestCase_e013_ByteByByte(t *testing.T) {
	own(t, "e013", func(t testing.TB) {
		c := testkit.Start(t, testkit.Options{}).Dial(t)
		const value = "a\r\nb\x00c\r\n$3\r\n"
		for _, b := range testkit.AppendCommand(testkit.AppendCommand(nil, "SET", "k", value), "GET", "k") {
			must(t, c.SendRaw([]byte{b}))
		}
		if v := c.Next(t); v.String() != "+OK" {
			t.Errorf("SET: %v", v)
		}
		if v := c.Next(t); v.Kind != reply.Bulk || v.Text != value {
			t.Errorf("GET: %v", v)
		}
	})
}

func TestCase_c171_MixedPipeline(t *testing.T) {
	own(t, "c171", func(t testing.TB) {
		c := testkit.Start(t, testkit.Options{}).Dial(t)
		const commands = 4000
		var (
			random = rand.New(rand.NewPCG(171, 0))
			model  = map[string]string{}
			out    []byte
			want   []string
		)
		bulk := func(value string, there bool) string {
			if !there {
				return "$-1\r\n"
			}
			return fmt.Sprintf("$%d\r\n%s\r\n", len(value), value)
		}
		for range commands {
			key, other := fmt.Sprint("k", random.IntN(50)), fmt.Sprint("k", random.IntN(50))
			value := strings.Repeat(string('a'+rune(random.IntN(26))), sizeOfValue(random))
			switch random.IntN(4) {
			case 0:
				out, model[key] = testkit.AppendCommand(out, "SET", key, value), value
				want = append(want, "+OK\r\n")
			case 1:
				out = testkit.AppendCommand(out, "GET", key)
				v, there := model[key]
				want = append(want, bulk(v, there))
			case 2:
				out = testkit.AppendCommand(out, "ECHO", value)
				want = append(want, bulk(value, true))
			default:
				out = testkit.AppendCommand(out, "MGET", key, other)
				v, there := model[key]
				w, also := model[other]
				want = append(want, "*2\r\n"+bulk(v, there)+bulk(w, also))
			}
		}
		sent := make(chan error, 1)
		go func() { sent <- c.SendRaw(out) }()
		for i, w := range want {
			got, err := c.ReadBytes(len(w))
			if err != nil || string(got) != w {
				t.Fatalf("reply %d: %.60q, want %.60q: %v", i, got, w, err)
			}
		}
		must(t, <-sent)
		must(t, c.Quiet(quietDuring))
	})
}

// sizeOfValue is small most of the time and up to 70,000 bytes now and then.
func sizeOfValue(random *rand.Rand) int {
	if random.IntN(20) == 0 {
		return random.IntN(70001)
	}
	return random.IntN(100)
}

func TestCase_c176_MemoryFollowsBytesReceived(t *testing.T) {
	own(t, "c176", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		before := s.RSS(t)
		for range 8 {
			must(t, s.Dial(t).SendRaw([]byte("*1000\r\n$536870912\r\n")))
		}
		steadily(t, 500*time.Millisecond, func() error {
			if grown := s.RSS(t) - before; grown >= 64<<20 {
				return fmt.Errorf("resident memory grew by %d bytes", grown)
			}
			_, err := s.Try("PING")
			return err
		})
		t.Logf("resident memory grew by %d KB", (s.RSS(t)-before)>>10)
	})
}

func TestCase_c176d_QueryBufferLimit(t *testing.T) {
	own(t, "c176d", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{Conf: []string{"client-query-buffer-limit 1mb"}})
		c, other := s.Dial(t), s.Dial(t)
		must(t, c.SendRaw([]byte("*100\r\n")))
		arg := []byte(fmt.Sprintf("$%d\r\n%s\r\n", 100_000, strings.Repeat("x", 100_000)))
		for range 80 {
			if c.SendRaw(arg) != nil {
				break // closed already
			}
		}
		testkit.Eventually(t, testkit.Patience, func() error { return clientGone(s, c) })
		other.Want(t, "+PONG", "PING")
	})
}
