package uring

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// buffers is a ring of buffers of which the kernel takes one for each piece that arrives. They are used in turn.
type buffers struct {
	ring   []byte // shared with the kernel: bufferEntry by bufferEntry
	memory []byte
	each   int
	mask   uint16
	tail   uint16
}

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
	for id := range count {
		b.put(uint16(id))
	}
	return nil
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

// Release gives the buffer of a completion, if it has one, back to the kernel.
func (r *Ring) Release(c Completion) {
	if c.Flags&hasBuffer != 0 {
		r.buffers.put(uint16(c.Flags >> 16))
	}
}
