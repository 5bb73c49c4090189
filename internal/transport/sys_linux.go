package transport

import (
	"bytes"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls below never block, so they need not tell the scheduler: RawSyscall saves about 50 ns each.

func rawRead(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

func rawWrite(fd int, b []byte) (int, syscall.Errno) {
	n, _, errno := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	return int(n), errno
}

// pollBriefly waits for events for at most the given milliseconds without telling the scheduler. Telling it would cost more
// than the wait: the scheduler would hand this thread's processor to another thread, which finds nothing to do. A stop of
// the world does not have to wait: the signal that it sends ends the call.
func pollBriefly(epfd int, events []unix.EpollEvent, millis uintptr) int {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), millis, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// pollWait waits for events; the scheduler knows that the thread is blocked.
func pollWait(epfd int, events []unix.EpollEvent) int {
	n, _, errno := syscall.Syscall6(syscall.SYS_EPOLL_PWAIT, uintptr(epfd), uintptr(unsafe.Pointer(unsafe.SliceData(events))),
		uintptr(len(events)), ^uintptr(0), 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// rawSleep waits without telling the scheduler; a signal may end it early.
func rawSleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}

// threadTime is the CPU time that a thread of this process has used, 0 when it is gone.
func threadTime(tid int) time.Duration { return clockOf(tid, scheduledClock) }

// The clocks of a thread, as the kernel numbers them: what it has used by its ticks, of that what was not in the kernel, and
// what it has used to the nanosecond.
const (
	busyClock = iota
	userClock
	scheduledClock
)

// clockOf reads a clock of a thread of this process, 0 when it is gone.
func clockOf(tid, which int) time.Duration {
	const perThread = 4
	var t unix.Timespec
	if unix.ClockGettime(int32(^tid<<3|perThread|which), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// threadWantsCPU says whether a thread of this process runs or would run if it had a processor, rather than wait for
// something.
func threadWantsCPU(tid int) bool {
	var buf [256]byte
	fd, err := unix.Open("/proc/self/task/"+strconv.Itoa(tid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return false
	}
	_, state, _ := bytes.Cut(buf[:n], []byte(") "))
	return len(state) > 0 && state[0] == 'R'
}
