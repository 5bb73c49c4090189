package keyspace

import (
	"slices"

	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the removal of many keys at once. The tables are put aside in one step, which is short, and freed bit by
// bit. While a cut is under way, tables that its walker has still to visit wait for it.

// trash is what is left of tables that were put aside.
type trash struct {
	d     *database
	index int    // of the table that is being freed, if tag is not 0
	tag   uint64 // of that table, the segments before this tag are gone
}

// DetachDB empties a database. Its memory is freed by FreeSome.
func (p *Part) DetachDB(db int) { p.detachDB(db) }

// DetachSlot empties a slot of a database. Its memory is freed by FreeSome.
func (p *Part) DetachSlot(db int, s slot.ID) { p.detachSlot(db, s) }

// FlushDB empties a database and frees its memory, but for tables that a cut has still to visit.
func (p *Part) FlushDB(db int) { p.freeNow(p.detachDB(db)) }

// FlushSlot empties a slot and frees its memory, but for a table that a cut has still to visit.
func (p *Part) FlushSlot(db int, s slot.ID) { p.freeNow(p.detachSlot(db, s)) }

func (p *Part) detachDB(db int) *trash {
	d := p.dbs[db]
	if d == nil {
		return nil
	}
	p.dbs[db] = nil
	p.shown.set(db, nil)
	return p.putAside(d)
}

func (p *Part) detachSlot(db int, s slot.ID) *trash {
	t := p.table(db, s)
	if t == nil || t.count == 0 {
		return nil
	}
	d := p.dbs[db]
	aside := newDatabase()
	aside.cutIndex = d.cutIndex
	aside.count = int64(t.count)
	aside.slots[s>>shardBits] = *t
	d.count -= int64(t.count)
	d.volatile -= int64(t.volatile)
	for l := range Lane(Lanes) {
		if t.isPending(l) {
			p.lanes[l].flushed = append(p.lanes[l].flushed, aside)
		}
	}
	*t = slotTable{root: t.root & laneMask &^ pendingMask, bound: noDeadline}
	return p.putAside(aside)
}

func (p *Part) putAside(d *database) *trash {
	r := &trash{d: d}
	p.trash = append(p.trash, r)
	return r
}

// freeNow frees all of one piece of trash that no cut waits for.
func (p *Part) freeNow(r *trash) {
	if r == nil {
		return
	}
	p.freeTables(r, 1<<62)
	if r.d.count == 0 {
		p.trash = slices.DeleteFunc(p.trash, func(other *trash) bool { return other == r })
	}
}

// SwapDB exchanges two databases.
func (p *Part) SwapDB(a, b int) {
	p.dbs[a], p.dbs[b] = p.dbs[b], p.dbs[a]
	p.shown.set(a, p.dbs[a])
	p.shown.set(b, p.dbs[b])
}

// FreeSome frees about budget records of what was put aside, fewer when they are big, and goes on giving big blocks back
// to the system. It returns how many more there are that can be freed at once. What waits for a cut is not among them: it
// is freed by the calls after the walker has been there.
func (p *Part) FreeSome(budget int) (left int64) {
	p.arena.PutOff(true)
	for _, r := range p.trash {
		if budget > 0 {
			before := r.d.count
			budget = p.freeTables(r, budget)
			p.freed += before - r.d.count
		}
		left += r.d.count - p.pinned(r.d)
	}
	p.trash = slices.DeleteFunc(p.trash, func(r *trash) bool { return r.d.count == 0 })
	if p.dropper != nil {
		left += p.dropper.FreeSome(max(budget, 1))
	}
	p.arena.PutOff(false)
	if p.arena.Settle(left == 0) {
		left++
	}
	return left
}

// Trash is the number of values that wait to be freed by FreeSome, and of those that it has freed.
func (p *Part) Trash() (pending, freed int64) {
	if p.dropper != nil {
		pending, freed = p.dropper.Trash()
	}
	for _, r := range p.trash {
		pending += r.d.count
	}
	return pending, freed + p.freed
}

// pinned is the number of records that wait for a cut.
func (p *Part) pinned(d *database) (records int64) {
	for i := range d.slots {
		if !p.unpin(&d.slots[i]) {
			records += int64(d.slots[i].count)
		}
	}
	return records
}

// freeTables frees tables that were put aside, and returns what is left of the budget.
func (p *Part) freeTables(r *trash, budget int) int {
	if r.tag > 0 {
		budget = p.freeTable(r, budget)
	}
	for i := range r.d.slots {
		if budget <= 0 {
			break
		}
		if t := &r.d.slots[i]; p.unpin(t) && t.count > 0 {
			r.index = i
			budget = p.freeTable(r, budget)
		}
	}
	return budget
}

// unpin says whether no cut waits for a table. A cut that was given up does not wait.
func (p *Part) unpin(t *slotTable) bool {
	for l := range Lane(Lanes) {
		if !t.isPending(l) {
			continue
		}
		if p.lanes[l].observer != nil && t.count > 0 {
			return false
		}
		p.finishTable(l, t)
	}
	return true
}

// freeTable frees the segments of a table with their records, from the first to the last, as far as the budget goes.
func (p *Part) freeTable(r *trash, budget int) int {
	t := &r.d.slots[r.index]
	for t.count > 0 {
		w := p.segmentOf(t, r.tag)
		budget = p.freeRecords(r, t, cellsOf(p.segment(w)), budget)
		if budget <= 0 && t.count > 0 {
			return budget
		}
		r.tag = w.end(r.tag)
		p.freeSegment(w)
	}
	for r.tag <= tagMask { // what is left of the segments has no keys
		w := p.segmentOf(t, r.tag)
		r.tag = w.end(r.tag)
		p.freeSegment(w)
	}
	if t.root.isDirectory() {
		p.arena.Free(mem.ForTable, t.root.ref(), 8<<t.root.depth())
	}
	*t = slotTable{root: t.root & laneMask, bound: noDeadline}
	r.tag = 0
	return budget
}

// freeRecords frees the records of cells and the cells, as far as the budget goes.
func (p *Part) freeRecords(r *trash, t *slotTable, cells []uint64, budget int) int {
	for i, cell := range cells {
		if cell == emptyCell {
			continue
		}
		if budget <= 0 {
			break
		}
		rec := p.record(cell)
		outside := rec.outside()
		budget -= rec.effort()
		p.arena.Free(mem.ForRecord, cellRef(cell), rec.size())
		p.release(outside)
		cells[i] = emptyCell
		t.count--
		r.d.count--
	}
	return budget
}
