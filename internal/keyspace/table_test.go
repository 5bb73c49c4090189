package keyspace

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/slot"
)

// newTestPart is a part of its own arena, which the test looks for leaks in when it ends.
func newTestPart(t *testing.T) *Part {
	t.Helper()
	arena := mem.NewArena(mem.Options{})
	p := New(Options{Shard: testShard, Databases: testDBs, Arena: arena})
	t.Cleanup(func() {
		for db := range testDBs {
			p.FlushDB(db)
		}
		for calls := 0; p.FreeSome(1) > 0; calls++ {
			if calls > 1000 {
				t.Fatal("something is left after the flush")
			}
		}
		if err := arena.CheckLeaks(); err != nil {
			t.Error(err)
		}
		arena.Close()
	})
	return p
}

// testKey is a key of the given slot whose hash is the same in every run.
func testKey(s slot.ID, name string) *Key {
	return &Key{Bytes: []byte(name), Slot: s, Hash: uint32(mixName(name) >> 32)}
}

// layCell puts a cell into a table, without a record.
func layCell(p *Part, t *slotTable, hash uint64) {
	tag := hash >> tagShift
	at := place{word: p.segmentOf(t, tag)}
	if at.word != 0 {
		at.seg = p.arena.TailWords(at.word.ref())
		at.head = at.seg[0]
		at.i = at.word.home(tag)
		for cellTag(at.seg[at.i]) < tag {
			at.i++
		}
	}
	p.insert(t, &at, makeCell(tag, 1, 0), 0)
}

// liftCell removes a cell with the tag of the hash out of a table.
func liftCell(p *Part, t *slotTable, hash uint64) {
	tag := hash >> tagShift
	at := place{word: p.segmentOf(t, tag)}
	at.seg = p.arena.TailWords(at.word.ref())
	at.i = at.word.home(tag)
	for cellTag(at.seg[at.i]) < tag {
		at.i++
	}
	if cellTag(at.seg[at.i]) != tag {
		panic("the cell is not where it belongs")
	}
	p.remove(t, &at)
}

// TestGiantSlot fills one slot with 10 M cells and empties it again. No step may move many cells: that is what keeps the
// longest pause of a giant slot below a millisecond, at about 2 ns a cell.
func TestGiantSlot(t *testing.T) {
	keys := 10_000_000
	if testing.Short() || invariant.Enabled {
		keys = 500_000
	}
	p := newTestPart(t)
	table := &p.database(0).slots[0]
	worst, worstDirectory := 0, 0
	watch := func(step func(hash uint64)) {
		r := dice(7)
		for range keys {
			moved, depth := p.moved, table.root.depth()
			step(r.next())
			worst = max(worst, p.moved-moved)
			if table.root.depth() != depth {
				worstDirectory = max(worstDirectory, 1<<depth)
			}
		}
	}
	watch(func(hash uint64) { layCell(p, table, hash) })
	if int(table.count) != keys {
		t.Fatalf("%d keys are there", table.count)
	}
	bytes := float64(p.arena.Stats().Used[mem.ForTable]) / float64(keys)
	t.Logf("%d keys: depth %d, %.2f bytes a key, at most %d cells and %d words of the directory moved at once",
		keys, table.root.depth(), bytes, worst, worstDirectory)
	if worst > 2*wordsMax || bytes > 12 {
		t.Errorf("an insertion has moved %d cells; a key takes %.2f bytes", worst, bytes)
	}
	worst = 0
	watch(func(hash uint64) { liftCell(p, table, hash) })
	t.Logf("at most %d cells moved at once while shrinking", worst)
	if worst > 2*wordsMax || table.count != 0 || p.arena.Used() != 0 {
		t.Errorf("a removal has moved %d cells; %d keys and %d bytes are left", worst, table.count, p.arena.Used())
	}
}

// TestSmallRecord pins the promise on memory: 56 bytes and a cell for 16 bytes of key and 32 of value.
func TestSmallRecord(t *testing.T) {
	p := newTestPart(t)
	k := testKey(testSlot(1), "key:000000000001")
	p.SetString(0, k, []byte(strings.Repeat("v", 32)), 0)
	used := p.Memory().Used
	if used[mem.ForRecord] != 56 || used[mem.ForTable] != wordsMin*8 {
		t.Errorf("the record takes %d bytes, the table %d", used[mem.ForRecord], used[mem.ForTable])
	}
	rec, _ := p.Find(0, k)
	if size := RecSize(rec); size != 56+cellShare {
		t.Errorf("the record is said to take %d bytes", size)
	}
	p.SetExpire(0, k, 5)
	if used := p.Memory().Used; used[mem.ForRecord] != 64 {
		t.Errorf("with an expiry the record takes %d bytes", used[mem.ForRecord])
	}
}

