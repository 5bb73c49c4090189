package uring

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// request is struct io_uring_sqe as far as it is used here.
type request struct {
	op      uint8
	flags   uint8
	prio    uint16
	fd      int32
	offset  uint64
	address uint64
	length  uint32
	opFlags uint32
	data    uint64
	group   uint16
	_       uint16
	_       int32
	_       uint64
	_       uint64
}

const (
	opPoll   = 6
	opCancel = 14
	opSend   = 26
	opRecv   = 27

	flagSelectBuffer = 1 << 5
	pollMany         = 1 << 0
	recvPollFirst    = 1 << 0
	recvMany         = 1 << 1
)

// next is a place for a request, nil when there is none even after the kernel was asked to take what is prepared.
func (r *Ring) next() *request {
	if int(r.tail-atomic.LoadUint32(r.sqHead)) == len(r.requests) {
		r.Submit()
		if int(r.tail-atomic.LoadUint32(r.sqHead)) == len(r.requests) {
			return nil
		}
	}
	q := &r.requests[r.tail&r.sqMask]
	r.tail++
	return q
}

// Recv prepares a request that reads whatever arrives at a socket into buffers that the kernel picks, until the end of the
// input, an error, or want of buffers (ENOBUFS). Like all requests it is known by data; false says that the kernel takes
// no more requests for now.
func (r *Ring) Recv(fd int, data uint64) bool {
	q := r.next()
	if q == nil {
		return false
	}
	*q = request{op: opRecv, flags: flagSelectBuffer, prio: recvMany, fd: int32(fd), data: data}
	return true
}

// Send prepares a request that sends b as far as the socket takes it at once: it has completed when Submit or a poll
// returns. b must be off the heap.
func (r *Ring) Send(fd int, b []byte, data uint64) bool {
	q := r.next()
	if q == nil {
		return false
	}
	*q = request{op: opSend, fd: int32(fd), address: address(b), length: uint32(len(b)), opFlags: unix.MSG_DONTWAIT | unix.MSG_NOSIGNAL, data: data}
	return true
}

// Watch prepares a request that completes once a descriptor has one of the given poll events.
func (r *Ring) Watch(fd int, events uint32, data uint64) bool { return r.poll(fd, events, 0, data) }

// WatchOn is Watch that goes on: it completes whenever an event comes anew.
func (r *Ring) WatchOn(fd int, events uint32, data uint64) bool {
	return r.poll(fd, events, pollMany, data)
}

func (r *Ring) poll(fd int, events, length uint32, data uint64) bool {
	q := r.next()
	if q == nil {
		return false
	}
	*q = request{op: opPoll, fd: int32(fd), length: length, opFlags: events, data: data}
	return true
}

// Cancel prepares a request that ends the one known by target, which then completes.
func (r *Ring) Cancel(target, data uint64) bool {
	q := r.next()
	if q == nil {
		return false
	}
	*q = request{op: opCancel, fd: -1, address: target, data: data}
	return true
}

func address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }
