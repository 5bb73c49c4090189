package command

import (
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/resp"
	"pgregory.net/rapid"
)

// aheadLines are commands that a worker may look at before their turn, and those that must end the look: they change how
// the next one is read or executed. One that begins with a space is sent as a line.
var aheadLines = []string{
	"GET a", "GET b", "SET a 1", "SET b 22222222222222222222222222222222222", "SET {a}c 3", "INCR a", "INCR n", "APPEND b x",
	"DEL a", "DEL b n", "EXISTS a b n", "MGET a b n", "MSET a 1 z 2", "RPUSH l 1 2", "LPOP l", "LPUSH b 1", "GET", "SET a",
	"NOSUCH a", "GETDEL n", "SETEX a 100 v", "PEXPIRE a 1", "TYPE l", "OBJECT ENCODING a", "OBJECT NOSUCH a", "SELECT 1",
	"SELECT 0", "MULTI", "EXEC", "DISCARD", "WATCH a", "RESET", "HELLO 3", "HELLO 2", "CLIENT REPLY OFF", "CLIENT REPLY ON",
	"CLIENT REPLY SKIP", "AUTH nobody nothing", "SUBSCRIBE c", "UNSUBSCRIBE c", "FLUSHDB", "SWAPDB 0 1", "MOVE a 1", "BLPOP l 0",
	"QUIT", " GET a", " SET a \"x y\"", " SET b 'unbalanced", " ",
	"SADD s m1", "SADD s new", "SISMEMBER s m2", "SREM s m3", "SREM s", "DEL s", "HSET h m1 v", "HSET h new", "HGET h m1", "HGET h no",
	"HINCRBY h n 1", "HDEL h m2", "HSET s m1 v", "ZADD z 1 m1", "ZADD z NX CH 1 m2", "ZADD z", "ZSCORE z m3", "ZRANK z m4", "ZREM z m5",
	"ZINCRBY z 2 m6", "GEOADD z 1 1 m7", "HGETALL l",
}

// largeValues are commands that make values too large for the caches.
func largeValues() (in []byte) {
	const members = 10_000
	set, hash, zset := []string{"SADD", "s"}, []string{"HSET", "h"}, []string{"ZADD", "z"}
	for i := range members {
		m := "m" + strconv.Itoa(i)
		set, hash, zset = append(set, m), append(hash, m, "value"), append(zset, strconv.Itoa(i), m)
	}
	return appendWords(appendWords(appendWords(nil, set...), hash...), zset...)
}

// TestPipelinesMeanWhatTheirCommandsMean gives one node commands in one piece, another one by one after a glance at each, as if
// it were there twice.
func TestPipelinesMeanWhatTheirCommandsMean(t *testing.T) {
	large := largeValues()
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom(aheadLines), 1, 60).Draw(rt, "lines")
		whole, single := newHarness(t), newHarness(t)
		if rapid.Bool().Draw(rt, "large") {
			for _, h := range []*harness{whole, single} {
				h.in = append(h.in, large...)
				h.run()
			}
		}
		for _, line := range lines {
			in := encodeLine(t, line)
			whole.in = append(whole.in, in...)
			single.in = append(single.in, in...)
			single.w.Glance(single.s, single.in)
			single.w.Glance(single.s, single.in)
			single.w.Fetch()
			single.run()
		}
		whole.run()
		if got, want := whole.out.String(), single.out.String(); got != want {
			rt.Fatalf("together:\n%q\none by one:\n%q", got, want)
		}
		if got, want := string(whole.stream()), string(single.stream()); got != want {
			rt.Fatalf("logged together:\n%q\none by one:\n%q", got, want)
		}
		if whole.s.Open() != single.s.Open() || whole.s.Closing() != single.s.Closing() {
			rt.Fatal("the sessions end in different states")
		}
	})
}

func appendWords(dst []byte, words ...string) []byte {
	dst = append(dst, "*"+strconv.Itoa(len(words))+"\r\n"...)
	for _, w := range words {
		dst = resp.AppendBulkString(dst, w)
	}
	return dst
}

func encodeLine(t *testing.T, line string) []byte {
	if inline, ok := strings.CutPrefix(line, " "); ok {
		return []byte(inline + "\r\n")
	}
	var words [][]byte
	for _, w := range splitLine(t, line) {
		words = append(words, []byte(w))
	}
	return resp.AppendCommand(nil, words...)
}
