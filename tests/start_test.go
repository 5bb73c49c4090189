package tests

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

// This file holds the ways in which a server is started, and what one costs that has nothing to do.

// TestLinkNamedRedisServer starts the binary as tools do that know no other name.
func TestLinkNamedRedisServer(t *testing.T) {
	t.Parallel()
	link := filepath.Join(t.TempDir(), "redis-server")
	must(t, os.Symlink(testkit.Covey(t).Path, link))
	s := testkit.Start(t, testkit.Options{Binary: testkit.Binary{Name: "covey", Path: link}, Conf: []string{"databases 3"}, Args: []string{"--hz", "33"}})
	s.Want(t, `["databases" "3" "hz" "33"]`, "CONFIG", "GET", "databases", "hz")
	out, err := exec.Command(link, "--version").Output()
	must(t, err)
	contains(t, string(out), "v=7.2.4 ")
}

// TestLogForms reads the log in each of its forms, with the lines that supervisors wait for.
func TestLogForms(t *testing.T) {
	t.Parallel()
	plain := regexp.MustCompile(`^\d+:M \d\d \w{3} \d{4} \d\d:\d\d:\d\d\.\d{3} [.\-*#] `)
	logfmt := regexp.MustCompile(`^time=\S+ level=\w+ msg=`)
	for form, good := range map[string]func(line string) bool{
		"plain":  plain.MatchString,
		"logfmt": logfmt.MatchString,
		"json":   func(line string) bool { return json.Valid([]byte(line)) },
	} {
		s := testkit.Start(t, testkit.Options{Conf: []string{"log-format " + form}})
		if code := s.Stop(t); code != 0 {
			t.Errorf("%s: ended with %d", form, code)
		}
		for line := range strings.Lines(s.Log()) {
			if !good(strings.TrimSpace(line)) {
				t.Errorf("%s: %s", form, line)
			}
		}
		contains(t, s.Log(), fmt.Sprintf(" PID: %d", s.PID()), "Server initialized", "Ready to accept connections tcp", "Received SIGTERM", "ready to exit")
	}
}

// TestALogFileThatCannotBeOpened ends the start: a server whose log goes nowhere would run unseen.
func TestALogFileThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(testkit.Covey(t).Path, "server", "--port", "0", "--logfile", "none/covey.log").CombinedOutput()
	if want := "Can't open the log file: No such file or directory"; err == nil || !strings.Contains(string(out), want) {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

// TestADirThatCannotBeWritten: who starts a server where nothing can be saved hears of it before there is anything to save.
func TestADirThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	const nowhere = "/proc" // not even root makes files there
	if _, err := os.Stat(nowhere); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct {
		save string
		told bool
	}{{"3600 1", true}, {`""`, false}} {
		s := testkit.Start(t, testkit.Options{Conf: []string{"save " + c.save}, Args: []string{"--dir", nowhere}})
		s.Kill(t) // its log is whole then
		if told := strings.Contains(s.Log(), "Nothing can be saved here"); told != c.told {
			t.Errorf("save %s: told %v\n%s", c.save, told, s.Log())
		}
	}
}

// TestPortInUse: who waits for a server reads why it does not come.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	first := testkit.Start(t, testkit.Options{})
	second := testkit.Launch(t, testkit.Options{Port: first.Port})
	if code := second.AwaitExit(t, testkit.Patience); code != 1 {
		t.Errorf("ended with %d", code)
	}
	contains(t, second.Log(), fmt.Sprintf("Failed listening on port %d (tcp), aborting.", first.Port))
	first.Want(t, "+PONG", "PING")
}

