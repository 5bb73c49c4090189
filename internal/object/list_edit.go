package object

import (
	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/keyspace"
)

// This file holds changes of lists. A list is a listpack as long as that is within the limit of a node; it becomes a
// quicklist before an element is added that might be too much, and a listpack again when one node is left that has no more
// than half of what is allowed.

// Side is an end of a list, or a side of an element.
type Side uint8

// The sides.
const (
	Left Side = iota
	Right
)

// ListEdit changes the list of a key. It is valid until something else changes the shard.
type ListEdit struct {
	List
	at     Place
	rec    keyspace.Rec
	limits *Limits
}

// EditList begins to change the list that a record has, which was found at the place.
func EditList(at Place, r keyspace.Rec, limits *Limits) ListEdit {
	at.Part.BeforeWrite(at.DB, at.Key, r)
	e := ListEdit{List: OpenList(r), at: at, rec: r, limits: limits}
	e.big.SetPlainMin(int(limits.ListPlain.Load()))
	return e
}

// NewList makes an empty list at a place without a key; it must get elements.
func NewList(at Place, limits *Limits) ListEdit {
	var empty [listpack.EmptySize]byte
	at.Part.PutInline(at.DB, at.Key, keyspace.TypeList, keyspace.EncListpack, listpack.New(empty[:0]), 0)
	r, _ := at.Part.Find(at.DB, at.Key)
	return ListEdit{List: OpenList(r), at: at, rec: r, limits: limits}
}

// fill is the limit of nodes.
func (l *Limits) fill() int { return list.ClampFill(l.ListSize.Load()) }

// Grow makes a quicklist of a listpack that would be too big with more elements.
func (e *ListEdit) Grow(values ...[]byte) {
	if e.isBig {
		return
	}
	size := len(e.lp)
	for _, v := range values {
		size += len(v)
	}
	if fill := e.limits.fill(); list.Exceeds(fill, size, listpack.Len(e.lp)+len(values)) {
		e.big = list.NewFrom(e.at.Part.Arena(), fill, e.lp)
		e.big.SetPlainMin(int(e.limits.ListPlain.Load()))
		e.isBig, e.lp = true, nil
		e.at.Part.PutRoot(e.at.DB, e.at.Key, keyspace.TypeList, keyspace.EncQuicklist, e.big.Root(), uint64(e.big.Len()), e.rec.ExpireAt())
		e.rec, _ = e.at.Part.Find(e.at.DB, e.at.Key)
	}
}

// resize gives a listpack another size. What it has stays, what is cut off is lost.
func (e *ListEdit) resize(size int) {
	e.lp = e.at.Part.Writable(e.at.DB, e.at.Key, size, size > len(e.lp))
}

// PushList adds elements at an end of the list that a record has, as Push does.
func PushList(at Place, r keyspace.Rec, limits *Limits, side Side, values [][]byte) int64 {
	if r.Encoding() != keyspace.EncQuicklist {
		e := EditList(at, r, limits)
		return e.Push(side, values...)
	}
	at.Part.BeforeWrite(at.DB, at.Key, r)
	root, _ := r.Root()
	l := list.Open(r.Arena(), root)
	l.SetPlainMin(int(limits.ListPlain.Load()))
	pushBig(&l, side, values)
	n := l.Len()
	r.SetRoot(root, uint64(n))
	return n
}

func pushBig(l *list.List, side Side, values [][]byte) {
	for _, v := range values {
		if side == Left {
			l.PushHead(v)
		} else {
			l.PushTail(v)
		}
	}
}

// Push adds elements at an end, one after the other. They must not lie in the shard. It returns how many elements there are.
func (e *ListEdit) Push(side Side, values ...[]byte) int64 {
	e.Grow(values...)
	if !e.isBig {
		e.pushPacked(side, values)
		return int64(listpack.Len(e.lp))
	}
	pushBig(&e.big, side, values)
	e.setLen()
	return e.big.Len()
}

func (e *ListEdit) pushPacked(side Side, values [][]byte) {
	old, size := len(e.lp), len(e.lp)
	for _, v := range values {
		size += listpack.EncodedSize(v)
	}
	e.resize(size)
	lp := e.lp[:old]
	for _, v := range values {
		if side == Left {
			lp = listpack.Prepend(lp, v)
		} else {
			lp = listpack.Append(lp, v)
		}
	}
}

// setLen tells the record how many elements a quicklist has.
func (e *ListEdit) setLen() { e.rec.SetRoot(e.big.Root(), uint64(e.big.Len())) }

// Shrink ends a change by which a list may have become smaller.
func (e *ListEdit) Shrink() {
	if !e.isBig {
		return
	}
	e.setLen()
	if lp, ok := packable(&e.big, e.limits.fill(), 2); ok {
		e.rec.SetRoot(e.big.Root(), 1) // one node takes no time to free, whatever it has
		e.at.Part.PutInline(e.at.DB, e.at.Key, keyspace.TypeList, keyspace.EncListpack, lp, e.rec.ExpireAt())
		e.rec, _ = e.at.Part.Find(e.at.DB, e.at.Key)
		e.List = OpenList(e.rec)
	}
}

// packable is the listpack of a quicklist that has one node, if it is no more than one part of share of what is allowed.
func packable(l *list.List, fill, share int) (lp []byte, ok bool) {
	lp, count, ok := l.Single()
	if !ok {
		return nil, false
	}
	bytes, most := list.NodeLimit(fill)
	if bytes > 0 {
		return lp, len(lp) <= bytes/share
	}
	return lp, count <= most/share
}

// End is the element at an end of a list that is not empty. It lives until the next change.
func (l *List) End(side Side) Elem {
	switch {
	case l.isBig:
		var end list.End
		findEnd(&l.big, side, &end)
		return end.Elem()
	case side == Left:
		return listpack.Get(l.lp, listpack.First(l.lp))
	}
	return listpack.Get(l.lp, listpack.Last(l.lp))
}

