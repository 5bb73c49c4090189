package keyspace

import (
	"math/bits"

	"github.com/covey-db/covey/internal/slot"
)

// This file holds walks over the keys of a slot, and the choice of keys at random.

// walk calls fn for the cells of a table whose tag is at least from, in the order of their tags, until what fn returned
// adds up to the budget and it comes to another tag. It returns the tag to go on with; EndOfSlot when there is none.
func (p *Part) walk(t *slotTable, from uint32, budget int, fn func(cell uint64) (cost int)) (next uint32) {
	last := uint64(emptyCell)
	for tag := uint64(from); tag <= tagMask; {
		w := p.segmentOf(t, tag)
		if w == 0 {
			break
		}
		seg := p.segment(w)
		for i := w.home(tag); i < len(seg)-1; i++ {
			cell := seg[i]
			if cell == emptyCell || cellTag(cell) < tag {
				continue
			}
			if budget <= 0 && cellTag(cell) != last {
				return uint32(cellTag(cell))
			}
			last = cellTag(cell)
			budget -= fn(cell)
		}
		tag = w.end(tag)
	}
	return EndOfSlot
}

// Scan calls fn for keys of a slot, in the order of their tags from the cursor on, for about count of them: only keys
// with equal tags are never separated. It returns the cursor for the next call; done when the end is reached. A key that
// is there from the first call to the last is met exactly once, whatever happens between the calls. fn must not change
// the part.
func (p *Part) Scan(db int, s slot.ID, cursor uint32, count int, fn func(Rec)) (next uint32, done bool) {
	t := p.table(db, s)
	if t == nil {
		return 0, true
	}
	next = p.walk(t, cursor, count, func(cell uint64) int {
		fn(p.record(cell))
		return 1
	})
	if next == EndOfSlot {
		return 0, true
	}
	return next, false
}

// record is the record of a cell.
func (p *Part) record(cell uint64) Rec { return Rec{p.arena.Tail(cellRef(cell)), p.arena} }

// Each calls fn for all keys of a slot until it returns false. It must not change the part.
func (p *Part) Each(db int, s slot.ID, fn func(Rec) bool) {
	t := p.table(db, s)
	if t == nil {
		return
	}
	for tag := uint64(0); tag <= tagMask; {
		w := p.segmentOf(t, tag)
		if w == 0 {
			return
		}
		for _, cell := range cellsOf(p.segment(w)) {
			if cell != emptyCell && !fn(p.record(cell)) {
				return
			}
		}
		tag = w.end(tag)
	}
}

// dice makes a row of random numbers of one (splitmix64).
type dice uint64

func (r *dice) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below is a random number below n.
func (r *dice) below(n uint64) uint64 {
	high, _ := bits.Mul64(r.next(), n)
	return high
}

// weight is how many keys of a table count: all, or those with an expiry.
func (t *slotTable) weight(volatileOnly bool) uint64 {
	if volatileOnly {
		return uint64(t.volatile)
	}
	return uint64(t.count)
}

// pickSlot is a table chosen by chance, as likely as it has keys.
func (d *database) pickSlot(r *dice, volatileOnly bool) *slotTable {
	total := d.count
	if volatileOnly {
		total = d.volatile
	}
	if total == 0 {
		return nil
	}
	n := r.below(uint64(total))
	for i := range d.slots {
		weight := d.slots[i].weight(volatileOnly)
		if n < weight {
			return &d.slots[i]
		}
		n -= weight
	}
	return nil
}

// throwsMax bounds the throws for a cell that is in use: segments are at least a quarter full as a rule, so the chance to
// miss so often is nil; a directory may have a few that are nearly empty.
const throwsMax = 100

// RandomKey is a key chosen by chance: rnd. All keys are about equally likely.
func (p *Part) RandomKey(db int, rnd uint64) (Rec, bool) {
	d := p.dbs[db]
	if d == nil || d.count == 0 {
		return Rec{}, false
	}
	r := dice(rnd)
	t := d.pickSlot(&r, false)
	for range throwsMax {
		seg := p.segment(p.segmentOf(t, r.below(1<<tagBits)))
		if cell := seg[cellsAt+int(r.below(uint64(cellCount(seg))))]; cell != emptyCell {
			return p.record(cell), true
		}
	}
	var rec Rec
	p.Each(db, p.slotOf(d, t), func(found Rec) bool {
		rec = found
		return false
	})
	return rec, true
}

// slotOf is the slot that a table of a database holds.
func (p *Part) slotOf(d *database, t *slotTable) slot.ID {
	for i := range d.slots {
		if &d.slots[i] == t {
			return slot.ID(i<<shardBits | p.shard)
		}
	}
	return slot.Count
}

// Sample calls fn for up to n keys near a place chosen by chance, only for those with an expiry when volatileOnly is
// set, and returns how many it has found: candidates for eviction. Fewer than n does not mean that there are no more.
// It looks at no more than some cells for each key that is asked for. fn must not change the part.
func (p *Part) Sample(db int, rnd uint64, n int, volatileOnly bool, fn func(Rec)) (found int) {
	const cellsEach = 32 // cells to look at for each key that is asked for, and some for the first
	d := p.dbs[db]
	if d == nil {
		return 0
	}
	r := dice(rnd)
	for range n { // each time another slot, until enough are found: small slots have few keys
		t := d.pickSlot(&r, volatileOnly)
		if t == nil || found >= n {
			break
		}
		found += p.sampleSlot(t, &r, n-found, n*cellsEach, volatileOnly, fn)
	}
	return found
}

// sampleSlot calls fn for up to n keys of a slot near a place chosen by chance, looking at so many cells.
func (p *Part) sampleSlot(t *slotTable, r *dice, n, cells int, volatileOnly bool, fn func(Rec)) (found int) {
	visit := func(part []uint64) {
		for _, cell := range part {
			if found == n {
				return
			}
			if cell != emptyCell && (!volatileOnly || isVolatile(cell)) {
				fn(p.record(cell))
				found++
			}
		}
	}
	for tag := r.below(1 << tagBits); cells > 0 && found < n; {
		w := p.segmentOf(t, tag)
		seg := p.segment(w)
		tag = w.end(tag) & tagMask
		cells -= cellsAt
		if !volatileOnly || volatileOf(seg) > 0 {
			all := cellsOf(seg)
			start := r.below(uint64(len(all)))
			visit(all[start:])
			visit(all[:start])
			cells -= len(all)
		}
		if !t.root.isDirectory() {
			break // there is only this segment
		}
	}
	return found
}
