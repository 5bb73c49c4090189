package transport

import (
	"time"

	"golang.org/x/sys/unix"
)

// A thread that computes for long competes with loops, and with clients on this machine, that need a processor for some
// microseconds at a time. To the scheduler of Linux all of them are equal: one that wakes up may have to wait until the other
// has used up its slice, and longer, because what it gets is less than half of a processor as soon as it would use more. So
// threads in long commands make themselves small in both respects.
const (
	// courtesy is added to the nice value: the thread gets a quarter where it would get half, and all of a processor that
	// nobody wants. It cannot be taken back, so such a thread serves no loop any more.
	courtesy = 5
	// longSlice is longer than what threads get that ask for nothing (3 ms at most): whoever has a shorter one and wakes up
	// interrupts it at once. Kernels before 6.12 take no notice. Until 6.15 one that does not sleep waits for the whole of it, so it
	// is not longer still.
	longSlice = 5 * time.Millisecond
)

// thisThread stands for the calling thread.
const thisThread = 0

// niceMax is the largest nice value there is.
const niceMax = 19

// letOthersFirst is for a thread of this process that is going to compute for long, and to end then. Where the system forbids
// it threads that wake up just wait longer.
func letOthersFirst(tid int) {
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	attr.Nice = min(attr.Nice+courtesy, niceMax)
	attr.Runtime = uint64(longSlice)
	_ = unix.SchedSetAttr(tid, attr, 0)
}
