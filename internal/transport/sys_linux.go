package transport

import (
	"syscall"
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
