package clock

// ticks is the processor's time stamp counter.
//
//go:noescape
func ticks() uint64
