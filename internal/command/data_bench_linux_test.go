package command

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// dataPairs are commands that keep a key as it is when they take turns, half a pipeline of one and then half of the other, so
// that one can be measured as long as it takes. __n__ is a number that is new each time, and __any__ one below 100,000.
var dataPairs = [][2]string{
	{"LPUSH list xxx", "LPOP list"},
	{"RPUSH list xxx", "RPOP list"},
	{"RPUSH list xxx", "LPOP list"},
	{"SADD set element:__n__", "SPOP set"},
	{"SADD set element:__any__", "SCARD set"},
	{"HSET hash field:__any__ xxx", "HLEN hash"},
	{"ZADD zset __any__ element:__n__", "ZPOPMIN zset"},
	{"ZPOPMIN none", "SPOP none"},
	{"LPOP none", "PING"},
	{"HGETALL small", "HLEN small"},
	{"LRANGE list 0 99", "LLEN list"},
	{"LRANGE list 0 599", "LLEN list"},
	{"LRANGE numbers 0 99", "LLEN numbers"},
	{"MSET key:__any__ xxx key:__any__ xxx key:__any__ xxx key:__any__ xxx key:__any__ xxx", "PING"},
	{"XADD stream MAXLEN ~ 10000 * sensor 12345678 value 12.5", "XLEN stream"},
	{"GET small1", "PING"},
}

// BenchmarkData is what commands on lists, sets, hashes and sorted sets cost in this process, sixteen at a time.
func BenchmarkData(b *testing.B) {
	for _, pair := range dataPairs {
		b.Run(pair[0]+", "+pair[1], func(b *testing.B) { benchmarkPair(b, pair) })
	}
}

const pairDepth = 16

func benchmarkPair(b *testing.B, pair [2]string) {
	h := newHarness(b)
	h.e.LockAll()
	h.e.Log.Stop()
	h.e.UnlockAll()
	for i := range 100_000 {
		h.args("RPUSH", "list", "xxx")
		h.args("SADD", "set", fmt.Sprint("element:", i))
		h.args("HSET", "hash", fmt.Sprint("field:", i), "xxx")
		h.args("ZADD", "zset", fmt.Sprint(i), fmt.Sprint("element:", i))
		if i < 1000 {
			h.args("RPUSH", "numbers", fmt.Sprint(i*i))
		}
		if i < 8 {
			h.args("HSET", "small", fmt.Sprint("field", i), "abcdefghijkl")
		}
	}
	h.args("SET", "small1", "xxx")
	batches := pairBatches(pair)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b.ReportAllocs()
	b.ResetTimer()
	start := threadTime(b)
	for i := 0; i < b.N; i += pairDepth {
		h.s.Process(h.w, batches[i/pairDepth%len(batches)])
		h.w.Out.Reset()
	}
	b.ReportMetric(float64(threadTime(b)-start)/float64(b.N), "cpu-ns/op")
}

// pairBatches are pipelines of a pair of commands.
func pairBatches(pair [2]string) [][]byte {
	const commands = 200_000
	dice := uint64(1)
	batches := make([][]byte, commands/pairDepth)
	for i := range batches {
		for at := range pairDepth {
			line := strings.ReplaceAll(pair[at*2/pairDepth], "__n__", fmt.Sprintf("%012d", 1_000_000+i*pairDepth+at))
			for strings.Contains(line, "__any__") {
				dice = dice*6364136223846793005 + 1442695040888963407
				line = strings.Replace(line, "__any__", fmt.Sprintf("%012d", dice>>33%100_000), 1)
			}
			batches[i] = appendWords(batches[i], strings.Fields(line)...)
		}
	}
	return batches
}
