package config_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/testkit"
	"github.com/covey-db/covey/internal/testkit/reply"
)

// newIn72 are the directives that redis-server 7.0, which these tests run, does not have.
func newIn72(name string) bool {
	switch name {
	case "set-max-listpack-entries", "set-max-listpack-value", "locale-collate", "cluster-announce-human-nodename",
		"cluster-ping-interval", "log-format", "io-backend", "cluster-slot-stats-enabled":
		return true
	}
	return false
}

// as70 is an answer of ours without the word that 7.2 added to a list.
func as70(answer string) string {
	return strings.Replace(answer, "debug, verbose, notice, warning, nothing", "debug, verbose, notice, warning", 1)
}

// redis70 is the redis-server that these tests know.
func redis70(t *testing.T) testkit.Binary {
	t.Helper()
	b := testkit.Redis(t)
	version := b.Version(t)
	switch {
	case strings.HasPrefix(version, "7.0."):
	case os.Getenv("CI") == "true":
		t.Fatalf("redis-server is %s, not 7.0", version)
	default:
		t.Skipf("SKIPPED: redis-server is %s, not 7.0", version)
	}
	return b
}

func startRedis(t *testing.T, o testkit.Options) *testkit.Server {
	t.Helper()
	o.Binary = redis70(t)
	return testkit.Start(t, o)
}

func pairs(v reply.Value) map[string]string {
	texts := v.Strings()
	m := map[string]string{}
	for i := 0; i+1 < len(texts); i += 2 {
		m[texts[i]] = texts[i+1]
	}
	return m
}

// oursFor is a store that read the same file as the server.
func oursFor(t *testing.T, server *testkit.Server) *config.Store {
	t.Helper()
	l, err := config.Load(config.Input{Args: []string{server.Path("test.conf")}, WorkDir: server.Dir, ReadFile: os.ReadFile})
	if err != nil {
		t.Fatal(err)
	}
	return config.NewStore(l)
}

func ourPairs(s *config.Store) map[string]string {
	m := map[string]string{}
	for _, p := range s.Get("*") {
		m[p.Name] = p.Value
	}
	return m
}

// differences lists what is not the same in both, but for what may differ.
func differences(ours, theirs map[string]string) []string {
	var list []string
	for name := range theirs {
		if _, ok := ours[name]; !ok && !isHiddenSince72(name) {
			list = append(list, "we lack "+name)
		}
	}
	for name, value := range ours {
		other, ok := theirs[name]
		switch {
		case newIn72(name):
		case !ok:
			list = append(list, "only we have "+name)
		case name == "io-threads", name == "maxclients" && other < value: // our own default; the file limit of the machine
		case other != value:
			list = append(list, fmt.Sprintf("%s is %q, there %q", name, value, other))
		}
	}
	slices.Sort(list)
	return list
}

func isHiddenSince72(name string) bool {
	d, ok := config.Lookup(name)
	return ok && d.Has(config.Hidden)
}

func TestFreshServerShowsTheSame(t *testing.T) {
	server := startRedis(t, testkit.Options{})
	theirs := pairs(server.Do(t, "CONFIG", "GET", "*"))
	ours := ourPairs(oursFor(t, server))
	for _, d := range differences(ours, theirs) {
		t.Error(d)
	}
	for _, name := range slices.Sorted(maps.Keys(ours)) {
		if newIn72(name) {
			t.Log("not compared:", name)
		}
	}
}

// leftAlone are directives that would change how the test can go on, or that need more than a value.
func leftAlone(name string) bool {
	switch name {
	case "port", "bind", "maxclients", "requirepass", "appendonly", "oom-score-adj", "oom-score-adj-values", "watchdog-period",
		"proto-max-bulk-len", "client-query-buffer-limit", "activedefrag", "timeout", "maxmemory-clients", "cluster-enabled",
		"jemalloc-bg-thread", "crash-log-enabled", "latency-tracking", "dir", "dbfilename", "repl-backlog-size":
		return true
	}
	return strings.HasPrefix(name, "tls-")
}

// Every directive gets every one of these values, here and there.
func TestSetAnswersTheSame(t *testing.T) {
	server := startRedis(t, testkit.Options{})
	c := server.Dial(t)
	s := oursFor(t, server)
	values := []string{
		"", "x", "-1", "0", "1", "2", "99", "101", "1000", "65536", "2147483648", "4294967296", "9223372036854775807", "01", "+1", " 1", "1 ", "0x1",
		"yes", "no", "YES", "default", "save now", "now save", "save nosave", "1gb", "1Kb", "1G", "1b", "gb", "1.5gb", "5%", "100%", "101%", "-5%", "%",
		"KEA", "AKE", "gxeKmdnt", "q", "900 1", "900 1 300 10", "900  1", " 900 1", "0 1", "1 -1", "900 1 300", "normal 0 0 0",
		"normal 1mb 2 3 slave 1 1kb 5", "replica 0 0 0 x", "master 0 0 0", "pubsub 1 2 -3", "pubsub 1 2", "1 2 3", "50 99.9", "50 99.90 100.0", "50 101",
		"1e1", "a/b", "allkeys-lru", "Everysec", "always", "local1", "debug", "hostname", "disabled", "a_b", "a.b-c", "{title}", "{title} x", "{x}", "{{", "ip",
	}
	compared := 0
	for _, d := range config.Directives() {
		if newIn72(d.Name) || leftAlone(d.Name) || d.Name == "io-threads" {
			continue
		}
		for _, value := range values {
			compareSet(t, c, s, d.Name, value)
			compared++
		}
	}
	t.Logf("%d values compared", compared)
}

