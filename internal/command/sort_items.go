package command

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// This file holds what SORT sorts: copies of the elements, the weights that BY gives them, and the order.

// piece is a part of a sorter's text.
type piece struct{ from, to int }

// sortItem is one element.
type sortItem struct {
	text   piece
	by     piece // what BY gives it, to be compared as text
	weight float64
	hasBy  bool
}

// sorter collects the elements and puts them in order.
type sorter struct {
	sortOptions
	all    []byte // texts of elements and weights
	items  []sortItem
	cut    bool   // only what LIMIT wants was collected, in its order
	isSet  bool   // no order of its own
	name   []byte // buffer for the names of keys
	digits [20]byte
}

func (s *sorter) text(p piece) []byte { return s.all[p.from:p.to] }

// keep copies a text.
func (s *sorter) keep(text []byte) piece {
	from := len(s.all)
	s.all = append(s.all, text...)
	return piece{from, len(s.all)}
}

// take copies an element.
func (s *sorter) take(e object.Elem) {
	from := len(s.all)
	s.all = e.Append(s.all)
	s.items = append(s.items, sortItem{text: piece{from, len(s.all)}})
}

// window is the part of n elements that LIMIT wants.
func (s *sorter) window(n int64) (from, count int64) {
	from = min(max(s.start, 0), n)
	if s.count < 0 {
		return from, n - from
	}
	return from, min(s.count, n-from)
}

// collect copies the elements of a record. Of a list or a sorted set that keeps its order only those are copied that are
// wanted.
func (s *sorter) collect(c *engine.Ctx, rec keyspace.Rec) {
	switch rec.Type() {
	case keyspace.TypeList:
		l := object.OpenList(rec)
		at, count := s.ordered(l.Len())
		s.items = make([]sortItem, 0, count)
		it := l.Iter(at, s.cut && s.desc)
		for range count {
			e, _ := it.Next()
			s.take(e)
		}
	case keyspace.TypeZSet:
		z := object.OpenZSet(c.Part(0), rec)
		at, count := s.ordered(int64(z.Len()))
		s.items = make([]sortItem, 0, count)
		it := z.At(int(at), s.cut && s.desc)
		for range count {
			m, _ := it.Get()
			s.take(m)
			it.Next()
		}
	default:
		set := object.OpenSet(c.Part(0), rec)
		s.items = make([]sortItem, 0, set.Len())
		s.isSet = true
		if s.unsorted && (s.store || c.InScript()) { // the same result wherever the command is repeated
			s.unsorted, s.alpha, s.by = false, true, nil
		}
		set.Each(func(m object.Member) bool {
			s.take(m)
			return true
		})
	}
}

// ordered is where a walk over n ordered elements begins and how long it is; what it gives is in its order already when
// nothing is to be sorted.
func (s *sorter) ordered(n int64) (at, count int64) {
	if !s.unsorted {
		return 0, n
	}
	s.cut = true
	at, count = s.window(n)
	if s.desc {
		at = n - 1 - at
	}
	return at, count
}

// result is what LIMIT wants of the elements, which are in order.
func (s *sorter) result() []sortItem {
	if s.cut {
		return s.items
	}
	from, count := s.window(int64(len(s.items)))
	return s.items[from : from+count]
}

// weigh finds what the elements are compared by; false when something that should be a number is none.
func (s *sorter) weigh(c *engine.Ctx) (ok bool) {
	if s.unsorted {
		return true
	}
	ok = true
	for i := range s.items {
		it := &s.items[i]
		by := s.text(it.text)
		if s.by != nil {
			if by, it.hasBy = s.lookUp(c, s.by, by); !it.hasBy {
				continue
			}
		}
		if !s.alpha {
			var number bool
			it.weight, number = sortWeight(by)
			ok = ok && number
		} else if s.by != nil {
			it.by = s.keep(by)
		}
	}
	return ok
}

// sortWeight reads a number as strtod does, which stops at a zero byte and takes blanks in front.
func sortWeight(b []byte) (float64, bool) {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	if len(b) == 0 {
		return 0, true
	}
	return num.ParseFloat(bytes.TrimLeft(b, " \t\n\v\f\r"))
}

