package mem

import (
	"fmt"
	"math/bits"
	"unsafe"

	"github.com/covey-db/covey/internal/invariant"
)

// This file holds the checks: of leaks, of the arena's own state, and, in builds with invariants, of its users.

// CheckLeaks is an error that says what is still allocated, nil when nothing is.
func (a *Arena) CheckLeaks() error {
	for p, n := range a.used {
		if n != 0 {
			return fmt.Errorf("mem: %d bytes for %s are still allocated%s", n, Purpose(p), a.live.sample(Purpose(p)))
		}
	}
	return nil
}

// Check walks the whole arena and is an error when its figures contradict each other.
func (a *Arena) Check() error {
	free, dirty, mapped, used := 0, 0, int64(0), int64(0)
	for i := range a.regions {
		c := &a.pages.chunks[i]
		whole := a.regions[i].mapping()
		mapped += int64(whole.size)
		if c.spans == nil {
			used += int64(a.regions[i].size)
			continue
		}
		free += bits.OnesCount64(c.free)
		dirty += bits.OnesCount64(c.dirty)
		if c.dirty&^c.free != 0 {
			return fmt.Errorf("mem: chunk %d: a page in use is marked dirty", i)
		}
		n, err := a.checkChunk(uint32(i), c)
		if err != nil {
			return err
		}
		used += n
	}
	for _, g := range a.dying {
		mapped += int64(g.size)
	}
	if free != a.pages.free || dirty != a.pages.dirty || mapped != a.mapped || used != a.Used() {
		return fmt.Errorf("mem: free %d dirty %d mapped %d used %d, counted %d %d %d %d",
			a.pages.free, a.pages.dirty, a.mapped, a.Used(), free, dirty, mapped, used)
	}
	return nil
}

// checkChunk is the number of bytes in use in a chunk.
func (a *Arena) checkChunk(index uint32, c *chunk) (used int64, err error) {
	for page := uint32(0); page < chunkPages; {
		s := &c.spans[page]
		isFree := c.free>>page&1 == 1
		switch {
		case isFree != (s.kind == pageFree):
			return 0, fmt.Errorf("mem: chunk %d page %d: free and in use", index, page)
		case s.kind == pageFree:
			page++
			continue
		case s.kind == pageMore:
			return 0, fmt.Errorf("mem: chunk %d page %d: belongs to no span", index, page)
		case s.kind == pageRun:
			used += int64(s.pages) << pageShift
		default:
			if err := a.checkSpan(idOf(index, page), s); err != nil {
				return 0, err
			}
			used += int64(s.live) * int64(a.classes[s.class].size)
		}
		page += uint32(s.pages)
	}
	return used, nil
}

// checkSpan counts the free blocks of a span.
func (a *Arena) checkSpan(id spanID, s *span) error {
	n := 0
	for off := s.free; off != noBlock; n++ {
		if n > int(s.carved) {
			return fmt.Errorf("mem: span %d: the free list is a circle", id)
		}
		off = *(*uint32)(unsafe.Add(a.regions[id.chunk()].base, uintptr(off)<<unitShift))
	}
	if n+int(s.live) != int(s.carved) {
		return fmt.Errorf("mem: span %d: %d live and %d free blocks of %d", id, s.live, n, s.carved)
	}
	return nil
}

// A freed block is overwritten, so that a reader that comes too late sees nonsense, and a writer is found out by the
// next Alloc. A new block is filled as well, as nobody may count on what is in it.
const (
	poisonFreed = 0xDB
	poisonFresh = 0xCD
	poisonBytes = 4096 // of a larger block only so much
)

// ledger knows all live blocks. It stays empty in builds without invariants.
type ledger struct {
	blocks map[Ref]ledgerEntry
}

type ledgerEntry struct {
	purpose Purpose
	size    int
}

func (l *ledger) add(a *Arena, p Purpose, r Ref, n int) {
	if l.blocks == nil {
		l.blocks = make(map[Ref]ledgerEntry)
	}
	_, taken := l.blocks[r]
	invariant.That(!taken, "mem: a block was given out twice")
	invariant.That(r != 0 && r&^RefMask == 0, "mem: a Ref out of range")
	l.blocks[r] = ledgerEntry{p, Usable(n)}
	if n <= smallMax {
		fill(a.Bytes(r, Usable(n)), poisonFresh)
	}
}

func (l *ledger) remove(a *Arena, p Purpose, r Ref, n int) {
	e, ok := l.blocks[r]
	invariant.That(ok, "mem: a block is freed that is not allocated")
	invariant.That(e.purpose == p, "mem: a block is freed for another purpose than it was allocated for")
	invariant.That(e.size == Usable(n), "mem: a block is freed with another size than it has")
	delete(l.blocks, r)
	if n <= runBytesMax {
		fill(a.Bytes(r, Usable(n)), poisonFreed)
	}
}

func fill(b []byte, with byte) {
	b = b[:min(len(b), poisonBytes)]
	for i := range b {
		b[i] = with
	}
}

// sample says where one of the blocks of a purpose is.
func (l *ledger) sample(p Purpose) string {
	for r, e := range l.blocks {
		if e.purpose == p {
			return fmt.Sprintf(", among them %#x of %d bytes", uint64(r), e.size)
		}
	}
	return ""
}
