package command

import (
	"fmt"
	"testing"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
)

// benchConn is a connection that nothing is posted to.
type benchConn struct{}

func (benchConn) Post(func(*engine.Worker))       {}
func (benchConn) CloseSoon(bool)                  {}
func (benchConn) Hijack(func(engine.Raw, []byte)) {}
func (benchConn) Buffered() (query, output int)   { return 0, 0 }

// pipelineDepth is how many commands one batch of the benchmarks has.
const pipelineDepth = 16

// benchPipeline measures a command in batches, from the bytes of the request to the bytes of the reply.
func benchPipeline(b *testing.B, h *harness, build func(i int) []string) {
	s := h.e.NewSession(benchConn{}, engine.Peer{Loopback: true})
	defer s.Close()
	const batches = 256
	var requests [batches][]byte
	for i := range requests {
		for j := range pipelineDepth {
			var words [][]byte
			for _, w := range build(i*pipelineDepth + j) {
				words = append(words, []byte(w))
			}
			requests[i] = resp.AppendCommand(requests[i], words...)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Process(h.w, requests[i%batches])
		h.w.Out.Reset()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/pipelineDepth, "ns/command")
}

func benchKey(i int) string { return fmt.Sprintf("key:%012d", i*7919%100000) }

func BenchmarkGet(b *testing.B) {
	h := newHarness(b)
	for i := range 100000 {
		h.send(fmt.Sprintf("SET key:%012d vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv", i))
	}
	benchPipeline(b, h, func(i int) []string { return []string{"GET", benchKey(i)} })
}

func BenchmarkSet(b *testing.B) {
	h := newHarness(b)
	benchPipeline(b, h, func(i int) []string { return []string{"SET", benchKey(i), "vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv"} })
}
