package keyspace

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds cuts: the exact state of a moment is handed over bit by bit while the part goes on changing.
//
// Every record has a bit for each lane, and so has every slot table; without a cut they are equal. BeginEpoch turns the
// bits of the tables over, so that all records that are there have the wrong one, and calls the tables pending. A record
// that is made gets the right bit. A record with the wrong one is handed to the observer before it is changed or removed,
// and to the walker when it comes by, and gets the right bit with that. When the walker has come to the end of a
// table, all its records have the right bit and the table is no longer pending.
//
// Two lanes are two cuts that may run at the same time, over the same or over different slots.

const (
	// Lanes is the number of cuts that can be under way at the same time.
	Lanes = 2

	stampShift   = 58 // of the bits in slotTable.root that records get, one for each lane
	pendingShift = stampShift + Lanes
	laneBits     = 1<<Lanes - 1

	pendingMask segWord = laneBits << pendingShift
	laneMask            = pendingMask | laneBits<<stampShift

	laneFlagShift = 5 // of laneBit0
)

// Lane numbers a cut, from 0 to Lanes-1.
type Lane uint8

// Observer gets records before they are changed. It must read what it needs at once, or pin the value, and not change the
// part. The database is the one that the record was in at the moment of the cut.
type Observer interface {
	BeforeChange(db int, r Rec)
}

// lane is the state of a cut.
type lane struct {
	observer Observer
	dbs      []*database // the databases at the moment of the cut, by their indices of then
	left     int         // tables that are pending, those that were flushed included
	flushed  []*database // slots that were flushed one by one while they were pending
	draining *slotTable  // where DrainEpoch is
	drained  uint32      // and the tag to go on with there
}

// stamp is the lane bits that records of the table get, as flags.
func (t *slotTable) stamp() byte {
	return byte(t.root>>stampShift&laneBits) << laneFlagShift
}

func (t *slotTable) isPending(l Lane) bool { return t.root>>pendingShift>>l&1 != 0 }

func (t *slotTable) pendingBit(l Lane) segWord { return 1 << pendingShift << l }

// BeginEpoch cuts: from now on the walker and the observer together get every record of the given slots exactly as it
// is now, each once. A nil set means all slots. It is false when the lane has not come to the end of the last cut.
func (p *Part) BeginEpoch(l Lane, slots *slot.Set, observer Observer) bool {
	c := &p.lanes[l]
	if c.left != 0 {
		return false
	}
	*c = lane{observer: observer, dbs: append([]*database(nil), p.dbs[:p.databases]...)}
	for index, d := range c.dbs {
		if d == nil {
			continue
		}
		d.cutIndex[l] = index
		for i := range d.slots {
			t := &d.slots[i]
			if t.count == 0 || slots != nil && !slots.Has(slot.ID(i<<shardBits|p.shard)) {
				continue
			}
			t.root = t.root ^ 1<<stampShift<<l | t.pendingBit(l)
			c.left++
		}
	}
	return true
}

// EndEpoch ends a cut. When the walker has not been everywhere, the observer gets nothing any more, and the walk has to be
// finished (VisitSlot without fn, or DrainEpoch) before the lane can be used again; then it is false.
func (p *Part) EndEpoch(l Lane) bool {
	c := &p.lanes[l]
	c.observer = nil
	if c.left == 0 {
		*c = lane{}
	}
	return c.left == 0
}

// Pending is the number of tables that the walker has not finished.
func (p *Part) Pending(l Lane) int { return p.lanes[l].left }

