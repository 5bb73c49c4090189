package mem

import "unsafe"

// This file asks the processor for memory before it is needed. A prefetch reads nothing that a program could see and never
// faults, whatever the address: so it needs no lock, only an address, and one that is out of date costs nothing but its time.

// linesApart is less than the 64 bytes of a line: two prefetches so far apart meet all lines of what lies between.
const linesApart = 56

// Prefetch asks for the line that p points to.
func Prefetch[T any](p *T) { prefetch(uintptr(unsafe.Pointer(p))) }

// Prefetch asks for the line at an offset of the block r, and for that of the bytes behind it when near is set.
func (a *Arena) Prefetch(r Ref, offset int, near bool) {
	at := uintptr(a.regions[r.chunk()].base) + r.offset() + uintptr(offset)
	prefetch(at)
	if near {
		prefetch(at + linesApart)
	}
}
