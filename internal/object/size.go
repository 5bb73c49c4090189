package object

import (
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
)

// Size is about how many bytes a key takes with its value. Of a value with many elements, samples are looked at; 0 means
// all.
func Size(r keyspace.Rec, samples int) int64 {
	size := int64(keyspace.RecSize(r))
	if !r.IsRoot() {
		return size
	}
	switch r.Encoding() {
	case keyspace.EncHashtable:
		root, _ := r.Root()
		t := table.Open(r.Arena(), root)
		return size + t.Bytes()
	case keyspace.EncSkiplist:
		root, _ := r.Root()
		z := openRanked(r.Arena(), root)
		return size + z.bytes()
	case keyspace.EncQuicklist:
		l := OpenList(r)
		return size + l.big.Memory(samples)
	case keyspace.EncStream:
		return size + OpenStream(r).Bytes(samples)
	}
	return size
}
