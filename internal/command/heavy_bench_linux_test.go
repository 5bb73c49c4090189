package command

import (
	"fmt"
	"runtime"
	"testing"
)

// heavyCommands are commands that touch many elements of their keys.
var heavyCommands = [][]string{
	{"SINTER", "{s}a", "{s}b"},
	{"SINTERCARD", "2", "{s}a", "{s}b"},
	{"SDIFF", "{s}a", "{s}b"},
	{"SINTERSTORE", "{s}c", "{s}a", "{s}b"},
	{"GEOSEARCH", "places", "FROMLONLAT", "15", "37", "BYRADIUS", "200", "km", "COUNT", "10"},
	{"GEOSEARCH", "places", "FROMLONLAT", "15", "37", "BYRADIUS", "200", "km", "ASC"},
}

// BenchmarkHeavy is what such a command costs in this process, replies included.
func BenchmarkHeavy(b *testing.B) {
	h := newHarness(b)
	h.e.LockAll()
	h.e.Log.Stop()
	h.e.UnlockAll()
	dice := uint64(1)
	random := func() float64 {
		dice = dice*6364136223846793005 + 1442695040888963407
		return float64(dice>>40) / (1 << 24)
	}
	for i := range 1000 {
		h.args("SADD", "{s}a", fmt.Sprint("element:", i))
		h.args("SADD", "{s}b", fmt.Sprint("element:", i+500))
		h.args("GEOADD", "places", fmt.Sprint(13+4*random()), fmt.Sprint(35+4*random()), fmt.Sprint("place:", i))
	}
	for _, command := range heavyCommands {
		b.Run(command[0], func(b *testing.B) {
			in := appendWords(nil, command...)
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			b.ReportAllocs()
			start := threadTime(b)
			for range b.N {
				h.s.Process(h.w, in)
				h.w.Out.Reset()
			}
			b.ReportMetric(float64(threadTime(b)-start)/float64(b.N), "cpu-ns/op")
		})
	}
}

// BenchmarkRemoveRange is what the removal of half of a sorted set costs.
func BenchmarkRemoveRange(b *testing.B) {
	h := newHarness(b)
	h.e.LockAll()
	h.e.Log.Stop()
	h.e.UnlockAll()
	const members = 100_000
	var fill []byte
	for i := range members {
		fill = appendWords(fill, "ZADD", "z", fmt.Sprint(i), fmt.Sprint("element:", i))
	}
	in := appendWords(nil, "ZREMRANGEBYSCORE", "z", "-inf", fmt.Sprint(members/2))
	drop := appendWords(nil, "DEL", "z")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	spent := int64(0)
	for range b.N {
		h.s.Process(h.w, drop)
		for rest := fill; len(rest) > 0; h.w.Out.Reset() {
			rest = rest[h.s.Process(h.w, rest):]
		}
		start := threadTime(b)
		h.s.Process(h.w, in)
		spent += threadTime(b) - start
		h.w.Out.Reset()
	}
	b.ReportMetric(float64(spent)/float64(b.N)/(members/2), "cpu-ns/member")
}
