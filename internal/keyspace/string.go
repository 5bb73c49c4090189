package keyspace

import (
	"encoding/binary"
	"strconv"

	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/num"
)

// This file holds values that are bytes: strings, the change of bytes in place, and blobs, which lie outside the record.

const (
	inlineMax = 32 << 10 // a longer value is a blob
	blobUnit  = 4096     // above inlineMax the size of every block is a multiple of this

	spareMax = 1 << 20 // a value that grows is given as much again as it has, but no more than this
	intText  = 20      // the longest text of a 64-bit number

	// A blob that is overwritten is used again as long as no more than this part of it would lie idle.
	idleShare = 2
)

// outside is what a value has outside its record.
type outside struct {
	head  byte
	flags byte // isBlob, isRoot, or 0 for nothing
	word  uint64
	count uint64
}

// outside is what the record's value has outside of it.
func (r Rec) outside() outside {
	flags := r.flags() & (isBlob | isRoot)
	if flags == 0 {
		return outside{}
	}
	v := r.inline()
	return outside{r.b[0], flags, binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:])}
}

// effort is how long freeing a record takes, measured by that of a small one: the system takes a big blob back at
// some 2 KiB in that time.
func (r Rec) effort() int {
	if r.flags()&isBlob == 0 {
		return 1
	}
	_, capacity, _ := r.blob()
	return 1 + capacity>>11
}

// sameBlob says whether the value v is held by this very blob.
func (o outside) sameBlob(v value) bool {
	return o.flags == isBlob && v.flags == isBlob && (o.word^binary.LittleEndian.Uint64(v.bytes))&mem.RefMask == 0
}

// release frees what a value that is gone had outside its record.
func (p *Part) release(o outside) {
	if len(p.pins) != 0 && p.keepPinned(o) {
		return
	}
	switch o.flags {
	case isBlob:
		p.arena.Free(mem.ForBlob, mem.Ref(o.word&mem.RefMask), int(o.word>>mem.RefBits)*blobUnit)
	case isRoot:
		p.dropper.Drop(Type(o.head>>4), Encoding(o.head&15), mem.Ref(o.word), o.count)
	}
}

// putHandle writes what the record of a blob or root has for a value.
func putHandle(b []byte, word, count uint64) {
	binary.LittleEndian.PutUint64(b, word)
	binary.LittleEndian.PutUint64(b[8:], count)
}

// blobWord is the first word of a blob's handle.
func blobWord(ref mem.Ref, bytes int) uint64 {
	return uint64(ref) | uint64(mem.Usable(bytes)/blobUnit)<<mem.RefBits
}

// SetString sets a key to a string, which may be part of the arena. A canonical 64-bit number is held as one.
func (p *Part) SetString(db int, k *Key, val []byte, expireAt int64) (replaced bool) {
	switch {
	case len(val) <= intText:
		if n, ok := num.ParseInt(val); ok {
			return p.SetInt(db, k, n, expireAt)
		}
		return p.put(db, k, value{head: headByte(TypeString, EncEmbstr), bytes: val}, expireAt)
	case len(val) <= EmbstrMax:
		return p.put(db, k, value{head: headByte(TypeString, EncEmbstr), bytes: val}, expireAt)
	case len(val) <= inlineMax:
		return p.put(db, k, value{head: headByte(TypeString, EncRaw), bytes: val}, expireAt)
	default:
		return p.putBlob(db, k, headByte(TypeString, EncRaw), val, expireAt)
	}
}

// SetInt sets a key to a string that is a number.
func (p *Part) SetInt(db int, k *Key, n int64, expireAt int64) (replaced bool) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	return p.put(db, k, value{head: headByte(TypeString, EncInt), bytes: b[:]}, expireAt)
}

// putBlob sets a key to bytes outside its record. The block that the key has already is used again when it suits.
func (p *Part) putBlob(db int, k *Key, head byte, val []byte, expireAt int64) (replaced bool) {
	var word uint64
	if rec, ok := p.Find(db, k); ok && rec.flags()&isBlob != 0 {
		p.beforeChange(p.dbs[db], p.table(db, k.Slot), rec)
		ref, capacity, _ := rec.blob()
		if need := mem.Usable(len(val)); need <= capacity && capacity <= need*idleShare && !p.isPinned(rec) {
			copy(p.arena.Bytes(ref, capacity), val)
			word = blobWord(ref, capacity)
		}
	}
	if word == 0 {
		ref := p.arena.Alloc(mem.ForBlob, len(val))
		copy(p.arena.Bytes(ref, len(val)), val)
		word = blobWord(ref, len(val))
	}
	var handle [handleBytes]byte
	putHandle(handle[:], word, uint64(len(val)))
	return p.put(db, k, value{head: head, flags: isBlob, bytes: handle[:]}, expireAt)
}

// TakeString sets a key to a string that lies in a buffer of m, which becomes the value's block without a copy. false: the
// buffer does not suit, and nothing has happened; see mem.Arena.Adopt.
func (p *Part) TakeString(db int, k *Key, m *mem.Buffers, buf, val []byte, expireAt int64) bool {
	ref, room, ok := p.arena.Adopt(mem.ForBlob, m, buf, val)
	if !ok {
		return false
	}
	var handle [handleBytes]byte
	putHandle(handle[:], blobWord(ref, room), uint64(len(val)))
	p.put(db, k, value{head: headByte(TypeString, EncRaw), flags: isBlob, bytes: handle[:]}, expireAt)
	return true
}

