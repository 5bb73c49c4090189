package command

import (
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// loadKeys are the key spaces of BenchmarkPipeline: one that the caches hold, and one that they do not.
var loadKeys = []int{1000, 100_000, 1_000_000}

// BenchmarkPipeline is what a command costs in this process, a pipeline of them at a time, on keys picked at random.
func BenchmarkPipeline(b *testing.B) {
	for _, keys := range loadKeys {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) { benchmarkPipelines(b, keys) })
	}
}

func benchmarkPipelines(b *testing.B, keys int) {
	const value = "abcdefghijklmnopqrstuvwxyz012345"
	h := newHarness(b)
	h.e.LockAll()
	h.e.Log.Stop()
	h.e.UnlockAll()
	var fill []byte
	for i := range keys {
		fill = appendWords(fill[:0], "SET", loadKey(i), value)
		h.s.Process(h.w, fill)
		h.w.Out.Reset()
	}
	for _, command := range [][]string{{"GET"}, {"SET", value}} {
		for _, depth := range []int{1, 16, 100} {
			b.Run(fmt.Sprintf("%s/depth=%d", command[0], depth), func(b *testing.B) {
				batches := loadBatches(command, keys, depth)
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				start := threadTime(b)
				for i := 0; i < b.N; i += depth {
					h.s.Process(h.w, batches[i/depth%len(batches)])
					h.w.Out.Reset()
				}
				b.ReportMetric(float64(threadTime(b)-start)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// threadTime is the processor time that this thread has taken, in nanoseconds: what a busy machine does not spoil.
func threadTime(b *testing.B) int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return t.Nano()
}

func loadKey(i int) string { return fmt.Sprintf("key:%012d", i) }

// loadBatches are pipelines of a command with random keys.
func loadBatches(command []string, keys, depth int) [][]byte {
	const commandsMin = 200_000
	dice := uint64(1)
	batches := make([][]byte, commandsMin/depth)
	for i := range batches {
		for range depth {
			dice = dice*6364136223846793005 + 1442695040888963407
			words := append([]string{command[0], loadKey(int(dice >> 33 % uint64(keys)))}, command[1:]...)
			batches[i] = appendWords(batches[i], words...)
		}
	}
	return batches
}
