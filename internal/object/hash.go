package object

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds what can be read of a hash, whatever its encoding.
//
//	listpack     field, value, field, value...
//	listpackex   field, value, expiry, field... and behind the listpack 8 bytes: when the hash is scheduled
//	hashtable    enc/table, which has the expiries and when the hash is scheduled
//
// A hash gets the second form with the first field that is made to expire, and keeps it. An expiry of 0 is none.

// markBytes is the length of what follows the listpack of a hash whose fields may expire.
const markBytes = 8

// Field is a field of a hash with its value and, in milliseconds, its expiry; 0 is never. What it points to lives until
// the part is changed.
type Field struct {
	Name, Value listpack.Elem
	ExpireAt    int64
}

// Hash is a hash as it is read. The zero value is an empty one. It lives until the part is changed.
type Hash struct {
	part  *keyspace.Part
	small []byte // listpack
	table table.Table
	enc   keyspace.Encoding
}

// OpenHash is the hash of a record of the given part, which may be nil as long as no field is asked for by its name.
func OpenHash(p *keyspace.Part, r keyspace.Rec) (h Hash) {
	h.Open(p, r)
	return h
}

// Open makes a zero h what OpenHash returns: one that is read often is opened in its place, as it is too large to be handed about
// in registers.
func (h *Hash) Open(p *keyspace.Part, r keyspace.Rec) {
	h.part, h.enc = p, r.Encoding()
	switch h.enc {
	case keyspace.EncHashtable:
		root, _ := r.Root()
		h.table.Open(r.Arena(), root)
	case keyspace.EncListpackEx:
		value := r.Value()
		h.small = value[: len(value)-markBytes : len(value)-markBytes]
	default:
		h.small = r.Value()
	}
}

// width is how many elements of the listpack belong to a field.
func (h *Hash) width() int {
	if h.enc == keyspace.EncListpackEx {
		return 3
	}
	return 2
}

// Encoding is how the hash is held.
func (h *Hash) Encoding() keyspace.Encoding { return h.enc }

// Len is the number of fields, those whose time is over included.
func (h *Hash) Len() int {
	switch {
	case h.enc == keyspace.EncHashtable:
		return h.table.Len()
	case h.small == nil:
		return 0
	}
	return listpack.Len(h.small) / h.width()
}

// Get looks a field up.
func (h *Hash) Get(name []byte) (f Field, found bool) {
	if h.enc == keyspace.EncHashtable {
		e, found := h.table.Find(h.part.HashMember(name), name)
		if !found {
			return f, false
		}
		return fieldOf(e), true
	}
	pos := h.find(name)
	if pos == 0 {
		return f, false
	}
	f, _ = h.at(pos)
	return f, true
}

// Value is the value of a field and its expiry.
func (h *Hash) Value(name []byte) (value Elem, expireAt int64, found bool) {
	if h.enc == keyspace.EncHashtable {
		value, expireAt, found := h.table.Value(h.part.HashMember(name), name)
		return Elem{Str: value}, expireAt, found
	}
	pos := h.find(name)
	if pos == 0 {
		return Elem{}, 0, false
	}
	pos = listpack.Next(h.small, pos)
	value = listpack.Get(h.small, pos)
	if h.enc == keyspace.EncListpackEx {
		expireAt = listpack.Get(h.small, listpack.Next(h.small, pos)).Int
	}
	return value, expireAt, true
}

// find is the position of a field in the listpack, 0 if it is not there.
func (h *Hash) find(name []byte) (pos int) {
	if h.small == nil {
		return 0
	}
	return listpack.Find(h.small, listpack.First(h.small), h.width()-1, name)
}

// at is the field at a position of the listpack, and where the next one is.
func (h *Hash) at(pos int) (f Field, next int) {
	f.Name = listpack.Get(h.small, pos)
	pos = listpack.Next(h.small, pos)
	f.Value = listpack.Get(h.small, pos)
	if h.enc == keyspace.EncListpackEx {
		pos = listpack.Next(h.small, pos)
		f.ExpireAt = listpack.Get(h.small, pos).Int
	}
	return f, listpack.Next(h.small, pos)
}

