package mem

import "unsafe"

// Discard gives the pages of b back to the system; they are zeros when they are touched again. b is a whole number of pages
// and begins at one, as large slices of Go do.
func Discard(b []byte) { discardMemory(unsafe.Pointer(unsafe.SliceData(b)), uintptr(len(b))) }
