package mem

import (
	"sync/atomic"
	"unsafe"

	"github.com/covey-db/covey/internal/invariant"
)

// This file holds the arena and what the hot paths use of it: Alloc, Free and the accessors.

// publishStep is how far the published total may be off: 64 shards make 4 MiB, well below what maxmemory is set to.
const publishStep = 64 << 10

// Options are what an arena needs from its owner.
type Options struct {
	// Published is a total that many arenas may share; each adds to it what it holds, in steps. May be nil.
	Published *atomic.Int64
	// HugePages makes an arena ask the system for huge pages, which saves misses of the TLB. With 10 M keys in 64 arenas
	// a search took 930 ns of a busy processor instead of 1180, but a key 81 bytes instead of 71, as memory comes and
	// goes by 2 MiB; the more keys, the less that is. So it is for who has memory to spare.
	HugePages bool
}

// region is where a chunk is: what every access reads, so nothing else is in it.
type region struct {
	base unsafe.Pointer
	size uintptr // chunkSize, more for a mapping of its own, zero for an index that is not in use
}

// class is the state of one size class.
type class struct {
	size    uint32 // bytes of a block
	blocks  uint32 // blocks of a span
	pages   uint32 // pages of a span
	partial spanID // first of the spans that have a free block; the fullest ones are near the front
}

// Arena holds the blocks of one shard. It is guarded by that shard's lock.
type Arena struct {
	regions []region // by chunk index; index 0 is never used, so that a Ref of zero is nothing
	classes [classCount]class
	used    [Purposes]int64 // bytes of the live blocks, as their classes count them
	drift   int64           // change of the sum of used since it was last published
	idle    spanID          // the span that became empty last, and may have been used again since; 0 for none
	quiet   spanID          // what idle was when Decay looked
	pages   pageHeap
	mapped  int64    // bytes of address space that the arena holds
	dying   []region // mappings that were freed and are given back in steps
	putsOff bool     // free pages and empty chunks are left to Settle
	options Options
	live    ledger // what is allocated, only in builds with invariants

	hugeFrom int64 // bytes mapped from which on chunks lie on huge pages; tests make it small
}

// NewArena is an empty arena. It holds no memory before the first Alloc.
func NewArena(options Options) *Arena {
	a := &Arena{options: options, regions: make([]region, 1), hugeFrom: 1<<63 - 1}
	if options.HugePages {
		a.hugeFrom = hugeFrom
	}
	a.pages.init()
	for c := range a.classes {
		size := sizeOf(c)
		pages := pagesOf(size)
		a.classes[c] = class{size: uint32(size), pages: uint32(pages), blocks: uint32((pages << pageShift) / size)}
	}
	return a
}

// Alloc is a new block of at least n bytes. Its contents are arbitrary, but a block above 512 KiB is all zero.
// It panics when the system has no more memory.
func (a *Arena) Alloc(p Purpose, n int) Ref {
	var r Ref
	if n <= smallMax {
		r = a.allocSmall(p, classOf(n))
	} else {
		r = a.allocLarge(p, n)
	}
	if invariant.Enabled {
		a.live.add(a, p, r, n)
	}
	return r
}

// Free gives the block r back, which was allocated for purpose p with a request of n bytes, or of another number of
// bytes with the same Usable.
func (a *Arena) Free(p Purpose, r Ref, n int) {
	if invariant.Enabled {
		a.live.remove(a, p, r, n)
	}
	if n <= smallMax {
		a.freeSmall(p, r, classOf(n))
	} else {
		a.freeLarge(p, r, n)
	}
}

// Resize makes the block r, which has been allocated for have bytes, one for want bytes, moving it when it must. The
// contents are kept up to the smaller of both; what follows is arbitrary, but zero where a block above 512 KiB grows.
func (a *Arena) Resize(p Purpose, r Ref, have, want int) Ref {
	if Fits(have, want) {
		return r
	}
	if have > runBytesMax && want > runBytesMax {
		if invariant.Enabled {
			a.live.remove(a, p, r, have)
			defer a.live.add(a, p, r, want)
		}
		a.resizeMapping(p, r, have, want)
		return r
	}
	to := a.Alloc(p, want)
	copy(a.Bytes(to, want), a.Bytes(r, have))
	a.Free(p, r, have)
	return to
}

// Bytes are the n bytes of the block r; the capacity is what the block really has. The slice lives until the block is
// freed, and does not move before.
func (a *Arena) Bytes(r Ref, n int) []byte {
	g := &a.regions[r.chunk()]
	return unsafe.Slice((*byte)(unsafe.Add(g.base, r.offset())), Usable(n))[:n]
}

// Tail are the bytes from the block r to the end of its chunk: for readers that find out the length of a block from
// its contents. The bytes behind the block belong to others.
func (a *Arena) Tail(r Ref) []byte {
	g := &a.regions[r.chunk()]
	off := r.offset()
	return unsafe.Slice((*byte)(unsafe.Add(g.base, off)), g.size-off)
}

// Words are the n words of 8 bytes of the block r.
func (a *Arena) Words(r Ref, n int) []uint64 {
	g := &a.regions[r.chunk()]
	return unsafe.Slice((*uint64)(unsafe.Add(g.base, r.offset())), n)
}

// TailWords are the words from the block r to the end of its chunk, see Tail.
func (a *Arena) TailWords(r Ref) []uint64 {
	g := &a.regions[r.chunk()]
	off := r.offset()
	return unsafe.Slice((*uint64)(unsafe.Add(g.base, off)), (g.size-off)>>unitShift)
}

// account notes that the blocks of purpose p have grown by delta bytes.
func (a *Arena) account(p Purpose, delta int64) {
	a.used[p] += delta
	a.drift += delta
	if a.drift >= publishStep || a.drift <= -publishStep {
		a.Publish()
	}
}

// Publish brings the shared total up to date.
func (a *Arena) Publish() {
	if a.options.Published != nil && a.drift != 0 {
		a.options.Published.Add(a.drift)
	}
	a.drift = 0
}

// Used is the number of bytes of all live blocks.
func (a *Arena) Used() int64 {
	sum := int64(0)
	for _, n := range a.used {
		sum += n
	}
	return sum
}

// Stats are the figures of an arena.
type Stats struct {
	Used      [Purposes]int64 // bytes of live blocks by purpose, as their classes count them
	Mapped    int64           // bytes of address space
	FreeDirty int64           // bytes of free pages that the system has not got back
	FreeClean int64           // bytes of free pages that take no memory
}

// Stats are the figures of now.
func (a *Arena) Stats() Stats {
	free, dirty := a.pages.counts()
	return Stats{
		Used:      a.used,
		Mapped:    a.mapped,
		FreeDirty: int64(dirty) << pageShift,
		FreeClean: int64(free-dirty) << pageShift,
	}
}

// Close gives everything back to the system. Every Ref of the arena is dead then.
func (a *Arena) Close() {
	for i := range a.regions {
		if a.regions[i].size != 0 {
			a.unmapRegion(uint32(i))
		}
	}
	for a.Reclaim() {
	}
	for p, n := range a.used {
		a.account(Purpose(p), -n)
	}
	a.Publish()
	options := a.options
	*a = *NewArena(options)
}

// View is an arena to read blocks of a with, without the lock of its shard. It is good for blocks that were there when it was
// made, as long as nobody changes, resizes or frees them. Nothing may be done with it but look at blocks.
func (a *Arena) View() *Arena { return &Arena{regions: a.regions[:len(a.regions):len(a.regions)]} }
