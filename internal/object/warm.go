package object

import (
	"github.com/covey-db/covey/internal/enc/table"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
)

// coldBytes is the size from which a table is taken to lie outside the caches that are close to the processor.
const coldBytes = 256 << 10

// ColdTable is the table that has the members of a value, if it is so large that a member is likely to be in no cache.
func ColdTable(r keyspace.Rec) (t table.Table, ok bool) {
	var root mem.Ref
	switch r.Encoding() {
	case keyspace.EncHashtable:
		root, _ = r.Root()
	case keyspace.EncSkiplist:
		ranked, _ := r.Root()
		root = mem.Ref(r.Arena().Words(ranked, rankedWords)[rankedTable])
	default:
		return t, false
	}
	t = table.Open(r.Arena(), root)
	return t, t.Bytes() >= coldBytes
}
