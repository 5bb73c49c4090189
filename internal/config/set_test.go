package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/covey-db/covey/internal/config"
)

func TestSet(t *testing.T) {
	s := load(t, "")
	for _, c := range []struct{ name, value, want string }{
		{"maxmemory", "1gb", "1073741824"},
		{"maxmemory", "1g", "1000000000"},
		{"maxmemory", "0", "0"},
		{"MAXMEMORY", "2kb", "2048"},
		{"save", "900 1 300 10", "900 1 300 10"},
		{"save", "5 5", "5 5"},
		{"save", "", ""},
		{"bind", "127.0.0.1 ::1", "127.0.0.1 ::1"},
		{"bind", "", ""},
		{"client-output-buffer-limit", "normal 1 2 3", "normal 1 2 3 slave 268435456 67108864 60 pubsub 33554432 8388608 60"},
		{"client-output-buffer-limit", "replica 1gb 0 1 pubsub 0 0 0", "normal 1 2 3 slave 1073741824 0 1 pubsub 0 0 0"},
		{"client-output-buffer-limit", "", "normal 1 2 3 slave 1073741824 0 1 pubsub 0 0 0"},
		{"notify-keyspace-events", "KEA", "AKE"},
		{"notify-keyspace-events", "", ""},
		{"set-max-intset-entries", "4294967295", "4294967295"},
		{"hash-max-listpack-value", "4294967296", "4294967296"},
		{"hz", "1000", "500"},
		{"port", "0", "0"},
		{"min-slaves-to-write", "2", "2"},
		{"latency-tracking-info-percentiles", "", ""},
		{"masterauth", `"quoted"`, `"quoted"`},
	} {
		set(t, s, c.name, c.value)
		wantValue(t, s, c.name, c.want)
	}
}

func TestSetErrors(t *testing.T) {
	s := load(t, "")
	before := all(s)
	failed := func(name, why string) string {
		return "ERR CONFIG SET failed (possibly related to argument '" + name + "') - " + why
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"ERR syntax error", []string{"hz"}},
		{"ERR syntax error", []string{"nosuch", "1", "hz"}},
		{"ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'", []string{"nosuch", "1"}},
		{"ERR Unknown option or number of arguments for CONFIG SET - 'NoSuch'", []string{"hz", "5", "NoSuch", "1"}},
		{"ERR Unknown option or number of arguments for CONFIG SET - 'user'", []string{"user", "on"}},
		{failed("maxmemory", "argument must be a memory value"), []string{"maxmemory", "1x"}},
		{failed("maxmemory", "argument must be a memory value"), []string{"maxmemory", "-1"}},
		{failed("hash-max-listpack-value", "argument must be between 0 and 9223372036854775807 inclusive"),
			[]string{"hash-max-listpack-value", "18446744073709551616"}},
		{failed("maxmemory-samples", "duplicate parameter"), []string{"maxmemory-samples", "3", "maxmemory-samples", "4"}},
		{failed("MAXMEMORY-samples", "duplicate parameter"), []string{"maxmemory-samples", "3", "MAXMEMORY-samples", "x"}},
		{failed("maxmemory-samples", "argument must be between 1 and 2147483647 inclusive"), []string{"hz", "20", "maxmemory-SAMPLES", "0"}},
		{failed("appendfsync", "argument(s) must be one of the following: everysec, always, no"), []string{"appendfsync", "sometimes"}},
		{failed("hash-max-listpack-entries", "argument must be between 0 and 9223372036854775807 inclusive"), []string{"hash-max-listpack-entries", "-1"}},
		{failed("slave-priority", "argument couldn't be parsed into an integer"), []string{"slave-priority", "x"}},
		{failed("Databases", "can't set immutable config"), []string{"Databases", "1"}},
		{failed("unixsocket", "can't set immutable config"), []string{"unixsocket", "x"}},
		{failed("enable-debug-command", "can't set immutable config"), []string{"enable-debug-command", "yes"}},
		{failed("replicaof", "can't set immutable config"), []string{"replicaof", "no one"}},
		{failed("dir", "can't set protected config"), []string{"dir", "/"}},
		{failed("dbfilename", "can't set protected config"), []string{"dbfilename", "x"}},
		{failed("save", "Invalid save parameters"), []string{"save", "900  1"}},
		{failed("save", "Invalid save parameters"), []string{"save", "900"}},
		{failed("shutdown-on-sigint", "argument(s) must be one of the following: default, save, nosave, now, force"), []string{"shutdown-on-sigint", ""}},
		{failed("oom-score-adj-values", "wrong number of arguments"), []string{"oom-score-adj-values", ""}},
	} {
		wantSetError(t, s, c.want, c.args...)
	}
	if after := all(s); after != before {
		t.Fatalf("values changed:\n%s\nwere\n%s", after, before)
	}
}

