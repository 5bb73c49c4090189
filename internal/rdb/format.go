// Package rdb reads and writes RDB files and DUMP payloads. It is pure: bytes come from an io.Reader or a slice, values go
// to a Builder; the Append functions write. docs/formats/rdb.md draws the layout.
//
// A length in the input is a claim. Memory only grows with the bytes that have arrived, every compact value is checked
// element by element before anyone sees it, and damage is an error with an offset, never a panic.
package rdb

const (
	magic = "REDIS"

	// WriteVersion is the version written: the one of Redis 7.0, so that 7.0 and later read our files.
	WriteVersion = 10
	// ReadVersionMax is the newest version read: the one of Redis 7.4.
	ReadVersionMax = 12
	// DumpVersionMax is the newest version accepted in a DUMP payload: the one of Redis 7.4.
	DumpVersionMax = ReadVersionMax

	checksumSince = 5 // the first version with a checksum at the end

	// fieldExpirySince is the first version with TypeHashTTL. It stands in DUMP payloads of that type. A file keeps
	// WriteVersion, since its head is written before its values: 7.4 goes by the type, older ones refuse it.
	fieldExpirySince = 12

	checksumBytes  = 8
	headerBytes    = len(magic) + 4
	dumpFooterSize = 2 + checksumBytes
)

// Type is the byte that tells how a value is written.
type Type uint8

// The types of values.
const (
	TypeString         Type = 0
	TypeList           Type = 1
	TypeSet            Type = 2
	TypeZSetText       Type = 3 // scores as text
	TypeHash           Type = 4
	TypeZSet           Type = 5 // scores as 8 bytes
	TypeModulePreGA    Type = 6 // of 4.0 release candidates, not readable by anyone
	TypeModule         Type = 7
	TypeHashZipmap     Type = 9
	TypeListZiplist    Type = 10
	TypeSetIntset      Type = 11
	TypeZSetZiplist    Type = 12
	TypeHashZiplist    Type = 13
	TypeListZiplists   Type = 14 // a quicklist of ziplists
	TypeStream1        Type = 15
	TypeHashListpack   Type = 16
	TypeZSetListpack   Type = 17
	TypeListListpacks  Type = 18 // a quicklist of listpacks and plain elements
	TypeStream2        Type = 19 // and the first ID, the greatest deleted ID and the number of entries ever added
	TypeSetListpack    Type = 20 // since version 11
	TypeStream3        Type = 21 // and the active time of consumers; since version 11
	TypeHashTTLPreGA   Type = 22 // of 7.4 release candidates
	TypeHashTTLPackPre Type = 23 // of 7.4 release candidates
	TypeHashTTL        Type = 24 // fields with an expiry; since version 12
	TypeHashTTLPack    Type = 25 // the same as a listpack; since version 12
)

// The bytes that may stand where a type is expected.
const (
	opSlotInfo      = 244 // since version 12: slot, keys, keys with expiry
	opFunction      = 245
	opFunctionPreGA = 246 // of 7.0 release candidates
	opModuleAux     = 247
	opIdle          = 248
	opFreq          = 249
	opAux           = 250
	opResizeDB      = 251
	opExpireMs      = 252
	opExpire        = 253
	opSelectDB      = 254
	opEOF           = 255
)

// The first byte of a length: its top two bits tell how many bits the length has. 11 marks a string in a special form.
const (
	len6       = 0 << 6
	len14      = 1 << 6
	len32      = 2 << 6
	len64      = 2<<6 | 1
	encoded    = 3 << 6
	encInt8    = 0
	encInt16   = 1
	encInt32   = 2
	encLZF     = 3
	lenMask    = 3 << 6
	lenBitMask = 1<<6 - 1
)

// How a node of TypeListListpacks is stored.
const (
	nodePlain  = 1 // one element
	nodePacked = 2 // a listpack
)

// In the place of the length of a score in text.
const (
	scoreNaN    = 253
	scorePlus   = 254
	scoreMinus  = 255
	secondsToMs = 1000
)

// The parts of a module's value.
const (
	moduleEOF    = 0
	moduleSigned = 1
	moduleUint   = 2
	moduleFloat  = 3
	moduleDouble = 4
	moduleString = 5
)

// StreamID is the ID of a stream's entry.
type StreamID struct {
	Ms  uint64 // milliseconds
	Seq uint64 // number within the millisecond
}

// Less is the order of entries in a stream.
func (id StreamID) Less(other StreamID) bool {
	return id.Ms < other.Ms || id.Ms == other.Ms && id.Seq < other.Seq
}

const streamIDBytes = 16

// The kinds of values that a client knows, for Packed and for messages.
const (
	KindString Kind = iota
	KindList
	KindSet
	KindZSet
	KindHash
	KindStream
	KindModule
)

// Kind is what a value is, whatever its form.
type Kind uint8

func (k Kind) String() string {
	return [...]string{"string", "list", "set", "zset", "hash", "stream", "module"}[k]
}

// kindOf tells what a type holds; false for a byte that is no type.
func kindOf(t Type) (Kind, bool) {
	switch t {
	case TypeString:
		return KindString, true
	case TypeList, TypeListZiplist, TypeListZiplists, TypeListListpacks:
		return KindList, true
	case TypeSet, TypeSetIntset, TypeSetListpack:
		return KindSet, true
	case TypeZSetText, TypeZSet, TypeZSetZiplist, TypeZSetListpack:
		return KindZSet, true
	case TypeHash, TypeHashZipmap, TypeHashZiplist, TypeHashListpack,
		TypeHashTTLPreGA, TypeHashTTLPackPre, TypeHashTTL, TypeHashTTLPack:
		return KindHash, true
	case TypeStream1, TypeStream2, TypeStream3:
		return KindStream, true
	case TypeModule, TypeModulePreGA:
		return KindModule, true
	}
	return 0, false
}
