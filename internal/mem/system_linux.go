//go:build linux && !race

package mem

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// This file holds the calls to the system. Memory that the system refuses is the end of the node, as it is for any
// allocation in Go: there is no state from which a half-done command could be taken back.

// canSplit says whether a part of a mapping can be given back.
const canSplit = true

func mapMemory(size uintptr) unsafe.Pointer {
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		panic(fmt.Sprintf("mem: out of memory: mapping %d bytes: %v", size, err))
	}
	return base
}

// mapHuge is memory that begins where a huge page does, nil if that cannot be had. The size is a multiple of theirs.
func mapHuge(size uintptr) unsafe.Pointer {
	const hugePage = 2 << 20
	base, err := unix.MmapPtr(-1, 0, nil, size+hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	before := -uintptr(base) & (hugePage - 1)
	if before > 0 {
		unmapMemory(base, before)
	}
	if after := hugePage - before; after > 0 {
		unmapMemory(unsafe.Add(base, before+size), after)
	}
	base = unsafe.Add(base, before)
	// A refusal leaves small pages, which serve as well.
	_ = unix.Madvise(unsafe.Slice((*byte)(base), size), unix.MADV_HUGEPAGE)
	return base
}

// forgetHuge keeps the system from making huge pages of this memory from now on.
func forgetHuge(base unsafe.Pointer, size uintptr) {
	_ = unix.Madvise(unsafe.Slice((*byte)(base), size), unix.MADV_NOHUGEPAGE)
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
