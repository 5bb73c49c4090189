package engine

import (
	"sync/atomic"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/keyspace"
)

// Policy is a maxmemory-policy.
type Policy uint32

const (
	NoEviction Policy = iota
	AllKeysLRU
	VolatileLRU
	AllKeysLFU
	VolatileLFU
	AllKeysRandom
	VolatileRandom
	VolatileTTL
)

func (p Policy) lfu() bool { return p == AllKeysLFU || p == VolatileLFU }

func (p Policy) volatile() bool {
	return p == VolatileLRU || p == VolatileLFU || p == VolatileRandom || p == VolatileTTL
}

// Evictor keeps the data below maxmemory: it samples records of random shards and drops the one that is worth least.
type Evictor struct {
	e         *Engine
	policy    atomic.Uint32
	samples   atomic.Int64
	logFactor atomic.Int64 // lfu-log-factor
	decayMin  atomic.Int64 // lfu-decay-time, minutes
}

func (ev *Evictor) init(e *Engine) {
	ev.e = e
	ev.samples.Store(5)
	ev.logFactor.Store(10)
	ev.decayMin.Store(1)
}

// MaxMemory is maxmemory in bytes.
func (s *Settings) MaxMemory() *atomic.Int64 { return &s.maxMemory }

// SetPolicy sets maxmemory-policy.
func (ev *Evictor) SetPolicy(p Policy) { ev.policy.Store(uint32(p)) }

// Policy is maxmemory-policy.
func (ev *Evictor) Policy() Policy { return Policy(ev.policy.Load()) }

// SetSamples sets maxmemory-samples.
func (ev *Evictor) SetSamples(n int64) { ev.samples.Store(n) }

// SetLFU sets lfu-log-factor and lfu-decay-time (minutes).
func (ev *Evictor) SetLFU(factor, decay int64) {
	ev.logFactor.Store(factor)
	ev.decayMin.Store(decay)
}

// UsesLFU says whether records carry frequency counters instead of access times.
func (ev *Evictor) UsesLFU() bool { return ev.usesLFU() }

func (ev *Evictor) usesLFU() bool { return Policy(ev.policy.Load()).lfu() }

// evictionsPerCommand bounds how many keys one command has to drop before it goes on: about 100 µs.
const evictionsPerCommand = 64

// fits says whether there is room for a write.
func (e *Engine) fits(limit int64) bool { return e.UsedMemory() <= limit }

// makeRoom evicts until the data fits; false when it does not fit and nothing more may go.
func (ev *Evictor) makeRoom(c *Ctx) bool {
	limit := ev.e.Settings.maxMemory.Load()
	if ev.e.fits(limit) {
		return true
	}
	if ev.e.Role.IsReplica() && ev.e.Settings.IgnoreMaxMemory.Load() || ev.e.Pause.any() {
		return true
	}
	if ev.Policy() == NoEviction || c.held != 0 {
		return false
	}
	if ev.e.flushed.Load() && ev.freeTrash(limit) {
		return true
	}
	start := c.W.nanos()
	defer func() { ev.e.NoteEvent("eviction-cycle", c.W.nanos()-start) }()
	for range evictionsPerCommand {
		if !ev.evictOne(c) {
			return ev.e.fits(limit)
		}
		if ev.e.fits(limit) {
			return true
		}
	}
	return true // the rest is left to the next commands and the cron
}

// freeTrash frees some of what was flushed, before anything has to go that is still wanted; true when that is enough.
func (ev *Evictor) freeTrash(limit int64) bool {
	for i := range ev.e.shards {
		s := ev.e.Lock(i)
		s.Part.FreeSome(evictionsPerCommand)
		s.Part.Arena().Publish()
		s.Unlock()
		if ev.e.fits(limit) {
			return true
		}
	}
	return false
}

// EvictCycle drops keys while nobody sends commands, as after a change of maxmemory. It returns whether more has to go.
func (e *Engine) EvictCycle(w *Worker) (more bool) {
	limit := e.Settings.maxMemory.Load()
	if limit == 0 || e.fits(limit) || e.Loading() {
		return false
	}
	before := e.Stats.EvictedKeys.Load()
	e.Evictor.makeRoom(w.background())
	w.kick()
	return e.Stats.EvictedKeys.Load() > before && !e.fits(limit)
}

// victim is the least valuable record seen so far.
type victim struct {
	db    int
	shard int
	key   []byte
	score uint64 // higher goes first
}

// shardTriesMax bounds the search for a shard that holds anything evictable.
const shardTriesMax = keyspace.Shards

