package manager_test

import (
	"context"
	"fmt"
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

func startError(t *testing.T, change func(*manager.LocalOptions)) string {
	t.Helper()
	opts := manager.LocalOptions{
		Binary: "/nonexistent", Primaries: 3, Replicas: 3, Port: 7000, Dir: t.TempDir(), NodeTimeout: time.Second, Out: io.Discard,
	}
	change(&opts)
	_, err := manager.StartLocal(context.Background(), opts)
	if err == nil {
		t.Fatal("it started")
	}
	if left, _ := os.ReadDir(opts.Dir); len(left) > 0 {
		t.Errorf("the folder holds %v after a start that was refused", left)
	}
	return err.Error()
}

func TestLocalRefusesBeforeItWrites(t *testing.T) {
	got := startError(t, func(o *manager.LocalOptions) { o.Port = 55531 })
	if want := "ports 55531-55536 do not fit: every node also takes the port 10000 above its own"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got = startError(t, func(o *manager.LocalOptions) { o.NodeTimeout = 0 })
	if want := "a timeout is at least 1ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A listener that answers INFO stands for a node that outlived its "covey up".
func TestLocalTellsOfNodesLeft(t *testing.T) {
	ln := listenLow(t)
	port := ln.Addr().(*net.TCPAddr).Port
	var info string
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 256)) // the command; what it says does not matter
			fmt.Fprintf(c, "$%d\r\n%s\r\n", len(info), info)
			c.Close()
		}
	}()
	info = "process_id:4711\r\nconfig_file:/elsewhere/covey.conf"
	got := startError(t, func(o *manager.LocalOptions) { o.Port = port })
	if want := fmt.Sprintf("port %d cannot be used, choose another with --port: ", port); !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	dir := t.TempDir()
	got = startError(t, func(o *manager.LocalOptions) {
		o.Port, o.Dir = port, dir
		info = "process_id:4711\r\nconfig_file:" + filepath.Join(dir, "node-"+strconv.Itoa(port), "covey.conf")
	})
	if want := "nodes of an earlier run still run on " + dir + "; end them with: kill 4711"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// listenLow listens on a port that leaves room for bus ports.
func listenLow(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(testkit.FreePort(t))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func TestLocalWantsTheNodesOfBefore(t *testing.T) {
	dir, port := t.TempDir(), 7000
	for i := range 4 {
		node := filepath.Join(dir, "node-"+strconv.Itoa(port+i))
		if err := os.MkdirAll(node, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(node, "covey.conf"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, replicas := range []int{0, 2} {
		_, err := manager.StartLocal(context.Background(), manager.LocalOptions{
			Binary: "/nonexistent", Primaries: 3, Replicas: replicas, Port: port, Dir: dir, NodeTimeout: time.Second, Out: io.Discard,
		})
		if want := dir + " holds a cluster of 4 nodes: "; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%d replicas: got %v, want it to begin with %q", replicas, err, want)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 4 {
		t.Errorf("the folder holds %v", list)
	}
}
