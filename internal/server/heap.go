package server

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The Go heap holds buffers of clients, never the data. What a big request or reply has made it grow by would stay with the
// process: a node that is quiet again collects nothing for two minutes, and the runtime keeps what it has collected.

const (
	heapPeriod    = 2 * time.Second
	heapSlackMin  = 4 << 20 // bytes that are not worth a collection which may gain nothing
	heapGrownMin  = 1 << 20 // growth that is worth one
	heapPauseMost = 32      // periods between two attempts that gained nothing
)

// heapReserve is memory that the Go heap counts as used and nobody touches, so that it costs nothing. The collector runs when
// the heap has doubled: without the reserve, each four megabytes of what scripts and replies leave behind. A script that adds
// numbers leaves 250 MB a second, and the collector would use every processor that the event loops leave idle for a moment,
// sixty times a second.
const heapReserve = 32 << 20

// heapKeeper decides when to give memory of the Go heap back to the system.
type heapKeeper struct {
	cycles uint64 // collections at the last look
	held   uint64 // bytes that the heap held after the last attempt
	wait   int    // periods until the next attempt
	pause  int    // periods to wait after the next attempt that gains nothing
}

// heapState is what the runtime says: how often it has collected, and how much its heap holds of the system's memory.
type heapState struct{ cycles, held uint64 }

// due says whether the heap should be collected and given back now: it has grown or holds much, and no collection ran since
// the last look, for one that works is left to the runtime.
func (k *heapKeeper) due(s heapState) bool {
	quiet := s.cycles == k.cycles
	k.cycles = s.cycles
	if k.wait > 0 {
		k.wait--
	}
	grown := s.held > k.held+heapGrownMin
	return quiet && (grown || s.held > heapSlackMin && k.wait == 0)
}

// done notes an attempt. One that gained little lets the next one wait: what the heap holds is in use.
func (k *heapKeeper) done(before, after heapState) {
	k.cycles, k.held = after.cycles, after.held
	if after.held+heapGrownMin < before.held {
		k.wait, k.pause = 0, 0
		return
	}
	k.pause = min(max(2*k.pause, 1), heapPauseMost)
	k.wait = k.pause
}

// keepHeap looks at the heap from time to time. A collection has little to do: almost nothing in it is a pointer.
func (s *Server) keepHeap(ctx context.Context) error {
	tick := time.NewTicker(heapPeriod)
	defer tick.Stop()
	k := heapKeeper{held: s.readHeap().held}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if now := s.readHeap(); k.due(now) {
				debug.FreeOSMemory()
				k.done(now, s.readHeap())
			}
		}
	}
}

func (s *Server) readHeap() heapState {
	samples := [...]metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples[:])
	now := heapState{cycles: samples[0].Value.Uint64()}
	for _, held := range samples[1:] {
		now.held += held.Value.Uint64()
	}
	now.held -= uint64(len(s.reserve))
	return now
}

// goMemory is what the objects of the Go heap take, and what the Go runtime holds of the system's memory. The runtime tells
// without stopping anybody, unlike runtime.ReadMemStats.
func (s *Server) goMemory() (objects, system int64) {
	samples := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/total:bytes"}}
	metrics.Read(samples[:])
	return int64(samples[0].Value.Uint64()) - int64(len(s.reserve)), int64(samples[1].Value.Uint64()) - int64(len(s.reserve))
}
