package keyspace

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/mem"
)

// This file holds the record: one key with its small value, or with the address of its big one.
//
//	 0           1        2..4      5              6              7
//	+-----------+--------+---------+--------------+--------------+------------+-------+--------+
//	| type  enc | flags  | clock   | key length   | value length | expiry, ms | key   | value  |
//	| 4 bits, 4 |        | (LRU or | 1 byte, or 4 | 1 byte, or 4 | 8, only if |       |        |
//	|           |        |  LFU)   | if wideKey   | if wideValue | hasExpiry  |       |        |
//	+-----------+--------+---------+--------------+--------------+------------+-------+--------+
//
//	flags:  0 hasExpiry  1 wideKey  2 wideValue  3 isBlob  4 isRoot  5, 6 snapshot lanes (snapshot.go)  7 unused
//
// All numbers are little-endian. The value of a blob and of a root is 16 bytes:
//
//	blob:  | 40 bits: mem.Ref | 24 bits: capacity in 4096 bytes | 8 bytes: length |
//	root:  | 8 bytes: root, of which the type's owner knows the meaning | 8 bytes: number of elements |

// Type is the type of a value.
type Type uint8

// The types, numbered as RDB files and modules number them.
const (
	TypeString Type = iota
	TypeList
	TypeSet
	TypeZSet
	TypeHash
	TypeModule
	TypeStream
)

// Encoding is how a value of a type is held.
type Encoding uint8

// The encodings. What OBJECT ENCODING calls them is the business of the commands.
const (
	EncRaw        Encoding = iota // string: bytes
	EncEmbstr                     // string: at most EmbstrMax bytes
	EncInt                        // string: a canonical 64-bit number, held as 8 bytes
	EncListpack                   // small list, hash, set, sorted set: the listpack's bytes
	EncIntset                     // small set of numbers: the intset's bytes
	EncHashtable                  // hash, set: a root
	EncSkiplist                   // sorted set: a root
	EncQuicklist                  // list: a root
	EncStream                     // stream: a root
	EncListpackEx                 // small hash whose fields may expire: a listpack, and 8 bytes that say when it is scheduled
)

// EmbstrMax is the length up to which a string counts as EncEmbstr.
const EmbstrMax = 44

const (
	hasExpiry byte = 1 << iota
	wideKey
	wideValue
	isBlob
	isRoot
	laneBit0 // lane n has laneBit0 << n

	clockMask   = 1<<24 - 1
	clockAt     = 2
	lengthsAt   = 5
	handleBytes = 16 // value of a blob or root
)

// Rec is a record as it was found. It is valid until the next change of its Part: the clock, and what a record that
// FindForWrite returned may be asked to change in place, do not count. It is four words, so that the compiler keeps it in
// registers; where things lie is read from the record's head each time.
type Rec struct {
	b     []byte // from the record to the end of its chunk
	arena *mem.Arena
}

// keyAt is where the key begins and how long it is.
func (r Rec) keyAt() (at, klen int) {
	if flags := r.b[1]; flags&(wideKey|wideValue) == 0 {
		return lengthsAt + 2 + int(flags&hasExpiry)<<3, int(r.b[lengthsAt])
	}
	at, klen, _ = r.wide()
	return at, klen
}

// inlineAt is where what the record has for a value begins and how long it is.
func (r Rec) inlineAt() (at, vlen int) {
	if flags := r.b[1]; flags&(wideKey|wideValue) == 0 {
		return lengthsAt + 2 + int(flags&hasExpiry)<<3 + int(r.b[lengthsAt]), int(r.b[lengthsAt+1])
	}
	at, klen, vlen := r.wide()
	return at + klen, vlen
}

// wide is where the key begins and both lengths of any record.
func (r Rec) wide() (at, klen, vlen int) {
	flags := r.b[1]
	klen, at = decodeLength(r.b, lengthsAt, flags&wideKey != 0)
	vlen, at = decodeLength(r.b, at, flags&wideValue != 0)
	return at + int(flags&hasExpiry)<<3, klen, vlen
}

func decodeLength(b []byte, at int, wide bool) (n, next int) {
	if wide {
		return int(binary.LittleEndian.Uint32(b[at:])), at + 4
	}
	return int(b[at]), at + 1
}

// headSize is where the key begins in a record with the given flags.
func headSize(flags byte) int {
	return lengthsAt + 2 + int(flags&hasExpiry)<<3 + 3*int(flags>>1&1) + 3*int(flags>>2&1)
}

// shape is the flags that a record with such a key, value and expiry needs.
func shape(klen, vlen int, expireAt int64) (flags byte) {
	if klen > 255 {
		flags |= wideKey
	}
	if vlen > 255 {
		flags |= wideValue
	}
	if expireAt != 0 {
		flags |= hasExpiry
	}
	return flags
}

