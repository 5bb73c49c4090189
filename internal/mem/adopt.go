package mem

import (
	"unsafe"

	"github.com/covey-db/covey/internal/invariant"
)

// This file holds the way of a value from the buffer that it arrived in to a block, without a copy: the mapping of the buffer
// becomes one of the arena's. The value does not begin where the mapping does, because what came before it lies there. So
// such a region has a lead, which is less than a page: its base is where the value begins, and its mapping begins at the page
// before. At its end it has as much less than whole pages.

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
