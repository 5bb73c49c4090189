package testkit

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit/reply"
)

const (
	logLinesLast   = 60  // lines of each server's log that a failed test prints
	stackLinesLast = 600 // the same where a server is stuck, with its stacks
	stacksWithin   = 5 * time.Second
	readyLine      = "Ready to accept connections"
	confName       = "test.conf"
)

// Options say how a server is started. The zero value is a plain server under test on a free port.
type Options struct {
	Binary   Binary            // zero: the server under test
	Conf     []string          // lines of the configuration file, after those that every server gets
	Args     []string          // command line behind the file
	NoConf   bool              // no configuration file: Args are all (Port must be told to the server by them)
	Dir      string            // empty: a new temporary directory
	Port     int               // 0: a free one
	Password string            // what Dial authenticates with; requirepass is set
	TLS      *Authority        // everything goes over TLS, with the certificate "node": Port is the only port for clients
	Stdin    string            // given to the process
	Files    map[string]string // written into Dir before the start
}

// Server is one server process on a loopback port. Its methods end the test they are given on trouble.
type Server struct {
	Options     // as started, with Dir and Port filled in
	BusPort int // the cluster bus, where there is one
	log     *serverLog
	cmd     *exec.Cmd
	exited  chan struct{} // closed when the process is gone
	wanted  bool          // the end of the process is wanted: by Kill, Stop or AwaitExit
}

// Start starts a server and waits until it answers. It is killed when the test ends, its log printed if the test failed.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s := Launch(t, o)
	s.AwaitReady(t)
	return s
}

// Launch starts a server and does not wait.
func Launch(t testing.TB, o Options) *Server {
	t.Helper()
	s := NewServer(t, o)
	s.launch(t)
	return s
}

