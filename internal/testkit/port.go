package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Ports for clients and for the buses that belong to them are two ranges that do not overlap, both below the range from
// which the kernel gives ports to outgoing connections.
const (
	portFirst     = 10100
	portCount     = busPortOffset
	busPortOffset = 10000
	portTriesMax  = 2000             // far more than the ports that all tests of a machine hold at a time
	portRest      = 10 * time.Second // until whoever looked for the node that had a port has given up or gone
)

// FreePort leases a port for the rest of the test: it and the bus port that belongs to it are free, and no other test
// process that uses this function gets either.
func FreePort(t testing.TB) int {
	t.Helper()
	return FreePorts(t, 1)
}

// FreePorts leases ports that follow each other, as FreePort does, and returns the first.
func FreePorts(t testing.TB, n int) int {
	t.Helper()
	dir, err := sharedDir("ports")
	if err != nil {
		t.Fatal(err)
	}
	for range portTriesMax {
		first := portFirst + rand.IntN(portCount-n+1)
		if release, ok := leaseRow(dir, first, n); ok {
			t.Cleanup(func() { time.AfterFunc(portRest, release) })
			return first
		}
	}
	t.Fatalf("no %d free ports in a row", n)
	return 0
}

// leaseRow leases all of the ports or none.
func leaseRow(dir string, first, n int) (release func(), ok bool) {
	var leases []func()
	release = func() {
		for _, end := range leases {
			end()
		}
	}
	for port := first; port < first+n; port++ {
		end, ok := lease(dir, port)
		if !ok {
			release()
			return nil, false
		}
		leases = append(leases, end)
	}
	return release, true
}

func lease(dir string, port int) (release func(), ok bool) {
	unlock, err := lockFile(filepath.Join(dir, strconv.Itoa(port)), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return nil, false
	}
	if !canListen(port) || !canListen(port+busPortOffset) {
		unlock()
		return nil, false
	}
	return unlock, true
}

func canListen(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
