package uring

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Ring is one io_uring. It is bound to the thread that calls Enable: only that thread may call what enters the kernel.
// Until the thread enters it, the kernel moves no byte of a socket and adds no completion, so that another thread may
// read what is left of the completions of a ring whose thread is known to be busy elsewhere.
type Ring struct {
	fd       int
	rings    []byte // the mapping of both rings' heads and of the completions
	requests []request
	mapped   []byte // the mapping of requests

	sqHead, sqTail *uint32
	sqFlags        *uint32
	sqMask         uint32
	tail           uint32 // requests that were prepared; the kernel sees them from Submit on

	cqHead, cqTail *uint32
	cqMask         uint32
	completions    []Completion

	buffers buffers
	wait    waitArgument
	brief   unix.Timespec
	before  func() // see Before
}

// Completion is how the kernel reports a request that ended, or one result of a request that goes on.
type Completion struct {
	Data   uint64 // what the request was given to be known by
	Result int32  // bytes or events; an error number below zero
	Flags  uint32
}

// The flags of a completion.
const (
	hasBuffer = 1 << 0
	goesOn    = 1 << 1
)

// More says that the request goes on.
func (c Completion) More() bool { return c.Flags&goesOn != 0 }

// Options sizes a ring; all numbers are powers of two.
type Options struct {
	Requests    int // that can be prepared without entering the kernel
	Completions int // that can wait to be read
	Buffers     int // for what arrives
	BufferBytes int // size of each
}

// parameters is struct io_uring_params.
type parameters struct {
	requests, completions uint32
	flags                 uint32
	_, _                  uint32
	features              uint32
	_                     [4]uint32
	sq                    struct {
		head, tail, mask, entries, flags, dropped, array, _ uint32
		_                                                   uint64
	}
	cq struct {
		head, tail, mask, entries, overflow, completions, flags, _ uint32
		_                                                          uint64
	}
}

const (
	setupSizes         = 1 << 3  // the number of completions is given
	setupDisabled      = 1 << 6  // the ring is bound to the thread that enables it
	setupSubmitAll     = 1 << 7  // a request that fails does not hold up those behind it
	setupSingleIssuer  = 1 << 12 // one thread submits
	setupTaskrunFlag   = 1 << 9  // taskrunDue tells of work that is to be done
	setupDeferTaskrun  = 1 << 13 // work is done when that thread waits for completions, and never between
	taskrunDue         = 1 << 2  // in the flags of the requests' ring
	featureOneMapping  = 1 << 0
	featureNoDrop      = 1 << 1 // completions that find no room are kept
	featureExtArgument = 1 << 8 // the wait takes a time limit
	featuresNeeded     = featureOneMapping | featureNoDrop | featureExtArgument
	offsetRings        = 0
	offsetRequests     = 0x10000000
	registerEnable     = 12
	enterEvents        = 1 << 0
	enterArgument      = 1 << 3
)

// waitArgument is struct io_uring_getevents_arg.
type waitArgument struct {
	_     uint64
	_     uint32
	_     uint32
	limit uint64
}

// New makes a ring. It can be used by the thread that enables it.
func New(o Options) (*Ring, error) {
	p := parameters{completions: uint32(o.Completions),
		flags: setupSizes | setupDisabled | setupSubmitAll | setupSingleIssuer | setupDeferTaskrun | setupTaskrunFlag}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(o.Requests), uintptr(unsafe.Pointer(&p)), 0)
	if errno != 0 {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, errno)
	}
	r := &Ring{fd: int(fd)}
	if p.features&featuresNeeded != featuresNeeded {
		r.Close()
		return nil, fmt.Errorf("%w: the kernel is too old", ErrUnsupported)
	}
	if err := r.mapRings(&p); err != nil {
		r.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	if err := r.buffers.register(r.fd, o.Buffers, o.BufferBytes); err != nil {
		r.Close()
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return r, nil
}

func (r *Ring) mapRings(p *parameters) error {
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_SHARED | unix.MAP_POPULATE
	size := max(int(p.sq.array+p.requests*4), int(p.cq.completions)+int(p.completions)*int(unsafe.Sizeof(Completion{})))
	var err error
	if r.rings, err = unix.Mmap(r.fd, offsetRings, size, protection, flags); err != nil {
		return err
	}
	if r.mapped, err = unix.Mmap(r.fd, offsetRequests, int(p.requests)*int(unsafe.Sizeof(request{})), protection, flags); err != nil {
		return err
	}
	r.sqHead, r.sqTail, r.sqMask = r.word(p.sq.head), r.word(p.sq.tail), *r.word(p.sq.mask)
	r.sqFlags = r.word(p.sq.flags)
	r.cqHead, r.cqTail, r.cqMask = r.word(p.cq.head), r.word(p.cq.tail), *r.word(p.cq.mask)
	r.requests = unsafe.Slice((*request)(unsafe.Pointer(unsafe.SliceData(r.mapped))), p.requests)
	r.completions = unsafe.Slice((*Completion)(unsafe.Pointer(&r.rings[p.cq.completions])), p.completions)
	for i := range p.requests { // requests are given in the order of their places
		*r.word(p.sq.array + i*4) = i
	}
	return nil
}

func (r *Ring) word(offset uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[offset])) }

