package object

import (
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds the removal of fields whose time is over, of hashes that the schedule of a part says are due.

// ExpireFields removes about budget fields of a hash that the part's schedule named (PopDue), and schedules the hash for
// the next ones. fn is called with every field before it is removed, and must not change the part. left is the number of
// fields that there are still; the key is removed with the last.
func ExpireFields(at Place, limits *Limits, now int64, budget int, fn func(field []byte)) (removed, left int) {
	e := EditHash(at, limits, nil)
	e.mark = keyspace.NotDue // it was taken off the schedule
	e.changed = true
	if e.hash.enc == keyspace.EncHashtable {
		removed, _ = e.hash.table.ExpireDue(now, budget, func(x table.Entry) { fn(x.Member()) })
	} else {
		removed = e.expireSmall(now, fn)
	}
	return removed, e.Commit()
}

// PostponeFields schedules a big hash that the part's schedule named, of which nothing can be removed now, for a later time.
func PostponeFields(at Place, until int64) {
	rec, ok := at.Part.Find(at.DB, at.Key)
	if !ok || rec.Encoding() != keyspace.EncHashtable {
		return
	}
	root, _ := rec.Root()
	t := table.Open(rec.Arena(), root)
	t.SetMark(until) // no part of what is saved
	at.Part.Schedule(at.Key, until)
}

// expireSmall removes all fields of a listpack that are due.
func (e *HashEdit) expireSmall(now int64, fn func(field []byte)) (removed int) {
	var digits [intTextMax]byte
	e.makeOwn()
	for pos := listpack.First(e.hash.small); pos != 0; {
		f, next := e.hash.at(pos)
		if !f.IsPast(now) {
			pos = next
			continue
		}
		fn(f.Name.Text(digits[:0]))
		removed++
		if e.hash.small = listpack.Delete(e.hash.small, pos, e.hash.width()); listpack.IsEnd(e.hash.small, pos) {
			break
		}
	}
	return removed
}