// Writable makes the value of a key, which is plain bytes, newLen bytes long and returns it to be changed in place. What
// it had stays, what is added is zero. A string is EncRaw after that; other types keep their encoding. With spare set, a
// value that outgrows its block is given more than it needs, so that a value that grows by many small steps is copied a
// few times only. It is nil when there is no such key. The expiry stays.
func (p *Part) Writable(db int, k *Key, newLen int, spare bool) []byte {
	t := p.table(db, k.Slot)
	if t == nil {
		return nil
	}
	at := p.locate(t, k)
	if !at.found {
		return nil
	}
	invariant.That(!at.rec.IsRoot(), "keyspace: the bytes of a root are asked for")
	d := p.dbs[db]
	p.beforeEdit(d, t, at.rec)
	switch {
	case at.rec.Type() == TypeString && at.rec.Encoding() == EncInt:
		var text [intText]byte
		p.resizeInline(d, t, &at, strconv.AppendInt(text[:0], at.rec.Int(), 10), newLen, spare)
	case at.rec.flags()&isBlob != 0:
		p.resizeBlob(d, t, &at, newLen, spare)
	default:
		p.resizeInline(d, t, &at, at.rec.inline(), newLen, spare)
	}
	if at.rec.Type() == TypeString {
		at.rec.b[0] = headByte(TypeString, EncRaw)
	}
	return at.rec.Value()
}

// resizeInline gives the record at a place, whose value is val and lies in the record or in Go memory, a value of newLen
// bytes.
func (p *Part) resizeInline(d *database, t *slotTable, at *place, val []byte, newLen int, spare bool) {
	if newLen <= inlineMax {
		kept := min(len(val), newLen)
		p.reshape(d, t, at, 0, val[:kept], newLen, at.rec.ExpireAt())
		clear(at.rec.inline()[kept:])
		return
	}
	capacity := newLen
	if spare {
		capacity += min(newLen, spareMax)
	}
	ref := p.arena.Alloc(mem.ForBlob, capacity)
	block := p.arena.Bytes(ref, capacity)
	n := copy(block, val)
	if capacity <= mem.MappedMin {
		clear(block[n:newLen])
	}
	p.setBlob(d, t, at, blobWord(ref, capacity), newLen)
}

// resizeBlob gives the record at a place, whose value is a blob, a value of newLen bytes.
func (p *Part) resizeBlob(d *database, t *slotTable, at *place, newLen int, spare bool) {
	ref, capacity, length := at.rec.blob()
	if newLen <= inlineMax/idleShare {
		held := outside{flags: isBlob, word: blobWord(ref, capacity)}
		p.reshape(d, t, at, 0, p.arena.Bytes(ref, length)[:min(length, newLen)], newLen, at.rec.ExpireAt())
		clear(at.rec.inline()[min(length, newLen):])
		p.release(held)
		return
	}
	want := max(newLen, inlineMax+1)
	switch {
	case newLen > capacity && spare:
		want += min(newLen, spareMax)
	case newLen <= capacity && (spare || capacity <= mem.Usable(want)*idleShare):
		want = capacity
	}
	fresh := p.arena.Resize(mem.ForBlob, ref, capacity, want)
	block := p.arena.Bytes(fresh, max(newLen, want))
	dirty := newLen // up to here the block may hold old bytes
	if want > mem.MappedMin {
		dirty = min(dirty, capacity)
	}
	if length < dirty {
		clear(block[length:dirty])
	}
	p.setBlob(d, t, at, blobWord(fresh, want), newLen)
}

// setBlob gives the record at a place the handle of a blob for a value.
func (p *Part) setBlob(d *database, t *slotTable, at *place, word uint64, length int) {
	var handle [handleBytes]byte
	putHandle(handle[:], word, uint64(length))
	p.reshape(d, t, at, isBlob, handle[:], handleBytes, at.rec.ExpireAt())
}

// reshape gives the record at a place other lengths and flags: a value of vlen bytes that begins with val, and an expiry.
// Key, type and stamp stay. The record moves when its block does not fit. val may be part of the record.
func (p *Part) reshape(d *database, t *slotTable, at *place, kind byte, val []byte, vlen int, expireAt int64) {
	old := at.rec
	oldAt, klen := old.keyAt()
	flags := shape(klen, vlen, expireAt) | kind | t.stamp()
	keyAt := headSize(flags)
	size, oldSize := keyAt+klen+vlen, old.size()
	ref := cellRef(at.seg[at.i])
	head, clock := old.b[0], old.Clock()
	b, key := old.b, old.Key()
	if mem.Fits(oldSize, size) {
		if keyAt >= oldAt { // what moves towards the end goes first, so that nothing is overwritten too early
			copy(b[keyAt+klen:], val)
			copy(b[keyAt:], key)
		} else {
			copy(b[keyAt:], key)
			copy(b[keyAt+klen:], val)
		}
	} else {
		fresh := p.arena.Alloc(mem.ForRecord, size)
		b = p.arena.Tail(fresh)
		copy(b[keyAt:], key)
		copy(b[keyAt+klen:], val)
		p.arena.Free(mem.ForRecord, ref, oldSize)
		ref = fresh
	}
	encodeHead(b, head, flags, clock, expireAt, klen, vlen)
	at.rec = Rec{b, p.arena}
	p.setCell(d, t, at, ref, expireAt)
}