func findEnd(l *list.List, side Side, end *list.End) {
	if side == Left {
		l.HeadEnd(end)
	} else {
		l.TailEnd(end)
	}
}

// Drop removes the element at an end of a list that is not empty. Shrink has to follow, if only after a Push.
func (e *ListEdit) Drop(side Side) {
	switch {
	case e.isBig:
		var end list.End
		findEnd(&e.big, side, &end)
		e.big.Drop(&end)
	case side == Left:
		e.deletePacked(listpack.First(e.lp), 1)
	default:
		e.deletePacked(listpack.Last(e.lp), 1)
	}
}

// TakeEnd calls fn with the element at an end of the list that a record has, and then removes it, as Drop and Shrink do. It
// returns how many are left.
func TakeEnd(at Place, r keyspace.Rec, limits *Limits, side Side, fn func(Elem)) (left int64) {
	if r.Encoding() != keyspace.EncQuicklist {
		e := EditList(at, r, limits)
		fn(e.End(side))
		e.Drop(side)
		return e.Len()
	}
	at.Part.BeforeWrite(at.DB, at.Key, r)
	root, _ := r.Root()
	l := list.Open(r.Arena(), root)
	var end list.End
	findEnd(&l, side, &end)
	fn(end.Elem())
	l.Drop(&end)
	left = l.Len()
	r.SetRoot(root, uint64(left))
	if l.Nodes() == 1 {
		e := EditList(at, r, limits)
		e.Shrink()
	}
	return left
}

func (e *ListEdit) deletePacked(pos, count int) { e.resize(len(listpack.Delete(e.lp, pos, count))) }

// DeleteRange removes count elements from an index on; there must be as many.
func (e *ListEdit) DeleteRange(index, count int64) {
	if count == 0 {
		return
	}
	if e.isBig {
		if husk := e.big.DetachRange(index, count); husk != 0 {
			rest := list.Open(e.at.Part.Arena(), husk)
			e.at.Part.DropRoot(keyspace.TypeList, keyspace.EncQuicklist, husk, uint64(rest.Len()))
		}
	} else {
		e.deletePacked(listpack.Seek(e.lp, int(index)), int(count))
	}
	e.Shrink()
}

// Keep removes all elements but count from an index on, which are at least one.
func (e *ListEdit) Keep(index, count int64) {
	e.DeleteRange(index+count, e.Len()-index-count)
	e.DeleteRange(0, index)
	e.Shrink()
}

// Insert adds an element beside the first one that matches; false when there is none.
func (e *ListEdit) Insert(side Side, pivot, v []byte) bool {
	e.Grow(v)
	where := listpack.Before
	if side == Right {
		where = listpack.After
	}
	if !e.isBig {
		pos := listpack.Find(e.lp, listpack.First(e.lp), 0, pivot)
		if pos == 0 {
			return false
		}
		old := len(e.lp)
		e.resize(old + listpack.EncodedSize(v))
		listpack.Insert(e.lp[:old], pos, where, v)
		return true
	}
	it := e.big.Iter(0, false)
	if !it.Find(pivot) {
		return false
	}
	it.Insert(where, v)
	e.setLen()
	return true
}

// Set replaces the element at an index; false when there is none.
func (e *ListEdit) Set(index int64, v []byte) bool {
	e.Grow(v)
	if index < 0 || index >= e.Len() {
		return false
	}
	if e.isBig {
		it := e.big.Iter(index, false)
		it.Next()
		it.Replace(v)
		e.Shrink()
		return true
	}
	pos := listpack.Seek(e.lp, int(index))
	old := len(e.lp)
	size := old - listpack.ElemSize(e.lp, pos) + listpack.EncodedSize(v)
	if size > old {
		e.resize(size)
	}
	lp := listpack.Replace(e.lp[:old], pos, v)
	if size < old {
		e.resize(len(lp))
	}
	return true
}

// Remove removes elements that match: most of them from the start, or, when most is negative, from the end; all when it
// is 0. It returns how many.
func (e *ListEdit) Remove(v []byte, most int64) (removed int64) {
	back := most < 0
	if back {
		most = -most
	}
	if e.isBig {
		removed = e.removeBig(v, most, back)
	} else {
		removed = e.removePacked(v, most, back)
	}
	if removed > 0 {
		e.Shrink()
	}
	return removed
}

func (e *ListEdit) removeBig(v []byte, most int64, back bool) (removed int64) {
	from := int64(0)
	if back {
		from = e.big.Len() - 1
	}
	for it := e.big.Iter(from, back); it.Find(v); {
		it.Delete()
		if removed++; removed == most {
			break
		}
	}
	return removed
}

func (e *ListEdit) removePacked(v []byte, most int64, back bool) (removed int64) {
	m, lp := MatchOf(v), e.lp
	pos := listpack.First(lp)
	if back {
		pos = listpack.Last(lp)
	}
	for pos != 0 {
		if !m.Is(listpack.Get(lp, pos)) {
			pos = step(lp, pos, back)
			continue
		}
		if back {
			next := listpack.Prev(lp, pos)
			lp, pos = listpack.Delete(lp, pos, 1), next
		} else if lp = listpack.Delete(lp, pos, 1); listpack.IsEnd(lp, pos) {
			pos = 0
		}
		if removed++; removed == most {
			break
		}
	}
	if removed > 0 {
		e.resize(len(lp))
	}
	return removed
}

// step is the position of the next element in a direction, 0 when there is none.
func step(lp []byte, pos int, back bool) int {
	if back {
		return listpack.Prev(lp, pos)
	}
	return listpack.Next(lp, pos)
}