// NewServer prepares a server that Launch or Restart will start: directory, port, files.
func NewServer(t testing.TB, o Options) *Server {
	t.Helper()
	if o.Binary.Path == "" {
		o.Binary = SUT(t)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Port == 0 {
		o.Port = FreePort(t)
	}
	s := &Server{Options: o, BusPort: o.Port + busPortOffset, log: newServerLog()}
	for name, content := range o.Files {
		s.WriteFile(t, name, content)
	}
	if !o.NoConf {
		s.WriteConf(t)
	}
	t.Cleanup(func() { s.finish(t) })
	return s
}

// WriteConf writes the configuration file anew, for a test that has changed Conf before a restart.
func (s *Server) WriteConf(t testing.TB) {
	t.Helper()
	s.WriteFile(t, confName, strings.Join(s.confLines(), "\n")+"\n")
}

func (s *Server) confLines() []string {
	port := []string{"port " + strconv.Itoa(s.Port)}
	if s.TLS != nil {
		port = append(s.TLS.Conf(nodeCert), "port 0", "tls-port "+strconv.Itoa(s.Port), "tls-replication yes", "tls-cluster yes")
	}
	lines := append(port,
		"bind 127.0.0.1",
		"dir "+s.Dir,
		`save ""`,
		"repl-diskless-sync-delay 0",
	)
	if s.Password != "" {
		lines = append(lines, "requirepass "+s.Password)
	}
	return append(lines, s.Conf...)
}

// WriteFile writes a file of the server's directory.
func (s *Server) WriteFile(t testing.TB, name, content string) {
	t.Helper()
	path := s.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ReadFile reads a file of the server's directory.
func (s *Server) ReadFile(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(s.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Path is the path of a file of the server's directory.
func (s *Server) Path(name string) string { return filepath.Join(s.Dir, name) }

func (s *Server) launch(t testing.TB) {
	t.Helper()
	args := append([]string{}, s.Binary.Args...)
	if !s.NoConf {
		args = append(args, s.Path(confName))
	}
	s.cmd = exec.Command(s.Binary.Path, append(args, s.Args...)...)
	s.cmd.Dir = s.Dir
	s.cmd.Env = append(os.Environ(), s.Binary.Env...)
	s.cmd.Stdin = strings.NewReader(s.Stdin)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = childAttributes()
	s.wanted = false
	s.exited = make(chan struct{})
	started := make(chan error)
	go func(cmd *exec.Cmd, exited chan struct{}) {
		runtime.LockOSThread() // a child dies with the thread that started it: this one lives as long as the child
		defer runtime.UnlockOSThread()
		defer close(exited)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the state is read from cmd.ProcessState
		}
	}(s.cmd, s.exited)
	if err := <-started; err != nil {
		t.Fatal(err)
	}
}

// AwaitReady waits until the server said that it is ready and answers PING.
func (s *Server) AwaitReady(t testing.TB) {
	t.Helper()
	s.AwaitLog(t, Patience, readyLine)
	Eventually(t, Patience, func() error {
		c, err := s.tryDial()
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Try("PING")
		return err
	})
}

// AwaitLog waits until the process that runs now has printed the text.
func (s *Server) AwaitLog(t testing.TB, within time.Duration, text string) {
	t.Helper()
	end := time.NewTimer(within)
	defer end.Stop()
	for {
		printed, changed := s.log.state()
		if strings.Contains(printed, text) {
			return
		}
		select {
		case <-changed:
		case <-s.exited:
			if printed, _ := s.log.state(); !strings.Contains(printed, text) {
				t.Fatalf("%s ended (%v) before it printed %q:\n%s", s, s.cmd.ProcessState, text, s.LogTail())
			}
		case <-end.C:
			t.Fatalf("%s did not print %q within %v:\n%s", s, text, within, s.stuckAt())
		}
	}
}

// String names the server in messages.
func (s *Server) String() string { return fmt.Sprintf("%s on port %d", s.Binary.Name, s.Port) }

// Addr is the client address.
func (s *Server) Addr() string { return loopback(s.Port) }

// BusAddr is the address of the cluster bus.
func (s *Server) BusAddr() string { return loopback(s.BusPort) }

// PID is the id of the process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Log is what the process has printed so far.
func (s *Server) Log() string {
	text, _ := s.log.state()
	return text
}

// LogTail is the end of Log, as a failed test prints it.
func (s *Server) LogTail() string { return tail(s.Log(), logLinesLast) }

// Dial opens a connection to the server and authenticates if it has a password.
func (s *Server) Dial(t testing.TB) *Client {
	t.Helper()
	c, err := s.tryDial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	if s.Password != "" {
		c.OK(t, "AUTH", s.Password)
	}
	return c
}

// tryDial opens a connection of the server's kind.
func (s *Server) tryDial() (*Client, error) {
	if s.TLS == nil {
		return TryDial(s.Addr())
	}
	config, err := s.TLS.client(nodeCert)
	if err != nil {
		return nil, err
	}
	return TryDialTLS(s.Addr(), config)
}

// Do sends one command on a connection of its own.
func (s *Server) Do(t testing.TB, args ...string) reply.Value {
	t.Helper()
	v, err := s.Try(args...)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%s: %.200q: %v\n%s", s, args, err, s.stuckAt())
	}
	if err != nil {
		t.Fatalf("%s: %.200q: %v", s, args, err)
	}
	return v
}

// OK sends one command whose reply is no error, on a connection of its own.
func (s *Server) OK(t testing.TB, args ...string) reply.Value {
	t.Helper()
	v := s.Do(t, args...)
	if v.Kind == reply.Error {
		t.Fatalf("%s: %.200q: %v", s, args, v)
	}
	return v
}

// Want sends one command whose reply fits the pattern, on a connection of its own.
func (s *Server) Want(t testing.TB, pattern string, args ...string) reply.Value {
	t.Helper()
	p, err := reply.Parse(pattern)
	if err != nil {
		t.Fatal(err)
	}
	v := s.Do(t, args...)
	if !p.Matches(v) {
		t.Fatalf("%s: %.200q: got %v, want %s", s, args, v, pattern)
	}
	return v
}

// Try is Do that returns trouble with the connection.
func (s *Server) Try(args ...string) (reply.Value, error) {
	c, err := s.tryDial()
	if err != nil {
		return reply.Value{}, err
	}
	defer c.Close()
	if s.Password != "" {
		if v, err := c.Try("AUTH", s.Password); err != nil || v.Kind == reply.Error {
			return v, err
		}
	}
	return c.Try(args...)
}

// Info returns the fields of INFO, or of one section of it.
func (s *Server) Info(t testing.TB, section ...string) map[string]string {
	t.Helper()
	return Fields(s.OK(t, append([]string{"INFO"}, section...)...).Plain())
}

// TryInfo is Info that returns trouble.
func (s *Server) TryInfo(section ...string) (map[string]string, error) {
	v, err := s.Try(append([]string{"INFO"}, section...)...)
	if err == nil && v.Kind == reply.Error {
		err = errors.New(v.Text)
	}
	return Fields(v.Plain()), err
}

// InfoInt returns one number of INFO.
func (s *Server) InfoInt(t testing.TB, field string) int64 {
	t.Helper()
	fields := s.Info(t)
	maps.Copy(fields, s.Info(t, "everything"))
	n, err := strconv.ParseInt(fields[field], 10, 64)
	if err != nil {
		t.Fatalf("INFO %s: %q", field, fields[field])
	}
	return n
}

// Fields reads lines of name:value, as INFO and CLUSTER INFO print them.
func Fields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if name, value, ok := strings.Cut(strings.TrimRight(line, "\r"), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// stuckAt is the end of the log of a process that does not do what it should. Covey is ended for it, so that it tells where
// each of its goroutines is.
func (s *Server) stuckAt() string {
	if !s.Binary.IsCovey() || !s.Running() {
		return s.LogTail()
	}
	s.wanted = true
	_ = s.cmd.Process.Signal(syscall.SIGCONT) // it may be paused, or gone meanwhile
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-s.exited:
	case <-time.After(stacksWithin):
	}
	return tail(s.Log(), stackLinesLast)
}

// Signal sends a signal to the process.
func (s *Server) Signal(t testing.TB, sig syscall.Signal) {
	t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		t.Fatalf("%s: %v: %v", s, sig, err)
	}
}

// Pause stops the process as SIGSTOP does: it hangs, its sockets stay open. All its threads have stopped on return.
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	s.Signal(t, syscall.SIGSTOP)
	Eventually(t, Patience, s.stopped)
}

