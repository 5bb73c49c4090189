package object

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds changes of hashes, and when a hash goes over from one encoding to another:
//
//	listpack ── a field that expires ── listpackex ──┐
//	       └─ too many fields, or too long a field or value ── hashtable
//
// There is no way back.

// HashEdit is a hash that is being changed or made: that of a key, or one that has no key yet. A small hash is changed as
// a copy, which Commit puts into the record, unless the change fits where the old value lies; the table of a big one is
// changed where it is.
//
// It is used under the lock of its part from the time it is begun until Commit, PutAt or Discard.
type HashEdit struct {
	at       Place
	limits   *Limits
	hash     Hash
	scratch  []byte       // where a changed listpack is, or would be put
	record   keyspace.Rec // of the key; of use while nothing but a table is changed
	length   int          // of the table, as the record has it
	mark     int64        // when the hash is scheduled
	expireAt int64        // of the key
	own      bool         // the listpack, or the table, belongs to no record
	changed  bool
}

// EditHash begins to change the hash that a key has. scratch is memory that may be used; Scratch gives it back.
func EditHash(at Place, limits *Limits, scratch []byte) (e HashEdit) {
	r, _ := at.Part.Find(at.DB, at.Key)
	e.EditFound(at, r, limits, scratch)
	return e
}

// EditFound makes a zero e what EditHash returns, for a key whose record was found just now.
func (e *HashEdit) EditFound(at Place, r keyspace.Rec, limits *Limits, scratch []byte) {
	at.Part.HandOver(at.DB, at.Key, r)
	e.at, e.limits, e.record, e.scratch, e.mark, e.expireAt = at, limits, r, scratch, keyspace.NotDue, r.ExpireAt()
	e.hash.Open(at.Part, r)
	switch e.hash.enc {
	case keyspace.EncHashtable:
		e.length, e.mark = e.hash.table.Len(), e.hash.table.Mark()
	case keyspace.EncListpackEx:
		e.mark = markOf(r)
	}
}

// NewHash begins to make a hash; at is where Commit puts it.
func NewHash(at Place, limits *Limits, scratch []byte) HashEdit {
	e := HashEdit{at: at, limits: limits, scratch: scratch, mark: keyspace.NotDue, own: true}
	e.hash = Hash{part: at.Part, small: listpack.New(scratch[:0]), enc: keyspace.EncListpack}
	return e
}

// View is the hash as it is now, to be read until the next change.
func (e *HashEdit) View() *Hash { return &e.hash }

// Len is the number of fields.
func (e *HashEdit) Len() int { return e.hash.Len() }

// Scratch is the memory that may be used for something else when the edit is over.
func (e *HashEdit) Scratch() []byte {
	if e.own && e.hash.enc != keyspace.EncHashtable {
		return e.hash.small
	}
	return e.scratch
}

// Expect makes a hashtable of a small hash that cannot take the given fields and values, which alternate.
func (e *HashEdit) Expect(pairs [][]byte) {
	if e.hash.enc == keyspace.EncHashtable {
		return
	}
	sum, longest := 0, int(e.limits.HashValue.Load())
	for _, b := range pairs {
		if len(b) > longest {
			e.toTable(0)
			return
		}
		sum += len(b)
	}
	if n := len(pairs) / 2; int64(n) > e.limits.HashEntries.Load() || !listpack.MayGrow(e.hash.small, sum) {
		e.toTable(n)
	}
}

// Set gives a field a value, and an expiry unless it is 0; added is false when the field was there.
func (e *HashEdit) Set(name, value []byte, expireAt int64) (added bool) {
	if e.hash.enc != keyspace.EncHashtable {
		if longest := int(e.limits.HashValue.Load()); len(name) > longest || len(value) > longest ||
			!listpack.MayGrow(e.hash.small, len(name)+len(value)) {
			e.toTable(0)
		}
	}
	e.changed = true
	if e.hash.enc == keyspace.EncHashtable {
		return e.hash.table.Set(e.at.Part.HashMember(name), name, value, expireAt)
	}
	if expireAt != 0 {
		e.widen()
	}
	if pos := e.hash.find(name); pos != 0 {
		e.replace(listpack.Next(e.hash.small, pos), value, expireAt)
		return false
	}
	e.makeOwn()
	e.hash.small = listpack.Append(listpack.Append(e.hash.small, name), value)
	if e.hash.enc == keyspace.EncListpackEx {
		e.hash.small = listpack.AppendInt(e.hash.small, expireAt)
	}
	if int64(e.Len()) > e.limits.HashEntries.Load() {
		e.toTable(0)
	}
	return true
}

// replace puts another value at a position of the listpack, with an expiry.
func (e *HashEdit) replace(pos int, value []byte, expireAt int64) {
	if e.hash.enc == keyspace.EncListpack && listpack.EncodedSize(value) == listpack.ElemSize(e.hash.small, pos) {
		e.hash.small = listpack.Replace(e.hash.small, pos, value) // even where it lies in the record
		return
	}
	e.makeOwn()
	e.hash.small = listpack.Replace(e.hash.small, pos, value)
	if e.hash.enc == keyspace.EncListpackEx {
		e.hash.small = listpack.ReplaceInt(e.hash.small, listpack.Next(e.hash.small, pos), expireAt)
	}
}

