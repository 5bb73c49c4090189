package mem

import (
	"unsafe"

	"github.com/covey-db/covey/internal/invariant"
)

// This file holds how mappings change hands. A value gets from the buffer that it arrived in to a block without a copy: the
// mapping of the buffer becomes one of the arena's. The value does not begin where the mapping does, because what came before
// it lies there. So such a region has a lead, which is less than a page: its base is where the value begins, and its mapping
// begins at the page before. At its end it has as much less than whole pages.

// adoptWaste is the part of a value that its buffer may have room for beyond it.
const adoptWaste = 8

// Adopt makes value, which lies in the buffer buf of m, a block of as many bytes as it says it has room for; buf is no buffer
// any more then, and what lies in it beside the value stays readable until the block is changed or freed. It is false, and
// nothing happens, when buf is no buffer as a whole, when the value is small for it, or begins too far behind its start.
func (a *Arena) Adopt(p Purpose, m *Buffers, buf, value []byte) (r Ref, room int, ok bool) {
	size := m.sizeOf(buf)
	lead := uintptr(unsafe.Pointer(unsafe.SliceData(value))) - uintptr(unsafe.Pointer(unsafe.SliceData(buf)))
	if lead >= systemPage || int(lead)+len(value) > size || len(value) <= MappedMin {
		return 0, 0, false
	}
	room = size - leadPage(lead)
	if room < len(value) || room-len(value) > len(value)/adoptWaste || m.remove(buf) == 0 {
		return 0, 0, false
	}
	a.Reclaim()
	index := a.newIndex()
	a.regions[index] = region{base: unsafe.Pointer(unsafe.SliceData(value)), size: uintptr(room)}
	a.mapped += int64(size)
	a.account(p, int64(room))
	r = Ref(index) << offsetBits
	if invariant.Enabled {
		a.live.add(a, p, r, room)
	}
	return r, room, true
}

// Give makes the block r, which is a mapping of its own, one of another arena without a copy. It was allocated with a request
// of n bytes, more than MappedMin. The locks of both shards are held.
func (a *Arena) Give(p Purpose, r Ref, n int, to *Arena) Ref {
	if invariant.Enabled {
		a.live.remove(a, p, r, n)
	}
	index, fresh := r.chunk(), to.newIndex()
	g := a.regions[index]
	invariant.That(n > MappedMin && g.size == uintptr(Usable(n)), "mem: a mapping is given away with another size than it has")
	whole := int64(g.mapping().size)
	a.regions[index] = region{}
	a.pages.unused = append(a.pages.unused, index)
	a.mapped -= whole
	a.account(p, -int64(g.size))
	to.regions[fresh] = g
	to.mapped += whole
	to.account(p, int64(g.size))
	given := Ref(fresh) << offsetBits
	if invariant.Enabled {
		to.live.add(to, p, given, n)
	}
	return given
}

// leadPage is what a mapping with such a lead has more than its region.
func leadPage(lead uintptr) int {
	if lead == 0 {
		return 0
	}
	return systemPage
}

// lead is how far behind the start of its mapping a region begins.
func (g *region) lead() uintptr { return uintptr(g.base) & (systemPage - 1) }

// mapping is what the system has of a region.
func (g *region) mapping() region {
	lead := g.lead()
	return region{base: unsafe.Add(g.base, -int(lead)), size: g.size + uintptr(leadPage(lead))}
}
