package mem

import (
	"unsafe"

	"github.com/covey-db/covey/internal/invariant"
)

// This file holds spans: runs of pages that are cut into equal blocks of one class.

// spanID names a span by its first page: chunk index times 64 plus page. Zero is no span, as chunk 0 is never used.
type spanID uint32

func idOf(chunk uint32, page uint32) spanID { return spanID(chunk<<6 | page) }
func (id spanID) chunk() uint32             { return uint32(id >> 6) }
func (id spanID) page() uint32              { return uint32(id & (chunkPages - 1)) }

// noBlock ends a list of free blocks: no block starts at the last unit of a chunk and ends there.
const noBlock = 1<<32 - 1

// The kinds of use of a page.
const (
	pageFree uint8 = iota
	pageSpan       // first page of a span of blocks
	pageRun        // first page of a block of its own
	pageMore       // further page of a span or run
)

// span describes a page, and with its first page a whole span.
type span struct {
	next, prev spanID // neighbours in the list of the class's partial spans
	free       uint32 // offset in units, inside the chunk, of the first free block, or noBlock
	live       uint16 // blocks in use
	carved     uint16 // blocks that were ever used
	class      uint8
	pages      uint8
	head       uint8 // first page of the span that this page belongs to
	kind       uint8
}

func (a *Arena) span(id spanID) *span { return &a.pages.chunks[id.chunk()].spans[id.page()] }

// allocSmall takes a block of class c from the first span that has one.
func (a *Arena) allocSmall(p Purpose, c int) Ref {
	cl := &a.classes[c]
	id := cl.partial
	if id == 0 {
		id = a.newSpan(c)
	}
	s := a.span(id)
	off := s.free
	if off != noBlock {
		base := a.regions[id.chunk()].base
		s.free = *(*uint32)(unsafe.Add(base, uintptr(off)<<unitShift))
	} else {
		off = id.page()*pageUnits + uint32(s.carved)*(cl.size>>unitShift)
		s.carved++
	}
	s.live++
	if uint32(s.live) == cl.blocks {
		a.unlink(cl, s)
	}
	a.account(p, int64(cl.size))
	return Ref(id.chunk())<<offsetBits | Ref(off)
}

// freeSmall puts a block of class c back into its span. A span that becomes empty gives its pages back, but the last one
// to do so is kept until another does: the next Alloc may be of its class.
func (a *Arena) freeSmall(p Purpose, r Ref, c int) {
	chunk := r.chunk()
	off := uint32(r & offsetMask)
	spans := a.pages.chunks[chunk].spans
	page := uint32(spans[off/pageUnits].head)
	s := &spans[page]
	if invariant.Enabled {
		invariant.That(s.kind == pageSpan && int(s.class) == c, "a block is freed with another size than it has")
	}
	cl := &a.classes[c]
	*(*uint32)(unsafe.Add(a.regions[chunk].base, uintptr(off)<<unitShift)) = s.free
	s.free = off
	id := idOf(chunk, page)
	if uint32(s.live) == cl.blocks {
		a.linkFront(cl, id, s)
	}
	s.live--
	a.account(p, -int64(cl.size))
	if s.live == 0 && id != a.idle {
		a.releaseIdle()
		a.idle = id
	}
}

// releaseIdle gives back the pages of the span that is kept, if it is still empty.
func (a *Arena) releaseIdle() {
	if a.idle == 0 {
		return
	}
	if s := a.span(a.idle); s.live == 0 {
		a.unlink(&a.classes[s.class], s)
		a.freePages(a.idle.chunk(), a.idle.page(), uint32(s.pages))
	}
	a.idle = 0
}

// newSpan is a span of class c with no block in use, in the list of partial spans.
func (a *Arena) newSpan(c int) spanID {
	cl := &a.classes[c]
	chunk, page := a.allocPages(cl.pages)
	spans := a.pages.chunks[chunk].spans
	for i := page; i < page+cl.pages; i++ {
		spans[i] = span{head: uint8(page), kind: pageMore}
	}
	id := idOf(chunk, page)
	spans[page] = span{free: noBlock, class: uint8(c), pages: uint8(cl.pages), head: uint8(page), kind: pageSpan}
	a.linkFront(cl, id, &spans[page])
	return id
}

// linkFront puts a span at the front of the list of partial spans: it is the next to be allocated from.
func (a *Arena) linkFront(cl *class, id spanID, s *span) {
	s.prev, s.next = 0, cl.partial
	if cl.partial != 0 {
		a.span(cl.partial).prev = id
	}
	cl.partial = id
}

// unlink takes a span out of the list of partial spans.
func (a *Arena) unlink(cl *class, s *span) {
	if s.prev != 0 {
		a.span(s.prev).next = s.next
	} else {
		cl.partial = s.next
	}
	if s.next != 0 {
		a.span(s.next).prev = s.prev
	}
	s.next, s.prev = 0, 0
}