func compareSet(t *testing.T, c *testkit.Client, s *config.Store, name, value string) {
	t.Helper()
	theirs := c.Do(t, "CONFIG", "SET", name, value)
	ours := "OK"
	if err := s.Set([]string{name, value}, config.Caller{Local: true}); err != nil {
		ours = err.Error()
	}
	if as70(ours) != theirs.Plain() {
		t.Errorf("%s %q: we answer %q, redis-server %q", name, value, ours, theirs.Plain())
	}
	if their := pairs(c.Do(t, "CONFIG", "GET", name))[name]; their != s.String(name) {
		t.Errorf("%s %q: then it is %q, there %q", name, value, s.String(name), their)
		if err := s.Override(name, their); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOddSetsAnswerTheSame(t *testing.T) {
	server := startRedis(t, testkit.Options{})
	c := server.Dial(t)
	s := oursFor(t, server)
	for _, args := range [][]string{
		{"hz", "1", "hz"}, {"nosuch", "1"}, {"hz", "5", "NoSuch", "1"}, {"maxmemory-samples", "3", "MAXMEMORY-samples", "x"},
		{"hz", "20", "maxmemory-SAMPLES", "0"}, {"slave-priority", "1", "replica-priority", "2"}, {"SLAVE-priority", "x"},
		{"databases", "1", "nosuch", "2"}, {"nosuch", "2", "databases", "1"}, {"databases", "2", "dir", "/"}, {"dir", "/", "Databases", "2"},
		{"hz", "1", "hz", "2", "nosuch", "3"}, {"hz", "30", "dbfilename", "x"}, {"include", "x"}, {"user", "x"}, {"loadmodule", "x"},
		{"replicaof", "no one"}, {"slaveof", "a 1"}, {"enable-debug-command", "yes"}, {"hz", "7", "lfu-log-factor", "5", "timeout", "x"},
	} {
		theirs := c.Do(t, append([]string{"CONFIG", "SET"}, args...)...)
		ours := "OK"
		if err := s.Set(args, config.Caller{Local: true}); err != nil {
			ours = err.Error()
		}
		if as70(ours) != theirs.Plain() {
			t.Errorf("%q: we answer %q, redis-server %q", args, ours, theirs.Plain())
		}
	}
	for _, patterns := range [][]string{
		{"*-priority"}, {"MAXmemory", "maxmemory"}, {"h?", "HZ"}, {"slave-*", "replica-*"}, {"[m-n]ax*"}, {"nosuch", "nosuch*"}, {"*ziplist*", "*listpack-v*"},
		{"maxmemory*", "*memory-s*", "port"}, {`\*`}, {"use-exit-on-panic", "use-exit*"}, {""},
	} {
		theirs := pairs(c.Do(t, append([]string{"CONFIG", "GET"}, patterns...)...))
		ours := map[string]string{}
		for _, p := range s.Get(patterns...) {
			if !newIn72(p.Name) {
				ours[p.Name] = p.Value
			}
		}
		if _, ok := ours["maxclients"]; ok {
			ours["maxclients"] = theirs["maxclients"]
		}
		if !maps.Equal(ours, theirs) {
			t.Errorf("%q: we show %v, redis-server %v", patterns, ours, theirs)
		}
	}
}

// refusal is a start that is refused.
type refusal struct {
	conf  string
	args  []string
	stdin string
}

func TestRefusedStartsSayTheSame(t *testing.T) {
	for _, c := range []refusal{
		{conf: "nosuch-directive yes"}, {conf: "maxmemory "}, {conf: `requirepass "abc`}, {conf: "port 70000"}, {conf: "\n\n  hz x  \n"},
		{conf: "cluster-enabled yes\nreplicaof a 1"}, {conf: "sentinel monitor a"}, {conf: "dir /nonexistent"}, {conf: "dir a b"},
		{conf: "client-output-buffer-limit a b"}, {conf: "appendonly yas"}, {conf: "include"}, {conf: "include a b"}, {conf: "user"},
		{conf: "rename-command a"}, {conf: "save 1"}, {conf: "save 1 1 1"}, {conf: `save "1 1 1"`}, {conf: `notify-keyspace-events q`},
		{conf: "bind" + strings.Repeat(" a", 17)}, {conf: "replicaof a"}, {conf: "replicaof a b"}, {conf: "slaveof a 99999"},
		{conf: "unixsocketperm 888"}, {conf: "unixsocketperm 1000"}, {conf: "loglevel"}, {conf: "loglevel loud"}, {conf: "hz 'a'b"},
		{conf: "oom-score-adj-values 1"}, {conf: "oom-score-adj-values 1 2 x"}, {conf: "latency-tracking-info-percentiles 50 x"},
		{conf: "shutdown-on-sigterm"}, {conf: "shutdown-on-sigterm nosave save"}, {conf: "maxmemory-clients 200%"},
		{conf: "list-max-ziplist-entries 1 2"}, {conf: "lua-replicate-commands"}, {conf: `# x` + "\n" + `"hz"x 1`}, {conf: "loadmodule"},
		{args: []string{"--nosuch", "1"}}, {args: []string{"--hz"}}, {args: []string{"--hz", "--timeout", "5"}},
		{args: []string{"--save", "--hz", "x"}}, {args: []string{"--hz x", "--timeout 5"}}, {args: []string{"--timeout", "1", "2", "--hz", "3"}},
		{args: []string{"--requirepass", "a\nb", "--hz", "a\nb"}}, {args: []string{"-", "--hz", "3"}}, {stdin: "hz 1\nhz 2\nhz x\n", args: []string{"-"}},
		{stdin: "hz 1\n", args: []string{"--hz", "x", "-"}}, {args: []string{"hz", "x"}}, {args: []string{"--bind", "a", "--port"}},
	} {
		t.Run(fmt.Sprintf("%.40s%.40q%.20q", c.conf, c.args, c.stdin), func(t *testing.T) { compareRefusal(t, c) })
	}
}

func compareRefusal(t *testing.T, c refusal) {
	server := testkit.Launch(t, testkit.Options{Binary: redis70(t), Conf: strings.Split(c.conf, "\n"), Args: c.args, Stdin: c.stdin})
	if code := server.AwaitExit(t, testkit.Patience); code != 1 {
		t.Errorf("redis-server ended with %d", code)
	}
	_, err := config.Load(config.Input{
		Args:     append([]string{server.Path("test.conf")}, c.args...),
		WorkDir:  server.Dir,
		ReadFile: os.ReadFile,
		Stdin:    func() ([]byte, error) { return []byte(c.stdin), nil },
		EnterDir: func(path string) error { _, err := os.Stat(path); return err },
	})
	var e *config.Error
	if !errors.As(err, &e) {
		t.Fatalf("we say %v, redis-server\n%s", err, server.Log())
	}
	version := regexp.MustCompile(`\(Redis [0-9.]+\)`)
	want := version.ReplaceAllString(server.Log()[strings.Index(server.Log(), "\n*** FATAL"):], "(Redis "+config.RedisVersion+")")
	printed := e.Fatal()
	if e.File != "" { // which redis-server does not tell
		printed = strings.TrimSuffix(printed, "In the file "+e.File+"\n")
	}
	if got := as70(printed); got != want {
		t.Errorf("we print\n%s\nredis-server\n%s", got, want)
	}
}

// A file that one of them rewrote is read by the other.
func TestRewrittenFilesAreExchanged(t *testing.T) {
	server := startRedis(t, testkit.Options{Conf: []string{"# comment", "rename-command FLUSHALL \"\"", "slave-priority 5", "hz 20"}})
	changes := [][]string{
		{"maxmemory", "1gb"}, {"maxmemory-policy", "allkeys-lfu"}, {"save", "100 1 200 2"}, {"notify-keyspace-events", "gxKE"},
		{"masteruser", "a \"b\" \x01\xff"}, {"client-output-buffer-limit", "normal 1mb 2 3 pubsub 1 2 3"}, {"shutdown-on-sigint", "nosave now"},
		{"latency-tracking-info-percentiles", "50 99.99"}, {"oom-score-adj-values", "1 2 3"}, {"replica-announce-ip", "host"}, {"maxmemory-clients", "5%"},
		{"appendfsync", "always"}, {"hash-max-ziplist-entries", "77"}, {"hz", "10"}, {"repl-backlog-size", "1500000"}, {"timeout", "9"},
	}
	for _, change := range changes {
		server.OK(t, append([]string{"CONFIG", "SET"}, change...)...)
	}
	before := pairs(server.Do(t, "CONFIG", "GET", "*"))
	server.OK(t, "CONFIG", "REWRITE")
	s := oursFor(t, server)
	for _, d := range differences(ourPairs(s), before) {
		t.Error("reading its file:", d)
	}
	set(t, s, "timeout", "11", "save", "", "masterauth", "new\n\x00", "bind", "127.0.0.1 -::1", "set-max-listpack-value", "64")
	ours := ourPairs(s)
	rewritten := s.Rewrite(server.ReadFile(t, "test.conf"), nil)
	server.Stop(t)
	server.WriteFile(t, "test.conf", rewritten)
	server.Relaunch(t)
	server.AwaitReady(t)
	after := pairs(server.Do(t, "CONFIG", "GET", "*"))
	for _, d := range differences(ours, after) {
		t.Error("it reads our file:", d)
	}
}