// TestEmptyDatabase pins what a database costs that holds one key: nothing else than its 256 tables of a part, on the Go
// heap, and nothing as long as it is empty.
func TestEmptyDatabase(t *testing.T) {
	p := newTestPart(t)
	k := testKey(testSlot(0), "a")
	if p.Find(1, k); p.dbs[1] != nil {
		t.Error("looking for a key has made a database")
	}
	if p.Delete(1, k); p.dbs[1] != nil {
		t.Error("deleting a key has made a database")
	}
}

// TestHotPathsAllocateNothing holds for Go memory.
func TestHotPathsAllocateNothing(t *testing.T) {
	p := newTestPart(t)
	h := NewHasher(maphash.MakeSeed())
	val, name := []byte(strings.Repeat("v", 32)), []byte(nil)
	for i := 0; name == nil || ShardOf(slot.Of(name)) != testShard; i++ {
		name = fmt.Appendf(nil, "{%d}", i) // the slot is the same, whatever follows
	}
	name = append(name, 0, 0)
	n := 0
	run := func(what string, f func(k *Key)) {
		if allocs := testing.AllocsPerRun(1000, func() {
			n++
			name[len(name)-1], name[len(name)-2] = byte(n), byte(n>>8)
			k := h.Key(name)
			f(&k)
		}); allocs != 0 && !invariant.Enabled {
			t.Errorf("%s allocates %v times", what, allocs)
		}
	}
	run("insert", func(k *Key) { p.SetString(0, k, val, 0) })
	run("overwrite", func(k *Key) { p.SetString(0, k, val[:20], 0) })
	run("find", func(k *Key) { p.Find(0, k) })
	run("number", func(k *Key) { p.SetString(0, k, []byte("1234"), 0) })
	run("expire", func(k *Key) { p.SetExpire(0, k, 77) })
	run("delete", func(k *Key) { p.Delete(0, k) })
}

// TestMemoryComesBack is about the system's view: what is flushed is unmapped.
func TestMemoryComesBack(t *testing.T) {
	p := newTestPart(t)
	val := []byte(strings.Repeat("v", 100))
	fill := func() {
		for i := range 50_000 {
			p.SetString(0, testKey(testSlot(i%3), fmt.Sprint("key:", i)), val, 0)
		}
	}
	fill()
	before := p.Memory().Mapped
	p.DetachDB(0)
	for slices := 0; p.FreeSome(1000) > 0; slices++ {
		if slices > 100 {
			t.Fatal("a flush of 50,000 keys by 1,000 does not end")
		}
	}
	if after := p.Memory().Mapped; after > 2<<20 {
		t.Errorf("%d bytes were mapped, and %d are after the flush", before, after)
	}
	fill()
	for i := range 50_000 {
		if i%50 != 0 {
			p.Delete(0, testKey(testSlot(i%3), fmt.Sprint("key:", i)))
		}
	}
	if table := p.Memory().Used[mem.ForTable]; table > 1000*8*4 {
		t.Errorf("1,000 keys that are left of 50,000 take %d bytes of tables", table)
	}
}

