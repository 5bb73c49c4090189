package object

import (
	"math"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds changes of sorted sets, and when a listpack becomes a skiplist: with too many members or too long a one.
// There is no way back, but for a set that has no key yet (Compact).

// ZSetEdit is a sorted set that is being changed or made: that of a key, or one that has no key yet. A small one is changed
// as a copy, which Commit puts into the record; a big one is changed where it is.
//
// It is used under the lock of its part from the time it is begun until Commit, PutAt or Discard. A member that is put in
// must not lie in the scratch memory.
type ZSetEdit struct {
	at      Place // Key is nil for a set without a key
	limits  *Limits
	rec     keyspace.Rec // of a set that has a key
	small   []byte
	scratch []byte // where a changed small is, or would be put
	big     ranked
	length  int // of the big one, as the record has it
	longest int // bytes of the longest member that was put in
	isBig   bool
	own     bool // small or big belongs to no record
	changed bool
	emptied bool // all members of a big set are to go: it is freed in slices, with its key
}

// Edit has a zero e begin to change the sorted set that a key has. scratch is memory that may be used; Scratch gives it back.
func (e *ZSetEdit) Edit(at Place, limits *Limits, scratch []byte) {
	r, _ := at.Part.FindForWrite(at.DB, at.Key)
	e.at, e.limits, e.scratch, e.rec = at, limits, scratch, r
	if r.Encoding() == keyspace.EncSkiplist {
		root, _ := r.Root()
		e.big.open(r.Arena(), root)
		e.isBig = true
		e.length = e.big.tree.Len()
	} else {
		e.small = r.Value()
	}
}

// NewZSet begins to make a sorted set, in the encoding that suits a number of members that are expected and the length of
// one of them. at is where Commit puts it.
func NewZSet(at Place, limits *Limits, scratch []byte, expected, longest int) ZSetEdit {
	if int64(expected) > limits.ZSetEntries.Load() || int64(longest) > limits.ZSetValue.Load() {
		return newBigZSet(at, limits, scratch)
	}
	return ZSetEdit{at: at, limits: limits, scratch: scratch, small: listpack.New(scratch[:0]), own: true}
}

func newBigZSet(at Place, limits *Limits, scratch []byte) ZSetEdit {
	return ZSetEdit{at: at, limits: limits, scratch: scratch, big: newRanked(at.Part.Arena()), isBig: true, own: true}
}

// View is the sorted set as it is now, to be read until the next change.
func (e *ZSetEdit) View() ZSet {
	return ZSet{part: e.at.Part, arena: e.at.Part.Arena(), small: e.small, big: e.big, isBig: e.isBig}
}

// Len is the number of members.
func (e *ZSetEdit) Len() int {
	if e.emptied {
		return 0
	}
	if e.isBig {
		return e.big.tree.Len()
	}
	return packLen(e.small)
}

// Scratch is the memory that may be used for something else when the edit is over.
func (e *ZSetEdit) Scratch() []byte {
	if e.own && !e.isBig {
		return e.small
	}
	return e.scratch
}

// Expect makes a skiplist of a set that is about to get more members than a listpack may have.
func (e *ZSetEdit) Expect(members int) {
	if !e.isBig && int64(members) > e.limits.ZSetEntries.Load() {
		e.grow()
	}
}

// AddMode says under which conditions Add does what.
type AddMode uint8

// The modes, which may be combined.
const (
	AddNX   AddMode = 1 << iota // only a member that is not there
	AddXX                       // only a member that is there
	AddGT                       // a member that is there only gets a higher score
	AddLT                       // a member that is there only gets a lower score
	AddIncr                     // a member that is there gets the sum of both scores
)

// Added is what Add has done.
type Added uint8

// The results.
const (
	AddedNothing Added = iota // the mode forbids it
	AddedSame                 // the member has the score already
	AddedNew
	AddedUpdate
	AddedNaN // the sum would be none; nothing is changed
)

// score is which score a member gets that has cur, and what is said of it.
func (m AddMode) score(cur, score float64) (float64, Added) {
	if m&AddNX != 0 {
		return cur, AddedNothing
	}
	if m&AddIncr != 0 {
		score += cur
	}
	switch {
	case math.IsNaN(score):
		return cur, AddedNaN
	case m&AddLT != 0 && score >= cur, m&AddGT != 0 && score <= cur:
		return cur, AddedNothing
	case score == cur:
		return score, AddedSame
	}
	return score, AddedUpdate
}

// Add gives a member a score, which is not NaN. It returns the score that the member has after that.
func (e *ZSetEdit) Add(member []byte, score float64, mode AddMode) (float64, Added) {
	if e.isBig {
		return e.addBig(member, score, mode)
	}
	if pos := packFind(e.small, member); pos != 0 {
		to, what := mode.score(packScore(e.small, pos), score)
		if what == AddedUpdate {
			e.makeOwn()
			e.small = packInsert(listpack.Delete(e.small, pos, 2), member, to)
			e.changed = true
		}
		return to, what
	}
	switch {
	case mode&AddXX != 0:
		return 0, AddedNothing
	case !e.fitsListpack(len(member)):
		e.grow()
		return e.addBig(member, score, mode)
	}
	e.makeOwn()
	e.small = packInsert(e.small, member, score)
	e.changed = true
	return score, AddedNew
}

func (e *ZSetEdit) addBig(member []byte, score float64, mode AddMode) (float64, Added) {
	hash := e.at.Part.HashMember(member)
	var entry table.Entry
	found := true
	if mode&AddXX == 0 {
		var added bool
		entry, added = e.big.table.Put(hash, member, score)
		found = !added
	} else if entry, found = e.big.table.Find(hash, member); !found {
		return 0, AddedNothing
	}
	if !found {
		e.big.tree.Insert(score, entry.Ref())
		e.longest = max(e.longest, len(member))
		e.changed = true
		return score, AddedNew
	}
	to, what := mode.score(entry.Score(), score)
	if what == AddedUpdate {
		e.big.setScore(entry, to)
		e.changed = true
	}
	return to, what
}

// fitsListpack tells whether the listpack may get one member more, of n bytes.
func (e *ZSetEdit) fitsListpack(n int) bool {
	return int64(packLen(e.small)) < e.limits.ZSetEntries.Load() && int64(n) <= e.limits.ZSetValue.Load() && listpack.MayGrow(e.small, n)
}

// grow makes a skiplist of a small set.
func (e *ZSetEdit) grow() {
	small := e.View()
	big := newRanked(e.at.Part.Arena())
	var digits [intTextMax]byte
	small.Each(func(m Member, score float64) bool {
		text := m.Text(digits[:0])
		big.insert(e.at.Part.HashMember(text), text, score)
		e.longest = max(e.longest, len(text))
		return true
	})
	e.scratch = e.Scratch()
	e.big, e.isBig, e.own, e.small, e.changed = big, true, true, nil, true
}

// makeOwn copies a small set out of its record.
func (e *ZSetEdit) makeOwn() {
	if !e.own {
		e.small = append(e.scratch[:0], e.small...)
		e.own = true
	}
}

// Remove removes a member; false when it was not there.
func (e *ZSetEdit) Remove(member []byte) (removed bool) {
	if e.isBig {
		removed = e.big.remove(e.at.Part.HashMember(member), member)
		e.changed = e.changed || removed
		return removed
	}
	pos := packFind(e.small, member)
	if pos == 0 {
		return false
	}
	e.makeOwn()
	e.small = listpack.Delete(e.small, pos, 2)
	e.changed = true
	return true
}

// RemoveRange removes the members with the ranks from low to high, without high. When all are removed, Commit has to follow.
func (e *ZSetEdit) RemoveRange(low, high int) {
	if low >= high {
		return
	}
	e.changed = true
	if !e.isBig {
		e.makeOwn()
		e.small = listpack.Delete(e.small, listpack.Seek(e.small, 2*low), 2*(high-low))
		return
	}
	if !e.own && high-low == e.big.tree.Len() {
		e.emptied = true
		return
	}
	e.big.tree.DeleteRange(low, high, func(refs []mem.Ref) { e.big.table.DeleteScored(refs, e.at.Part.HashMember) })
}

// Compact makes a listpack of a skiplist that has no key yet, when its members are few and short.
func (e *ZSetEdit) Compact() {
	if !e.isBig || !e.own || int64(e.Len()) > e.limits.ZSetEntries.Load() || int64(e.longest) > e.limits.ZSetValue.Load() {
		return
	}
	if bytes := int64(e.Len()) * int64(e.longest+scoreTextMax); bytes > listpack.BytesMax {
		return
	}
	z := e.View()
	e.small = listpack.New(e.scratch[:0])
	z.Each(func(m Member, score float64) bool {
		e.small = packAppend(e.small, m.Str, score)
		return true
	})
	e.Discard()
	e.isBig = false
}

// Commit gives the key what the set has become; a key whose set is empty is removed. It returns how many members there are.
func (e *ZSetEdit) Commit() (members int) {
	n := e.Len()
	switch {
	case !e.changed:
		e.Discard()
	case e.emptied:
		e.at.Part.Delete(e.at.DB, e.at.Key)
	case e.isBig && !e.own:
		e.big.save()
		if n != e.length {
			e.rec.SetRoot(e.big.root, uint64(n))
		}
		if n == 0 {
			e.at.Part.Delete(e.at.DB, e.at.Key)
		}
	default:
		e.PutAt(e.at, e.expireAt())
	}
	return n
}

// expireAt is when the key that the set has expires.
func (e *ZSetEdit) expireAt() int64 {
	if e.rec.Arena() == nil {
		return 0
	}
	return e.rec.ExpireAt()
}

// PutAt sets a key of the same part to the set, which belongs to no record; an empty set removes the key.
func (e *ZSetEdit) PutAt(at Place, expireAt int64) {
	n := e.Len()
	switch {
	case n == 0:
		e.Discard()
		at.Part.Delete(at.DB, at.Key)
	case e.isBig:
		e.big.save()
		at.Part.PutRoot(at.DB, at.Key, keyspace.TypeZSet, keyspace.EncSkiplist, e.big.root, uint64(n), expireAt)
	default:
		at.Part.PutInline(at.DB, at.Key, keyspace.TypeZSet, keyspace.EncListpack, e.small, expireAt)
	}
}

// Discard gives up a set that is not to be kept.
func (e *ZSetEdit) Discard() {
	if !e.own || !e.isBig {
		return
	}
	e.big.save()
	for done := false; !done; {
		_, done = freeRanked(e.at.Part.Arena(), e.big.root, dropAll)
	}
}
