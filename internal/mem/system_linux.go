//go:build linux && !race

package mem

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file holds the calls to the system. Memory that the system refuses is the end of the node, as it is for any
// allocation in Go: there is no state from which a half-done command could be taken back.

func mapMemory(size uintptr) unsafe.Pointer {
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("mem: out of memory: mapping %d bytes: %v", size, err))
	}
	return base
}

func unmapMemory(base unsafe.Pointer, size uintptr) {
	if err := unix.MunmapPtr(base, size); err != nil {
		panic(fmt.Sprintf("mem: unmapping %d bytes: %v", size, err))
	}
}

func remapMemory(base unsafe.Pointer, from, to uintptr) unsafe.Pointer {
	moved, err := unix.MremapPtr(base, from, nil, to, unix.MREMAP_MAYMOVE)
	if err != nil {
		panic(fmt.Sprintf("mem: out of memory: growing a mapping to %d bytes: %v", to, err))
	}
	return moved
}

func discardMemory(base unsafe.Pointer, size uintptr) {
	// A refusal leaves the pages where they are, which costs memory and breaks nothing.
	_ = unix.Madvise(unsafe.Slice((*byte)(base), size), unix.MADV_DONTNEED)
}