// evictOne drops the worst of a few samples; false when nothing can go.
func (ev *Evictor) evictOne(c *Ctx) bool {
	best := victim{shard: -1}
	first := int(ev.e.Random() % keyspace.Shards)
	wanted := int(ev.samples.Load())
	for i := 0; i < shardTriesMax && wanted > 0; i++ {
		wanted -= ev.sampleShard(c, (first+i)%keyspace.Shards, wanted, &best)
	}
	if best.shard < 0 {
		return false
	}
	db := c.S.db
	c.withFreeShard(best.shard, func(s *Shard) bool {
		key := ev.e.Key(best.key)
		c.S.db = best.db
		if s.Part.Delete(best.db, &key) {
			s.Part.Arena().Publish()
			ev.e.Stats.EvictedKeys.Add(1)
			c.early = true
			c.vanished(best.db, &key)
			c.early = false
			c.NotifyKey(config.EventEvicted, "evicted", best.db, best.key)
			c.logRemoval(best.key, ev.e.Settings.LazyEvict.Load())
		}
		return true
	})
	c.S.db = db
	return true
}

// sampleShard looks at up to n records of one shard and keeps the worst; it returns how many it saw.
func (ev *Evictor) sampleShard(c *Ctx, shard, n int, best *victim) (seen int) {
	policy := ev.Policy()
	c.withFreeShard(shard, func(s *Shard) bool {
		for db := range ev.e.dbs {
			if s.Part.Len(db) == 0 || policy.volatile() && s.Part.Expires(db) == 0 {
				continue
			}
			s.Part.Sample(db, ev.e.Random(), n, policy.volatile(), func(rec keyspace.Rec) {
				seen++
				if score := ev.score(policy, rec, c.Now); best.shard < 0 || score > best.score {
					*best = victim{db, shard, append(best.key[:0], rec.Key()...), score}
				}
			})
		}
		return true
	})
	return seen
}

func (ev *Evictor) score(p Policy, rec keyspace.Rec, now clock.Millis) uint64 {
	switch p {
	case AllKeysLRU, VolatileLRU:
		return uint64((ev.e.lruClock.Load() - rec.Clock()) & lruClockMask)
	case AllKeysLFU, VolatileLFU:
		return uint64(255 - ev.decayed(rec.Clock(), now))
	case VolatileTTL:
		return ^uint64(rec.ExpireAt())
	}
	return ev.e.Random()
}

// lfuInitial is the counter of a new record, so that it is not the first to go.
const lfuInitial = 5

// The 24 bits of a record under LFU: 16 bits of minutes, 8 bits of a logarithmic counter.
func lfuMinutes(now clock.Millis) uint32 { return uint32(int64(now)/60000) & 0xffff }

func lfuFresh(now clock.Millis) uint32 { return lfuMinutes(now)<<8 | lfuInitial }

// decayed is the counter after the minutes without access.
func (ev *Evictor) decayed(lru uint32, now clock.Millis) uint32 {
	counter := lru & 0xff
	decay := uint32(ev.decayMin.Load())
	if decay == 0 {
		return counter
	}
	periods := ((lfuMinutes(now) - lru>>8) & 0xffff) / decay
	if periods > counter {
		return 0
	}
	return counter - periods
}

// nextLFU is the field after one more access: the higher the counter, the less likely it grows.
func (ev *Evictor) nextLFU(lru uint32, now clock.Millis) uint32 {
	counter := ev.decayed(lru, now)
	if counter < 255 {
		over := uint64(0)
		if counter > lfuInitial {
			over = uint64(counter - lfuInitial)
		}
		if ev.e.Random()%(over*uint64(ev.logFactor.Load())+1) == 0 {
			counter++
		}
	}
	return lfuMinutes(now)<<8 | counter
}

// Freq is OBJECT FREQ.
func (ev *Evictor) Freq(rec keyspace.Rec, now clock.Millis) int64 {
	return int64(ev.decayed(rec.Clock(), now))
}

// Stamp is the access clock of a record that is restored with an idle time in seconds or a frequency; -1 says that it is
// not given. false when neither means anything under the policy in force.
func (ev *Evictor) Stamp(idle, freq int64, now clock.Millis) (uint32, bool) {
	switch {
	case ev.usesLFU() && freq >= 0:
		return lfuMinutes(now)<<8 | uint32(freq), true
	case !ev.usesLFU() && idle >= 0:
		return uint32(int64(ev.e.lruClock.Load())-idle) & lruClockMask, true
	}
	return 0, false
}

// IdleSeconds is OBJECT IDLETIME.
func (e *Engine) IdleSeconds(rec keyspace.Rec) int64 {
	return int64((e.lruClock.Load() - rec.Clock()) & lruClockMask)
}

// Use counts memory outside of the arenas as used; a negative number gives it back.
func (e *Engine) Use(bytes int64) { e.used.Add(bytes) }

// SetBase tells what the node takes before it has any data or client.
func (e *Engine) SetBase(bytes int64) { e.base.Store(bytes) }

// Base is what the node takes before it has any data or client, in bytes.
func (e *Engine) Base() int64 { return e.base.Load() }

// UsedMemory is what maxmemory counts, in bytes: the base, what the arenas hold, and the clients with their buffers. It may
// lag by a few KiB a shard.
func (e *Engine) UsedMemory() int64 { return e.base.Load() + e.used.Load() + e.ClientMemory.Sum() }
