package table

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/covey-db/covey/internal/mem"
)

const benchEntries = 1_000_000

// filled is a table with a million entries.
func filled(b *testing.B, l Layout, value int) *model {
	m := newModel(l, wordsMax, 64)
	v := make([]byte, value)
	var name []byte
	for i := range benchEntries {
		name = fmt.Appendf(name[:0], "member:%07d", i)
		switch h := maphash.Bytes(m.seed, name); l {
		case Members:
			m.t.Add(h, name)
		case Fields:
			m.t.Set(h, name, v, 0)
		case Scores:
			m.t.Put(h, name, float64(i))
		}
	}
	return m
}

// end says how big the table was, and frees it.
func (m *model) end(b *testing.B) {
	b.ReportMetric(float64(m.t.Bytes())/benchEntries, "bytes/entry")
	m.close(b, 1<<30)
}

// names are members of a filled table in an order that no cache likes.
func (m *model) names() (names [][]byte, hashes []uint64) {
	for i := range 1 << 16 {
		name := fmt.Appendf(nil, "member:%07d", i*40503%benchEntries)
		names = append(names, name)
		hashes = append(hashes, maphash.Bytes(m.seed, name))
	}
	return names, hashes
}

func BenchmarkFind(b *testing.B) {
	m := filled(b, Fields, 10)
	names, hashes := m.names()
	i := 0
	for b.Loop() {
		i = (i + 1) & (1<<16 - 1)
		if _, ok := m.t.Find(hashes[i], names[i]); !ok {
			b.Fatal("not found")
		}
	}
	m.end(b)
}

func BenchmarkSetOverwrite(b *testing.B) {
	m := filled(b, Fields, 10)
	names, hashes := m.names()
	value := []byte("0123456789")
	i := 0
	for b.Loop() {
		i = (i + 1) & (1<<16 - 1)
		m.t.Set(hashes[i], names[i], value, 0)
	}
	m.end(b)
}

func BenchmarkAddDelete(b *testing.B) {
	m := filled(b, Members, 0)
	names, hashes := m.names()
	i := 0
	for b.Loop() {
		i = (i + 1) & (1<<16 - 1)
		m.t.Delete(hashes[i], names[i])
		m.t.Add(hashes[i], names[i])
	}
	m.end(b)
}

func BenchmarkRandom(b *testing.B) {
	m := filled(b, Members, 0)
	dice := Dice(1)
	for b.Loop() {
		m.t.Random(&dice)
	}
	m.end(b)
}

// BenchmarkFill inserts a million entries, growth included.
func BenchmarkFill(b *testing.B) {
	a := mem.NewArena(mem.Options{})
	seed := maphash.MakeSeed()
	t := Open(a, New(a, mem.ForSet, Members))
	var name []byte
	i := 0
	for b.Loop() {
		name = fmt.Appendf(name[:0], "member:%07d", i%benchEntries)
		t.Add(maphash.Bytes(seed, name), name)
		i++
	}
	a.Close()
}
