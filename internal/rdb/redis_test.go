package rdb

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit/reply"
)

// redis is a real redis-server, reached through a Unix socket in its own directory.
type redis struct {
	t    *testing.T
	dir  string
	conn net.Conn
	in   *bufio.Reader
}

// startRedis runs a server in dir, which may hold a dump.rdb; "" means a new directory. Without a redis-server the test
// is skipped, or fails where CI says that one must be there.
func startRedis(t *testing.T, dir string, options ...string) *redis {
	t.Helper()
	needBinary(t, "redis-server")
	if dir == "" {
		dir = shortDir(t)
	}
	socket := filepath.Join(dir, "s")
	args := append([]string{"--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--daemonize", "no",
		"--enable-debug-command", "yes"}, options...)
	cmd := exec.Command("redis-server", args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	waitReady(t, out)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &redis{t: t, dir: dir, conn: conn, in: bufio.NewReader(conn)}
}

func needBinary(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed: nothing was compared with it", name)
}

// shortDir is a temporary directory whose name leaves room for the name of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rdb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// waitReady reads the server's log until it serves, then lets the rest of the log pass.
func waitReady(t *testing.T, out io.Reader) {
	t.Helper()
	var log strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		log.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "connections at") {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	t.Fatalf("redis-server ended:\n%s", log.String())
}

// do sends one command; an error reply fails the test.
func (r *redis) do(args ...string) reply.Value {
	r.t.Helper()
	v := r.try(args...)
	if v.Kind == reply.Error {
		r.t.Fatalf("%.60q: %s", args, v.Text)
	}
	return v
}

func (r *redis) try(args ...string) reply.Value {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err := io.WriteString(r.conn, b.String()); err != nil {
		r.t.Fatal(err)
	}
	v, err := reply.Read(r.in)
	if err != nil {
		r.t.Fatalf("%.60q: %v", args, err)
	}
	return v
}

// words sends a command written with blanks between its arguments.
func (r *redis) words(command string) reply.Value {
	r.t.Helper()
	return r.do(strings.Fields(command)...)
}

// save writes dump.rdb and returns it.
func (r *redis) save() []byte {
	r.t.Helper()
	r.do("SAVE")
	file, err := os.ReadFile(filepath.Join(r.dir, "dump.rdb"))
	if err != nil {
		r.t.Fatal(err)
	}
	return file
}

// dirWith is a directory with a dump.rdb.
func dirWith(t *testing.T, file []byte) string {
	t.Helper()
	dir := shortDir(t)
	if err := os.WriteFile(filepath.Join(dir, "dump.rdb"), file, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// checkedByRedis runs redis-check-rdb over a file.
func checkedByRedis(t *testing.T, file []byte) {
	t.Helper()
	needBinary(t, "redis-check-rdb")
	out, err := exec.Command("redis-check-rdb", filepath.Join(dirWith(t, file), "dump.rdb")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "RDB looks OK") {
		t.Fatalf("redis-check-rdb: %v\n%s", err, out)
	}
}
