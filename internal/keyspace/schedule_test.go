package keyspace

import (
	"fmt"
	"slices"
	"testing"

	"github.com/covey-db/covey/internal/mem"
)

// timed is a Dropper for values that are numbers: the time that they are scheduled for.
type timed struct{}

func (timed) Drop(Type, Encoding, mem.Ref, uint64) {}
func (timed) FreeSome(int) int64                   { return 0 }
func (timed) Trash() (pending, freed int64)        { return 0, 0 }
func (timed) DueAt(r Rec) int64 {
	if r.Encoding() != EncInt {
		return NotDue
	}
	return r.Int()
}

// popAll is the names of what is due, in the order of their times.
func popAll(p *Part, now int64) (names []string) {
	for {
		db, name, found, more := p.PopDue(now, nil)
		if found {
			names = append(names, fmt.Sprint(db, ":", string(name)))
		}
		if !more {
			return names
		}
	}
}

func TestScheduleNamesWhatIsDue(t *testing.T) {
	p := New(Options{Shard: testShard, Databases: 3, Arena: mem.NewArena(mem.Options{}), Dropper: timed{}})
	key := func(name string) *Key { return testKey(testSlot(1), name) }
	schedule := func(db int, name string, at int64) {
		p.SetInt(db, key(name), at, 0)
		p.Schedule(key(name), at)
	}
	schedule(0, "late", 50)
	schedule(0, "soon", 10)
	schedule(1, "other", 30)
	schedule(0, "gone", 20)
	schedule(0, "again", 90)
	schedule(0, "again", 40)
	schedule(0, "moved", 35)
	p.Delete(0, key("gone"))
	p.Rename(0, key("moved"), key("renamed"))
	p.SwapDB(1, 2)
	if names := popAll(p, 9); len(names) != 0 {
		t.Errorf("%q are due too early", names)
	}
	if names := popAll(p, 45); !slices.Equal(names, []string{"0:soon", "2:other", "0:renamed", "0:again"}) {
		t.Errorf("%q are due", names)
	}
	if names := popAll(p, 100); !slices.Equal(names, []string{"0:late"}) {
		t.Errorf("%q are due in the end", names)
	}
	p.FlushDB(0)
	p.FlushDB(2)
	p.Arena().Close()
}

// TestScheduleForgetsWhatIsGone makes and removes values that are due in a far future.
func TestScheduleForgetsWhatIsGone(t *testing.T) {
	p := New(Options{Shard: testShard, Databases: 1, Arena: mem.NewArena(mem.Options{}), Dropper: timed{}})
	most := 0
	for i := range 100_000 {
		name := fmt.Sprint("key", i)
		k := testKey(testSlot(i%3), name)
		p.SetInt(0, k, int64(1_000_000-i), 0)
		p.Schedule(k, int64(1_000_000-i))
		if i%100 != 0 {
			p.Delete(0, k)
		}
		most = max(most, len(p.schedule.heap))
	}
	if most > 4000 {
		t.Errorf("the schedule had %d entries for 1000 values", most)
	}
	p.FlushDB(0)
	p.Arena().Close()
}

// TestScheduleOfWhatIsStaged: what is loaded beside the data is not due before it has taken its place.
func TestScheduleOfWhatIsStaged(t *testing.T) {
	p := New(Options{Shard: testShard, Databases: 3, Arena: mem.NewArena(mem.Options{}), Dropper: timed{}})
	schedule := func(db int, name string, at int64) {
		key := testKey(testSlot(1), name)
		p.SetInt(db, key, at, 0)
		p.Schedule(key, at)
	}
	want := func(now int64, want ...string) {
		t.Helper()
		if names := popAll(p, now); !slices.Equal(names, want) {
			t.Errorf("%q are due, not %q", names, want)
		}
	}
	schedule(1, "old", 10)
	schedule(p.Staged(1), "new", 11)
	schedule(p.Staged(2), "later", 50)
	want(20, "1:old")
	p.TakeStaged()
	want(20, "1:new")
	want(60, "2:later")
	schedule(p.Staged(0), "dropped", 70)
	want(80)
	p.DropStaged()
	p.TakeStaged()
	want(90)
}
