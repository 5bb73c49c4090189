package stream

import (
	"testing"

	"github.com/covey-db/covey/internal/mem"
)

func BenchmarkAppend(b *testing.B) {
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	s := New(a)
	pairs := [][]byte{[]byte("field"), []byte("value")}
	b.ReportAllocs()
	id := ID{Ms: 1_700_000_000_000}
	for b.Loop() {
		id, _ = id.Next()
		s.Append(id, pairs, Limits{Bytes: 4096, Entries: 100})
	}
	b.ReportMetric(float64(a.Used())/float64(s.Len()), "bytes/entry")
}

func BenchmarkRange(b *testing.B) {
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	s := New(a)
	pairs := [][]byte{[]byte("field"), []byte("value")}
	const n = 100000
	for i := range n {
		s.Append(ID{Ms: uint64(i + 1)}, pairs, Limits{Bytes: 4096, Entries: 100})
	}
	b.ReportAllocs()
	i := uint64(0)
	for b.Loop() {
		i = (i + 7919) % n
		it := s.Range(ID{Ms: i}, MaxID())
		for k := 0; k < 10 && it.Next(); k++ {
			for range it.Fields {
				it.Pair()
			}
		}
	}
}

func BenchmarkDeliverAndAck(b *testing.B) {
	a := mem.NewArena(mem.Options{})
	defer a.Close()
	s := New(a)
	g, _ := s.AddGroup([]byte("g"), ID{}, 0)
	c, _ := g.AddConsumer([]byte("c"), 0)
	const window = 10000
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := ID{Ms: uint64(i)}
		p, _ := g.AddPending(id)
		g.Give(id, p, c)
		if i >= window {
			g.Ack(ID{Ms: uint64(i - window)})
		}
	}
}
