package keyspace

import (
	"fmt"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds the check of a part's whole state, for tests and for builds with invariants.

// Check is an error when the figures, tables and records of the part contradict each other. It looks at every key.
func (p *Part) Check() error {
	for index, d := range p.dbs {
		if d == nil {
			continue
		}
		if err := p.checkDatabase(d); err != nil {
			return fmt.Errorf("keyspace: database %d: %w", index, err)
		}
	}
	return p.checkLanes()
}

func (p *Part) checkDatabase(d *database) error {
	count, volatile := int64(0), int64(0)
	for i := range d.slots {
		t := &d.slots[i]
		if err := p.checkTable(t); err != nil {
			return fmt.Errorf("table %d: %w", i, err)
		}
		if t.volatile > 0 && t.bound < d.bound {
			return fmt.Errorf("table %d has the bound %d, the database %d", i, t.bound, d.bound)
		}
		count += int64(t.count)
		volatile += int64(t.volatile)
	}
	if count != d.count || volatile != d.volatile {
		return fmt.Errorf("%d keys, %d volatile, counted %d and %d", d.count, d.volatile, count, volatile)
	}
	return nil
}

// checkTable checks the segments of a table and that the directory shows each where it belongs.
func (p *Part) checkTable(t *slotTable) error {
	if t.root&^laneMask == 0 {
		if t.count != 0 || t.volatile != 0 {
			return fmt.Errorf("%d keys without a segment", t.count)
		}
		return nil
	}
	count, volatile := 0, 0
	for tag := uint64(0); tag <= tagMask; {
		w := p.segmentOf(t, tag)
		end := w.end(tag)
		if end-tag != 1<<(tagBits-w.depth()) {
			return fmt.Errorf("a segment of depth %d begins at tag %#x", w.depth(), tag)
		}
		if p.segmentOf(t, end-1) != w {
			return fmt.Errorf("the words of the directory for tag %#x differ", tag)
		}
		if err := p.checkSegment(t, w, tag, end); err != nil {
			return fmt.Errorf("segment of tag %#x: %w", tag, err)
		}
		count += keysOf(p.segment(w))
		volatile += volatileOf(p.segment(w))
		tag = end
	}
	if count != int(t.count) || volatile != int(t.volatile) {
		return fmt.Errorf("%d keys, %d volatile, counted %d and %d", t.count, t.volatile, count, volatile)
	}
	return nil
}

// checkSegment checks that cells are in order, where a search finds them, and agree with their records.
func (p *Part) checkSegment(t *slotTable, w segWord, from, end uint64) error {
	seg := p.segment(w)
	keys, volatile, last := 0, 0, from
	for i, cell := range seg[cellsAt:] {
		if cell == emptyCell {
			continue
		}
		tag, at := cellTag(cell), i+cellsAt
		switch {
		case at == len(seg)-1:
			return fmt.Errorf("the last word is in use")
		case tag < last || tag >= end:
			return fmt.Errorf("cell %d: tag %#x after %#x", i, tag, last)
		case at < w.home(tag):
			return fmt.Errorf("cell %d: before its home %d", i, w.home(tag)-cellsAt)
		case at > w.home(tag) && seg[at-1] == emptyCell:
			return fmt.Errorf("cell %d: behind an empty one, its home is %d", i, w.home(tag)-cellsAt)
		}
		last = tag
		keys++
		if isVolatile(cell) {
			volatile++
		}
		if err := p.checkRecord(t, seg, cell); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	homes := homesOf(cellCount(seg), w.depth())
	if keys != keysOf(seg) || volatile != volatileOf(seg) || w.homes() != 1 && homes != int(w.homes()) {
		return fmt.Errorf("%d keys, %d volatile, %d homes; counted %d, %d, %d",
			keysOf(seg), volatileOf(seg), w.homes(), keys, volatile, homes)
	}
	return nil
}

func (p *Part) checkRecord(t *slotTable, seg []uint64, cell uint64) error {
	rec := p.record(cell)
	if rec.HasExpiry() != isVolatile(cell) {
		return fmt.Errorf("cell and record differ in the expiry")
	}
	if at := rec.ExpireAt(); rec.HasExpiry() && (at < boundOf(seg) || at < t.bound) {
		return fmt.Errorf("expires at %d, before the bounds %d and %d", at, boundOf(seg), t.bound)
	}
	for l := range Lane(Lanes) {
		if !t.isPending(l) && rec.stale(t, l) {
			return fmt.Errorf("has not been handed over in lane %d", l)
		}
	}
	if rec.flags()&isBlob != 0 {
		if _, capacity, length := rec.blob(); length > capacity || mem.Usable(capacity) != capacity {
			return fmt.Errorf("a blob of %d bytes has %d", capacity, length)
		}
	}
	return nil
}

// checkLanes counts the tables that are pending.
func (p *Part) checkLanes() error {
	for l := range Lane(Lanes) {
		pending := 0
		for _, dbs := range [][]*database{p.lanes[l].dbs, p.lanes[l].flushed} {
			for _, d := range dbs {
				for i := 0; d != nil && i < partSlots; i++ {
					if d.slots[i].isPending(l) {
						pending++
					}
				}
			}
		}
		if pending != p.lanes[l].left {
			return fmt.Errorf("keyspace: lane %d: %d tables are pending, counted %d", l, p.lanes[l].left, pending)
		}
	}
	return nil
}
