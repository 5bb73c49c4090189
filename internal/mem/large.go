package mem

import (
	"unsafe"

	"github.com/covey-db/covey/internal/invariant"
)

// This file holds blocks above the largest class: runs of pages, and mappings of their own.

// allocLarge is a block of n bytes, n above smallMax.
func (a *Arena) allocLarge(p Purpose, n int) Ref {
	size := Usable(n)
	a.account(p, int64(size))
	if n > runBytesMax {
		a.Reclaim()
		index := a.newIndex()
		a.addRegion(index, mapMemory(uintptr(size)), uintptr(size))
		return Ref(index) << offsetBits
	}
	pages := uint32(size >> pageShift)
	index, page := a.allocPages(pages)
	spans := a.pages.chunks[index].spans
	for i := page; i < page+pages; i++ {
		spans[i] = span{head: uint8(page), kind: pageMore}
	}
	spans[page] = span{pages: uint8(pages), head: uint8(page), kind: pageRun}
	return Ref(index)<<offsetBits | Ref(page*pageUnits)
}

// freeLarge gives such a block back.
func (a *Arena) freeLarge(p Purpose, r Ref, n int) {
	size := Usable(n)
	a.account(p, -int64(size))
	index := r.chunk()
	if n > runBytesMax {
		g := &a.regions[index]
		invariant.That(g.size == uintptr(size), "mem: a mapping is freed with another size than it has")
		a.unmapLater(g.mapping())
		*g = region{}
		a.pages.unused = append(a.pages.unused, index)
		return
	}
	page := uint32(r.offset() >> pageShift)
	s := &a.pages.chunks[index].spans[page]
	invariant.That(s.kind == pageRun && int(s.pages) == size>>pageShift, "mem: a run is freed with another size than it has")
	a.freePages(index, page, uint32(s.pages))
}

// resizeMapping makes a mapping of its own larger or smaller; its Ref stays.
func (a *Arena) resizeMapping(p Purpose, r Ref, have, want int) {
	g := &a.regions[r.chunk()]
	from, to := uintptr(Usable(have)), uintptr(Usable(want))
	invariant.That(g.size == from, "mem: a mapping is resized with another size than it has")
	a.account(p, int64(to)-int64(from))
	lead, whole := g.lead(), g.mapping()
	if canSplit && to < from {
		a.unmapLater(region{base: unsafe.Add(whole.base, whole.size-(from-to)), size: from - to})
	} else {
		g.base = unsafe.Add(remapMemory(whole.base, whole.size, whole.size+to-from), lead)
		a.mapped += int64(to) - int64(from)
	}
	g.size = to
	if lead != 0 && to > from { // the rest of the last page was no part of the block
		clear(unsafe.Slice((*byte)(unsafe.Add(g.base, from)), min(systemPage-lead, to-from)))
	}
}

// reclaimBytes is how much of a mapping is given back in one step: some 200 µs of the system's time.
const reclaimBytes = 4 << 20

// unmapLater gives a mapping back: at once when it is small, otherwise in steps, of which it takes the first.
func (a *Arena) unmapLater(g region) {
	a.dying = append(a.dying, g)
	a.Reclaim()
}

// Reclaim takes a step in giving back big mappings that were freed; more when there is something left. The arena also
// takes a step whenever it frees or maps, so that nothing stays for ever, but the owner should call this from time to time.
func (a *Arena) Reclaim() (more bool) {
	budget := uintptr(reclaimBytes)
	for len(a.dying) > 0 && budget > 0 {
		g := &a.dying[len(a.dying)-1]
		n := g.size
		if canSplit {
			n = min(n, budget)
		}
		g.size -= n
		unmapMemory(unsafe.Add(g.base, g.size), n)
		a.mapped -= int64(n)
		budget -= min(n, budget)
		if g.size == 0 {
			*g = region{}
			a.dying = a.dying[:len(a.dying)-1]
		}
	}
	return len(a.dying) > 0
}

// addRegion gives memory to a chunk index.
func (a *Arena) addRegion(index uint32, base unsafe.Pointer, size uintptr) {
	a.regions[index] = region{base: base, size: size}
	a.mapped += int64(size)
}

// unmapRegion takes the memory of a chunk index away.
func (a *Arena) unmapRegion(index uint32) {
	g := a.regions[index].mapping()
	unmapMemory(g.base, g.size)
	a.mapped -= int64(g.size)
	a.regions[index] = region{}
}

// discardPages tells the system that the contents of pages are not needed; they read as anything after that.
func (a *Arena) discardPages(index, page, n uint32) {
	discardMemory(unsafe.Add(a.regions[index].base, uintptr(page)<<pageShift), uintptr(n)<<pageShift)
}
