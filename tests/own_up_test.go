package tests

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
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
		Binary: testkit.Covey(t).Path, Primaries: 3, Port: testkit.FreePorts(t, 3), Dir: t.TempDir(), NodeTimeout: time.Second, Out: io.Discard,
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

// up is a running "covey up".
type up struct {
	cmd *exec.Cmd
	log *strings.Builder // what it printed so far
	out *bufio.Reader
}

func startUp(t *testing.T, dir string, port int) *up {
	t.Helper()
	u := &up{cmd: exec.Command(testkit.Covey(t).Path, "up", "--port", strconv.Itoa(port), "--dir", dir, "--timeout", "2s"), log: &strings.Builder{}}
	pipe, err := u.cmd.StdoutPipe()
	must(t, err)
	u.out = bufio.NewReader(pipe)
	must(t, u.cmd.Start())
	t.Cleanup(func() {
		if u.cmd.ProcessState == nil {
			_ = u.cmd.Process.Signal(os.Interrupt)
			_ = u.cmd.Wait()
		}
		if t.Failed() {
			t.Log(u.log.String())
		}
	})
	return u
}

// await reads until a line matches, and returns it. A program that never prints one is killed, which ends what is read.
func (u *up) await(t *testing.T, pattern string) string {
	t.Helper()
	late := time.AfterFunc(testkit.Patience, func() { _ = u.cmd.Process.Kill() })
	defer late.Stop()
	want := regexp.MustCompile(pattern)
	for {
		line, err := u.out.ReadString('\n')
		u.log.WriteString(line)
		if want.MatchString(line) {
			return line
		}
		if err != nil {
			t.Fatalf("no %q: %v", pattern, err)
		}
		if width := len([]rune(strings.TrimSuffix(line, "\n"))); width > 100 || strings.ContainsRune(line, '\x1b') {
			t.Errorf("%d columns: %q", width, line)
		}
	}
}

func (u *up) stop(t *testing.T) {
	t.Helper()
	must(t, u.cmd.Process.Signal(os.Interrupt))
	u.await(t, "^Stopping: saving")
	must(t, u.cmd.Wait())
}

// TestUp runs a whole cluster: it says when it is ready, tells of a primary that is killed and of its successor, saves when it is
// stopped and goes on with data and roles, in a folder that was moved, too.
func TestUp(t *testing.T) {
	t.Parallel()
	home, port := t.TempDir(), testkit.FreePorts(t, 6)
	dir := filepath.Join(home, "first")
	u := startUp(t, dir, port)
	ready := u.await(t, `^Cluster ready after`)
	var seconds float64
	if _, err := fmt.Sscanf(ready, "Cluster ready after %f s", &seconds); err != nil {
		t.Errorf("%v: %s", err, ready)
	}
	t.Log(ready)
	row := strings.Fields(u.await(t, fmt.Sprintf("127.0.0.1:%d .*primary", port)))
	u.await(t, fmt.Sprintf(`redis-cli -c -p %d set hello world`, port))
	c := testkit.Dial(t, fmt.Sprintf("127.0.0.1:%d", port))
	c.Want(t, "+OK", "SET", "hello", "world") // slot 866, of the first node
	c.Want(t, ":1", "WAIT", "1", "30000")

	pid, err := strconv.Atoi(row[1])
	must(t, err)
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	u.await(t, fmt.Sprintf(`127\.0\.0\.1:%d ended`, port))
	u.await(t, fmt.Sprintf(`127\.0\.0\.1:%d is now primary, ok, slots 0-5460`, port+3))
	u.stop(t)

	moved := filepath.Join(home, "moved")
	must(t, os.Rename(dir, moved))
	dir = moved
	u = startUp(t, dir, port)
	u.await(t, `^Cluster ready after`)
	u.await(t, fmt.Sprintf(`127\.0\.0\.1:%d .*replica +127\.0\.0\.1:%d`, port, port+3))
	u.await(t, fmt.Sprintf(`127\.0\.0\.1:%d .*primary +0-5460`, port+3))
	contains(t, redisCLI(t, "-c", "-p", strconv.Itoa(port+1), "GET", "hello"), "world")
	again, err := exec.Command(testkit.Covey(t).Path, "up", "--port", strconv.Itoa(port), "--dir", dir).CombinedOutput()
	if err == nil {
		t.Error("a second one started")
	}
	contains(t, string(again), `another "covey up" runs on `+dir)
	u.stop(t)
}
