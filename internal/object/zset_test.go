package object_test

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"math"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/rdb"
)

// zsetBench is a part with one key that a sorted set is changed at, and what the set has to be.
type zsetBench struct {
	part    *keyspace.Part
	dropper *object.Dropper
	key     keyspace.Key
	limits  object.Limits
	scratch []byte
	model   map[string]float64
}

func newZSetBench() *zsetBench {
	arena := mem.NewArena(mem.Options{})
	b := &zsetBench{dropper: object.NewDropper(arena), model: map[string]float64{}}
	hasher := keyspace.NewHasher(maphash.MakeSeed())
	b.key = hasher.Key([]byte("key"))
	b.part = keyspace.New(keyspace.Options{Shard: keyspace.ShardOf(b.key.Slot), Databases: 1, Arena: arena, Dropper: b.dropper})
	b.part.SetHasher(hasher)
	b.limits.SetDefaults()
	b.limits.ZSetEntries.Store(8)
	b.limits.ZSetValue.Store(10)
	return b
}

func (b *zsetBench) place() object.Place { return object.Place{Part: b.part, Key: &b.key} }

// edit changes the set, or makes it.
func (b *zsetBench) edit(fn func(e *object.ZSetEdit)) {
	var e object.ZSetEdit
	if _, ok := b.part.Find(0, &b.key); ok {
		e.Edit(b.place(), &b.limits, b.scratch)
	} else {
		e = object.NewZSet(b.place(), &b.limits, b.scratch, 1, 0)
	}
	fn(&e)
	e.Commit()
	b.scratch = e.Scratch()
}

func (b *zsetBench) view() object.ZSet {
	rec, ok := b.part.Find(0, &b.key)
	if !ok {
		return object.ZSet{}
	}
	return object.OpenZSet(b.part, rec)
}

type scored struct {
	member string
	score  float64
}

// sorted is the model in order.
func (b *zsetBench) sorted() []scored {
	var list []scored
	for m, s := range b.model {
		list = append(list, scored{m, s})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].score != list[j].score {
			return list[i].score < list[j].score
		}
		return list[i].member < list[j].member
	})
	return list
}

func (b *zsetBench) check(t rapid.TB) {
	t.Helper()
	z, want := b.view(), b.sorted()
	if z.Len() != len(want) {
		t.Fatalf("%d members, want %d", z.Len(), len(want))
	}
	for i, w := range want {
		it, back := z.At(i, false), z.At(i, true)
		m, score := it.Get()
		if n, _ := back.Get(); string(m.Text(nil)) != w.member || score != w.score || string(n.Text(nil)) != w.member {
			t.Fatalf("rank %d is %q %v, want %v", i, m.Text(nil), score, w)
		}
		rank, score, found := z.Rank([]byte(w.member))
		if rank != i || score != w.score || !found {
			t.Fatalf("%q has rank %d and score %v, want %d %v", w.member, rank, score, i, w.score)
		}
		low := sort.Search(len(want), func(i int) bool { return want[i].score >= w.score })
		high := sort.Search(len(want), func(i int) bool { return want[i].score > w.score })
		if z.RankOfScore(w.score, false) != low || z.RankOfScore(w.score, true) != high {
			t.Fatalf("the scores %v have the ranks from %d to %d, want %d to %d", w.score, z.RankOfScore(w.score, false),
				z.RankOfScore(w.score, true), low, high)
		}
	}
	b.checkScan(t, &z)
}

func (b *zsetBench) checkScan(t rapid.TB, z *object.ZSet) {
	met := map[string]bool{}
	for cursor := uint64(0); ; {
		cursor = z.Scan(cursor, 2, func(member, score []byte) { met[string(member)] = true })
		if cursor == 0 {
			break
		}
	}
	if len(met) != len(b.model) {
		t.Fatalf("a scan meets %d members of %d", len(met), len(b.model))
	}
}

// copyOver writes the set and reads it back.
func (b *zsetBench) copyOver(t rapid.TB) {
	rec, ok := b.part.Find(0, &b.key)
	if !ok {
		return
	}
	enc := rec.Encoding()
	b.scratch = object.Copy(b.place(), rec, &b.limits, b.scratch)
	rec, _ = b.part.Find(0, &b.key)
	if enc == keyspace.EncListpack && rec.Encoding() != enc {
		t.Fatal("a listpack is another thing after it has been copied")
	}
	if object.Size(rec, 0) <= 0 {
		t.Fatal("a set has no size")
	}
}

func (b *zsetBench) end(t rapid.TB) {
	b.part.FlushDB(0)
	for b.part.FreeSome(3) > 0 {
	}
	if err := b.part.Arena().CheckLeaks(); err != nil {
		t.Fatal(err)
	}
	b.part.Arena().Close()
}

func drawScore(t *rapid.T) float64 {
	return rapid.SampledFrom([]float64{math.Inf(-1), -1e300, -3.25, -1, 0, 1, 1.5, 2, 0.1, 1e17, 123456789.123, 1e300, math.Inf(1)}).
		Draw(t, "score")
}

