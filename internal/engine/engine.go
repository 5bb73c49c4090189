// Package engine executes commands. It owns the shards and their locks, the client sessions, the order of the checks that
// every command passes, transactions, the log of effects that replicas and the append-only file read, and the gate that
// holds a write's reply until its effect is as durable as configured. It knows no socket: a transport feeds bytes to a
// Session and sends what the session left in the worker's Out.
//
// Lock order: shard locks in ascending order, then the log's mutex, which is a leaf. Nothing else is held while a shard
// lock is taken.
package engine

import (
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/observe"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/spec"
)

// Options configures an Engine. Every field is needed unless it says otherwise.
type Options struct {
	Table     *spec.Table        // the command rows; rows without a handler are unknown commands
	Handlers  map[string]Handler // by full row name: "get", "config|get"; nil when Register follows
	Clock     clock.Source
	Seed      uint64 // seeds the engine's dice (random keys, eviction samples)
	RunID     string // 40 hexadecimal digits, new for each process
	HashSeed  maphash.Seed
	Parts     [keyspace.Shards]*keyspace.Part
	Used      *atomic.Int64 // where the arenas publish what they hold
	Databases int
	Cluster   bool          // cluster mode: one database, slots are routed
	Users     *acl.Registry // nil: the default user alone
}

// Engine is the kernel of one node. Its methods may be called by any goroutine unless they say otherwise.
type Engine struct {
	Clock        clock.Source
	RunID        string
	Settings     Settings // limits and switches that hot paths read, set by configuration hooks
	Clients      Registry
	ClientMemory ClientMemory
	Log          *Log
	Gate         Gate
	Buffers      mem.Buffers // off the heap, of large input and replies
	Stats        Stats
	SlotStats    SlotStats
	Errors       ErrorStats
	Pause        Pause
	Routes       Routes
	Role         RoleState
	Evictor      Evictor
	Libraries    LibraryStore // functions; nil when there can be none. Set before the first client comes
	PubSub       PubSub
	Access       Access
	Timing       Timing
	monitors     monitors
	Tracking     Tracking
	own          ownKeys
	ClusterOn    bool
	realTime     bool         // Clock moves by itself
	ReplOut      atomic.Int64 // bytes sent to replicas
	// SlowScript is called, on the script's thread, when a script has run for so long that others hear BUSY. It may be nil; it is
	// set before the first client comes.
	SlowScript func(runs time.Duration)
	Cuts       atomic.Int32 // snapshots under way, which may still need values as they are

	long longOnes

	blockedOnKeys atomic.Int64 // sessions that are suspended by BlockOnKeys

	commands []*Command // by row ID; nil where this node has no handler
	table    *spec.Table
	hasher   keyspace.Hasher
	dbs      int
	used     *atomic.Int64
	flushed  atomic.Bool  // databases were put aside since FreeTrash last had nothing left
	sweeping int          // the shard where FreeTrashBeside goes on; its caller's
	base     atomic.Int64 // bytes that the node took before it had any data
	shards   [keyspace.Shards]Shard
	started  clock.Millis
	seed     atomic.Uint64
	loading  atomic.Pointer[load]          // nil while no data set is loaded
	beside   atomic.Bool                   // a data set is loaded, and the one before is served
	frozen   atomic.Pointer[chan struct{}] // of the Freeze in force, nil for none

	busyScript atomic.Pointer[hold] // a script that runs for longer than BusyAfter
	waits      sync.Mutex           // a leaf: guards hold.waits of all scripts
	lruClock   atomic.Uint32

	workers struct { // a leaf lock: the list of all workers, for sums of their counters
		sync.Mutex
		all  []*Worker
		gone Counters // sums of the workers that were dropped
		// durations are the histograms of the workers that were dropped, by row ID.
		durations []*observe.Histogram
	}
}

const aclLogDefault = 128 // acllog-max-len

