package table

// This file holds the expiry of fields in a table of Fields. Every segment and the header have a lower bound of the times
// at which their fields expire: setting an expiry lowers it at once, it rises when ExpireDue has looked through a segment.

// addVolatile counts fields that have got or lost an expiry. In a table of Scores every entry has fixed bytes, and none an
// expiry.
func (t *Table) addVolatile(seg []uint64, n int) {
	seg[0] += uint64(int64(n)) << 16
	if t.layout == Fields {
		t.head[headVolatile] += uint64(int64(n))
	}
}

// noteExpiry lowers the bounds for the entry at a place.
func (t *Table) noteExpiry(at *place, expireAt int64) {
	if expireAt == 0 {
		return
	}
	setBound(at.seg, min(boundOf(at.seg), expireAt))
	t.head[headBound] = uint64(min(int64(t.head[headBound]), expireAt))
}

// Volatile is the number of fields that have an expiry.
func (t *Table) Volatile() int {
	if t.layout != Fields {
		return 0
	}
	return int(t.head[headVolatile])
}

// NextExpiry is a lower bound of the times at which the fields expire, in milliseconds; the largest int64 when none does.
func (t *Table) NextExpiry() int64 {
	if t.Volatile() == 0 {
		return noDeadline
	}
	return int64(t.head[headBound])
}

// Mark is a time that the owner of a table of Fields keeps in it, and SetMark sets; the largest int64 at first.
func (t *Table) Mark() int64 { return int64(t.head[headMark]) }

// SetMark sets Mark.
func (t *Table) SetMark(at int64) { t.head[headMark] = uint64(at) }

// ExpireDue removes fields that expire at or before now, and calls fn for each one before it is removed; fn must not
// change the table. It stops when about budget fields with an expiry were looked at; then more is true.
func (t *Table) ExpireDue(now int64, budget int, fn func(Entry)) (removed int, more bool) {
	if t.NextExpiry() > now {
		return 0, false
	}
	bound := int64(noDeadline)
	for tag := uint64(0); tag < endOfTable && t.Volatile() > 0; {
		w := t.segmentOf(tag)
		seg := t.segment(w)
		if boundOf(seg) <= now {
			if budget <= 0 {
				return removed, true
			}
			n := t.expireSegment(w, seg, now, &budget, fn)
			removed += n
			if boundOf(seg) <= now {
				return removed, true // the budget ended inside the segment
			}
			bound = min(bound, boundOf(seg))
			if n > 0 {
				t.maybeShrink(tag)
			}
		} else {
			bound = min(bound, boundOf(seg))
		}
		tag = w.end(tag)
	}
	t.head[headBound] = uint64(bound)
	return removed, false
}

// expireSegment removes the due fields of a segment. When it has come to the end, the segment's bound is exact.
func (t *Table) expireSegment(w segWord, seg []uint64, now int64, budget *int, fn func(Entry)) (removed int) {
	bound := int64(noDeadline)
	for i := cellsAt; i < len(seg)-1 && volatileOf(seg) > 0; {
		if seg[i] == emptyCell || !isFixed(seg[i]) {
			i++
			continue
		}
		*budget--
		e := t.entry(seg[i])
		if at := e.ExpireAt(); at > now {
			bound = min(bound, at)
			i++
			continue
		}
		fn(e)
		t.free(e.ref, e.Size())
		t.addVolatile(seg, -1)
		removeCell(seg, w, i)
		t.addCount(-1)
		removed++
		if *budget <= 0 {
			return removed
		}
	}
	setBound(seg, bound)
	return removed
}
