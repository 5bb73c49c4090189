// Package mem holds the data of one shard outside the Go heap, in arenas of size classes.
//
// A block is named by a Ref, never by a Go pointer, so the garbage collector has nothing to walk however many elements
// a shard holds. What it does see is one pointer a chunk of 1 MiB.
//
//	Ref, 40 bits of a uint64:
//
//	  63        40 39                17 16                 0
//	 +------------+--------------------+--------------------+
//	 |     0      |    chunk index     | offset in 8 bytes  |
//	 +------------+--------------------+--------------------+
//
//	Chunk, 1 MiB, 64 pages of 16 KiB; a bit of a uint64 says for each page whether it is free:
//
//	 +--------+--------+-----------------+--------+---- ... ----+--------+
//	 | span   | span   | span (3 pages)  | free   | run of pages| free   |
//	 | of 56s | of 64s | of 9216s        |        | one block   |        |
//	 +--------+--------+-----------------+--------+---- ... ----+--------+
//
//	Span: equal blocks of one class. A free block holds in its first 4 bytes the offset of the next free one. Blocks
//	that were never used follow the used ones and are carved off in order, so untouched pages stay untouched.
//
// Classes are the multiples of 8 bytes up to 256, and from there eight steps a doubling up to 64 KiB. A larger block is
// a run of pages of its own inside a chunk; above 512 KiB it is a mapping of its own, known by a chunk index whose
// offset is always zero, which is given back to the system as soon as it is freed.
//
// Memory goes back to the system early: a span that becomes empty returns its pages to the chunk, free pages beyond a
// small reserve are discarded, and a chunk that becomes empty is unmapped, but for one that is kept.
//
// An Arena belongs to one shard and is not safe for concurrent use. On Linux its memory is mapped; under the race
// detector, and on other systems, it is Go memory, so that the detector sees every access.
package mem

// Ref names a block of an arena. Zero names nothing.
type Ref uint64

const (
	// RefBits is the number of low bits of a Ref that can be set; the owner may use the others for itself.
	RefBits = 40
	// RefMask selects the bits of a Ref in a word that also holds something else.
	RefMask = 1<<RefBits - 1
	// MappedMin is the largest request that is not a mapping of its own. Above it a new block is all zero.
	MappedMin = runBytesMax

	unitShift   = 3  // a block starts at a multiple of 8 bytes
	offsetBits  = 17 // units in a chunk
	offsetMask  = 1<<offsetBits - 1
	chunkShift  = offsetBits + unitShift
	chunkSize   = 1 << chunkShift
	pageShift   = 14
	pageSize    = 1 << pageShift
	chunkPages  = chunkSize / pageSize // 64, so that a uint64 has a bit for each
	pageUnits   = pageSize >> unitShift
	chunksMax   = 1 << (RefBits - offsetBits)
	systemPage  = 4096          // granularity of a mapping of its own
	runBytesMax = chunkSize / 2 // a larger block is a mapping of its own
)

// chunk is the part of a Ref that names the chunk.
func (r Ref) chunk() uint32 { return uint32(r >> offsetBits) }

// offset is the part of a Ref that says where in the chunk the block starts, in bytes.
func (r Ref) offset() uintptr { return uintptr(r&offsetMask) << unitShift }

// Purpose says what a block is for, which the figures of MEMORY STATS are split by.
type Purpose uint8

// The purposes of a block.
const (
	ForRecord Purpose = iota // header, key and small value of one key
	ForTable                 // segments and directories of slot tables
	ForBlob                  // big values
	ForHash
	ForSet
	ForZSet
	ForList
	ForStream
	ForOther
	Purposes int = iota
)

// String is the name of the purpose as the figures show it.
func (p Purpose) String() string {
	names := [Purposes]string{"record", "table", "blob", "hash", "set", "zset", "list", "stream", "other"}
	if int(p) >= Purposes {
		return "unknown"
	}
	return names[p]
}