// sort puts the elements in order. Elements with equal numbers are in the order of their texts.
func (s *sorter) sort() {
	if s.unsorted {
		return
	}
	compare := s.byNumber
	switch {
	case s.alpha && s.by != nil:
		compare = s.byText
	case s.alpha:
		compare = s.bySelf
	}
	if s.desc {
		ascending := compare
		compare = func(a, b sortItem) int { return ascending(b, a) }
	}
	if s.alpha && s.by != nil {
		compare = s.thenAsBefore(compare)
	}
	from, count := s.window(int64(len(s.items)))
	sortFirst(s.items, int(from+count), compare)
}

func (s *sorter) byNumber(a, b sortItem) int {
	if order := cmp.Compare(a.weight, b.weight); order != 0 {
		return order
	}
	return s.bySelf(a, b)
}

func (s *sorter) bySelf(a, b sortItem) int { return bytes.Compare(s.text(a.text), s.text(b.text)) }

// byText orders by what BY gives; who gets nothing comes first.
func (s *sorter) byText(a, b sortItem) int {
	switch {
	case !a.hasBy && b.hasBy:
		return -1
	case a.hasBy && !b.hasBy:
		return 1
	}
	return bytes.Compare(s.text(a.by), s.text(b.by))
}

// thenAsBefore leaves elements that are equal otherwise as they were, as the sort of the C library does; a set has no order,
// so that theirs is that of their texts, wherever the command is repeated.
func (s *sorter) thenAsBefore(compare func(a, b sortItem) int) func(a, b sortItem) int {
	return func(a, b sortItem) int {
		order := compare(a, b)
		switch {
		case order != 0:
			return order
		case s.isSet:
			return s.bySelf(a, b)
		}
		return cmp.Compare(a.text.from, b.text.from)
	}
}

const (
	fewShare   = 4   // when no more than one part in so many is wanted, the others are set aside before the sorting
	sortAtOnce = 100 // so few elements are sorted as they are
)

// sortFirst puts the first n items in order; the order of the others is open.
func sortFirst(items []sortItem, n int, compare func(a, b sortItem) int) {
	for n <= len(items)/fewShare && len(items) > sortAtOnce {
		pivot := medianOf(items[0], items[len(items)/2], items[len(items)-1], compare)
		i, j := 0, len(items)-1
		for i <= j {
			for compare(items[i], pivot) < 0 {
				i++
			}
			for compare(items[j], pivot) > 0 {
				j--
			}
			if i <= j {
				items[i], items[j] = items[j], items[i]
				i, j = i+1, j-1
			}
		}
		if i < n || i == len(items) {
			break // the first n are on both sides of the cut, or nothing was set aside
		}
		items = items[:i]
	}
	slices.SortFunc(items, compare)
}

func medianOf(a, b, c sortItem, compare func(a, b sortItem) int) sortItem {
	if compare(a, b) > 0 {
		a, b = b, a
	}
	if compare(b, c) > 0 {
		b = c
	}
	if compare(a, b) > 0 {
		return a
	}
	return b
}

// lookUp is what a pattern says of an element: the element itself, the string at the key that the pattern makes of it, or,
// behind an arrow, the field of the hash there. It lives until the next call.
func (s *sorter) lookUp(c *engine.Ctx, pattern, elem []byte) (value []byte, ok bool) {
	if isSelf(pattern) {
		return elem, true
	}
	before, after, found := bytes.Cut(pattern, []byte("*"))
	if !found {
		return nil, false
	}
	rest, field, isHash := bytes.Cut(after, []byte("->"))
	if isHash = isHash && len(field) > 0; !isHash {
		rest = after
	}
	s.name = append(append(append(s.name[:0], before...), elem...), rest...)
	key := c.Engine().Key(s.name)
	rec, ok := c.FindOther(&key)
	switch {
	case !ok:
		return nil, false
	case isHash:
		return s.hashField(c, rec, field)
	case rec.Type() != keyspace.TypeString:
		return nil, false
	}
	return c.StringBytes(rec), true
}

// hashField is the value of a field of a hash, which may be of any shard: members are hashed alike in all of them.
func (s *sorter) hashField(c *engine.Ctx, rec keyspace.Rec, field []byte) (value []byte, ok bool) {
	if rec.Type() != keyspace.TypeHash {
		return nil, false
	}
	h := object.OpenHash(c.Part(0), rec)
	f, ok := h.Get(field)
	if !ok || f.ExpireAt != 0 && c.IsPast(f.ExpireAt) {
		return nil, false
	}
	return f.Value.Text(s.digits[:0]), true
}
