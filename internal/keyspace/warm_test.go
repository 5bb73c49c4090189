package keyspace

import (
	"fmt"
	"hash/maphash"
	"testing"

	"github.com/covey-db/covey/internal/slot"
)

// TestWarmChangesNothing takes the steps for keys that are there and for some that are not, in a database that is not there,
// empty, full, a directory, swapped and flushed.
func TestWarmChangesNothing(t *testing.T) {
	p := newTestPart(t)
	h := NewHasher(maphash.MakeSeed())
	var keys []Key
	for i := range 3000 {
		k := h.Key(fmt.Appendf(nil, "key:%d", i))
		k.Slot = slot.ID(testShard) // one slot has them all
		keys = append(keys, k)
	}
	warm := func() {
		for db := range p.Databases() {
			for i := range keys {
				p.WarmTable(db, &keys[i])
				p.WarmCells(db, &keys[i], i&1 == 0)
				p.WarmRecord(db, &keys[i])
			}
		}
	}
	warm()
	for i := range keys[:2000] {
		p.SetString(0, &keys[i], []byte("value"), 0)
	}
	warm()
	if p.Len(0) != 2000 {
		t.Errorf("%d keys", p.Len(0))
	}
	p.SwapDB(0, 1)
	if p.shown[0].Load() != nil || p.shown[1].Load() != p.dbs[1] {
		t.Error("WarmTable does not see the exchange")
	}
	warm()
	p.FlushDB(1)
	if p.shown[1].Load() != nil {
		t.Error("WarmTable keeps a database that was flushed")
	}
	warm()
}
