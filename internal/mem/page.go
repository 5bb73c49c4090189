package mem

import (
	"math/bits"
	"unsafe"
)

// This file holds chunks and their pages: where a run of free pages is found, and when pages go back to the system.

const (
	levels = 7 // floor(log2) of the longest free run of a chunk: 0 for a page alone, 6 for an empty chunk

	// A shard may keep so many free pages that take memory, plus one part in dirtyShare of what it has mapped. The
	// reserve saves a fault for each page of a span that comes and goes; 64 shards make 8 MiB.
	dirtyPagesMin = 8
	dirtyShare    = 64

	// With Options.HugePages an arena of so many bytes takes its further chunks as pairs that lie on a huge page of the
	// system each. What is not yet used of a pair takes memory as well, so a small arena does without.
	hugeFrom = 4 << 20
)

// chunk is the state of one chunk.
type chunk struct {
	spans *[chunkPages]span // nil for a mapping of its own; holds no pointers
	free  uint64            // a bit for each free page
	dirty uint64            // the free pages that take memory
	mate  uint32            // the chunk that lies on the same huge page, 0 for none
	huge  bool              // the system was asked for a huge page, and not yet to forget it
	level int8              // level whose bitmap has this chunk, -1 for none
}

// isEmpty says whether nothing is allocated from the chunk.
func (c *chunk) isEmpty() bool { return c.free == ^uint64(0) }

// pageHeap finds free pages.
type pageHeap struct {
	chunks []chunk          // by chunk index, as Arena.regions
	avail  [levels][]uint64 // for each level the chunks whose longest free run is in it, a bit each
	unused []uint32         // chunk indices that can be used again
	spare  uint32           // an empty chunk, or one of an empty pair, that is kept; 0 for none
	free   int              // free pages of all chunks
	dirty  int              // those of them that take memory
	low    int              // the fewest that dirty was since Decay looked
	cursor uint32           // where purge looks next
}

func (h *pageHeap) init() { h.chunks = make([]chunk, 1) }

func (h *pageHeap) counts() (free, dirty int) { return h.free, h.dirty }

// longestRun is the number of consecutive bits set in x.
func longestRun(x uint64) int {
	n := 0
	for ; x != 0; n++ {
		x &= x << 1
	}
	return n
}

// findRun is the position of the first n consecutive bits set in x, or 64.
func findRun(x uint64, n uint32) uint32 {
	for have := uint32(1); have < n; {
		step := min(have, n-have)
		x &= x >> step
		have += step
	}
	return uint32(bits.TrailingZeros64(x))
}

// runMask has n bits set from the given page on.
func runMask(page, n uint32) uint64 {
	return (^uint64(0) >> (64 - n)) << page
}

// setLevel files the chunk under the level of its longest free run.
func (h *pageHeap) setLevel(index uint32) {
	c := &h.chunks[index]
	level := int8(bits.Len(uint(longestRun(c.free)))) - 1
	if level == c.level {
		return
	}
	word, bit := index/64, uint64(1)<<(index%64)
	if c.level >= 0 {
		h.avail[c.level][word] &^= bit
	}
	if level >= 0 {
		for int(word) >= len(h.avail[level]) {
			h.avail[level] = append(h.avail[level], 0)
		}
		h.avail[level][word] |= bit
	}
	c.level = level
}

// find is a chunk with n consecutive free pages, the lowest of the best fitting level; ok is false when there is none.
func (h *pageHeap) find(n uint32) (index, page uint32, ok bool) {
	sure := bits.Len32(n - 1) // in this level and above every chunk has such a run
	for level := sure; level < levels; level++ {
		for w, word := range h.avail[level] {
			if word != 0 {
				index = uint32(w*64 + bits.TrailingZeros64(word))
				return index, findRun(h.chunks[index].free, n), true
			}
		}
	}
	if sure == 0 {
		return 0, 0, false
	}
	for w, word := range h.avail[sure-1] { // runs from a half to twice as long: they must be looked at
		for ; word != 0; word &= word - 1 {
			index = uint32(w*64 + bits.TrailingZeros64(word))
			if page = findRun(h.chunks[index].free, n); page < chunkPages {
				return index, page, true
			}
		}
	}
	return 0, 0, false
}

// allocPages takes n consecutive pages, at most 64.
func (a *Arena) allocPages(n uint32) (index, page uint32) {
	h := &a.pages
	index, page, ok := h.find(n)
	if !ok {
		index, page = a.newChunk(), 0
	}
	c := &h.chunks[index]
	mask := runMask(page, n)
	c.free &^= mask
	h.free -= int(n)
	h.clean(bits.OnesCount64(c.dirty & mask))
	c.dirty &^= mask
	if index == h.spare || c.mate != 0 && c.mate == h.spare {
		h.spare = 0
	}
	h.setLevel(index)
	return index, page
}

