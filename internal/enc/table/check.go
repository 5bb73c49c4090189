package table

import (
	"fmt"

	"github.com/covey-db/covey/internal/mem"
)

// Check walks the whole table and is an error when its figures contradict each other. Tests call it.
func (t *Table) Check() error {
	entries, volatile := 0, 0
	bytes := mem.Usable(headerWords(t.layout) * 8)
	top := t.top()
	if top.isDirectory() {
		bytes += mem.Usable(8 << top.depth())
	}
	for tag := uint64(0); top != 0 && tag < endOfTable; {
		w := t.segmentOf(tag)
		seg := t.segment(w)
		n, err := t.checkSegment(w, seg, tag)
		if err != nil {
			return fmt.Errorf("table: segment of tag %#x: %w", tag, err)
		}
		bytes += n + mem.Usable(len(seg)*8)
		entries += entriesOf(seg)
		volatile += volatileOf(seg)
		tag = w.end(tag)
	}
	if t.layout != Fields {
		volatile = 0
	}
	if entries != t.Len() || bytes != int(t.Bytes()) || volatile != t.Volatile() {
		return fmt.Errorf("table: %d entries, %d with expiry, %d bytes; counted %d, %d, %d",
			t.Len(), t.Volatile(), t.Bytes(), entries, volatile, bytes)
	}
	return nil
}

// checkSegment checks the order of the cells of a segment, and returns the bytes of its entries.
func (t *Table) checkSegment(w segWord, seg []uint64, first uint64) (bytes int, err error) {
	last, entries, fixed := first, 0, 0
	for i, cell := range seg[cellsAt:] {
		if cell == emptyCell {
			continue
		}
		at, tag := i+cellsAt, cellTag(cell)
		switch {
		case at == len(seg)-1:
			return 0, fmt.Errorf("the last word is in use")
		case tag < last || tag >= w.end(first):
			return 0, fmt.Errorf("cell %d: tag %#x after %#x", i, tag, last)
		case at < w.home(tag), at > w.home(tag) && seg[at-1] == emptyCell:
			return 0, fmt.Errorf("cell %d: its home is %d", i, w.home(tag)-cellsAt)
		}
		e := t.entry(cell)
		if at := e.ExpireAt(); t.layout == Fields && at != 0 && (at < boundOf(seg) || at < t.NextExpiry()) {
			return 0, fmt.Errorf("cell %d: expires at %d, before the bounds %d and %d", i, at, boundOf(seg), t.NextExpiry())
		}
		last = tag
		entries++
		if isFixed(cell) {
			fixed++
		}
		bytes += mem.Usable(e.Size())
	}
	if entries != entriesOf(seg) || fixed != volatileOf(seg) {
		return 0, fmt.Errorf("%d entries, %d fixed; counted %d, %d", entriesOf(seg), volatileOf(seg), entries, fixed)
	}
	return bytes, nil
}
