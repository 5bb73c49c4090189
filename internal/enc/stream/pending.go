package stream

import "github.com/covey-db/covey/internal/mem"

// This file holds the entries that were delivered to a consumer and are not acknowledged.

// Pending is a view of one of them, valid until one is added to or taken from its group.
type Pending struct{ words []uint64 }

// DeliveredAt is when it was delivered last, in milliseconds.
func (p Pending) DeliveredAt() int64 { return int64(p.words[0]) }

// SetDeliveredAt sets it.
func (p Pending) SetDeliveredAt(ms int64) { p.words[0] = uint64(ms) }

// Deliveries is how many times it was delivered.
func (p Pending) Deliveries() int64 { return int64(p.words[1]) }

// SetDeliveries sets it.
func (p Pending) SetDeliveries(n int64) { p.words[1] = uint64(n) }

// Owner is the consumer it was delivered to; false only while a group is being built.
func (g Group) Owner(p Pending) (Consumer, bool) {
	if p.words[2] == 0 {
		return Consumer{}, false
	}
	return g.consumer(mem.Ref(p.words[2])), true
}

// Pending finds a pending entry.
func (g Group) Pending(id ID) (Pending, bool) {
	v, ok := g.pending().find(id)
	return Pending{v}, ok
}

// AddPending makes a pending entry that nobody owns, or finds the one that is there.
func (g Group) AddPending(id ID) (p Pending, added bool) {
	v, added := g.pending().put(id)
	if added {
		clear(v)
	}
	return Pending{v}, added
}

// Give makes a consumer the owner of a pending entry. The views of pending entries stay valid.
func (g Group) Give(id ID, p Pending, to Consumer) {
	if from, ok := g.Owner(p); ok {
		if from.Is(to) {
			return
		}
		from.owned().remove(id)
	}
	to.owned().put(id)
	p.words[2] = uint64(to.ref)
}

// Ack takes a pending entry away; false when it is not there.
func (g Group) Ack(id ID) bool {
	p, ok := g.Pending(id)
	if !ok {
		return false
	}
	if owner, ok := g.Owner(p); ok {
		owner.owned().remove(id)
	}
	return g.pending().remove(id)
}

// PendingIter walks over pending entries. It is valid until one is added or taken away.
type PendingIter struct {
	ID ID // of the entry

	t    tree
	next place
	all  *tree // of the group, where a consumer's are looked up; nil when t is that
	v    []uint64
}

// PendingFrom walks over the pending entries of a group, from an ID on.
func (g Group) PendingFrom(from ID) PendingIter {
	t := g.pending()
	return PendingIter{t: t, next: t.seek(from)}
}

// OwnedFrom walks over the pending entries of a consumer, from an ID on.
func (g Group) OwnedFrom(c Consumer, from ID) PendingIter {
	all, t := g.pending(), c.owned()
	return PendingIter{t: t, next: t.seek(from), all: &all}
}

// Next goes to the next entry; false when there is none.
func (it *PendingIter) Next() bool {
	if !it.next.ok() {
		return false
	}
	it.ID, it.v = it.t.at(it.next)
	it.next = it.t.next(it.next)
	return true
}

// Pending is the entry.
func (it *PendingIter) Pending() Pending {
	if it.all != nil {
		v, _ := it.all.find(it.ID)
		return Pending{v}
	}
	return Pending{it.v}
}

// LastPending is the greatest ID that is pending; false when there is none.
func (g Group) LastPending() (ID, bool) {
	t := g.pending()
	p := t.last()
	if !p.ok() {
		return ID{}, false
	}
	id, _ := t.at(p)
	return id, true
}