// Enable binds the ring to the calling thread, which must be locked to its goroutine.
func (r *Ring) Enable() error {
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), registerEnable, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Close ends all requests and gives the memory back. Buffers must not be used any more.
func (r *Ring) Close() {
	if r.fd < 0 {
		return
	}
	unix.Close(r.fd)
	r.fd = -1
	for _, m := range []*[]byte{&r.rings, &r.mapped, &r.buffers.ring, &r.buffers.memory} {
		if *m != nil {
			_ = unix.Munmap(*m)
			*m = nil
		}
	}
	r.requests, r.completions = nil, nil
}

// Prepared is the number of requests that the kernel has not seen.
func (r *Ring) Prepared() int { return int(r.tail - atomic.LoadUint32(r.sqHead)) }

// Submit gives the prepared requests to the kernel, which tries each at once, and returns without waiting. It does not
// collect completions of older requests.
func (r *Ring) Submit() {
	n := r.publish()
	if n > 0 {
		_, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), n, 0, 0, 0, 0)
		check(errno)
	}
}

// Before has fn called each time before the kernel gets to see requests.
func (r *Ring) Before(fn func()) { r.before = fn }

func (r *Ring) publish() uintptr {
	if r.before != nil {
		r.before()
	}
	atomic.StoreUint32(r.sqTail, r.tail)
	return uintptr(r.tail - atomic.LoadUint32(r.sqHead))
}

// Poll submits what is prepared, collects completions without waiting and returns how many there are to be read.
func (r *Ring) Poll() int {
	_, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), r.publish(), 0, enterEvents, 0, 0)
	check(errno)
	return r.Ready()
}

// Spin looks for a completion for as long as limit says, without giving the processor up, and returns how many there are. What is
// prepared should have been submitted. Who sends to a thread that waits in the kernel has to wake it, which costs the sender several microseconds
// where processors are virtual.
func (r *Ring) Spin(limit time.Duration) int {
	const looksPerClock = 50
	for start := time.Now(); time.Since(start) < limit; {
		for range looksPerClock {
			if atomic.LoadUint32(r.sqFlags)&taskrunDue == 0 {
				continue
			}
			if n := r.Poll(); n > 0 {
				return n
			}
		}
	}
	return 0
}

// PollBriefly is Poll that waits up to the given milliseconds for a completion. It does not tell the scheduler: that would
// cost more than the wait. A stop of the world does not have to wait: the signal that it sends ends the call.
func (r *Ring) PollBriefly(millis int) int {
	r.brief.Nsec = int64(millis) * 1e6
	r.wait.limit = uint64(uintptr(unsafe.Pointer(&r.brief)))
	_, _, errno := syscall.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), r.publish(), 1, enterEvents|enterArgument,
		uintptr(unsafe.Pointer(&r.wait)), unsafe.Sizeof(r.wait))
	check(errno)
	return r.Ready()
}

// PollWait is Poll that waits for a completion or a signal; the scheduler knows that the thread is blocked.
func (r *Ring) PollWait() int {
	_, _, errno := syscall.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), r.publish(), 1, enterEvents, 0, 0)
	check(errno)
	return r.Ready()
}

// check stops at errors that only a mistake of ours can bring: the wrong thread, a descriptor that was closed.
func check(errno syscall.Errno) {
	switch errno {
	case 0, unix.EINTR, unix.ETIME, unix.EAGAIN, unix.EBUSY, unix.ENOMEM:
	default:
		panic("io_uring_enter: " + errno.Error())
	}
}

// Ready is the number of completions that can be read.
func (r *Ring) Ready() int { return int(atomic.LoadUint32(r.cqTail) - *r.cqHead) }

// Peek is the completion that Next gives after i others; there must be more than i.
func (r *Ring) Peek(i int) Completion { return r.completions[(*r.cqHead+uint32(i))&r.cqMask] }

// Next takes a completion.
func (r *Ring) Next() (Completion, bool) {
	head := *r.cqHead
	if head == atomic.LoadUint32(r.cqTail) {
		return Completion{}, false
	}
	c := r.completions[head&r.cqMask]
	atomic.StoreUint32(r.cqHead, head+1)
	return c, true
}