func fieldOf(e table.Entry) Field {
	return Field{listpack.Elem{Str: e.Member()}, listpack.Elem{Str: e.Value()}, e.ExpireAt()}
}

// Each calls fn for all fields until it returns false: in the order in which they came in a small hash, in no order
// otherwise. fn must not change the part.
func (h *Hash) Each(fn func(Field) bool) {
	if h.enc == keyspace.EncHashtable {
		h.table.Each(func(e table.Entry) bool { return fn(fieldOf(e)) })
		return
	}
	if h.small == nil {
		return
	}
	for pos := listpack.First(h.small); pos != 0; {
		var f Field
		if f, pos = h.at(pos); !fn(f) {
			return
		}
	}
}

// Live is the number of fields whose time is not over.
func (h *Hash) Live(now int64) int {
	n := h.Len()
	if h.NextExpiry() > now {
		return n
	}
	h.Each(func(f Field) bool {
		if f.IsPast(now) {
			n--
		}
		return true
	})
	return n
}

// IsPast tells whether a field with such an expiry has had its time.
func IsPast(expireAt, now int64) bool { return expireAt != 0 && expireAt <= now }

// IsPast tells whether the field's time is over.
func (f *Field) IsPast(now int64) bool { return IsPast(f.ExpireAt, now) }

// NextExpiry is a time, in milliseconds, before which no field expires; keyspace.NotDue when none does.
func (h *Hash) NextExpiry() int64 {
	switch h.enc {
	case keyspace.EncHashtable:
		return h.table.NextExpiry()
	case keyspace.EncListpackEx:
		soonest := keyspace.NotDue
		h.Each(func(f Field) bool {
			if f.ExpireAt != 0 {
				soonest = min(soonest, f.ExpireAt)
			}
			return true
		})
		return soonest
	}
	return keyspace.NotDue
}

// Random is a field chosen by chance. The hash must not be empty.
func (h *Hash) Random(d *table.Dice) Field {
	if h.enc == keyspace.EncHashtable {
		return fieldOf(h.table.Random(d))
	}
	f, _ := h.at(listpack.Seek(h.small, h.width()*int(d.Below(uint64(h.Len())))))
	return f
}

// Sample calls fn for n fields chosen by chance, none twice, in no order. n is at most the number of fields.
func (h *Hash) Sample(d *table.Dice, n int, fn func(Field)) {
	if h.enc == keyspace.EncHashtable && h.Len() >= sampleRatio*n {
		seen := make(map[mem.Ref]struct{}, n)
		for len(seen) < n {
			e := h.table.Random(d)
			if _, again := seen[e.Ref()]; !again {
				seen[e.Ref()] = struct{}{}
				fn(fieldOf(e))
			}
		}
		return
	}
	left := h.Len()
	h.Each(func(f Field) bool {
		if d.Below(uint64(left)) < uint64(n) {
			fn(f)
			n--
		}
		left--
		return n > 0
	})
}

// Scan calls fn for about count fields from the cursor on, and returns the cursor to go on with, 0 at the end. A small hash
// is done at once. A field that is there from the first call to the last is met, whatever happens between.
func (h *Hash) Scan(cursor uint64, count int, fn func(Field)) (next uint64) {
	if h.enc == keyspace.EncHashtable {
		return h.table.Scan(cursor, count, func(e table.Entry) { fn(fieldOf(e)) })
	}
	h.Each(func(f Field) bool {
		fn(f)
		return true
	})
	return 0
}

// DueAt implements keyspace.Dropper: hashes know for which time they are scheduled.
func (d *Dropper) DueAt(r keyspace.Rec) int64 {
	if r.Type() != keyspace.TypeHash {
		return keyspace.NotDue
	}
	switch r.Encoding() {
	case keyspace.EncHashtable:
		root, _ := r.Root()
		t := table.Open(d.arena, root)
		return t.Mark()
	case keyspace.EncListpackEx:
		return markOf(r)
	}
	return keyspace.NotDue
}

// markOf is the time that a small hash whose fields may expire is scheduled for.
func markOf(r keyspace.Rec) int64 {
	value := r.Value()
	return int64(binary.LittleEndian.Uint64(value[len(value)-markBytes:]))
}