// stopped returns nil if every thread of the process is stopped, as far as the system tells.
func (s *Server) stopped() error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.PID()))
	if err != nil {
		return err
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread is gone
		}
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
			return fmt.Errorf("%s: thread %s still runs", s, thread)
		}
	}
	return nil
}

// Resume lets a paused process run again.
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	s.Signal(t, syscall.SIGCONT)
}

// Kill ends the process at once, as kill -9 does, and waits until it is gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.wanted = true
	_ = s.cmd.Process.Kill() // it may be gone already
	<-s.exited
}

// Stop ends the process with SIGTERM and returns its exit status.
func (s *Server) Stop(t testing.TB) int {
	t.Helper()
	s.wanted = true
	s.Signal(t, syscall.SIGTERM)
	return s.AwaitExit(t, Patience)
}

// AwaitExit waits until the process has ended by itself and returns its exit status; a death by a signal is -1.
func (s *Server) AwaitExit(t testing.TB, within time.Duration) int {
	t.Helper()
	s.wanted = true
	select {
	case <-s.exited:
	case <-time.After(within):
		t.Fatalf("%s still runs after %v:\n%s", s, within, s.stuckAt())
	}
	return s.cmd.ProcessState.ExitCode()
}

// Running tells whether the process runs.
func (s *Server) Running() bool {
	select {
	case <-s.exited:
		return false
	default:
		return true
	}
}

// Relaunch starts the process again, with the same directory, port and configuration, and does not wait.
func (s *Server) Relaunch(t testing.TB) {
	t.Helper()
	if s.cmd != nil && s.Running() {
		t.Fatalf("%s still runs", s)
	}
	s.log.clear()
	s.launch(t)
}

// Restart starts the process again and waits until it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Relaunch(t)
	s.AwaitReady(t)
}

// RSS is the resident memory of the process in bytes; 0 where the system does not tell.
func (s *Server) RSS(t testing.TB) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		return 0
	}
	kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(Fields(string(status))["VmRSS"]), " kB"), 10, 64)
	return kb << 10
}

// finish ends the process with its test: an end that nobody wanted, and a data race, fail the test.
func (s *Server) finish(t testing.TB) {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	if !s.wanted && !s.Running() {
		t.Errorf("%s ended by itself: %v", s, s.cmd.ProcessState)
	}
	s.Kill(t)
	if strings.Contains(s.Log(), "WARNING: DATA RACE") {
		t.Errorf("%s has a data race", s)
	}
	if t.Failed() {
		t.Logf("%s, %s:\n%s", s, s.Dir, s.LogTail())
	}
}
