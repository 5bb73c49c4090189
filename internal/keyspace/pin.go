package keyspace

import "github.com/covey-db/covey/internal/mem"

// This file holds pins. A big value that a cut still needs is not read at once when its record is about to change or to go:
// it is pinned, and read without the lock of the part. Whatever happens to the record, a value stays where it is while it
// is pinned: if its record is removed or overwritten, or the table flushed, it is freed when the last pin goes. Only the
// value itself must not be changed; who wants to do that asks Await first.

// Holder has pinned a value and reads it, without the lock of the part.
type Holder interface {
	// Hurry says that somebody waits. It is called under the lock and must not wait.
	Hurry()
	// Finish returns when the value is not read any more. It is called under the lock, by who could not wait in a better way.
	Finish()
}

// pin is what is known of a pinned value.
type pin struct {
	holders [Lanes]Holder
	waiting []func() // called when the last pin goes
	left    outside  // what has to be freed then; nothing while a record has the value
}

// Pinnable says whether the value lies outside the record, where it can be pinned.
func (r Rec) Pinnable() bool { return r.flags()&(isBlob|isRoot) != 0 }

// ref is the block that names what a value has outside its record.
func (o outside) ref() mem.Ref { return mem.Ref(o.word & mem.RefMask) }

// Frozen is a copy of the record that can be read without the lock of its part as long as its value is pinned.
func (r Rec) Frozen() Rec {
	f := r
	f.b = append([]byte(nil), r.b[:r.size()]...)
	f.arena = r.arena.View()
	return f
}

// Pin keeps the value of a record, which must be pinnable, as it is until Unpin. An observer may pin what BeforeChange
// gives it, and so may the fn of VisitSlot.
func (p *Part) Pin(l Lane, r Rec, h Holder) mem.Ref {
	ref := r.outside().ref()
	if p.pins == nil {
		p.pins = make(map[mem.Ref]*pin)
	}
	v := p.pins[ref]
	if v == nil {
		v = new(pin)
		p.pins[ref] = v
	}
	v.holders[l] = h
	return ref
}

// Unpin ends what Pin began. With the last pin the value is freed if no record has it, and those who wait are told.
func (p *Part) Unpin(l Lane, ref mem.Ref) {
	v := p.pins[ref]
	if v == nil || v.holders[l] == nil {
		return
	}
	v.holders[l] = nil
	for _, h := range v.holders {
		if h != nil {
			return
		}
	}
	delete(p.pins, ref)
	if v.left.flags != 0 {
		p.release(v.left)
	}
	for _, resume := range v.waiting {
		resume()
	}
}

// Pinned is the number of pinned values.
func (p *Part) Pinned() int { return len(p.pins) }

// Cutting says whether a cut may still need values of the part as they are.
func (p *Part) Cutting() bool {
	for l := range p.lanes {
		if p.lanes[l].left != 0 {
			return true
		}
	}
	return len(p.pins) != 0
}

// Await is for who is about to change the value of a key in place and can wait. When it is false, nobody needs the value as
// it is. Otherwise resume, which may be nil, is called once, under the lock, when it is worth asking again, and whoever
// needs the value is in a hurry.
func (p *Part) Await(db int, k *Key, resume func()) bool {
	if !p.Cutting() {
		return false
	}
	rec, ok := p.Find(db, k)
	if !ok || !rec.Pinnable() {
		return false
	}
	d := p.dbs[db]
	p.beforeChange(d, &d.slots[k.Slot>>shardBits], rec)
	v := p.pins[rec.outside().ref()]
	if v == nil {
		return false
	}
	for _, h := range v.holders {
		if h != nil {
			h.Hurry()
		}
	}
	if resume != nil {
		v.waiting = append(v.waiting, resume)
	}
	return true
}

// settle ends the pins of a record's value, which is about to be changed in place.
func (p *Part) settle(r Rec) {
	if !r.Pinnable() {
		return
	}
	ref := r.outside().ref()
	v := p.pins[ref]
	if v == nil {
		return
	}
	for l, h := range v.holders {
		if h != nil {
			h.Finish()
			p.Unpin(Lane(l), ref)
		}
	}
}

// keepPinned notes that no record has a value any more; false when nobody has pinned it.
func (p *Part) keepPinned(o outside) bool {
	v := p.pins[o.ref()]
	if v == nil {
		return false
	}
	v.left = o
	return true
}

// isPinned says whether somebody reads the value of a record without the lock.
func (p *Part) isPinned(r Rec) bool { return len(p.pins) != 0 && p.pins[r.outside().ref()] != nil }
