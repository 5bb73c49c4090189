package tree

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/mem"
)

// pair is an entry of the model.
type pair struct {
	score  float64
	member string
	ref    mem.Ref
}

func less(a, b pair) int {
	switch {
	case a.score < b.score:
		return -1
	case a.score > b.score:
		return 1
	}
	return bytes.Compare([]byte(a.member), []byte(b.member))
}

// bench is an arena with a tree whose members lie in blocks of a length and the bytes.
type bench struct {
	arena *mem.Arena
	state State
}

func newBench() *bench { return &bench{arena: mem.NewArena(mem.Options{})} }

func memberAt(a *mem.Arena, ref mem.Ref) []byte {
	b := a.Tail(ref)
	return b[2 : 2+binary.LittleEndian.Uint16(b)]
}

func (b *bench) put(member string) mem.Ref {
	ref := b.arena.Alloc(mem.ForOther, 2+len(member))
	block := b.arena.Bytes(ref, 2+len(member))
	binary.LittleEndian.PutUint16(block, uint16(len(member)))
	copy(block[2:], member)
	return ref
}

func (b *bench) drop(ref mem.Ref) {
	b.arena.Free(mem.ForOther, ref, 2+len(memberAt(b.arena, ref)))
}

// use opens the tree, runs fn and keeps the state.
func (b *bench) use(fn func(t *Tree)) {
	t := Open(b.arena, b.state, memberAt)
	fn(&t)
	b.state = t.State()
}

// free empties the bench in steps and looks for leaks.
func (b *bench) free(t rapid.TB, model []pair, budget int) {
	for _, p := range model {
		b.drop(p.ref)
	}
	for done := false; !done; {
		b.use(func(tree *Tree) { _, done = tree.FreeSome(budget) })
	}
	if b.state != (State{}) {
		t.Fatalf("the freed tree has the state %v", b.state)
	}
	if err := b.arena.CheckLeaks(); err != nil {
		t.Fatal(err)
	}
	b.arena.Close()
}

func compare(t rapid.TB, tree *Tree, model []pair) {
	t.Helper()
	if err := tree.Check(); err != nil {
		t.Fatal(err)
	}
	if tree.Len() != len(model) {
		t.Fatalf("%d entries, want %d", tree.Len(), len(model))
	}
	i := 0
	for c := tree.At(0); c.Valid(); c.Next() {
		if c.Score() != model[i].score || c.Ref() != model[i].ref {
			t.Fatalf("entry %d is %v %q, want %v", i, c.Score(), memberAt(tree.arena, c.Ref()), model[i])
		}
		i++
	}
	for c := tree.At(tree.Len() - 1); c.Valid(); c.Prev() {
		i--
		if c.Ref() != model[i].ref {
			t.Fatalf("backwards, entry %d is another one", i)
		}
	}
	if i != 0 {
		t.Fatalf("the way back ends at %d", i)
	}
}

var oddScores = []float64{math.Inf(-1), -math.MaxFloat64, -1, -math.SmallestNonzeroFloat64, math.Copysign(0, -1), 0,
	math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}

// machine applies the same changes to a tree and to a sorted slice.
type machine struct {
	*bench
	model []pair
	used  map[string]bool
	low   bool // few scores, so that members decide
}

func (m *machine) score(t *rapid.T) float64 {
	if m.low {
		return rapid.SampledFrom(oddScores).Draw(t, "score")
	}
	return rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) }).Draw(t, "score")
}

func (m *machine) insert(score float64, member string) {
	if m.used[member] {
		return
	}
	m.used[member] = true
	p := pair{score, member, m.put(member)}
	i, _ := slices.BinarySearchFunc(m.model, p, less)
	m.model = slices.Insert(m.model, i, p)
	m.use(func(t *Tree) { t.Insert(score, p.ref) })
}

