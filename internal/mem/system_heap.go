//go:build !linux || race

package mem

import "unsafe"

// This file holds the same calls over Go memory, which the race detector watches.

// canSplit says whether a part of a mapping can be given back.
const canSplit = false

func mapMemory(size uintptr) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(make([]uint64, size>>unitShift)))
}

func mapHuge(uintptr) unsafe.Pointer { return nil }

func forgetHuge(unsafe.Pointer, uintptr) {}

func unmapMemory(unsafe.Pointer, uintptr) {}

func remapMemory(base unsafe.Pointer, from, to uintptr) unsafe.Pointer {
	moved := mapMemory(to)
	copy(unsafe.Slice((*byte)(moved), to), unsafe.Slice((*byte)(base), from))
	return moved
}

func discardMemory(unsafe.Pointer, uintptr) {}
