package uring

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// buffers is a ring of buffers of which the kernel takes one for each piece that arrives. They are used in turn, so all that
// the kernel was given take memory soon: most of them are held back until several requests at once have found none.
type buffers struct {
	ring   []byte // shared with the kernel: bufferEntry by bufferEntry
	memory []byte
	each   int
	mask   uint16
	tail   uint16
	held   int // buffers that the kernel was not given yet, the last ones
	wanted int // requests in succession that have found none
}

// buffersAtFirst is how many the kernel is given at once.
const buffersAtFirst = 8

// bufferEntry is struct io_uring_buf. The last field of the first one is the tail of the ring.
type bufferEntry struct {
	address uint64
	length  uint32
	id      uint16
	tail    uint16
}

// bufferRegistration is struct io_uring_buf_reg.
type bufferRegistration struct {
	address uint64
	entries uint32
	group   uint16
	_       uint16
	_       [3]uint64
}

const registerBuffers = 22

func (b *buffers) register(fd, count, each int) error {
	const protection, flags = unix.PROT_READ | unix.PROT_WRITE, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
	b.each, b.mask = each, uint16(count-1)
	var err error
	if b.ring, err = unix.Mmap(-1, 0, count*int(unsafe.Sizeof(bufferEntry{})), protection, flags); err != nil {
		return err
	}
	if b.memory, err = unix.Mmap(-1, 0, count*each, protection, flags); err != nil {
		return err
	}
	reg := bufferRegistration{address: address(b.ring), entries: uint32(count)}
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(fd), registerBuffers, uintptr(unsafe.Pointer(&reg)), 1, 0, 0)
	if errno != 0 {
		return errno
	}
	b.held = max(count-buffersAtFirst, 0)
	for id := range count - b.held {
		b.put(uint16(id))
	}
	return nil
}

// want notes that a request has ended as there was no buffer for it. A single one that gets much at a time is asked for again
// as soon as that is executed; when there are more, all buffers are given.
func (b *buffers) want() {
	const several = 2
	if b.wanted++; b.wanted < several {
		return
	}
	for count := int(b.mask) + 1; b.held > 0; b.held-- {
		b.put(uint16(count - b.held))
	}
}

func (b *buffers) entry(i uint16) *bufferEntry {
	return (*bufferEntry)(unsafe.Pointer(&b.ring[int(i&b.mask)*int(unsafe.Sizeof(bufferEntry{}))]))
}

// put gives a buffer to the kernel. The tail shares a word with the id of the first entry, which only we write.
func (b *buffers) put(id uint16) {
	e := b.entry(b.tail)
	e.address = address(b.memory[int(id)*b.each:])
	e.length = uint32(b.each)
	e.id = id
	b.tail++
	first := b.entry(0)
	word := (*uint32)(unsafe.Pointer(&first.id))
	atomic.StoreUint32(word, uint32(first.id)|uint32(b.tail)<<16)
}

// Received is what a completion of Recv brought. It lives until it is given back with Release.
func (r *Ring) Received(c Completion) []byte {
	if c.Flags&hasBuffer == 0 || c.Result <= 0 {
		return nil
	}
	at := int(c.Flags>>16) * r.buffers.each
	return r.buffers.memory[at : at+int(c.Result) : at+int(c.Result)]
}

// Release gives the buffer of a completion, if it has one, back to the kernel. It is called for every completion of Recv.
func (r *Ring) Release(c Completion) {
	switch {
	case c.Flags&hasBuffer != 0:
		r.buffers.put(uint16(c.Flags >> 16))
		r.buffers.wanted = 0
	case c.Result == -int32(unix.ENOBUFS):
		r.buffers.want()
	}
}
