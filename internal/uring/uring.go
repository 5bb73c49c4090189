// Package uring speaks to Linux's io_uring without C: a ring of requests and a ring of completions in memory that is shared
// with the kernel, buffers that the kernel picks for what arrives, and the system calls that go with them. It knows the
// few operations that an event loop over sockets needs. It is empty on other systems.
package uring

import "errors"

// ErrUnsupported says that the kernel lacks something the package needs or refuses io_uring altogether.
var ErrUnsupported = errors.New("io_uring cannot be used")
