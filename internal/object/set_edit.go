package object

import (
	"math"
	"slices"

	"github.com/covey-db/covey/internal/enc/intset"
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/num"
)

// This file holds changes of sets, and when a set goes over from one encoding to another:
//
//	intset ── a member that is no number ── listpack ── too many members, or too long a one ── hashtable
//	       └─ too many members, or both of what is to the right ──────────────────────────────┘
//
// There is no way back.

// intsetMax bounds the members of an intset, whatever is configured.
const intsetMax = 1 << 30

// SetEdit is a set that is being changed or made: that of a key, or one that has no key yet. The set of a key is changed
// where it is, in the record or in its table, as long as it keeps its encoding; Commit does the rest.
//
// It is used under the lock of its part from the time it is begun until Commit, PutAt or Discard.
type SetEdit struct {
	at       Place        // Key is nil for a set without a key
	rec      keyspace.Rec // of the key, if it has a table
	limits   *Limits
	small    []byte // listpack or intset
	scratch  []byte // where small is put when it belongs to no record
	table    table.Table
	length   int   // of the table, as the record has it
	expected int   // members that a table of a small set is to have room for
	expireAt int64 // of the key
	enc      keyspace.Encoding
	own      bool // small, or the table, belongs to no record
	changed  bool
}

// Open begins to change the set of a record that was just found. scratch is memory that may be used; Scratch gives it back.
func (e *SetEdit) Open(at Place, r keyspace.Rec, limits *Limits, scratch []byte) {
	r = at.Part.ForWrite(at.DB, at.Key, r)
	*e = SetEdit{at: at, rec: r, limits: limits, scratch: scratch, enc: r.Encoding(), expireAt: r.ExpireAt()}
	if e.enc == keyspace.EncHashtable {
		root, _ := r.Root()
		e.table = table.Open(r.Arena(), root)
		e.length = e.table.Len()
	} else {
		e.small = r.Value()
	}
}

// Begin begins to make a set, in the encoding that suits the first member and the number of members that are expected.
// at is where Commit puts it.
func (e *SetEdit) Begin(at Place, limits *Limits, scratch, first []byte, expected int) {
	_, isInt := num.ParseInt(first)
	switch n := int64(expected); {
	case isInt && n <= limits.SetIntset.Load():
		e.BeginAs(keyspace.EncIntset, at, limits, scratch)
	case n <= limits.SetEntries.Load():
		e.BeginAs(keyspace.EncListpack, at, limits, scratch)
	default:
		e.BeginAs(keyspace.EncHashtable, at, limits, scratch)
	}
}

// BeginAs begins to make a set in an encoding.
func (e *SetEdit) BeginAs(enc keyspace.Encoding, at Place, limits *Limits, scratch []byte) {
	*e = SetEdit{at: at, limits: limits, scratch: scratch, enc: enc, own: true}
	switch enc {
	case keyspace.EncIntset:
		e.small = intset.New(scratch[:0])
	case keyspace.EncListpack:
		e.small = listpack.New(scratch[:0])
	default:
		e.table = e.newTable()
	}
}

func (e *SetEdit) newTable() table.Table {
	a := e.at.Part.Arena()
	return table.Open(a, table.New(a, mem.ForSet, table.Members))
}

// View is the set as it is now, to be read until the next change.
func (e *SetEdit) View() Set { return Set{part: e.at.Part, small: e.small, table: e.table, enc: e.enc} }

// Len is the number of members.
func (e *SetEdit) Len() int {
	switch e.enc {
	case keyspace.EncIntset:
		return intset.Len(e.small)
	case keyspace.EncListpack:
		return listpack.Len(e.small)
	}
	return e.table.Len()
}

// Encoding is how the set is held now.
func (e *SetEdit) Encoding() keyspace.Encoding { return e.enc }

// ExpireAt is when the key expires that the set was read from; 0 is never.
func (e *SetEdit) ExpireAt() int64 { return e.expireAt }

// Scratch is the memory that may be used for something else when the edit is over.
func (e *SetEdit) Scratch() []byte {
	if e.own && e.enc != keyspace.EncHashtable {
		return e.small
	}
	return e.scratch
}

// Expect makes a hashtable of a set that is about to get more members than its encoding may have.
func (e *SetEdit) Expect(members int) {
	n := int64(members)
	if e.enc == keyspace.EncListpack && n > e.limits.SetEntries.Load() || e.enc == keyspace.EncIntset && n > e.limits.SetIntset.Load() {
		e.toTable()
	}
}

// Add adds a member; false when it was there already.
func (e *SetEdit) Add(text []byte) (added bool) {
	switch e.enc {
	case keyspace.EncIntset:
		if v, ok := num.ParseInt(text); ok {
			return e.addToIntset(v)
		}
		e.leaveIntset(len(text))
		return e.Add(text)
	case keyspace.EncListpack:
		if listpack.Find(e.small, listpack.First(e.small), 0, text) != 0 {
			return false
		}
		if !e.fitsListpack(len(text)) {
			e.toTable()
			return e.Add(text)
		}
		e.small = listpack.Append(e.room(len(e.small)+listpack.EncodedSize(text)), text)
	default:
		if !e.table.Add(e.at.Part.HashMember(text), text) {
			return false
		}
	}
	e.changed = true
	return true
}

// AddMember is Add for a member of another set.
func (e *SetEdit) AddMember(m Member) (added bool) {
	if m.IsInt() && e.enc == keyspace.EncIntset {
		return e.addToIntset(m.Int)
	}
	var digits [intTextMax]byte
	return e.Add(m.Text(digits[:0]))
}

// AddNew is AddMember for one that is known not to be there.
func (e *SetEdit) AddNew(m Member) {
	var digits [intTextMax]byte
	if e.enc == keyspace.EncListpack {
		if text := m.Text(digits[:0]); e.fitsListpack(len(text)) {
			e.small = listpack.Append(e.room(len(e.small)+listpack.EncodedSize(text)), text)
			e.changed = true
			return
		}
	}
	e.AddMember(m)
}

func (e *SetEdit) addToIntset(v int64) (added bool) {
	if intset.Contains(e.small, v) {
		return false
	}
	e.small, _ = intset.Add(e.room(intset.SizeWith(e.small, v)), v)
	e.changed = true
	if n := int64(intset.Len(e.small)); n > min(e.limits.SetIntset.Load(), intsetMax) {
		e.toTable()
	}
	return true
}

// fitsListpack tells whether the listpack may get one member more, of n bytes.
func (e *SetEdit) fitsListpack(n int) bool {
	return int64(listpack.Len(e.small)) < e.limits.SetEntries.Load() && int64(n) <= e.limits.SetValue.Load() && listpack.MayGrow(e.small, n)
}

// leaveIntset makes room for a member of n bytes that is no number.
func (e *SetEdit) leaveIntset(n int) {
	count, longest := intset.Len(e.small), 0
	if count > 0 {
		longest = max(Member{Int: intset.At(e.small, 0)}.Len(), Member{Int: intset.At(e.small, count-1)}.Len())
	}
	if int64(count) >= e.limits.SetEntries.Load() || int64(max(n, longest)) > e.limits.SetValue.Load() ||
		count*listpack.EncodedIntSize(math.MaxInt64)+n > listpack.BytesMax {
		e.toTable()
		return
	}
	numbers := e.small
	lp := listpack.New(make([]byte, 0, 64))
	for i := range count {
		lp = listpack.AppendInt(lp, intset.At(numbers, i))
	}
	e.small = append(e.buffer(), lp...)
	e.enc, e.own, e.changed = keyspace.EncListpack, true, true
}

// toTable makes a hashtable of a small set.
func (e *SetEdit) toTable() {
	small := e.View()
	e.table = e.newTable()
	e.table.Reserve(max(small.Len()+1, e.expected))
	small.EachText(func(text []byte) bool {
		e.table.Add(e.at.Part.HashMember(text), text)
		return true
	})
	e.scratch = e.Scratch()
	e.enc, e.own, e.small, e.changed = keyspace.EncHashtable, true, nil, true
}

// MaybeToIntset makes an intset of a set without a key whose members are all numbers, unless there are too many.
func (e *SetEdit) MaybeToIntset() {
	s := e.View()
	if e.enc == keyspace.EncIntset || int64(s.Len()) > min(e.limits.SetIntset.Load(), intsetMax) || !s.isNumbers() {
		return
	}
	numbers := make([]int64, 0, s.Len())
	s.EachText(func(text []byte) bool {
		v, _ := num.ParseInt(text)
		numbers = append(numbers, v)
		return true
	})
	slices.Sort(numbers) // so that each one is added at the end
	small := intset.New(e.Scratch()[:0])
	for _, v := range numbers {
		small, _ = intset.Add(small, v)
	}
	e.Discard()
	e.enc, e.small = keyspace.EncIntset, small
}

// room is a small set where it can grow to size bytes, which it is about to do.
func (e *SetEdit) room(size int) []byte {
	if e.own {
		return e.small
	}
	b := e.at.Part.Writable(e.at.DB, e.at.Key, size, true)
	return b[:len(e.small):size]
}

// shrunk takes a small set that lost members.
func (e *SetEdit) shrunk(small []byte) {
	if !e.own {
		small = e.at.Part.Writable(e.at.DB, e.at.Key, len(small), false)
	}
	e.small, e.changed = small, true
}

// buffer is where a small set may be written to.
func (e *SetEdit) buffer() []byte {
	if e.own {
		return e.small[:0]
	}
	return e.scratch[:0]
}

// Remove removes a member; false when it was not there.
func (e *SetEdit) Remove(text []byte) (removed bool) {
	switch e.enc {
	case keyspace.EncIntset:
		v, ok := num.ParseInt(text)
		return ok && e.removeFromIntset(v)
	case keyspace.EncListpack:
		pos := listpack.Find(e.small, listpack.First(e.small), 0, text)
		if pos == 0 {
			return false
		}
		e.shrunk(listpack.Delete(e.small, pos, 1))
	default:
		if !e.table.Delete(e.at.Part.HashMember(text), text) {
			return false
		}
		e.changed = true
	}
	return true
}

// RemoveMember is Remove for a member of this or another set.
func (e *SetEdit) RemoveMember(m Member) (removed bool) {
	if m.IsInt() && e.enc == keyspace.EncIntset {
		return e.removeFromIntset(m.Int)
	}
	var digits [intTextMax]byte
	return e.Remove(m.Text(digits[:0]))
}

func (e *SetEdit) removeFromIntset(v int64) bool {
	i, found := intset.Find(e.small, v)
	if !found {
		return false
	}
	e.shrunk(intset.Delete(e.small, i))
	return true
}

// Commit gives the key what the set has become; a key whose set is empty is removed. It returns how many members there are.
func (e *SetEdit) Commit() (members int) {
	n := e.Len()
	switch {
	case !e.changed:
		e.Discard()
	case !e.own:
		e.commitInPlace(n)
	default:
		e.PutAt(e.at, e.expireAt)
	}
	return n
}

// commitInPlace is Commit for what the record has already.
func (e *SetEdit) commitInPlace(n int) {
	if e.enc == keyspace.EncHashtable && n != e.length {
		e.rec.SetRoot(e.table.Root(), uint64(n))
	}
	if n == 0 {
		e.at.Part.Delete(e.at.DB, e.at.Key)
	}
}

// PutAt sets a key of the same part to the set, which belongs to no record; an empty set removes the key.
func (e *SetEdit) PutAt(at Place, expireAt int64) {
	n := e.Len()
	switch {
	case n == 0:
		e.Discard()
		at.Part.Delete(at.DB, at.Key)
	case e.enc == keyspace.EncHashtable:
		at.Part.PutRoot(at.DB, at.Key, keyspace.TypeSet, e.enc, e.table.Root(), uint64(n), expireAt)
	default:
		at.Part.PutInline(at.DB, at.Key, keyspace.TypeSet, e.enc, e.small, expireAt)
	}
}

// Discard gives up a set that is not to be kept.
func (e *SetEdit) Discard() {
	if e.own && e.enc == keyspace.EncHashtable {
		e.at.Part.DropRoot(keyspace.TypeSet, e.enc, e.table.Root(), uint64(e.table.Len()))
	}
}
