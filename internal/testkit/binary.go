package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Binary is a program that takes the command line of redis-server.
type Binary struct {
	Name string   // "covey", "redis-server"
	Path string   // what is executed
	Args []string // what comes before the configuration file
	Env  []string // added to the environment
}

// IsCovey tells our own server from others.
func (b Binary) IsCovey() bool { return b.Name == "covey" }

// SUT is the server under test: covey, or what the environment variable SUT names: "redis-server", or the path of any
// program that takes the arguments of redis-server.
func SUT(t testing.TB) Binary {
	t.Helper()
	switch name := os.Getenv("SUT"); name {
	case "", "covey":
		return Covey(t)
	default:
		return Binary{Name: filepath.Base(name), Path: Need(t, name)}
	}
}

// Redis is the real redis-server.
func Redis(t testing.TB) Binary {
	t.Helper()
	return Binary{Name: "redis-server", Path: Need(t, "redis-server")}
}

// Covey is our server, built once per test process. COVEY_BIN names a binary to take instead, COVEY_RACE=1 builds with the
// race detector.
func Covey(t testing.TB) Binary {
	t.Helper()
	path, err := buildCovey()
	if os.IsNotExist(err) {
		Missing(t, "cmd/covey does not exist yet")
	}
	if err != nil {
		t.Fatal(err)
	}
	return Binary{Name: "covey", Path: path, Args: []string{"server"}}
}

// Version asks the program for its version, "7.0.15" of redis-server; covey gives its own.
func (b Binary) Version(t testing.TB) string {
	t.Helper()
	out, err := exec.Command(b.Path, append(b.Args, "--version")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s --version: %v: %s", b.Path, err, out)
	}
	for word := range strings.FieldsSeq(string(out)) {
		if version, ok := strings.CutPrefix(word, "v="); ok {
			return version
		}
	}
	return strings.TrimSpace(string(out))
}

var buildCovey = sync.OnceValues(func() (path string, err error) {
	if path = os.Getenv("COVEY_BIN"); path != "" {
		return filepath.Abs(path)
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(root, "cmd", "covey", "main.go")); err != nil {
		return "", err
	}
	return goBuild(root)
})

// moduleRoot is the nearest directory upwards that holds go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// goBuild builds the server into a directory of its own below the temporary directory: go build then replaces the file by
// renaming, which does not disturb servers that run, and does nothing if the file is up to date. Test processes take turns.
func goBuild(root string) (string, error) {
	name, args, cgo := "covey", []string{"build"}, "0"
	if os.Getenv("COVEY_RACE") == "1" {
		name, args, cgo = "covey-race", append(args, "-race"), "1"
	}
	dir, err := sharedDir("bin")
	if err != nil {
		return "", err
	}
	unlock, err := lockFile(filepath.Join(dir, "lock"), syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer unlock()
	path := filepath.Join(dir, name)
	build := exec.Command("go", append(args, "-o", path, "./cmd/covey")...)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building covey: %v\n%s", err, out) // once, not in every test
		return "", fmt.Errorf("covey does not build: %w", err)
	}
	return path, nil
}

// sharedDir is a directory that the test processes of one user have in common.
func sharedDir(name string) (string, error) {
	dir := filepath.Join(os.TempDir(), "covey-testkit-"+strconv.Itoa(os.Getuid()), name)
	return dir, os.MkdirAll(dir, 0o700)
}

// lockFile takes a lock on a file, which ends with the process at the latest.
func lockFile(path string, how int) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}