// run adds many entries at once: rising, falling or anywhere.
func (m *machine) run(t *rapid.T) {
	n := rapid.IntRange(1, 300).Draw(t, "many")
	how := rapid.IntRange(0, 2).Draw(t, "how")
	base := m.score(t)
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	for i := range n {
		score, member := base, fmt.Sprintf("m%09d", 500000+i)
		switch how {
		case 1:
			member = fmt.Sprintf("m%09d", 500000-i)
		case 2:
			member = fmt.Sprintf("m%09d", r.IntN(1000000))
			score = base + float64(r.IntN(50))
		}
		if math.IsNaN(score) {
			score = base
		}
		m.insert(score, member)
	}
}

func (m *machine) pick(t *rapid.T) int { return rapid.IntRange(0, len(m.model)-1).Draw(t, "which") }

func (m *machine) remove(t *rapid.T) {
	if len(m.model) == 0 {
		return
	}
	i := m.pick(t)
	p := m.model[i]
	m.use(func(tree *Tree) { tree.Delete(p.score, []byte(p.member)) })
	m.forget(i)
}

func (m *machine) forget(i int) {
	m.drop(m.model[i].ref)
	delete(m.used, m.model[i].member)
	m.model = slices.Delete(m.model, i, i+1)
}

func (m *machine) move(t *rapid.T) {
	if len(m.model) == 0 {
		return
	}
	i := m.pick(t)
	p := m.model[i]
	to := m.score(t)
	if rapid.Bool().Draw(t, "near") {
		to = math.Nextafter(p.score, math.Inf(1))
	}
	m.use(func(tree *Tree) { tree.Move(p.score, to, p.ref) })
	m.model = slices.Delete(m.model, i, i+1)
	p.score = to
	i, _ = slices.BinarySearchFunc(m.model, p, less)
	m.model = slices.Insert(m.model, i, p)
}

func (m *machine) removeRange(t *rapid.T) {
	low := rapid.IntRange(0, len(m.model)).Draw(t, "low")
	high := min(len(m.model), low+rapid.IntRange(0, 200).Draw(t, "n"))
	at := low
	m.use(func(tree *Tree) {
		tree.DeleteRange(low, high, func(refs []mem.Ref) {
			for _, ref := range refs {
				if ref != m.model[at].ref {
					t.Fatalf("entry %d is deleted in another order", at)
				}
				at++
			}
		})
	})
	for range high - low {
		m.forget(low)
	}
}

func (m *machine) ranks(t *rapid.T) {
	score, member := m.score(t), fmt.Sprintf("m%09d", rapid.IntRange(499000, 501000).Draw(t, "member"))
	if len(m.model) > 0 && rapid.Bool().Draw(t, "there") {
		p := m.model[m.pick(t)]
		score, member = p.score, p.member
	}
	want := func(what string, got int, before func(p pair) bool) {
		if n := sort.Search(len(m.model), func(i int) bool { return !before(m.model[i]) }); n != got {
			t.Fatalf("%s of %v %q is %d, want %d", what, score, member, got, n)
		}
	}
	m.use(func(tree *Tree) {
		want("rank", tree.Rank(score, []byte(member)), func(p pair) bool { return less(p, pair{score: score, member: member}) < 0 })
		want("rank of score", tree.RankOfScore(score, false), func(p pair) bool { return p.score < score })
		want("rank behind score", tree.RankOfScore(score, true), func(p pair) bool { return p.score <= score })
	})
}

// The tree does what a sorted slice does.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{bench: newBench(), used: map[string]bool{}, low: rapid.Bool().Draw(rt, "few scores")}
		rt.Repeat(map[string]func(*rapid.T){
			"insert": func(t *rapid.T) { m.insert(m.score(t), rapid.StringMatching(`[a-c]{0,3}`).Draw(t, "member")) },
			"run":    m.run,
			"remove": m.remove,
			"move":   m.move,
			"range":  m.removeRange,
			"ranks":  m.ranks,
			"":       func(t *rapid.T) { m.use(func(tree *Tree) { compare(t, tree, m.model) }) },
		})
		m.free(rt, m.model, rapid.IntRange(1, 100).Draw(rt, "budget"))
	})
}

