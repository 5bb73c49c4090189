package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/resp"
)

// zsetHot are commands on sorted sets that must not allocate: on a small set and on a big one.
var zsetHot = []string{
	"ZADD {key} 5 member:500000", "ZADD {key} 7 member:500000", "ZADD {key} XX 5.5 member:500000", "ZINCRBY {key} 1 member:500000", "ZSCORE {key} member:000001",
	"ZRANK {key} member:000001", "ZRANGE {key} 0 9", "ZRANGE {key} 0 9 WITHSCORES", "ZRANGEBYSCORE {key} 2 +inf LIMIT 0 10", "ZCOUNT {key} 2 5", "ZCARD {key}",
	"ZADD {key} -1 x", "ZPOPMIN {key}", "ZADD {key} 1e9 x", "ZPOPMAX {key}", "ZADD {key} 1 x", "ZREM {key} x", "ZREMRANGEBYRANK {key} 0 0", "ZADD {key} 3 member:000000",
}

// newZSetHot makes a set of so many members; run executes the commands once. A member that is long makes it big.
func newZSetHot(t testing.TB, members int, lines ...string) (run func()) {
	h := newHarness(t)
	h.e.LockAll()
	h.e.Log.Stop() // blocks of history are made as it grows
	h.e.UnlockAll()
	h.args("ZADD", "big", "1e10", strings.Repeat("long", 20))
	for i := range members {
		h.args("ZADD", "big", fmt.Sprint(i*7919%members), fmt.Sprintf("member:%06d", i))
		if i < 100 {
			h.args("ZADD", "small", fmt.Sprint(i*7919%100), fmt.Sprintf("member:%06d", i))
		}
	}
	var in []byte
	for _, line := range lines {
		var words [][]byte
		for _, w := range strings.Fields(line) {
			words = append(words, []byte(w))
		}
		in = resp.AppendCommand(in, words...)
	}
	return func() {
		h.s.Process(h.w, in)
		h.w.Out.Reset()
	}
}

func TestZSetsDoNotAllocate(t *testing.T) {
	for _, key := range []string{"small", "big"} {
		for i := range zsetHot {
			line := strings.ReplaceAll(zsetHot[i], "{key}", key)
			t.Run(line, func(t *testing.T) {
				if n := testing.AllocsPerRun(100, newZSetHot(t, 100, line)); n != 0 {
					t.Errorf("%v allocations a command", n)
				}
			})
		}
	}
}

func BenchmarkZSet(b *testing.B) {
	for _, lines := range [][]string{
		{"ZADD big 5 member:050000", "ZADD big 70000 member:050000"},
		{"ZADD small 5 member:000050", "ZADD small 70 member:000050"},
		{"ZPOPMIN big", "ZADD big -1 member:000000"},
		{"ZPOPMIN small", "ZADD small -1 member:000000"},
		{"ZRANK big member:050000"},
		{"ZSCORE big member:050000"},
		{"ZRANGEBYSCORE big 5000 +inf LIMIT 0 10"},
		{"ZUNION 2 small small"},
	} {
		b.Run(strings.Join(lines, ", "), func(b *testing.B) {
			run := newZSetHot(b, 100000, lines...)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
}
