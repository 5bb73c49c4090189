package stream

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/enc/listpack"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/num"
)

// This file holds the nodes: how their blocks grow, and how an entry is appended.

const (
	flagDeleted    = 1 << 0 // the entry was deleted
	flagSameFields = 1 << 1 // the entry has the field names of the master

	fixedElems = 3 // of an entry: flags, ms, seq

	// BytesMax bounds an entry and a node, whatever the limits say.
	BytesMax = listpack.BytesMax
)

// Limits say when a node is full.
type Limits struct {
	Bytes   int64 // of the listpack; 0 is no limit
	Entries int64 // deleted ones count; 0 is no limit
}

// node is the listpack that a word of the tree of nodes names.
func (s Stream) node(word uint64) []byte {
	r := mem.Ref(word)
	n := int(uint32(s.a.Words(r, 1)[0]))
	return s.a.Bytes(r, n)
}

// addNode puts a copy of a listpack into a block of its own.
func (s Stream) addNode(master ID, lp []byte) {
	r := s.a.Alloc(mem.ForStream, len(lp))
	copy(s.a.Bytes(r, len(lp)), lp)
	v, _ := s.nodes().put(master)
	v[0] = uint64(r)
}

// grow makes room for n more bytes in a node's block. Its word may change.
func (s Stream) grow(word *uint64, lp []byte, n int) []byte {
	have, want := len(lp), len(lp)+n
	if mem.Fits(have, want) {
		return lp
	}
	r := s.a.Resize(mem.ForStream, mem.Ref(*word), have, want)
	*word = uint64(r)
	return s.a.Bytes(r, want)[:have]
}

func (s Stream) dropNode(word uint64) {
	s.a.Free(mem.ForStream, mem.Ref(word), len(s.node(word)))
}

// number is an element that is a number. Who wrote it may have written its text.
func number(lp []byte, pos int) int64 {
	n, _ := readNumber(lp, pos)
	return n
}

// readNumber is number with the position behind it.
func readNumber(lp []byte, pos int) (n int64, next int) {
	n, next, ok := listpack.ReadInt(lp, pos)
	if !ok {
		n, _ = num.ParseInt(listpack.Get(lp, pos).Str)
	}
	return n, next
}

// setNumber changes a number of a node in place, growing the node's block when it gets longer.
func (s Stream) setNumber(word *uint64, lp []byte, pos int, v int64) []byte {
	if e := listpack.Get(lp, pos); e.IsInt() && listpack.EncodedIntSize(e.Int) == listpack.EncodedIntSize(v) {
		return listpack.ReplaceInt(lp, pos, v)
	}
	lp = s.grow(word, lp, numberMax)
	have := len(lp)
	lp = listpack.ReplaceInt(lp, pos, v)
	return s.trimBlock(word, lp, have+numberMax)
}

// numberMax is by how much a number can get longer.
const numberMax = 9

// trimBlock gives back what a block that was asked for with have bytes has beyond its listpack.
func (s Stream) trimBlock(word *uint64, lp []byte, have int) []byte {
	if mem.Fits(have, len(lp)) {
		return lp
	}
	r := s.a.Resize(mem.ForStream, mem.Ref(*word), have, len(lp))
	*word = uint64(r)
	return s.a.Bytes(r, len(lp))
}

// master is the head of a node.
type master struct {
	live, deleted int64
	fields        int
	names         int // position of the first name, or of the zero
}

func readMaster(lp []byte) (m master) {
	pos := listpack.HeadSize
	var fields int64
	m.live, pos = readNumber(lp, pos)
	m.deleted, pos = readNumber(lp, pos)
	fields, m.names = readNumber(lp, pos)
	m.fields = int(fields)
	return m
}

// entries is the position of the first entry, or of the end.
func (m *master) entries(lp []byte) int { return listpack.Skip(lp, m.names, m.fields+1) }

// sameNames says whether the names in pairs are those of the master.
func (m *master) sameNames(lp []byte, pairs [][]byte) bool {
	if m.fields != len(pairs)/2 {
		return false
	}
	pos := m.names
	for i := 0; i < len(pairs); i += 2 {
		var e listpack.Elem
		if e, pos = listpack.Read(lp, pos); !e.Equal(pairs[i]) {
			return false
		}
	}
	return true
}

// Append adds an entry behind all others: field, value, field, value... The ID must be greater than LastID. It is false
// when the entry is too big.
func (s Stream) Append(id ID, pairs [][]byte, l Limits) bool {
	size := 0
	for _, b := range pairs {
		if size += len(b); size > BytesMax {
			return false
		}
	}
	t := s.nodes()
	if t.len() > 0 {
		tail := t.leaf(mem.Ref(t.head[2]))
		first, v := tail.key(tail.count-1), tail.value(tail.count-1)
		lp := s.node(v[0])
		m := readMaster(lp)
		if l.takes(len(lp)+size, m.live+m.deleted) {
			s.appendTo(&v[0], lp, &m, first, id, pairs)
			s.added(id)
			return true
		}
	}
	s.startNode(id, pairs)
	s.added(id)
	return true
}

