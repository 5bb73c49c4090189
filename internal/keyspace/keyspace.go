// Package keyspace holds the data of one node: the keys of all slots and databases, their values, and when they expire.
//
// The slots are dealt to shards; a Part has what one shard holds. Nothing here locks: the caller holds the shard's lock
// for every call. Nothing here reads a clock or rolls dice either: times and random numbers come in as arguments.
//
// Everything lies in the shard's arena (package mem), so the garbage collector never sees a key:
//
//	database ── 256 slot tables of 24 bytes
//	                 │
//	                 ├─ segment ──────────── cells of 8 bytes, in the order of their tags ── record ── blob or root
//	                 │
//	                 └─ directory ─ segment  (a slot with more keys than one segment takes)
//	                              ─ segment
//
//	cell:    | 23 bits: tag, the top of the key's hash | 1: has an expiry | 40: mem.Ref of the record |
//
//	record:  | type, encoding 1 | flags 1 | clock 3 | key length 1 or 4 | value length 1 or 4 | expiry 0 or 8 | key | value |
//
// A key of 16 bytes with a value of 32 thus takes a record of 56 bytes and a cell; record.go and segment.go say more.
package keyspace

import (
	"hash/maphash"

	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/slot"
)

const (
	// Shards is the number of parts that the slots are dealt to.
	Shards = 64

	shardBits  = 6
	partSlots  = slot.Count / Shards // slots of a part
	tagBits    = 23
	tagShift   = 64 - tagBits // of a cell
	tagMask    = 1<<tagBits - 1
	noDeadline = 1<<63 - 1 // bound of a table without volatile keys, in milliseconds
)

// EndOfSlot is the first tag that no key has: a walk that reaches it is done.
const EndOfSlot uint32 = 1 << tagBits

// ShardOf is the shard that holds a slot.
func ShardOf(s slot.ID) int { return int(s) & (Shards - 1) }

// Key is a key with all that finding it needs, computed before the shard is locked. It is four words, so that the compiler
// keeps it in registers.
type Key struct {
	Bytes []byte // the name; it must not lie in the arena of the part that it is put into
	Slot  slot.ID
	Hash  uint32 // the upper half of the name's hash; its top bits are the tag
}

// tag is what a cell has of the key.
func (k *Key) tag() uint64 { return uint64(k.Hash >> (32 - tagBits)) }

// Hasher makes keys. All parts of a node use the same one; its seed keeps clients from choosing keys that collide.
type Hasher struct{ seed maphash.Seed }

// NewHasher is a hasher with the given seed.
func NewHasher(seed maphash.Seed) Hasher { return Hasher{seed: seed} }

// Key is the key of the given name, which it keeps a reference to.
func (h Hasher) Key(name []byte) Key {
	return Key{Bytes: name, Slot: slot.Of(name), Hash: uint32(h.Hash(name) >> 32)}
}

// Hash is the hash of any bytes.
func (h Hasher) Hash(b []byte) uint64 { return maphash.Bytes(h.seed, b) }

// Dropper frees values that live outside the record: the roots of later types. It runs under the shard's lock. It may
// put a big structure aside and free it later in slices.
type Dropper interface {
	Drop(t Type, e Encoding, root mem.Ref, length uint64)
	// FreeSome frees about budget elements of what was put aside. It returns how many are left, about.
	FreeSome(budget int) (left int64)
	// Trash is the number of values that were put aside: those that wait and those that are gone.
	Trash() (pending, freed int64)
	// DueAt is the time that a value says it is scheduled for (Part.Schedule), in milliseconds; NotDue when it is not.
	DueAt(r Rec) int64
}

// NotDue is the time of what is never due.
const NotDue int64 = noDeadline

// Options are what a Part needs from its owner.
type Options struct {
	Shard     int        // which shard this is, 0 to Shards-1
	Databases int        // how many databases there are
	Arena     *mem.Arena // where everything lies; nobody else may use it without the shard's lock
	Dropper   Dropper    // may be nil as long as PutRoot is not used
}

// Part is what one shard holds. It is guarded by that shard's lock.
type Part struct {
	arena     *mem.Arena
	databases int         // that clients see
	dbs       []*database // those by index, and as many that are staged; nil until the first key is put there
	shown     shown       // the same, for who has no lock
	dropper   Dropper
	hasher    Hasher // of members
	shard     int
	born      func(db int, name []byte) // told of each new key; nil mostly
	clock     uint32                    // stamp of new records, 24 bits
	keep      bool                      // an overwritten record keeps its stamp
	lanes     [Lanes]lane
	pins      map[mem.Ref]*pin // values that are read without the lock, by what names them; nil mostly
	trash     []*trash         // databases and slots that were flushed and wait to be freed
	freed     int64            // records of them that were freed by FreeSome
	due       expireCursor     // where ExpireDue goes on
	schedule  schedule         // values in which something is due some time
	// wordsMax is the size above which a segment is split: it bounds the pause of an insertion. Tests make it small.
	wordsMax int
	moved    int // cells moved by growing and shrinking, ever: what tests bound the longest pause by
}

// database is one database of a part. Its tables are found by the slot without the shard's bits.
type database struct {
	slots    [partSlots]slotTable
	count    int64
	volatile int64
	bound    int64 // no key expires before this time, in milliseconds
	cutIndex [Lanes]int
}

// New is an empty part.
func New(o Options) *Part {
	all := 2 * o.Databases // see Staged
	return &Part{arena: o.Arena, databases: o.Databases, dbs: make([]*database, all), shown: make(shown, all), dropper: o.Dropper, shard: o.Shard, wordsMax: wordsMax}
}

// SetHasher sets what hashes members. It must be set before the first value with members is put, and stays then.
func (p *Part) SetHasher(h Hasher) { p.hasher = h }

// HashMember is the hash of a member or field of a value. All parts of a node have the same one; its seed keeps clients
// from choosing members that collide.
func (p *Part) HashMember(b []byte) uint64 { return maphash.Bytes(p.hasher.seed, b) }

// Arena is where the part's data lies.
func (p *Part) Arena() *mem.Arena { return p.arena }

// Databases is the number of databases.
func (p *Part) Databases() int { return p.databases }

// SetClock sets the access stamp that new records get, 24 bits. When keep is set, a record that is overwritten keeps
// the stamp it has (as the LFU policies want it), otherwise it gets the new one.
func (p *Part) SetClock(stamp uint32, keep bool) { p.clock, p.keep = stamp&clockMask, keep }

// OnNew sets who is told of each key that was not there before, in a database that is not staged; nil is nobody. He must not touch the part.
func (p *Part) OnNew(born func(db int, name []byte)) { p.born = born }

// table is the table of a slot, nil when the database holds nothing.
func (p *Part) table(db int, s slot.ID) *slotTable {
	d := p.dbs[db]
	if d == nil {
		return nil
	}
	return &d.slots[s>>shardBits]
}

// database is the database of the given index, made when it is not there yet.
func (p *Part) database(db int) *database {
	if p.dbs[db] == nil {
		p.dbs[db] = newDatabase()
		p.shown.set(db, p.dbs[db])
	}
	return p.dbs[db]
}

func newDatabase() *database {
	d := &database{bound: noDeadline}
	for i := range d.slots {
		d.slots[i].bound = noDeadline
	}
	return d
}
