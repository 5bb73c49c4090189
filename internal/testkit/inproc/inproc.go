// Package inproc builds engines with all commands inside a test's own process, for tests of what lies around an engine:
// transports, snapshots, replication.
package inproc

import (
	"hash/maphash"
	"sync/atomic"
	"testing"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/spec"
)

// Options change what New builds. The zero value is a single node on the real clock.
type Options struct {
	Clock    clock.Source              // nil: the real one
	Cluster  bool                      // cluster mode, no slot is served yet
	RunID    string                    // "": forty times the letter a
	Handlers map[string]engine.Handler // added to the commands, or in place of them
	// Late gives handlers that need the engine.
	Late func(*engine.Engine) map[string]engine.Handler
}

// defaultRunID is a replication id that no real node has.
const defaultRunID = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// New builds an engine. When the test ends its memory is given back; whatever uses it must have ended before.
func New(t testing.TB, o Options) *engine.Engine {
	t.Helper()
	table, err := spec.Load()
	if err != nil {
		t.Fatal(err)
	}
	handlers := command.Table(command.Deps{})
	for name, h := range o.Handlers {
		handlers[name] = h
	}
	opts := engine.Options{
		Table:     table,
		Clock:     o.Clock,
		Seed:      1,
		RunID:     o.RunID,
		HashSeed:  maphash.MakeSeed(),
		Used:      new(atomic.Int64),
		Databases: 16,
		Cluster:   o.Cluster,
	}
	if opts.Clock == nil {
		opts.Clock = clock.Real()
	}
	if opts.RunID == "" {
		opts.RunID = defaultRunID
	}
	if o.Cluster {
		opts.Databases = 1
	}
	for i := range opts.Parts {
		arena := mem.NewArena(mem.Options{Published: opts.Used})
		opts.Parts[i] = keyspace.New(keyspace.Options{Shard: i, Databases: opts.Databases, Arena: arena, Dropper: object.NewDropper(arena)})
		t.Cleanup(arena.Close)
	}
	e := engine.New(opts)
	if o.Late != nil {
		for name, h := range o.Late(e) {
			handlers[name] = h
		}
	}
	e.Register(handlers)
	return e
}
