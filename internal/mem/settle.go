package mem

import "math/bits"

// This file holds what gives memory back in steps when very much of it becomes free. Blocks that lie all over an arena are
// freed in another order than they lie in: pages become free one by one, and hundreds of chunks with the last few blocks. A
// page costs the system 2 to 10 µs then, but a chunk of 64 some 20 µs when it is left until all of it is free.

// settleChunks bounds the chunks that one call of Settle gives back, or discards pages of: some 20 µs each.
const settleChunks = 8

// PutOff says whether Free leaves what becomes free to Settle, which is to be called then until there is no more.
func (a *Arena) PutOff(on bool) { a.putsOff = on }

// Settle takes a step in giving back what is free: big mappings and empty chunks, and with all set also pages of others of
// which there are too many. It says whether there is more.
func (a *Arena) Settle(all bool) (more bool) {
	if a.Reclaim() {
		return true
	}
	h := &a.pages
	for range settleChunks {
		switch index := h.surplus(); {
		case index != 0:
			a.dropChunk(index)
		case all && h.dirty > a.dirtyMost():
			a.purgeNext()
		default:
			return false
		}
	}
	return true
}

// surplus is an empty chunk other than the spare one and its mate, whose own mate is empty too; 0 when there is none.
func (h *pageHeap) surplus() uint32 {
	for w, word := range h.avail[levels-1] {
		for ; word != 0; word &= word - 1 {
			index := uint32(w*64 + bits.TrailingZeros64(word))
			if h.isWhole(index) && index != h.spare && (h.spare == 0 || h.chunks[index].mate != h.spare) {
				return index
			}
		}
	}
	return 0
}
