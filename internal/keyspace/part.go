package keyspace

import (
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds what is done with one key whatever its type: find, put, delete, rename.

// Find is the record of a key. It does not look at the expiry.
func (p *Part) Find(db int, k *Key) (Rec, bool) {
	d := p.dbs[db]
	if d == nil {
		return Rec{}, false
	}
	tag := k.tag()
	w := p.segmentOf(&d.slots[k.Slot>>shardBits], tag)
	if w == 0 {
		return Rec{}, false
	}
	cells := p.arena.TailWords(w.ref())
	for i := w.home(tag); ; i++ {
		cell := cells[i]
		if cellTag(cell) < tag {
			continue
		}
		if cellTag(cell) != tag || cell == emptyCell {
			return Rec{}, false
		}
		rec := p.record(cell)
		if string(rec.Key()) == string(k.Bytes) {
			return rec, true
		}
	}
}

// FindForWrite is the record of a key that the caller is about to change in place: through SetInt, SetRoot, or inside
// the structure that its root names. A snapshot that needs the old state gets it first; when the value is big that takes
// long, so who can wait without the lock asks Await before.
func (p *Part) FindForWrite(db int, k *Key) (Rec, bool) {
	t := p.table(db, k.Slot)
	if t == nil {
		return Rec{}, false
	}
	at := p.locate(t, k)
	if at.found {
		p.beforeEdit(p.dbs[db], t, at.rec)
	}
	return at.rec, at.found
}

// ForWrite is FindForWrite for a record that was just found: without a snapshot under way it need not be searched again.
func (p *Part) ForWrite(db int, k *Key, r Rec) Rec {
	if p.Cutting() {
		r, _ = p.FindForWrite(db, k)
	}
	return r
}

// HandOver is FindForWrite for a record that was found just now.
func (p *Part) HandOver(db int, k *Key, r Rec) { p.beforeEdit(p.dbs[db], p.table(db, k.Slot), r) }

// value is what a record is given.
type value struct {
	head  byte   // type and encoding
	flags byte   // isBlob, isRoot
	bytes []byte // what lies in the record
}

// PutInline sets a key to a value that is plain bytes, of any type. Above 32 KiB they lie outside the record. They may
// be part of the arena.
func (p *Part) PutInline(db int, k *Key, t Type, e Encoding, val []byte, expireAt int64) (replaced bool) {
	if len(val) > inlineMax {
		return p.putBlob(db, k, headByte(t, e), val, expireAt)
	}
	return p.put(db, k, value{head: headByte(t, e), bytes: val}, expireAt)
}

// PutRoot sets a key to a value that lies outside the record and that the Dropper knows how to free.
func (p *Part) PutRoot(db int, k *Key, t Type, e Encoding, root mem.Ref, length uint64, expireAt int64) (replaced bool) {
	var handle [handleBytes]byte
	putHandle(handle[:], uint64(root), length)
	return p.put(db, k, value{head: headByte(t, e), flags: isRoot, bytes: handle[:]}, expireAt)
}

// DropRoot frees a root that no record has, as if its key had been removed.
func (p *Part) DropRoot(t Type, e Encoding, root mem.Ref, length uint64) {
	p.dropper.Drop(t, e, root, length)
}

// put sets a key to a value.
func (p *Part) put(db int, k *Key, v value, expireAt int64) (replaced bool) {
	invariant.That(ShardOf(k.Slot) == p.shard, "keyspace: a key is put into a part that does not hold its slot")
	d := p.database(db)
	t := &d.slots[k.Slot>>shardBits]
	at := p.locate(t, k)
	if at.found {
		p.overwrite(d, t, &at, k, v, expireAt)
		return true
	}
	flags := shape(len(k.Bytes), len(v.bytes), expireAt) | v.flags | t.stamp()
	size := headSize(flags) + len(k.Bytes) + len(v.bytes)
	ref := p.arena.Alloc(mem.ForRecord, size)
	encode(p.arena.Bytes(ref, size), v.head, flags, p.clock, expireAt, k.Bytes, v.bytes)
	p.insert(t, &at, makeCell(k.tag(), ref, expireAt), expireAt)
	d.count++
	if expireAt != 0 {
		d.volatile++
		d.bound = min(d.bound, expireAt)
	}
	if p.born != nil && db < p.databases {
		p.born(db, k.Bytes)
	}
	return false
}

// overwrite gives another value and expiry to a key that is there.
func (p *Part) overwrite(d *database, t *slotTable, at *place, k *Key, v value, expireAt int64) {
	p.beforeChange(d, t, at.rec)
	old := at.rec
	outside := old.outside()
	clock := p.clock
	if p.keep {
		clock = old.Clock()
	}
	flags := shape(len(k.Bytes), len(v.bytes), expireAt) | v.flags | t.stamp()
	size, oldSize := headSize(flags)+len(k.Bytes)+len(v.bytes), old.size()
	ref := cellRef(at.seg[at.i])
	if mem.Fits(oldSize, size) {
		encode(old.b, v.head, flags, clock, expireAt, k.Bytes, v.bytes)
	} else {
		fresh := p.arena.Alloc(mem.ForRecord, size)
		encode(p.arena.Bytes(fresh, size), v.head, flags, clock, expireAt, k.Bytes, v.bytes)
		p.arena.Free(mem.ForRecord, ref, oldSize)
		ref = fresh
	}
	p.setCell(d, t, at, ref, expireAt)
	if outside.flags != 0 && !outside.sameBlob(v) {
		p.release(outside)
	}
}

// setCell changes the address and expiry of the cell at a place.
func (p *Part) setCell(d *database, t *slotTable, at *place, ref mem.Ref, expireAt int64) {
	cell := at.seg[at.i]
	fresh := makeCell(cellTag(cell), ref, expireAt)
	at.seg[at.i] = fresh
	if change := int(fresh>>mem.RefBits&1) - int(cell>>mem.RefBits&1); change != 0 {
		addVolatile(at.seg, change)
		t.volatile += uint32(change)
		d.volatile += int64(change)
	}
	if expireAt != 0 {
		lowerBound(t, at.seg, expireAt)
		d.bound = min(d.bound, expireAt)
	}
}

// Delete removes a key.
func (p *Part) Delete(db int, k *Key) bool {
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
	outside := p.take(d, &at)
	p.remove(t, &at)
	p.release(outside)
	return true
}

// take frees the record at a place and takes it out of the database's figures. What lies outside of it is the caller's,
// and so is the cell.
func (p *Part) take(d *database, at *place) outside {
	outside := at.rec.outside()
	d.count--
	if at.rec.HasExpiry() {
		d.volatile--
	}
	p.arena.Free(mem.ForRecord, cellRef(at.seg[at.i]), at.rec.size())
	return outside
}

// Rename gives the key from the name to, which must be of the same part, together with its value, expiry and stamp. What
// to had is dropped. It is false when there is no key from. Neither name may lie in the arena.
func (p *Part) Rename(db int, from, to *Key) bool { return p.Move(db, from, db, to) }

// Move is Rename into another database, or the same.
func (p *Part) Move(db int, from *Key, toDB int, to *Key) bool {
	rec, ok := p.Find(db, from)
	if !ok {
		return false
	}
	p.beforeChange(p.dbs[db], p.table(db, from.Slot), rec)
	if db == toDB && string(from.Bytes) == string(to.Bytes) {
		return true
	}
	p.putAs(rec, toDB, to, value{head: rec.b[0], flags: rec.flags() & (isBlob | isRoot), bytes: rec.inline()})

	d, t := p.dbs[db], p.table(db, from.Slot)
	at := p.locate(t, from)
	p.take(d, &at)
	p.remove(t, &at)
	if p.dropper != nil {
		if moved, ok := p.Find(toDB, to); ok && p.dropper.DueAt(moved) != NotDue {
			p.Schedule(to, p.dropper.DueAt(moved))
		}
	}
	return true
}

// putAs sets a key to a value, with the expiry and the stamp of a record.
func (p *Part) putAs(rec Rec, db int, k *Key, v value) {
	clock, keep := p.clock, p.keep
	p.clock, p.keep = rec.Clock(), false
	p.put(db, k, v, rec.ExpireAt())
	p.clock, p.keep = clock, keep
}

// GiveString is Rename to a key of another part, for a long string, whose bytes stay where they are: their mapping becomes one
// of that part. It is false, and nothing happens, for any other value, and for one that a snapshot reads.
func (p *Part) GiveString(db int, from *Key, other *Part, to *Key) bool {
	rec, ok := p.Find(db, from)
	if !ok || rec.Type() != TypeString || rec.flags()&isBlob == 0 {
		return false
	}
	ref, room, length := rec.blob()
	if room <= mem.MappedMin {
		return false
	}
	d, t := p.dbs[db], p.table(db, from.Slot)
	p.beforeChange(d, t, rec)
	if p.isPinned(rec) {
		return false
	}
	var handle [handleBytes]byte
	putHandle(handle[:], blobWord(p.arena.Give(mem.ForBlob, ref, room, other.arena), room), uint64(length))
	other.putAs(rec, db, to, value{head: rec.b[0], flags: isBlob, bytes: handle[:]})
	at := p.locate(t, from)
	p.take(d, &at)
	p.remove(t, &at)
	return true
}

// Count is the number of keys of a slot.
func (p *Part) Count(db int, s slot.ID) int {
	t := p.table(db, s)
	if t == nil {
		return 0
	}
	return int(t.count)
}

// Len is the number of keys of a database.
func (p *Part) Len(db int) int64 {
	if p.dbs[db] == nil {
		return 0
	}
	return p.dbs[db].count
}