// freePages gives n pages back, unmaps the chunk when nothing else is in it, and otherwise discards some pages when too
// many free ones take memory.
func (a *Arena) freePages(index, page, n uint32) {
	h := &a.pages
	c := &h.chunks[index]
	mask := runMask(page, n)
	for i := page; i < page+n; i++ {
		c.spans[i] = span{}
	}
	c.free |= mask
	c.dirty |= mask
	h.free += int(n)
	h.dirty += int(n)
	h.setLevel(index)
	if h.isWhole(index) {
		switch {
		case h.spare == 0:
			h.spare = index
		case !a.putsOff:
			a.dropChunk(index)
		}
	}
	if !a.putsOff && h.dirty > a.dirtyMost() {
		a.purgeNext()
	}
}

// isWhole says whether nothing is allocated from a chunk and its mate.
func (h *pageHeap) isWhole(index uint32) bool {
	c := &h.chunks[index]
	return c.isEmpty() && (c.mate == 0 || h.chunks[c.mate].isEmpty())
}

// dirtyMost is how many free pages may take memory.
func (a *Arena) dirtyMost() int { return dirtyPagesMin + int(a.mapped>>pageShift)/dirtyShare }

// newChunk maps a chunk, or a pair of them, all pages free.
func (a *Arena) newChunk() uint32 {
	if a.mapped >= a.hugeFrom {
		if base := mapHuge(2 * chunkSize); base != nil {
			first, second := a.newIndex(), a.newIndex()
			a.addChunk(second, unsafe.Add(base, chunkSize), chunk{mate: first, huge: true})
			a.addChunk(first, base, chunk{mate: second, huge: true})
			return first
		}
	}
	a.Reclaim()
	index := a.newIndex()
	a.addChunk(index, mapMemory(chunkSize), chunk{})
	return index
}

// addChunk gives memory to a chunk index.
func (a *Arena) addChunk(index uint32, base unsafe.Pointer, c chunk) {
	a.addRegion(index, base, chunkSize)
	c.spans, c.free, c.level = new([chunkPages]span), ^uint64(0), -1
	a.pages.chunks[index] = c
	a.pages.free += chunkPages
	a.pages.setLevel(index)
}

// dropChunk unmaps an empty chunk, and its mate.
func (a *Arena) dropChunk(index uint32) {
	h := &a.pages
	if h.spare == index || h.spare != 0 && h.spare == h.chunks[index].mate {
		h.spare = 0
	}
	for index != 0 {
		c := &h.chunks[index]
		mate := c.mate
		if mate != 0 {
			h.chunks[mate].mate = 0
		}
		h.free -= chunkPages
		h.clean(bits.OnesCount64(c.dirty))
		c.free, c.dirty = 0, 0
		h.setLevel(index)
		*c = chunk{level: -1}
		a.unmapRegion(index)
		h.unused = append(h.unused, index)
		index = mate
	}
}

// newIndex is a chunk index that is not in use.
func (a *Arena) newIndex() uint32 {
	h := &a.pages
	if n := len(h.unused); n > 0 {
		index := h.unused[n-1]
		h.unused = h.unused[:n-1]
		return index
	}
	if len(a.regions) == chunksMax {
		panic("mem: an arena is limited to 8 TiB")
	}
	a.regions = append(a.regions, region{})
	h.chunks = append(h.chunks, chunk{level: -1})
	return uint32(len(a.regions) - 1)
}

// purge discards the free pages of a chunk that take memory.
func (a *Arena) purge(index uint32) {
	c := &a.pages.chunks[index]
	if c.huge && c.dirty != 0 {
		c.huge = false // or the system would fill the gaps again behind our back
		forgetHuge(a.regions[index].base, chunkSize)
	}
	for c.dirty != 0 {
		page := uint32(bits.TrailingZeros64(c.dirty))
		n := uint32(bits.TrailingZeros64(^(c.dirty >> page)))
		a.discardPages(index, page, n)
		c.dirty &^= runMask(page, n)
		a.pages.clean(int(n))
	}
}

// Trim gives back to the system all that is free, however long that takes.
func (a *Arena) Trim() {
	a.releaseIdle()
	for a.Settle(true) {
	}
	if a.pages.spare != 0 {
		a.dropChunk(a.pages.spare)
	}
	for i := range a.pages.chunks {
		a.purge(uint32(i))
	}
}