// takes says whether a node may get an entry with which it would have so many bytes, when it has so many entries.
func (l Limits) takes(bytes int, entries int64) bool {
	if l.Bytes <= 0 || l.Bytes > BytesMax {
		l.Bytes = BytesMax
	}
	return int64(bytes) < l.Bytes && (l.Entries == 0 || entries < l.Entries)
}

func (s Stream) added(id ID) {
	s.head[atLength]++
	s.head[atAdded]++
	s.setID(atLast, id)
	if s.head[atLength] == 1 {
		s.setID(atFirst, id)
	}
}

// startNode makes a node of one entry, whose names become the master's.
func (s Stream) startNode(id ID, pairs [][]byte) {
	fields := int64(len(pairs) / 2)
	entry := entrySize(pairs, flagSameFields, 0, 0)
	size := listpack.EmptySize + entry + 3*listpack.EncodedIntSize(0) + listpack.EncodedIntSize(fields)
	for i := 0; i < len(pairs); i += 2 {
		size += listpack.EncodedSize(pairs[i])
	}
	r := s.a.Alloc(mem.ForStream, size)
	lp := listpack.New(s.a.Bytes(r, size)[:0])
	lp = listpack.AppendInt(lp, 1)
	lp = listpack.AppendInt(lp, 0)
	lp = listpack.AppendInt(lp, fields)
	for i := 0; i < len(pairs); i += 2 {
		lp = listpack.Append(lp, pairs[i])
	}
	lp = listpack.AppendInt(lp, 0)
	appendEntry(lp, entry, pairs, flagSameFields, 0, 0)
	v, _ := s.nodes().put(id)
	v[0] = uint64(r)
}

// appendTo adds an entry to a node.
func (s Stream) appendTo(word *uint64, lp []byte, m *master, first, id ID, pairs [][]byte) {
	flags := int64(0)
	if m.sameNames(lp, pairs) {
		flags = flagSameFields
	}
	ms, seq := int64(id.Ms-first.Ms), int64(id.Seq-first.Seq)
	size := entrySize(pairs, flags, ms, seq)
	lp = s.setNumber(word, lp, listpack.HeadSize, m.live+1)
	lp = s.grow(word, lp, size)
	appendEntry(lp, size, pairs, flags, ms, seq)
}

// entrySize is the number of bytes that appendEntry adds.
func entrySize(pairs [][]byte, flags, ms, seq int64) int {
	n := listpack.EncodedIntSize(flags) + listpack.EncodedIntSize(ms) + listpack.EncodedIntSize(seq)
	fields := len(pairs) / 2
	first, step, elems := 1, 2, fields+fixedElems
	if flags&flagSameFields == 0 {
		n += listpack.EncodedIntSize(int64(fields))
		first, step, elems = 0, 1, 2*fields+fixedElems+1
	}
	for i := first; i < len(pairs); i += step {
		n += listpack.EncodedSize(pairs[i])
	}
	return n + listpack.EncodedIntSize(int64(elems))
}

// appendEntry adds an entry of size bytes, which the capacity of the listpack holds.
func appendEntry(lp []byte, size int, pairs [][]byte, flags, ms, seq int64) {
	w := writer{lp[:len(lp)+size], len(lp) - 1}
	w.number(flags)
	w.number(ms)
	w.number(seq)
	fields := len(pairs) / 2
	first, step, elems := 1, 2, fields+fixedElems
	if flags&flagSameFields == 0 {
		w.number(int64(fields))
		first, step, elems = 0, 1, 2*fields+fixedElems+1
	}
	for i := first; i < len(pairs); i += step {
		w.text(pairs[i])
	}
	w.number(int64(elems))
	listpack.SetHead(w.lp, countedWith(lp, elems+1))
}

// writer writes elements into a listpack whose head is set when all are there.
type writer struct {
	lp []byte
	at int
}

func (w *writer) number(v int64) {
	n := listpack.EncodedIntSize(v)
	listpack.PutInt(w.lp[w.at:w.at+n], v)
	w.at += n
}

func (w *writer) text(b []byte) {
	n := listpack.EncodedSize(b)
	listpack.PutElem(w.lp[w.at:w.at+n], b)
	w.at += n
}

// countedWith is the number of elements of a listpack and n more, as its head tells it: a number that was too great for the
// head once is not known any more.
func countedWith(lp []byte, n int) int {
	const hidden = 1<<16 - 1
	if old := int(binary.LittleEndian.Uint16(lp[4:])); old != hidden {
		return old + n
	}
	return hidden
}
