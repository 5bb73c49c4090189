package server

import (
	"sync/atomic"

	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/object"
)

// newParts makes the shards' data, each with an arena of its own that publishes what it holds to used.
func newParts(databases int, used *atomic.Int64) (parts [keyspace.Shards]*keyspace.Part) {
	for i := range parts {
		arena := mem.NewArena(mem.Options{Published: used})
		parts[i] = keyspace.New(keyspace.Options{Shard: i, Databases: databases, Arena: arena, Dropper: object.NewDropper(arena)})
	}
	return parts
}
