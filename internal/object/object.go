// Package object holds the values of keys by type: what a list, a hash, a set, a sorted set or a stream can do, whichever
// encoding it has at the moment, and when it changes from one encoding to another.
//
// A small value is the bytes of a listpack or an intset inside the record (keyspace.PutInline). A big one is a structure
// of package enc whose address the record has (keyspace.PutRoot):
//
//	type         small                big
//	list         listpack             quicklist   enc/list
//	hash         listpack (hash.go)   hashtable   enc/table
//	set          intset or listpack   hashtable   enc/table
//	sorted set   listpack             skiplist    enc/tree
//	stream                            stream      enc/stream
//
// Nothing here locks, replies or logs: commands do. The caller holds the lock of the key's shard.
package object

import (
	"sync/atomic"

	"github.com/covey-db/covey/internal/enc/list"
	"github.com/covey-db/covey/internal/keyspace"
)

// Place is where a value lives. It is valid as long as the lock of the part is held.
type Place struct {
	Part *keyspace.Part
	DB   int
	Key  *keyspace.Key
}

// Limits are the sizes up to which values keep their small encoding: the directives hash-max-listpack-entries and so on.
// They may be changed at any time by any goroutine.
type Limits struct {
	HashEntries, HashValue   atomic.Int64 // fields; bytes of a field or value
	ListSize                 atomic.Int64 // elements of a node, or -1 to -5 for 4 to 64 KB
	ListPlain                atomic.Int64 // bytes from which an element lies in a node as it is: DEBUG QUICKLIST-PACKED-THRESHOLD
	SetIntset                atomic.Int64 // members
	SetEntries, SetValue     atomic.Int64 // members; bytes of one
	ZSetEntries, ZSetValue   atomic.Int64 // members; bytes of one
	HLLSparse                atomic.Int64 // bytes
	StreamBytes, StreamNodes atomic.Int64 // bytes and entries of a node; 0 is no limit
}

// SetDefaults sets what Redis has when nothing is configured.
func (l *Limits) SetDefaults() {
	for limit, n := range map[*atomic.Int64]int64{
		&l.HashEntries: 512, &l.HashValue: 64, &l.ListSize: -2, &l.ListPlain: list.PlainMin, &l.SetIntset: 512, &l.SetEntries: 128, &l.SetValue: 64,
		&l.ZSetEntries: 128, &l.ZSetValue: 64, &l.HLLSparse: 3000, &l.StreamBytes: 4096, &l.StreamNodes: 100,
	} {
		limit.Store(n)
	}
}
