// Package stream holds a stream in an arena: its entries, and the groups of consumers that read it.
//
// Entries lie in nodes, each a listpack in the very form that RDB files and DUMP payloads have it, so that saving and loading
// a node is a copy. The nodes are found by their master IDs through a tree; so are the entries that a group waits to be
// acknowledged. Nothing here is a Go pointer, however much a stream holds.
//
//	head, a block that never moves, words:
//
//	   0  number of entries
//	   1  last ID (2): the greatest that was ever used
//	   3  first ID (2): of the first entry, zero if there is none
//	   5  greatest ID that was deleted (2)
//	   7  number of entries ever added
//	   8  tree of nodes (4): master ID -> block of the listpack
//	  12  directory of groups (2)
//
//	listpack of a node, elements:
//
//	  live | deleted | fields | field... | 0      the master entry: counts, and the field names most entries share
//	  flags | ms | seq | value... | n             an entry with the names of the master; its ID is relative to the master ID
//	  flags | ms | seq | fields | (field | value)... | n
//	                                              an entry with names of its own; n is the number of elements before it
//
// The block of a listpack is the one that its size asks for, so the size need not be kept elsewhere. Whatever the arena
// holds is sound: who builds a stream from outside checks its nodes first (package rdb does).
package stream

import "github.com/covey-db/covey/internal/mem"

const (
	atLength  = 0
	atLast    = 1
	atFirst   = 3
	atDeleted = 5
	atAdded   = 7
	atNodes   = 8
	atGroups  = atNodes + treeWords
	headWords = atGroups + dirWords
)

// Stream is a view of a stream, valid as long as the stream is there.
type Stream struct {
	a    *mem.Arena
	root mem.Ref
	head *[headWords]uint64
}

// New is an empty stream.
func New(a *mem.Arena) Stream {
	s := Open(a, a.Alloc(mem.ForStream, headWords*wordBytes))
	clear(s.head[:])
	return s
}

// Open is the stream whose root is given.
func Open(a *mem.Arena, root mem.Ref) Stream {
	return Stream{a, root, (*[headWords]uint64)(a.Words(root, headWords))}
}

// Root is what Open finds the stream by.
func (s Stream) Root() mem.Ref { return s.root }

func (s Stream) nodes() tree { return tree{s.a, (*[treeWords]uint64)(s.head[atNodes:]), 1} }

func (s Stream) id(at int) ID        { return keyAt(s.head[at:]) }
func (s Stream) setID(at int, id ID) { putKey(s.head[at:], id) }

// Len is the number of entries.
func (s Stream) Len() int64 { return int64(s.head[atLength]) }

// LastID is the greatest ID that was ever used.
func (s Stream) LastID() ID { return s.id(atLast) }

// SetLastID sets the ID above which the next one has to be.
func (s Stream) SetLastID(id ID) { s.setID(atLast, id) }

// FirstID is the ID of the first entry, zero if there is none.
func (s Stream) FirstID() ID { return s.id(atFirst) }

// MaxDeletedID is the greatest ID that was deleted, zero if none was.
func (s Stream) MaxDeletedID() ID { return s.id(atDeleted) }

// SetMaxDeletedID sets it.
func (s Stream) SetMaxDeletedID(id ID) { s.setID(atDeleted, id) }

// EntriesAdded is the number of entries that were ever added.
func (s Stream) EntriesAdded() int64 { return int64(s.head[atAdded]) }

// SetEntriesAdded sets it.
func (s Stream) SetEntriesAdded(n int64) { s.head[atAdded] = uint64(n) }

// Nodes is the number of nodes.
func (s Stream) Nodes() int { return s.nodes().len() }

// AddNode adds a node that was checked, behind all others: its master ID, its listpack, and how many of its entries live.
func (s Stream) AddNode(master ID, lp []byte, live int) {
	s.addNode(master, lp)
	s.head[atLength] += uint64(live)
}

// EachNode calls fn for every node in order, with its master ID and its listpack.
func (s Stream) EachNode(fn func(master ID, lp []byte)) {
	t := s.nodes()
	for p := t.first(); p.ok(); p = t.next(p) {
		id, v := t.at(p)
		fn(id, s.node(v[0]))
	}
}

// SetMeta sets what a saved stream says of itself beside its nodes.
func (s Stream) SetMeta(first, last, maxDeleted ID, added uint64) {
	s.setID(atFirst, first)
	s.setID(atLast, last)
	s.setID(atDeleted, maxDeleted)
	s.head[atAdded] = added
}