// SetExpire makes a field expire, or never with 0; false when it is not there.
func (e *HashEdit) SetExpire(name []byte, expireAt int64) bool {
	if e.hash.enc == keyspace.EncHashtable {
		f, found := e.hash.Get(name)
		if found {
			e.hash.table.Set(e.at.Part.HashMember(name), name, f.Value.Str, expireAt)
			e.changed = true
		}
		return found
	}
	if e.hash.find(name) == 0 {
		return false
	}
	e.widen()
	e.makeOwn()
	pos := e.hash.find(name)
	pos = listpack.Next(e.hash.small, listpack.Next(e.hash.small, pos))
	e.hash.small = listpack.ReplaceInt(e.hash.small, pos, expireAt)
	e.changed = true
	return true
}

// Delete removes a field; false when it is not there.
func (e *HashEdit) Delete(name []byte) bool {
	if e.hash.enc == keyspace.EncHashtable {
		if !e.hash.table.Delete(e.at.Part.HashMember(name), name) {
			return false
		}
		e.changed = true
		return true
	}
	pos := e.hash.find(name)
	if pos == 0 {
		return false
	}
	e.makeOwn()
	e.hash.small = listpack.Delete(e.hash.small, pos, e.hash.width())
	e.changed = true
	return true
}

// makeOwn copies a listpack out of its record.
func (e *HashEdit) makeOwn() {
	if !e.own {
		e.hash.small = append(e.scratch[:0], e.hash.small...)
		e.own = true
	}
}

// widen gives the fields of a listpack room for an expiry.
func (e *HashEdit) widen() {
	if e.hash.enc != keyspace.EncListpack {
		return
	}
	narrow := e.hash
	wide := listpack.New(make([]byte, 0, len(narrow.small)+2*narrow.Len()+markBytes))
	var digits [intTextMax]byte
	narrow.Each(func(f Field) bool {
		wide = listpack.Append(wide, f.Name.Text(digits[:0]))
		wide = listpack.Append(wide, f.Value.Text(digits[:0]))
		wide = listpack.AppendInt(wide, 0)
		return true
	})
	e.scratch = e.Scratch()
	e.hash.enc, e.hash.small, e.own, e.changed = keyspace.EncListpackEx, wide, true, true
}

// toTable makes a hashtable of a small hash that is about to get some more fields.
func (e *HashEdit) toTable(more int) {
	small := e.hash
	t := newHashTable(e.at.Part.Arena(), small.Len()+more)
	var name, value [intTextMax]byte
	small.Each(func(f Field) bool {
		text := f.Name.Text(name[:0])
		t.Set(e.at.Part.HashMember(text), text, f.Value.Text(value[:0]), f.ExpireAt)
		return true
	})
	e.scratch = e.Scratch()
	e.hash = Hash{part: e.at.Part, table: t, enc: keyspace.EncHashtable}
	e.own, e.changed = true, true
}

func newHashTable(a *mem.Arena, fields int) table.Table {
	t := table.Open(a, table.New(a, mem.ForHash, table.Fields))
	t.Reserve(fields)
	return t
}

// Commit gives the key what the hash has become; a key whose hash is empty is removed. It returns how many fields there
// are.
func (e *HashEdit) Commit() (fields int) {
	n := e.Len()
	switch {
	case !e.changed:
		e.Discard()
	case e.own || n == 0:
		e.PutAt(e.at, e.expireAt)
	case e.hash.enc == keyspace.EncHashtable:
		if n != e.length {
			e.record.SetRoot(e.hash.table.Root(), uint64(n))
		}
		due := e.due()
		e.hash.table.SetMark(due)
		e.schedule(e.at, due)
	}
	return n
}

// PutAt sets a key of the same part to the hash; an empty hash removes the key.
func (e *HashEdit) PutAt(at Place, expireAt int64) {
	n, due := e.Len(), e.due()
	switch {
	case n == 0:
		e.Discard()
		at.Part.Delete(at.DB, at.Key)
		return
	case e.hash.enc == keyspace.EncHashtable:
		e.hash.table.SetMark(due)
		at.Part.PutRoot(at.DB, at.Key, keyspace.TypeHash, e.hash.enc, e.hash.table.Root(), uint64(n), expireAt)
	case e.hash.enc == keyspace.EncListpackEx:
		e.hash.small = binary.LittleEndian.AppendUint64(e.hash.small, uint64(due))
		at.Part.PutInline(at.DB, at.Key, keyspace.TypeHash, e.hash.enc, e.hash.small, expireAt)
	default:
		at.Part.PutInline(at.DB, at.Key, keyspace.TypeHash, e.hash.enc, e.hash.small, expireAt)
	}
	e.schedule(at, due)
}

// due is when the hash is scheduled once the change is made: sooner than before if a field expires sooner.
func (e *HashEdit) due() int64 { return min(e.mark, e.hash.NextExpiry()) }

// schedule says that the hash, which is at its place, is due at a time, unless it is known already.
func (e *HashEdit) schedule(at Place, due int64) {
	if due < e.mark {
		at.Part.Schedule(at.Key, due)
	}
}

// Discard gives up a hash that is not to be kept.
func (e *HashEdit) Discard() {
	if !e.own || e.hash.enc != keyspace.EncHashtable {
		return
	}
	for done := false; !done; {
		_, done = e.hash.table.Free(dropAll)
	}
}