// TestDaemon starts a server that leaves its terminal: its files tell of it, and SIGTERM saves and takes them away.
func TestDaemon(t *testing.T) {
	t.Parallel()
	dir, port := t.TempDir(), testkit.FreePort(t)
	conf := filepath.Join(dir, "daemon.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, `port %d
bind 127.0.0.1 -::1
unixsocket s
unixsocketperm 700
daemonize yes
pidfile p
logfile l
save 3600 1
dir %s
`, port, dir), 0o644))
	out, err := exec.Command(testkit.Covey(t).Path, "server", conf).CombinedOutput()
	must(t, err)
	if len(out) > 0 {
		t.Errorf("it prints %s", out)
	}
	end := awaitDaemon(t, dir)
	overEveryDoor(t, dir, port)
	end()
	must(t, gone(filepath.Join(dir, "s")))
	contains(t, daemonLog(dir), "DB saved on disk")
	if _, err := os.Stat(filepath.Join(dir, "dump.rdb")); err != nil {
		t.Error(err)
	}
}

// TestDaemonOfRelativePaths starts daemons whose configuration leaves the folder they were started in: a file that is named from
// there, a dir that is, and standard input reach the process that stays.
func TestDaemonOfRelativePaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, arg, stdin string }{
		{name: "file", arg: "node.conf"},
		{name: "standard input", arg: "-", stdin: "maxmemory-samples 7\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, port := t.TempDir(), testkit.FreePort(t)
			must(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, "node.conf"), []byte("maxmemory-samples 7\n"), 0o644))
			start := exec.Command(testkit.Covey(t).Path, "server", c.arg, "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
				"--daemonize", "yes", "--dir", "data", "--logfile", "l", "--pidfile", "p", "--save", "")
			start.Dir, start.Stdin = dir, strings.NewReader(c.stdin)
			out, err := start.CombinedOutput()
			must(t, err)
			if len(out) > 0 {
				t.Errorf("it prints %s", out)
			}
			endDaemon := awaitDaemon(t, filepath.Join(dir, "data"))
			contains(t, redisCLI(t, "-p", strconv.Itoa(port), "CONFIG", "GET", "maxmemory-samples"), "7")
			endDaemon()
		})
	}
}

// awaitDaemon waits until the daemon whose files p and l lie in a folder serves. What it returns ends the daemon, and waits until
// it has taken away its pid file.
func awaitDaemon(t testing.TB, dir string) (end func()) {
	t.Helper()
	var pid int
	testkit.Eventually(t, testkit.Patience, func() error {
		text, err := os.ReadFile(filepath.Join(dir, "p"))
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		return err
	})
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	testkit.Eventually(t, testkit.Patience, func() error {
		if log := daemonLog(dir); !strings.Contains(log, "Ready to accept connections tcp") {
			return fmt.Errorf("log: %s", log)
		}
		return nil
	})
	return func() {
		t.Helper()
		must(t, syscall.Kill(pid, syscall.SIGTERM))
		testkit.Eventually(t, testkit.Patience, func() error { return gone(filepath.Join(dir, "p")) })
	}
}

// daemonLog is what the daemon of awaitDaemon has logged.
func daemonLog(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, "l"))
	return string(text)
}

// overEveryDoor writes through the Unix socket and over both versions of IP where there are both.
func overEveryDoor(t testing.TB, dir string, port int) {
	t.Helper()
	info, err := os.Stat(filepath.Join(dir, "s"))
	must(t, err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the socket has mode %v", info.Mode())
	}
	contains(t, redisCLI(t, "-s", filepath.Join(dir, "s"), "SET", "k", "v"), "OK")
	contains(t, redisCLI(t, "-p", strconv.Itoa(port), "GET", "k"), "v")
	if six, err := net.Dial("tcp", net.JoinHostPort("::1", strconv.Itoa(port))); err == nil {
		six.Close()
		contains(t, redisCLI(t, "-h", "::1", "-p", strconv.Itoa(port), "CLIENT", "INFO"), " addr=[::1]:", fmt.Sprintf(" laddr=[::1]:%d ", port))
	}
}

// gone returns nil if none of the files is there.
func gone(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			return fmt.Errorf("%s is there", path)
		}
	}
	return nil
}

const (
	binaryBytesMax = 30 << 20
	idleBytesMax   = 30 << 20
	idleShareMax   = 0.01 // of a core
	idleWatched    = 5 * time.Second
)

// TestIdleNodeIsSmall looks at what a node of a cluster costs while nobody uses it, and at the size of the program.
func TestIdleNodeIsSmall(t *testing.T) {
	s := startWholeNode(t)
	if s.RSS(t) == 0 {
		t.Skip("the system does not tell")
	}
	info, err := os.Stat(s.Binary.Path)
	must(t, err)
	used := idleCPU(t, s)
	t.Logf("binary %d MB, %d MB resident, %.2f %% of a core", info.Size()>>20, s.RSS(t)>>20, 100*used.Seconds()/idleWatched.Seconds())
	if os.Getenv("COVEY_RACE") != "" {
		return
	}
	if info.Size() > binaryBytesMax {
		t.Errorf("the binary has %d bytes", info.Size())
	}
	if s.RSS(t) > idleBytesMax {
		t.Errorf("%d bytes resident", s.RSS(t))
	}
	if used.Seconds() > idleShareMax*idleWatched.Seconds() {
		t.Errorf("%v of CPU time in %v", used, idleWatched)
	}
}

// idleCPU is the CPU time that a server uses while it is watched. On a busy machine each of its moments costs more: what is
// too much is measured again, and the least of three times counts.
func idleCPU(t testing.TB, s *testkit.Server) (least time.Duration) {
	t.Helper()
	least = idleWatched
	for range 3 {
		before := cpuOf(t, s)
		testkit.Elapse(idleWatched)
		if least = min(least, cpuOf(t, s)-before); least.Seconds() <= idleShareMax*idleWatched.Seconds() {
			break
		}
	}
	return least
}

// cpuOf is the CPU time a server has used.
func cpuOf(t testing.TB, s *testkit.Server) time.Duration {
	t.Helper()
	info := s.Info(t, "cpu")
	var seconds float64
	for _, field := range []string{"used_cpu_sys", "used_cpu_user"} {
		part, err := strconv.ParseFloat(info[field], 64)
		must(t, err)
		seconds += part
	}
	return time.Duration(seconds * float64(time.Second))
}
