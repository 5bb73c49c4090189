package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Ports are taken below the range from which the kernel gives ports to outgoing connections, the bus port included.
const (
	portFirst     = 10100
	portCount     = 11900
	busPortOffset = 10000
	portTriesMax  = 2000 // far more than the ports that all tests of a machine hold at a time
)

// FreePort leases a port for the rest of the test: it and the bus port that belongs to it are free, and no other test
// process that uses this function gets either.
func FreePort(t testing.TB) int {
	t.Helper()
	dir, err := sharedDir("ports")
	if err != nil {
		t.Fatal(err)
	}
	for range portTriesMax {
		port := portFirst + rand.IntN(portCount)
		release, ok := lease(dir, port)
		if ok {
			t.Cleanup(release)
			return port
		}
	}
	t.Fatal("no free port")
	return 0
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
