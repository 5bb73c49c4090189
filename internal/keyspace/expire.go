package keyspace

import "github.com/covey-db/covey/internal/slot"

// This file holds expiry: setting and removing it, and finding the keys that are due.
//
// Every segment, slot and database has a lower bound of the times at which its keys expire. Setting an expiry lowers it
// at once; it rises when ExpireDue has looked through a segment. So a pass over slots where nothing can be due costs a
// comparison a slot, and one over a database where nothing can be due costs a comparison.

// expireCursor is where ExpireDue goes on.
type expireCursor struct {
	db, slot int
}

// SetExpire makes a key expire at the given time, in milliseconds, which must not be 0.
func (p *Part) SetExpire(db int, k *Key, at int64) bool { return p.changeExpiry(db, k, at) }

// Persist makes a key never expire; false when there is no such key or it has no expiry.
func (p *Part) Persist(db int, k *Key) bool {
	rec, ok := p.Find(db, k)
	return ok && rec.HasExpiry() && p.changeExpiry(db, k, 0)
}

func (p *Part) changeExpiry(db int, k *Key, expireAt int64) bool {
	t := p.table(db, k.Slot)
	if t == nil {
		return false
	}
	at := p.locate(t, k)
	if !at.found {
		return false
	}
	d := p.dbs[db]
	p.beforeChange(d, t, at.rec)
	p.reshape(d, t, &at, at.rec.flags()&(isBlob|isRoot), at.rec.inline(), len(at.rec.inline()), expireAt)
	return true
}

// Expires is the number of keys of a database that have an expiry.
func (p *Part) Expires(db int) int64 {
	if p.dbs[db] == nil {
		return 0
	}
	return p.dbs[db].volatile
}

// ExpireDue removes keys that expire at or before now, and calls fn for each one before it is removed; fn must not
// change the part. It stops when budget keys were looked at, fewer when big ones were removed; then more is true and the
// next call goes on there. It may look at the keys of one segment (2045) beyond the budget, but does not remove them.
func (p *Part) ExpireDue(now int64, budget int, fn func(db int, rec Rec)) (removed int, more bool) {
	for range p.databases + 1 {
		d := p.dbs[p.due.db]
		if d != nil && d.bound <= now {
			n := p.expireDatabase(d, now, &budget, fn)
			removed += n
			if budget <= 0 {
				return removed, true
			}
		}
		p.due = expireCursor{db: (p.due.db + 1) % p.databases}
	}
	return removed, false
}

// expireDatabase looks through the slots of a database from the cursor on, until the budget is used up.
func (p *Part) expireDatabase(d *database, now int64, budget *int, fn func(db int, rec Rec)) (removed int) {
	for ; p.due.slot < partSlots; p.due.slot++ {
		t := &d.slots[p.due.slot]
		if t.volatile == 0 || t.bound > now {
			continue
		}
		if *budget <= 0 {
			return removed
		}
		removed += p.expireSlot(d, t, now, budget, fn)
		if *budget <= 0 && t.bound <= now {
			return removed
		}
	}
	d.bound = noDeadline
	for i := range d.slots {
		if d.slots[i].volatile == 0 {
			d.slots[i].bound = noDeadline
		}
		d.bound = min(d.bound, d.slots[i].bound)
	}
	return removed
}

// expireSlot looks through the segments of a slot that may have a due key.
func (p *Part) expireSlot(d *database, t *slotTable, now int64, budget *int, fn func(db int, rec Rec)) (removed int) {
	bound := int64(noDeadline)
	for tag := uint64(0); tag <= tagMask && t.count > 0; {
		w := p.segmentOf(t, tag)
		seg := p.segment(w)
		if boundOf(seg) > now {
			bound = min(bound, boundOf(seg))
			tag = w.end(tag)
			continue
		}
		if *budget <= 0 {
			return removed
		}
		n := p.expireSegment(d, t, w, seg, now, budget, fn)
		removed += n
		if t.count == 0 {
			p.freeSegments(t)
			return removed
		}
		if boundOf(seg) <= now {
			return removed // the budget ended inside the segment
		}
		bound = min(bound, boundOf(seg))
		if n > 0 {
			p.maybeShrink(t, tag)
		}
		tag = w.end(tag)
	}
	t.bound = bound
	return removed
}

// expireSegment removes the due keys of a segment. When it has come to the end, the segment's bound is exact.
func (p *Part) expireSegment(
	d *database, t *slotTable, w segWord, seg []uint64, now int64, budget *int, fn func(db int, rec Rec),
) (removed int) {
	bound := int64(noDeadline)
	for i := cellsAt; i < len(seg)-1 && volatileOf(seg) > 0; {
		if seg[i] == emptyCell || !isVolatile(seg[i]) {
			i++
			continue
		}
		*budget--
		rec := p.record(seg[i])
		if at := rec.ExpireAt(); at > now {
			bound = min(bound, at)
			i++
			continue
		}
		*budget -= rec.effort() - 1
		fn(p.due.db, rec)
		p.beforeChange(d, t, rec)
		place := place{word: w, seg: seg, i: i, rec: rec, found: true}
		outside := p.take(d, &place)
		removeCell(seg, w, i)
		t.count--
		t.volatile--
		p.release(outside)
		removed++
		if *budget <= 0 {
			return removed
		}
	}
	setBound(seg, bound)
	return removed
}

// NextExpiry is a lower bound of the times at which the keys of a slot expire; the largest int64 when none does.
func (p *Part) NextExpiry(db int, s slot.ID) int64 {
	t := p.table(db, s)
	if t == nil {
		return noDeadline
	}
	return t.bound
}
