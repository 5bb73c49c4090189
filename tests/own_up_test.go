package tests

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/manager"
	"github.com/covey-db/covey/internal/testkit"
)

// TestUpLeavesANodeWithoutClusterAlone: a local cluster that has lost the memory of its first node is not formed anew over
// the others.
func TestUpLeavesANodeWithoutClusterAlone(t *testing.T) {
	t.Parallel()
	opts := manager.LocalOptions{
		Binary: testkit.Covey(t).Path, Primaries: 3, Port: portsInARow(t, 3), Dir: t.TempDir(), NodeTimeout: time.Second, Out: io.Discard,
	}
	cluster, err := manager.StartLocal(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	cluster.Stop()
	first := "node-" + strconv.Itoa(opts.Port)
	if err := os.Remove(filepath.Join(opts.Dir, first, "nodes.conf")); err != nil {
		t.Fatal(err)
	}
	cluster, err = manager.StartLocal(context.Background(), opts)
	if err == nil {
		cluster.Stop()
		t.Fatal("it started")
	}
	want := "127.0.0.1:" + strconv.Itoa(opts.Port) + " belong to no cluster, the others do; "
	if !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %q, want it to begin with %q", err, want)
	}
	conf, err := os.ReadFile(filepath.Join(opts.Dir, first, "nodes.conf"))
	if err != nil || strings.Contains(string(conf), "0-5460") {
		t.Errorf("the first node took slots (%v): %s", err, conf)
	}
}

// portsInARow looks for ports that follow each other and are free, with those of their buses.
func portsInARow(t *testing.T, n int) int {
	t.Helper()
	for first := 22100; first < 22700; first += n { // buses then lie below the ports of outgoing connections
		free := true
		for i := range 2 * n {
			ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i%n+i/n*10000)))
			if err != nil {
				free = false
				break
			}
			ln.Close()
		}
		if free {
			return first
		}
	}
	t.Fatal("no ports are free")
	return 0
}