// encode writes a record into b. The value is written first, then what lies before it: value may be a part of the
// record that is overwritten, key must not.
func encode(b []byte, head, flags byte, clock uint32, expireAt int64, key, value []byte) {
	at := headSize(flags)
	copy(b[at+len(key):], value)
	copy(b[at:], key)
	encodeHead(b, head, flags, clock, expireAt, len(key), len(value))
}

// encodeHead writes all of a record but the key and the value.
func encodeHead(b []byte, head, flags byte, clock uint32, expireAt int64, klen, vlen int) {
	b[0], b[1] = head, flags
	b[2], b[3], b[4] = byte(clock), byte(clock>>8), byte(clock>>16)
	at := encodeLength(b, lengthsAt, klen, flags&wideKey != 0)
	at = encodeLength(b, at, vlen, flags&wideValue != 0)
	if flags&hasExpiry != 0 {
		binary.LittleEndian.PutUint64(b[at:], uint64(expireAt))
	}
}

func encodeLength(b []byte, at, n int, wide bool) (next int) {
	if wide {
		binary.LittleEndian.PutUint32(b[at:], uint32(n))
		return at + 4
	}
	b[at] = byte(n)
	return at + 1
}

func headByte(t Type, e Encoding) byte { return byte(t)<<4 | byte(e) }

// size is the number of bytes of the record.
func (r Rec) size() int {
	at, vlen := r.inlineAt()
	return at + vlen
}

func (r Rec) flags() byte { return r.b[1] }

// inline is what the record itself has for a value.
func (r Rec) inline() []byte {
	at, vlen := r.inlineAt()
	return r.b[at : at+vlen : at+vlen]
}

// Key is the name of the key.
func (r Rec) Key() []byte {
	at, klen := r.keyAt()
	return r.b[at : at+klen : at+klen]
}

// Type is the type of the value.
func (r Rec) Type() Type { return Type(r.b[0] >> 4) }

// Encoding is how the value is held.
func (r Rec) Encoding() Encoding { return Encoding(r.b[0] & 15) }

// HasExpiry says whether the key will expire.
func (r Rec) HasExpiry() bool { return r.flags()&hasExpiry != 0 }

// ExpireAt is when the key expires, in milliseconds; 0 means never.
func (r Rec) ExpireAt() int64 {
	if r.flags()&hasExpiry == 0 {
		return 0
	}
	at, _ := r.keyAt()
	return int64(binary.LittleEndian.Uint64(r.b[at-8:]))
}

// Clock is the access stamp, 24 bits, whose meaning is the eviction policy's.
func (r Rec) Clock() uint32 {
	return uint32(r.b[clockAt]) | uint32(r.b[clockAt+1])<<8 | uint32(r.b[clockAt+2])<<16
}

// SetClock sets the access stamp, in place.
func (r Rec) SetClock(stamp uint32) {
	r.b[clockAt], r.b[clockAt+1], r.b[clockAt+2] = byte(stamp), byte(stamp>>8), byte(stamp>>16)
}

// Arena is where the record lies.
func (r Rec) Arena() *mem.Arena { return r.arena }

// IsRoot says whether the value is a root, which only its type's owner can read.
func (r Rec) IsRoot() bool { return r.flags()&isRoot != 0 }

// Value is the bytes of the value, wherever they lie; for EncInt 8 bytes, little-endian; for a root the 16 bytes of it.
func (r Rec) Value() []byte {
	if r.flags()&isBlob == 0 {
		return r.inline()
	}
	ref, _, length := r.blob()
	return r.arena.Bytes(ref, length)
}

// Int is the value of a string in EncInt.
func (r Rec) Int() int64 { return int64(binary.LittleEndian.Uint64(r.inline())) }

// SetInt changes the value of a string in EncInt, in place. The record must come from FindForWrite.
func (r Rec) SetInt(n int64) { binary.LittleEndian.PutUint64(r.inline(), uint64(n)) }

// Root is the root of the value and its number of elements.
func (r Rec) Root() (root mem.Ref, length uint64) {
	v := r.inline()
	return mem.Ref(binary.LittleEndian.Uint64(v)), binary.LittleEndian.Uint64(v[8:])
}

// SetRoot changes the root of the value, in place. The record must come from FindForWrite and have a root; what the old
// one named is not freed.
func (r Rec) SetRoot(root mem.Ref, length uint64) {
	v := r.inline()
	binary.LittleEndian.PutUint64(v, uint64(root))
	binary.LittleEndian.PutUint64(v[8:], length)
}

// blob is the block of a big value, the number of bytes it was asked for with, and the length of the value.
func (r Rec) blob() (ref mem.Ref, capacity, length int) {
	v := r.inline()
	word := binary.LittleEndian.Uint64(v)
	return mem.Ref(word & mem.RefMask), int(word>>mem.RefBits) * blobUnit, int(binary.LittleEndian.Uint64(v[8:]))
}