// VisitSlot calls fn for records of a slot that have not been handed over yet, in the order of their tags from the given
// one on, until the budget is used up: a record that is looked at costs 1, and one that fn gets what fn says. It returns
// the tag to go on with; done when the slot is finished. The database is the one at the moment of the cut. fn must not
// change the part; it may be nil.
func (p *Part) VisitSlot(l Lane, db int, s slot.ID, from uint32, budget int, fn func(Rec) (cost int)) (next uint32, done bool) {
	t := p.lanes[l].table(l, db, int(s>>shardBits))
	if t == nil {
		return 0, true
	}
	next = p.walk(t, from, budget, func(cell uint64) (cost int) {
		rec := p.record(cell)
		if !rec.stale(t, l) {
			return 1
		}
		if cost = 1; fn != nil {
			cost = fn(rec)
		}
		rec.b[1] ^= laneBit0 << l
		return cost
	})
	if next != EndOfSlot {
		return next, false
	}
	p.finishTable(l, t)
	return 0, true
}

// stale says whether a record has not been handed over in a lane in which its table is pending.
func (r Rec) stale(t *slotTable, l Lane) bool {
	return (r.flags()^t.stamp())&(laneBit0<<l) != 0
}

// table is the pending table of a slot, as it was in the given database at the moment of the cut; nil when there is none.
func (c *lane) table(l Lane, db, index int) *slotTable {
	if db >= len(c.dbs) || c.dbs[db] == nil {
		return nil
	}
	if t := &c.dbs[db].slots[index]; t.isPending(l) {
		return t
	}
	for _, d := range c.flushed {
		if d.cutIndex[l] == db && d.slots[index].isPending(l) {
			return &d.slots[index]
		}
	}
	return nil
}

// finishTable notes that all records of a table have been handed over.
func (p *Part) finishTable(l Lane, t *slotTable) {
	t.root &^= t.pendingBit(l)
	p.lanes[l].left--
	invariant.That(p.lanes[l].left >= 0, "keyspace: more tables are finished than were cut")
}

// DrainEpoch goes on with the walk of a cut that was ended early, for about budget records; more when there is something
// left.
func (p *Part) DrainEpoch(l Lane, budget int) (more bool) {
	c := &p.lanes[l]
	for db := range c.dbs {
		for i := 0; i < partSlots && c.left > 0; {
			t := c.table(l, db, i)
			if t == nil {
				i++
				continue
			}
			if budget <= 0 {
				return true
			}
			budget -= p.drainTable(l, t, db, i, budget)
		}
	}
	return c.left > 0
}

// drainTable walks on in a table, and returns how many records it has looked at, about.
func (p *Part) drainTable(l Lane, t *slotTable, db, index, budget int) (looked int) {
	c := &p.lanes[l]
	if c.draining != t {
		c.draining, c.drained = t, 0
	}
	looked = min(budget, int(t.count)+1)
	c.drained, _ = p.VisitSlot(l, db, slot.ID(index<<shardBits|p.shard), c.drained, budget, nil)
	return looked
}

// beforeChange hands a record over, to every lane that waits for it, before it is changed or removed. A value outside of it
// may be pinned then, so it must not be changed.
func (p *Part) beforeChange(d *database, t *slotTable, r Rec) {
	if t.root&pendingMask != 0 {
		p.handOver(d, t, r)
	}
}

// beforeEdit is beforeChange for a record whose value is going to be changed in place, wherever it lies.
func (p *Part) beforeEdit(d *database, t *slotTable, r Rec) {
	p.beforeChange(d, t, r)
	if len(p.pins) != 0 {
		p.settle(r)
	}
}

// BeforeWrite is for who has found a record with Find and is about to change it in place, as if FindForWrite had found it.
func (p *Part) BeforeWrite(db int, k *Key, r Rec) {
	d := p.dbs[db]
	p.beforeEdit(d, &d.slots[k.Slot>>shardBits], r)
}

func (p *Part) handOver(d *database, t *slotTable, r Rec) {
	for l := range Lane(Lanes) {
		if !t.isPending(l) || !r.stale(t, l) {
			continue
		}
		if observer := p.lanes[l].observer; observer != nil {
			observer.BeforeChange(d.cutIndex[l], r)
		}
		r.b[1] ^= laneBit0 << l
	}
}
