package command

import (
	"testing"

	"github.com/covey-db/covey/internal/resp"
)

// A pipeline of scripts, as redis-benchmark sends it.
func BenchmarkEval(b *testing.B) {
	for name, args := range map[string][]string{
		"return": {"EVAL", "return 1", "0"},
		"set":    {"EVAL", "return redis.call('set',KEYS[1],ARGV[1])", "1", "key:1", "v"},
		"get":    {"EVAL", "return redis.call('get',KEYS[1])", "1", "key:1"},
	} {
		b.Run(name, func(b *testing.B) {
			h := newHarness(b)
			h.e.Log.Stop()
			words := make([][]byte, len(args))
			for i, a := range args {
				words[i] = []byte(a)
			}
			in := resp.AppendCommand(nil, words...)
			b.ReportAllocs()
			for b.Loop() {
				h.s.Process(h.w, in)
				h.w.Out.Reset()
			}
		})
	}
}