// TestRandomKeyIsFair draws often and compares how often each key came.
func TestRandomKeyIsFair(t *testing.T) {
	p := newTestPart(t)
	const keys, draws = 300, 300_000
	for i := range keys { // one slot with most of the keys, two with few
		s := testSlot(0)
		if i < 20 {
			s = testSlot(1 + i&1)
		}
		p.SetString(0, testKey(s, fmt.Sprint(i)), nil, 0)
	}
	r := dice(11)
	seen := make(map[string]int)
	for range draws {
		rec, _ := p.RandomKey(0, r.next())
		seen[string(rec.Key())]++
	}
	counts := make([]int, 0, keys)
	for _, n := range seen {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	if len(counts) != keys || counts[0] < draws/keys*8/10 || counts[keys-1] > draws/keys*12/10 {
		t.Errorf("%d keys came, between %d and %d times", len(counts), counts[0], counts[len(counts)-1])
	}
}

// TestAppendIsCheap grows a value by small steps; the bytes copied must stay a small multiple of its length.
func TestAppendIsCheap(t *testing.T) {
	p := newTestPart(t)
	k := testKey(testSlot(0), "log")
	p.SetString(0, k, nil, 0)
	moves, last := 0, mem.Ref(0)
	for n := 10; n <= 5<<20; n += 10 {
		b := p.Writable(0, k, n, true)
		copy(b[n-10:], "0123456789")
		rec, _ := p.Find(0, k)
		if rec.flags()&isBlob != 0 {
			if ref, _, _ := rec.blob(); ref != last {
				last = ref
				moves++
			}
		}
	}
	rec, _ := p.Find(0, k)
	if got := string(rec.Value()); got != strings.Repeat("0123456789", 5<<20/10) {
		t.Error("the value is not what was appended")
	}
	if moves > 10 {
		t.Errorf("a value that grows to 5 MiB has moved %d times", moves)
	}
}

// TestHugeValues is about lengths that do not fit into small fields.
func TestHugeValues(t *testing.T) {
	p := newTestPart(t)
	name := strings.Repeat("n", 3<<20)
	long := testKey(testSlot(0), name)
	val := []byte(strings.Repeat("v", 100))
	p.SetString(0, long, val, 0)
	p.SetExpire(0, long, 99)
	rec, ok := p.Find(0, long)
	if !ok || string(rec.Key()) != name || string(rec.Value()) != string(val) || rec.ExpireAt() != 99 {
		t.Error("a key of 3 MiB is not what it was")
	}
	k := testKey(testSlot(1), "k")
	p.SetString(0, k, nil, 0)
	b := p.Writable(0, k, 512<<20, false)
	b[512<<20-1] = 'x'
	rec, _ = p.Find(0, k)
	if v := rec.Value(); len(v) != 512<<20 || v[100<<20] != 0 || v[512<<20-1] != 'x' {
		t.Error("a value of 512 MiB is not what was written")
	}
	p.Writable(0, k, 3, false)
	if used := p.Memory().Used[mem.ForBlob]; used != 0 {
		t.Errorf("a value of 3 bytes has a blob of %d", used)
	}
}

// TestExpireDueSkips says that a pass costs nothing where nothing can be due.
func TestExpireDueSkips(t *testing.T) {
	p := newTestPart(t)
	for i := range 3000 {
		p.SetString(0, testKey(testSlot(i%3), fmt.Sprint(i)), nil, int64(1000+i))
	}
	gone := 0
	count := func(int, Rec) { gone++ }
	for now := int64(0); now < 1000; now += 100 {
		if n, more := p.ExpireDue(now, 10, count); n != 0 || more {
			t.Errorf("at %d %d keys were removed", now, n)
		}
	}
	for now := int64(1000); now < 2000; now += 10 {
		for more := true; more; {
			_, more = p.ExpireDue(now, 50, count)
		}
		if want := int(now) - 999; gone != want || p.Len(0) != int64(3000-want) || p.Expires(0) != p.Len(0) {
			t.Fatalf("at %d %d keys were removed, must be %d", now, gone, want)
		}
	}
	for s := range 3 {
		if next := p.NextExpiry(0, testSlot(s)); next <= 1990 || next > 1994 {
			t.Errorf("slot %d: the next expiry is at %d", s, next)
		}
	}
}

// TestBigValuesAreFreedInSteps says that a flush of big values gives back little at once.
func TestBigValuesAreFreedInSteps(t *testing.T) {
	p := newTestPart(t)
	const keys, size, budget = 64, 1 << 20, 1024
	for i := range keys {
		p.SetString(0, testKey(testSlot(0), fmt.Sprint(i)), make([]byte, size), 0)
	}
	p.DetachDB(0)
	for calls := 0; p.arena.Used() > 0; calls++ {
		before := p.arena.Used()
		p.FreeSome(budget)
		if calls > keys {
			t.Fatal("a flush of big values does not end")
		}
		if freed := before - p.arena.Used(); freed > 4*budget<<10 {
			t.Fatalf("a call with a budget of %d has freed %d bytes", budget, freed)
		}
	}
}

// TestEachStops ends a walk early.
func TestEachStops(t *testing.T) {
	p := newTestPart(t)
	for i := range 100 {
		p.SetString(0, testKey(testSlot(0), fmt.Sprint(i)), nil, 0)
	}
	n := 0
	p.Each(0, testSlot(0), func(Rec) bool {
		n++
		return n < 10
	})
	p.Each(0, testSlot(1), func(Rec) bool {
		t.Error("an empty slot has a key")
		return true
	})
	p.Each(1, testSlot(1), func(Rec) bool {
		t.Error("an empty database has a key")
		return true
	})
	if n != 10 {
		t.Errorf("%d keys came", n)
	}
}

// TestLaneMustBeWalked keeps a second cut from beginning on a lane that has not been finished.
func TestLaneMustBeWalked(t *testing.T) {
	p := newTestPart(t)
	for i := range 5000 {
		p.SetString(0, testKey(testSlot(i%3), fmt.Sprint(i)), nil, 0)
	}
	seen := 0
	if !p.BeginEpoch(1, nil, laneCounter{&seen}) || p.BeginEpoch(1, nil, laneCounter{&seen}) {
		t.Error("a lane begins twice, or not at all")
	}
	p.Delete(0, testKey(testSlot(0), "0"))
	if seen != 1 || p.EndEpoch(1) || p.BeginEpoch(1, nil, laneCounter{&seen}) {
		t.Error("a lane that was not walked is clean")
	}
	p.Delete(0, testKey(testSlot(0), "3"))
	for rounds := 0; p.DrainEpoch(1, 100); rounds++ {
		if rounds > 5000/100+testDBs*partSlots {
			t.Fatal("draining does not end")
		}
	}
	if seen != 1 || !p.BeginEpoch(1, nil, laneCounter{&seen}) {
		t.Error("the observer of an ended cut was called, or the lane is not free after draining")
	}
	p.EndEpoch(1)
	for p.DrainEpoch(1, 100) {
	}
}

type laneCounter struct{ n *int }

func (c laneCounter) BeforeChange(int, Rec) { *c.n++ }
