package engine

import (
	"sync/atomic"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file counts what the commands on each slot cost: CLUSTER SLOT-STATS.

// SlotStats are the counters of all slots.
type SlotStats struct {
	table atomic.Pointer[[slot.Count]slotCounters] // nil while nothing is counted, which is all that commands look at then
}

type slotCounters struct{ nanos, in, out atomic.Int64 }

// SlotCost is what the commands on a slot have taken since the counting began.
type SlotCost struct {
	Nanos   int64
	In, Out int64 // bytes of commands and of replies
}

// Enable begins to count, or ends that and forgets everything: cluster-slot-stats-enabled.
func (s *SlotStats) Enable(on bool) {
	switch {
	case !on:
		s.table.Store(nil)
	case s.table.Load() == nil:
		s.table.Store(new([slot.Count]slotCounters))
	}
}

// Enabled says whether something is counted.
func (s *SlotStats) Enabled() bool { return s.table.Load() != nil }

// Reset begins to count anew, if something is counted.
func (s *SlotStats) Reset() {
	if s.Enabled() {
		s.table.Store(new([slot.Count]slotCounters))
	}
}

// Cost is what a slot has taken.
func (s *SlotStats) Cost(of slot.ID) SlotCost {
	t := s.table.Load()
	if t == nil {
		return SlotCost{}
	}
	c := &t[of]
	return SlotCost{c.nanos.Load(), c.in.Load(), c.out.Load()}
}

// costs adds a command that has ended to the slot of its keys. A transaction counts for the slot of its last key.
func (c *Ctx) costs(nanos int64, mark outMark) {
	t := c.e.SlotStats.table.Load()
	if t == nil || len(c.keys) == 0 {
		return
	}
	of := &t[c.keys[0].Slot]
	of.nanos.Add(nanos)
	of.in.Add(int64(wireBytes(c.Args)))
	of.out.Add(int64(c.W.Out.Len() - mark.size - mark.buf))
}

// wireBytes is the size of a command as clients send it.
func wireBytes(args [][]byte) int {
	const around = 5 // "$", and the ends of two lines
	digits := func(n int) int {
		var b [20]byte
		return len(num.AppendInt(b[:0], int64(n)))
	}
	size := digits(len(args)) + 3
	for _, a := range args {
		size += digits(len(a)) + len(a) + around
	}
	return size
}