func drawMember(t *rapid.T) string {
	return rapid.OneOf(
		rapid.StringMatching(`[ab]{0,2}`),
		rapid.Map(rapid.IntRange(-3, 12), func(n int) string { return fmt.Sprint(n) }),
		rapid.SampledFrom([]string{strings.Repeat("long", 5), strings.Repeat("wide", 70), "0123456789", "007", "\x00\xff"}),
	).Draw(t, "member")
}

// want is what Add has to do to the model.
func (b *zsetBench) want(member string, score float64, mode object.AddMode) object.Added {
	cur, there := b.model[member]
	if mode&object.AddIncr != 0 && there && mode&object.AddNX == 0 {
		score += cur
	}
	switch {
	case there && mode&object.AddNX != 0, !there && mode&object.AddXX != 0:
		return object.AddedNothing
	case math.IsNaN(score):
		return object.AddedNaN
	case there && (mode&object.AddGT != 0 && score <= cur || mode&object.AddLT != 0 && score >= cur):
		return object.AddedNothing
	case there && score == cur:
		return object.AddedSame
	}
	b.model[member] = score
	if there {
		return object.AddedUpdate
	}
	return object.AddedNew
}

// A sorted set does what a map does that is sorted when it is looked at, in both encodings.
func TestZSetModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newZSetBench()
		rt.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				b.edit(func(e *object.ZSetEdit) {
					for range rapid.IntRange(1, 5).Draw(t, "pairs") {
						member, score, mode := drawMember(t), drawScore(t), object.AddMode(rapid.IntRange(0, 31).Draw(t, "mode"))
						want := b.want(member, score, mode)
						if _, got := e.Add([]byte(member), score, mode); got != want {
							t.Fatalf("adding %q %v in mode %d does %d, want %d", member, score, mode, got, want)
						}
					}
				})
			},
			"remove": func(t *rapid.T) {
				if len(b.model) == 0 {
					return
				}
				member := drawMember(t)
				b.edit(func(e *object.ZSetEdit) {
					if _, there := b.model[member]; e.Remove([]byte(member)) != there {
						t.Fatalf("%q is removed, or not", member)
					}
				})
				delete(b.model, member)
			},
			"range": func(t *rapid.T) {
				list := b.sorted()
				if len(list) == 0 {
					return
				}
				low := rapid.IntRange(0, len(list)).Draw(t, "low")
				high := rapid.IntRange(low, len(list)).Draw(t, "high")
				b.edit(func(e *object.ZSetEdit) { e.RemoveRange(low, high) })
				for _, s := range list[low:high] {
					delete(b.model, s.member)
				}
			},
			"copy": func(t *rapid.T) { b.copyOver(t) },
			"":     func(t *rapid.T) { b.check(t) },
		})
		b.end(rt)
	})
}

// Members of one score are found by their bytes, in both encodings.
func TestZSetRankOfMember(t *testing.T) {
	for _, n := range []int{8, 300} {
		b := newZSetBench()
		b.edit(func(e *object.ZSetEdit) {
			for i := range n {
				e.Add(fmt.Append(nil, 1000+2*i), 7, 0)
			}
		})
		z := b.view()
		for i := range 2 * n {
			member := fmt.Append(nil, 1000+i)
			if low, high := z.RankOfMember(member, false, i%3 == 0), z.RankOfMember(member, true, i%3 == 0); low != (i+1)/2 || high != i/2+1 {
				t.Fatalf("of %d members, %s has %d before it and %d up to it", n, member, low, high)
			}
		}
		b.end(t)
	}
}

// A value with a member twice, or cut off, is refused and leaves nothing behind.
func TestZSetRefused(t *testing.T) {
	good := rdb.AppendType(nil, rdb.TypeZSet)
	good = rdb.AppendLen(good, 3)
	for _, m := range []string{"a", "b", "c"} {
		good = rdb.AppendDouble(rdb.AppendString(good, []byte(m), nil), 1)
	}
	for name, input := range map[string][]byte{
		"twice":   bytes.Replace(good, []byte("b"), []byte("a"), 1),
		"cut off": good[:len(good)-3],
	} {
		t.Run(name, func(t *testing.T) {
			b := newZSetBench()
			var builder object.Builder
			builder.Begin(b.place(), 0, &b.limits)
			if err := rdb.DecodeValue(input, &builder); err == nil {
				t.Fatal("taken")
			}
			builder.Abort()
			if _, ok := b.part.Find(0, &b.key); ok {
				t.Fatal("the key is there")
			}
			b.end(t)
		})
	}
}

// Every score is read back from the text that a small set keeps it as.
func TestPackedScores(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		score := rapid.OneOf(
			rapid.Float64(),
			rapid.Float64Range(-1000, 1000),
			rapid.Map(rapid.IntRange(-1<<40, 1<<40), func(n int) float64 { return float64(n) / 1000 }),
			rapid.Map(rapid.Int64(), func(n int64) float64 { return float64(n) }),
		).Filter(func(f float64) bool { return !math.IsNaN(f) }).Draw(rt, "score")
		b := newZSetBench()
		b.edit(func(e *object.ZSetEdit) { e.Add([]byte("member"), score, 0) })
		z := b.view()
		if got, found := z.Score([]byte("member")); !found || got != score {
			rt.Fatalf("%v comes back as %v", score, got)
		}
		b.end(rt)
	})
}