// Members of one score are found by their bytes alone.
func TestRankOfMember(t *testing.T) {
	b := newBench()
	var model []pair
	b.use(func(tree *Tree) {
		for i := range 1000 {
			p := pair{0, fmt.Sprintf("%04d", i*2), b.put(fmt.Sprintf("%04d", i*2))}
			model = append(model, p)
			tree.Insert(0, p.ref)
		}
		for i := range 2000 {
			member := []byte(fmt.Sprintf("%04d", i))
			if got, want := tree.RankOfMember(member, false), (i+1)/2; got != want {
				t.Fatalf("%d before %s, want %d", got, member, want)
			}
			if got, want := tree.RankOfMember(member, true), i/2+1; got != want {
				t.Fatalf("%d up to %s, want %d", got, member, want)
			}
		}
	})
	b.free(t, model, 10)
}

// A tree that grows deep and is taken down in any order keeps its shape and leaks nothing.
func TestDeep(t *testing.T) {
	const n = 60000
	for _, order := range []string{"rising", "falling", "falling in a gap", "runs", "random"} {
		t.Run(order, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			b := newBench()
			perm := r.Perm(n)
			score := func(i int) float64 {
				switch order {
				case "rising":
					return float64(i)
				case "falling":
					return float64(n - i)
				case "falling in a gap":
					if i < n/2 {
						return float64(i)
					}
					return float64(10*n - i)
				case "runs": // each falls into the gap before the one before
					return float64(n - i/100*100 + i%100)
				}
				return float64(perm[i])
			}
			refs := make([]mem.Ref, n)
			b.use(func(tree *Tree) {
				for i := range n {
					refs[i] = b.put(fmt.Sprint(i))
					tree.Insert(score(i), refs[i])
				}
				if err := tree.Check(); err != nil {
					t.Fatal(err)
				}
				each := float64(b.arena.Stats().Used[mem.ForZSet]) / n
				if each > 20 {
					t.Errorf("%.1f bytes an entry", each)
				}
				t.Logf("height %d, %.1f bytes an entry", tree.height, each)
				for k, i := range r.Perm(n) {
					tree.Delete(score(i), []byte(fmt.Sprint(i)))
					b.drop(refs[i])
					if k%5000 == 0 {
						if err := tree.Check(); err != nil {
							t.Fatal(err)
						}
					}
				}
			})
			b.free(t, nil, 1)
		})
	}
}

func benchTree(b *testing.B, n int) (*bench, []mem.Ref, []float64) {
	r := rand.New(rand.NewPCG(3, 4))
	bn := newBench()
	refs, scores := make([]mem.Ref, n), make([]float64, n)
	bn.use(func(tree *Tree) {
		for i := range n {
			refs[i] = bn.put(fmt.Sprintf("element:%012d", i))
			scores[i] = r.Float64()
			tree.Insert(scores[i], refs[i])
		}
	})
	b.ResetTimer()
	return bn, refs, scores
}

const benchEntries = 1 << 20

func BenchmarkMove(b *testing.B) {
	bn, refs, scores := benchTree(b, benchEntries)
	r := rand.New(rand.NewPCG(5, 6))
	tree := Open(bn.arena, bn.state, memberAt)
	b.ReportAllocs()
	for range b.N {
		i := r.IntN(benchEntries)
		to := r.Float64()
		tree.Move(scores[i], to, refs[i])
		scores[i] = to
	}
}

func BenchmarkRank(b *testing.B) {
	bn, refs, scores := benchTree(b, benchEntries)
	r := rand.New(rand.NewPCG(5, 6))
	tree := Open(bn.arena, bn.state, memberAt)
	b.ReportAllocs()
	for range b.N {
		i := r.IntN(benchEntries)
		tree.Rank(scores[i], memberAt(bn.arena, refs[i]))
	}
}

func BenchmarkTenByScore(b *testing.B) {
	bn, _, _ := benchTree(b, benchEntries)
	r := rand.New(rand.NewPCG(5, 6))
	tree := Open(bn.arena, bn.state, memberAt)
	b.ReportAllocs()
	sum := 0.0
	for range b.N {
		c := tree.At(tree.RankOfScore(r.Float64(), false))
		for i := 0; i < 10 && c.Valid(); i++ {
			sum += c.Score()
			c.Next()
		}
	}
}
