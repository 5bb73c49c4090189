package keyspace

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds the figures that the package promises: time and memory with 5 M keys of 16 bytes and values of 32.

const benchKeys = 5_000_000

// node is all parts of a node.
type node struct {
	parts  [Shards]*Part
	arenas [Shards]*mem.Arena
	hasher Hasher
}

func newNode() *node {
	n := &node{hasher: NewHasher(maphash.MakeSeed())}
	for i := range n.parts {
		n.arenas[i] = mem.NewArena(mem.Options{})
		n.parts[i] = New(Options{Shard: i, Databases: 16, Arena: n.arenas[i]})
	}
	return n
}

func (n *node) part(k *Key) *Part { return n.parts[ShardOf(k.Slot)] }

func (n *node) close() {
	for _, a := range n.arenas {
		a.Close()
	}
}

// mapped and used are the sums over the arenas.
func (n *node) stats() (used, mapped, dirty int64) {
	for _, a := range n.arenas {
		used += a.Used()
		mapped += a.Stats().Mapped
		dirty += a.Stats().FreeDirty
	}
	return used, mapped, dirty
}

// benchNames are the keys, 16 bytes each, one behind the other, in an order that says nothing about where they lie.
func benchNames(count int) []byte {
	names := make([]byte, 0, 16*count)
	for _, i := range rand.Perm(count) {
		names = fmt.Appendf(names, "key:%012d", i)
	}
	return names
}

func (n *node) load(names []byte) {
	val := []byte(strings.Repeat("v", 32))
	for i := 0; i < len(names); i += 16 {
		k := n.hasher.Key(names[i : i+16])
		n.part(&k).SetString(0, &k, val, 0)
	}
}

// cpu is the processor time of the process so far, in nanoseconds. Unlike the time that passes, it says little about what
// else the machine is doing.
func cpu(b *testing.B) float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano() + u.Stime.Nano())
}

// resident is what the process takes, in bytes, as Linux counts it.
func resident(b *testing.B) int64 {
	runtime.GC()
	debug.FreeOSMemory()
	status, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("this system does not say what a process takes")
	}
	pages, err := strconv.ParseInt(strings.Fields(string(status))[1], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

func BenchmarkKey(b *testing.B) {
	h := NewHasher(maphash.MakeSeed())
	name := []byte("key:000000000001")
	sum := uint64(0)
	for b.Loop() {
		k := h.Key(name)
		sum += uint64(k.Hash)
	}
	_ = sum
}

// BenchmarkFindHot and BenchmarkSetHot are about instructions: everything is in the processor's cache.
func BenchmarkFindHot(b *testing.B) {
	n := newNode()
	defer n.close()
	names := benchNames(1000)
	n.load(names)
	k := n.hasher.Key(names[:16])
	for b.Loop() {
		if rec, ok := n.part(&k).Find(0, &k); !ok || rec.Type() != TypeString {
			b.Fatal("not found")
		}
	}
}

func BenchmarkSetHot(b *testing.B) {
	n := newNode()
	defer n.close()
	names := benchNames(1000)
	n.load(names)
	val := []byte(strings.Repeat("w", 32))
	k := n.hasher.Key(names[:16])
	for b.Loop() {
		n.part(&k).SetString(0, &k, val, 0)
	}
}

func BenchmarkFind5M(b *testing.B) {
	n := newNode()
	defer n.close()
	names := benchNames(benchKeys)
	n.load(names)
	rand.Shuffle(len(names)/16, func(i, j int) {
		var t [16]byte
		copy(t[:], names[16*i:])
		copy(names[16*i:16*i+16], names[16*j:])
		copy(names[16*j:16*j+16], t[:])
	})
	b.ReportAllocs()
	i, start := 0, cpu(b)
	for b.Loop() {
		k := n.hasher.Key(names[i : i+16])
		rec, ok := n.part(&k).Find(0, &k)
		if !ok || rec.Value()[31] != 'v' {
			b.Fatal("not found")
		}
		if i += 16; i == len(names) {
			i = 0
		}
	}
	b.ReportMetric((cpu(b)-start)/float64(b.N), "cpu-ns/op")
}

func BenchmarkSetOverwrite(b *testing.B) {
	n := newNode()
	defer n.close()
	names := benchNames(benchKeys)
	n.load(names)
	val := []byte(strings.Repeat("w", 32))
	b.ReportAllocs()
	i, start := 0, cpu(b)
	for b.Loop() {
		k := n.hasher.Key(names[i : i+16])
		n.part(&k).SetString(0, &k, val, 0)
		if i += 16; i == len(names) {
			i = 0
		}
	}
	b.ReportMetric((cpu(b)-start)/float64(b.N), "cpu-ns/op")
}

// BenchmarkSetInsert fills a node with 5 M keys again and again.
func BenchmarkSetInsert(b *testing.B) {
	names := benchNames(benchKeys)
	val := []byte(strings.Repeat("v", 32))
	n := newNode()
	defer func() { n.close() }()
	b.ReportAllocs()
	i, spent, start := 0, 0.0, cpu(b)
	for b.Loop() {
		k := n.hasher.Key(names[i : i+16])
		n.part(&k).SetString(0, &k, val, 0)
		if i += 16; i == len(names) {
			b.StopTimer()
			spent += cpu(b) - start
			i = 0
			n.close()
			n = newNode()
			start = cpu(b)
			b.StartTimer()
		}
	}
	b.ReportMetric((spent+cpu(b)-start)/float64(b.N), "cpu-ns/op")
}

// BenchmarkBytesPerKey reports memory, not time.
func BenchmarkBytesPerKey(b *testing.B) {
	names := benchNames(benchKeys)
	for b.Loop() {
		before := resident(b)
		n := newNode()
		n.load(names)
		after := resident(b)
		used, mapped, dirty := n.stats()
		b.ReportMetric(float64(used)/benchKeys, "used-B/key")
		b.ReportMetric(float64(mapped)/benchKeys, "mapped-B/key")
		b.ReportMetric(float64(dirty)/benchKeys, "dirty-B/key")
		b.ReportMetric(float64(after-before)/benchKeys, "rss-B/key")
		var table int64
		for _, a := range n.arenas {
			table += a.Stats().Used[mem.ForTable]
		}
		b.ReportMetric(float64(table)/benchKeys, "table-B/key")
		n.close()
	}
}