func TestAliasesAreNoDuplicates(t *testing.T) {
	s := load(t, "")
	set(t, s, "slave-priority", "1", "replica-priority", "2")
	wantValue(t, s, "slave-priority", "2")
}

func TestProtectedDirectives(t *testing.T) {
	const refused = "ERR CONFIG SET failed (possibly related to argument 'dbfilename') - can't set protected config"
	for _, c := range []struct {
		mode          string
		local, remote string
	}{{"no", refused, refused}, {"local", "", refused}, {"yes", "", ""}} {
		s := load(t, "enable-protected-configs "+c.mode)
		for isLocal, want := range map[bool]string{true: c.local, false: c.remote} {
			err := s.Set([]string{"dbfilename", "x"}, config.Caller{Local: isLocal})
			if (err == nil) != (want == "") || err != nil && err.Error() != want {
				t.Errorf("%s, local %v: %v", c.mode, isLocal, err)
			}
		}
	}
}

func TestSomeWaitForTheDataset(t *testing.T) {
	s := load(t, "")
	loading := config.Caller{Loading: true}
	err := s.Set([]string{"hz", "20", "appendonly", "yes"}, loading)
	if err == nil || err.Error() != "LOADING Redis is loading the dataset in memory" {
		t.Fatal(err)
	}
	wantValue(t, s, "hz", "10")
	if err := s.Set([]string{"hz", "20"}, loading); err != nil {
		t.Fatal(err)
	}
	set(t, s, "appendonly", "no")
}

// journal is a set of hooks that write down what they are told.
type journal struct {
	lines []string
	fail  map[string]error // by value
}

func (j *journal) hook(name string) func(config.Value) error {
	return func(v config.Value) error {
		j.lines = append(j.lines, name+"="+v.String())
		return j.fail[v.String()]
	}
}

func (j *journal) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(j.lines, lines) {
		t.Fatalf("hooks heard %q, want %q", j.lines, lines)
	}
	j.lines = nil
}

func TestHooks(t *testing.T) {
	s := load(t, "")
	var j journal
	s.Hook("hz", j.hook("hz"))
	s.Hook("slave-priority", j.hook("priority"))
	s.Hook("tls-cert-file", j.hook("cert"))
	j.want(t)
	set(t, s, "hz", "10") // as it was
	j.want(t)
	set(t, s, "replica-priority", "5", "timeout", "1", "hz", "20")
	j.want(t, "priority=5", "hz=20")
	wantSetError(t, s, "ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer", "hz", "30", "timeout", "x")
	j.want(t)
	set(t, s, "tls-cert-file", "a")
	set(t, s, "tls-cert-file", "a") // the file may be another one now
	j.want(t, "cert=a", "cert=a")
}

func TestHookThatFailsRestoresEverything(t *testing.T) {
	s := load(t, "")
	j := journal{fail: map[string]error{"30": errors.New("no such pace")}}
	s.Hook("timeout", j.hook("timeout"))
	s.Hook("hz", j.hook("hz"))
	s.Hook("tcp-keepalive", j.hook("keepalive"))
	before := all(s)
	wantSetError(t, s, "ERR CONFIG SET failed (possibly related to argument 'hz') - no such pace", "timeout", "7", "hz", "30", "tcp-keepalive", "1")
	j.want(t, "timeout=7", "hz=30", "timeout=0", "hz=10")
	if after := all(s); after != before {
		t.Fatalf("values changed:\n%s", after)
	}
}

func TestHookThatCannotGoBack(t *testing.T) {
	s := load(t, "")
	lost := errors.New("lost")
	j := journal{fail: map[string]error{"30": errors.New("no"), "10": lost}}
	s.Hook("hz", j.hook("hz"))
	err := s.Set([]string{"hz", "30"}, config.Caller{})
	var revert *config.RevertError
	if !errors.As(err, &revert) || !errors.Is(err, lost) || err.Error() != "ERR CONFIG SET failed (possibly related to argument 'hz') - no" {
		t.Fatal(err)
	}
	wantValue(t, s, "hz", "10")
}

