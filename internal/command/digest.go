package command

import (
	"crypto/sha1"
	"encoding/hex"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/object"
)

// A digest tells whether two servers hold the same data; it is the one that DEBUG DIGEST of Redis computes. What has no
// order (keys, members of a set) is xored into it, so that the order in which it is met does not matter; what has one is
// mixed: xored, then hashed again.
type digest [sha1.Size]byte

// add xors the hash of b into the digest.
func (d *digest) add(b []byte) {
	for i, x := range sha1.Sum(b) {
		d[i] ^= x
	}
}

// mix adds b and hashes the result.
func (d *digest) mix(b []byte) {
	d.add(b)
	*d = sha1.Sum(d[:])
}

// mixNumber mixes a number of 32 bits, the highest byte first.
func (d *digest) mixNumber(n int) { d.mix([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}) }

// mixValue mixes type and value of a record, and whether it expires.
func (d *digest) mixValue(rec keyspace.Rec) {
	d.mixNumber(int(rec.Type()))
	switch rec.Type() {
	case keyspace.TypeString:
		d.mixString(rec)
	case keyspace.TypeList:
		d.mixList(rec)
	case keyspace.TypeSet:
		d.addSet(rec)
	case keyspace.TypeHash:
		d.addHash(rec)
	case keyspace.TypeZSet:
		d.addZSet(rec)
	case keyspace.TypeStream:
		d.mixStream(rec)
	default:
		invariant.That(false, "command: a type without a digest")
	}
	if rec.HasExpiry() {
		d.add([]byte("!!expire!!"))
	}
}

func (d *digest) mixString(rec keyspace.Rec) {
	if rec.Encoding() == keyspace.EncInt {
		var text [20]byte
		d.mix(num.AppendInt(text[:0], rec.Int()))
	} else {
		d.mix(rec.Value())
	}
}

// mixList mixes the elements of a list, whose order counts.
func (d *digest) mixList(rec keyspace.Rec) {
	var text [20]byte
	l := object.OpenList(rec)
	it := l.Iter(0, false)
	for e, ok := it.Next(); ok; e, ok = it.Next() {
		d.mix(e.Text(text[:0]))
	}
}

func (d *digest) addSet(rec keyspace.Rec) {
	s := object.OpenSet(nil, rec)
	s.EachText(func(text []byte) bool {
		d.add(text)
		return true
	})
}

// addZSet adds each member mixed with its score.
func (d *digest) addZSet(rec keyspace.Rec) {
	var digits [20]byte
	var text [32]byte
	z := object.OpenZSet(nil, rec)
	z.Each(func(m object.Member, score float64) bool {
		var one digest
		one.mix(m.Text(digits[:0]))
		one.mix(num.AppendShortest(text[:0], score))
		d.add(one[:])
		return true
	})
}

// addHash adds the fields of a hash, each with its value, and with whether it expires.
func (d *digest) addHash(rec keyspace.Rec) {
	var text [20]byte
	h := object.OpenHash(nil, rec)
	h.Each(func(f object.Field) bool {
		var one digest
		one.mix(f.Name.Text(text[:0]))
		one.mix(f.Value.Text(text[:0]))
		if f.ExpireAt != 0 {
			one.add([]byte("!!hexpire!!"))
		}
		d.add(one[:])
		return true
	})
}

func (d *digest) String() string { return hex.EncodeToString(d[:]) }

// cmdDebugDigest replies the digest of all databases, taken under all locks. Expired keys that are still there count.
func cmdDebugDigest(c *engine.Ctx) {
	c.LockAll()
	var all digest
	for db := range c.Engine().Databases() {
		started := false
		shard := -1
		c.EachShard(func(s *engine.Shard) bool {
			shard++
			if s.Part.Len(db) == 0 {
				return true
			}
			if !started {
				all.mixNumber(db)
				started = true
			}
			addPart(&all, s.Part, shard, db)
			return true
		})
	}
	c.Simple(all.String())
}

// addPart adds the keys of one shard.
func addPart(all *digest, p *keyspace.Part, shard, db int) {
	for n := range shardSlots {
		p.Each(db, slotCursor(shard*shardSlots+n).slot(), func(rec keyspace.Rec) bool {
			var one digest
			one.mix(rec.Key())
			one.mixValue(rec)
			all.add(one[:])
			return true
		})
	}
}

// cmdDebugDigestValue replies the digests of the values of keys, zeros for a missing one.
func cmdDebugDigestValue(c *engine.Ctx) {
	c.Array(len(c.Args) - 2)
	for i := 2; i < len(c.Args); i++ {
		var d digest
		withKey(c, i, func(rec keyspace.Rec) { d.mixValue(rec) })
		c.Simple(d.String())
	}
}