// New builds an engine with an empty keyspace.
func New(opts Options) *Engine {
	e := &Engine{
		Clock:     opts.Clock,
		RunID:     opts.RunID,
		ClusterOn: opts.Cluster,
		table:     opts.Table,
		hasher:    keyspace.NewHasher(opts.HashSeed),
		dbs:       opts.Databases,
		used:      opts.Used,
		started:   opts.Clock.Now(),
		realTime:  clock.IsReal(opts.Clock),
	}
	e.seed.Store(opts.Seed | 1)
	e.Settings.setDefaults()
	e.Clients.init()
	e.Log = newLog(opts.RunID)
	e.Gate.init(e.Log)
	e.Routes.init(e)
	e.Stats.init(opts.Table)
	e.Evictor.init(e)
	e.PubSub.init(e)
	e.Timing.init()
	e.Tracking.keysMax.Store(trackingKeysMax)
	e.Access = Access{Users: opts.Users, LogMax: func() int { return aclLogDefault }}
	if e.Access.Users == nil {
		e.Access.Users = acl.NewRegistry(opts.Table)
	}
	e.Pause.ended = e.serveAfterPause
	e.Role.e = e
	for i := range e.shards {
		e.shards[i].Part = opts.Parts[i]
		e.shards[i].Part.SetHasher(e.hasher)
	}
	if opts.Handlers != nil {
		e.Register(opts.Handlers)
	}
	e.TickClock()
	return e
}

// Table is the command table, restricted to the commands this node has.
func (e *Engine) Table() *spec.Table { return e.table }

// Databases is the number of databases SELECT accepts.
func (e *Engine) Databases() int { return e.dbs }

// Started is the time the engine was made.
func (e *Engine) Started() clock.Millis { return e.started }

// Key computes slot and hash of a key outside any lock.
func (e *Engine) Key(b []byte) keyspace.Key { return e.hasher.Key(b) }

// Random returns the next number of the engine's dice.
func (e *Engine) Random() uint64 {
	return rand.New(rand.NewPCG(e.seed.Add(0x9e3779b97f4a7c15), 0x5eed)).Uint64()
}

// lruClockMask keeps the 24 bits a record has for its access clock.
const lruClockMask = 1<<24 - 1

// TickClock refreshes the cached access clock (seconds, 24 bits) and the stamp that new records get; the server's cron
// calls it at least once a second.
func (e *Engine) TickClock() {
	now := e.Clock.Now()
	e.lruClock.Store(uint32(int64(now)/1000) & lruClockMask)
	stamp, keep := e.FreshLRU(now), e.Evictor.usesLFU()
	for i := range e.shards {
		s := e.Lock(i)
		s.Part.SetClock(stamp, keep)
		s.Part.Arena().Publish()
		s.Unlock()
	}
}

// LRUClock is the access clock in seconds, 24 bits wide.
func (e *Engine) LRUClock() uint32 { return e.lruClock.Load() }

// Shard is a 64th of the slots with the lock that guards them.
type Shard struct {
	mu      sync.Mutex     // guards Part, watch, blocked, tracked, hold and the routes of its slots
	waiting atomic.Int32   // commands that wait for mu
	hold    *hold          // the script that has the shard for itself, nil for none
	Part    *keyspace.Part // the data
	watch   watchers
	blocked blocked
	tracked map[string]readers // who has read which key; nil until somebody tracks
	taken   taken
	_       [64]byte // keeps neighbours' locks on other cache lines
}

// allShards is the lock set of the whole keyspace.
const allShards = ^uint64(0)

// shardBit is the lock-set bit of a slot's shard.
func shardBit(s slot.ID) uint64 { return 1 << uint(keyspace.ShardOf(s)) }

// Lock takes one shard. The caller must hold no shard lock. A script may be between two of its commands there.
func (e *Engine) Lock(shard int) *Shard {
	s := &e.shards[shard]
	s.mu.Lock()
	return s
}

// Unlock releases a shard that Lock took.
func (s *Shard) Unlock() { s.mu.Unlock() }

// LockAll takes every shard, in order: the cut of a snapshot, a flush, a script with undeclared keys.
func (e *Engine) LockAll() { e.lockAllPast() }

// UnlockAll releases what LockAll took.
func (e *Engine) UnlockAll() { e.unlockSet(allShards) }

// Part is the data of one shard; the caller holds its lock.
func (e *Engine) Part(shard int) *keyspace.Part { return e.shards[shard].Part }