func TestHookOfSeveralDirectives(t *testing.T) {
	s := load(t, "")
	var heard []string
	s.HookAll([]string{"bind", "port"}, func(now config.Snapshot) error {
		heard = append(heard, now.String("bind")+" "+now.String("port"))
		if s.String("port") != now.String("port") {
			t.Error("the store does not have the new value yet")
		}
		if now.Int("port") == 1 {
			return errors.New("port taken")
		}
		return nil
	})
	set(t, s, "port", "7000", "bind", "::1")
	wantSetError(t, s, "ERR CONFIG SET failed (possibly related to argument 'bind') - port taken",
		"bind", "::2", "port", "1")
	if want := []string{"::1 7000", "::2 1", "::1 7000"}; !slices.Equal(heard, want) {
		t.Fatalf("heard %q, want %q", heard, want)
	}
}

func TestDirectoryIsRelativeToTheOneBefore(t *testing.T) {
	s := load(t, "enable-protected-configs yes\ndir /data")
	var j journal
	j.fail = map[string]error{"/data/none": &fs.PathError{Op: "stat", Path: "/data/none", Err: fs.ErrNotExist}}
	s.Hook("dir", j.hook("dir"))
	set(t, s, "dir", "a/../b")
	wantValue(t, s, "dir", "/data/b")
	const missing = "ERR CONFIG SET failed (possibly related to argument 'dir') - No such file or directory"
	wantSetError(t, s, missing, "dir", "../none")
	wantSetError(t, s, missing, "dir", "")
	wantValue(t, s, "dir", "/data/b")
}

func TestOverride(t *testing.T) {
	s := load(t, "")
	s.Hook("maxclients", func(config.Value) error { return errors.New("called") })
	for _, args := range [][]string{{"maxclients", "4064"}, {"pidfile", "/run/x.pid"}, {"save"}} {
		if err := s.Override(args[0], args[1:]...); err != nil {
			t.Fatal(err)
		}
		wantValue(t, s, args[0], strings.Join(args[1:], " "))
	}
	if s.Override("hz", "x") == nil || s.Override("hz") == nil {
		t.Fatal("a bad value was taken")
	}
	s.SetPrimary("::1", 6379)
	wantValue(t, s, "replicaof", "::1 6379")
	s.SetPrimary("", 0)
	wantValue(t, s, "slaveof", "")
}

func TestGet(t *testing.T) {
	s := load(t, "")
	for _, c := range []struct {
		patterns []string
		want     string
	}{
		{[]string{"nosuch*"}, ""},
		{[]string{"nosuch"}, ""},
		{[]string{"maxmemory-samples"}, "maxmemory-samples=5"},
		{[]string{"MaxMemory"}, "MaxMemory=0"},
		{[]string{"hz", "HZ", "h?"}, "hz=10"},
		{[]string{"MAXMEMORY-S*", "*-samples"}, "maxmemory-samples=5"},
		{[]string{"*-priority"}, "replica-priority=100 slave-priority=100"},
		{[]string{"slave-priority"}, "slave-priority=100"},
		{[]string{"zset-max-*-value"}, "zset-max-listpack-value=64 zset-max-ziplist-value=64"},
		{[]string{"use-exit-*"}, ""},
		{[]string{"use-exit-on-panic"}, "use-exit-on-panic=no"},
		{[]string{"port", "bind", "port"}, "port=6379 bind=* -::*"},
		{[]string{"[p]ort"}, "port=6379"},
	} {
		var got []string
		for _, p := range s.Get(c.patterns...) {
			got = append(got, p.Name+"="+p.Value)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%q: %s, want %s", c.patterns, text, c.want)
		}
	}
}

// Readers see all of a CONFIG SET or nothing.
func TestSetIsAtomicForReaders(t *testing.T) {
	s := load(t, "hz 1\ntimeout 1")
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if now := s.Snapshot(); now.Int("hz") != now.Int("timeout") {
					t.Errorf("hz %d, timeout %d", now.Int("hz"), now.Int("timeout"))
					return
				}
			}
		})
	}
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for i := range 300 {
				n := fmt.Sprint(1 + (i*2+w)%400)
				if err := s.Set([]string{"hz", n, "timeout", n}, config.Caller{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(done)
	readers.Wait()
}
