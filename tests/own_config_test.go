package tests

import (
	"strconv"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/testkit"
)

func TestCase_e172_ConfigFromStandardInput(t *testing.T) {
	own(t, "e172", func(t testing.TB) {
		port := testkit.FreePort(t)
		s := testkit.Start(t, testkit.Options{
			NoConf: true, Port: port, Stdin: "maxmemory-samples 9\n",
			Args: []string{"-", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--maxmemory", "5mb", "--save", ""},
		})
		s.Want(t, `["maxmemory-samples" "9"]`, "CONFIG", "GET", "maxmemory-samples")
		s.Want(t, `["maxmemory" "5242880"]`, "CONFIG", "GET", "maxmemory")
	})
}

func TestCase_e173_ArgumentsWithoutFile(t *testing.T) {
	own(t, "e173", func(t testing.TB) {
		port := testkit.FreePort(t)
		s := testkit.Start(t, testkit.Options{NoConf: true, Port: port, Args: []string{
			"--port", strconv.Itoa(port), "--bind", "127.0.0.1",
			"--save", "100 1", "200 2", "--appendonly", "no", "--maxmemory-policy", "allkeys-lru",
		}})
		s.Want(t, `["save" "100 1 200 2"]`, "CONFIG", "GET", "save")
		s.Want(t, `["appendonly" "no"]`, "CONFIG", "GET", "appendonly")
		s.Want(t, `["maxmemory-policy" "allkeys-lru"]`, "CONFIG", "GET", "maxmemory-policy")
		must(t, saveNothing(s))
	})
}

// saveNothing keeps the end of the test from leaving a dump behind.
func saveNothing(s *testkit.Server) error {
	_, err := s.Try("CONFIG", "SET", "save", "")
	return err
}

// refuses starts a server that must end by itself: with a status that is not 0, without a stack trace, and with the text
// in its message.
func refuses(t testing.TB, o testkit.Options, texts ...string) {
	t.Helper()
	s := testkit.Launch(t, o)
	if status := s.AwaitExit(t, testkit.Patience); status == 0 || status == 2 && strings.Contains(s.Log(), "goroutine ") || status < 0 {
		t.Errorf("exit status %d", status)
	}
	checkNoTrace(t, s)
	for _, text := range texts {
		if !strings.Contains(strings.ToLower(s.Log()), strings.ToLower(text)) {
			t.Errorf("the message does not name %q", text)
		}
	}
}

// checkNoTrace looks for the marks that a panic or a crash leaves.
func checkNoTrace(t testing.TB, s *testkit.Server) {
	t.Helper()
	for _, mark := range []string{"panic:", "goroutine ", "STACK TRACE", "BUG REPORT"} {
		if strings.Contains(s.Log(), mark) {
			t.Errorf("%s printed %q", s, mark)
		}
	}
}

func TestCase_e174_UnknownDirective(t *testing.T) {
	own(t, "e174", func(t testing.TB) {
		refuses(t, testkit.Options{Conf: []string{"nosuch-directive yes"}}, "nosuch-directive")
	})
}

func TestCase_e176_MissingValue(t *testing.T) {
	own(t, "e176", func(t testing.TB) {
		refuses(t, testkit.Options{Conf: []string{"maxmemory "}}, "maxmemory")
	})
}

func TestCase_e177_UnbalancedQuotes(t *testing.T) {
	own(t, "e177", func(t testing.TB) {
		refuses(t, testkit.Options{Conf: []string{`requirepass "abc`}}, "requirepass")
	})
}

func TestCase_e179_BadUserLine(t *testing.T) {
	own(t, "e179", func(t testing.TB) {
		refuses(t, testkit.Options{Conf: []string{"user u on +nosuchcommand"}}, "nosuchcommand")
	})
}

func TestCase_c048_ClusterPortAboveRange(t *testing.T) {
	own(t, "c048", func(t testing.TB) {
		for _, port := range []int{55536, 65000} {
			refuses(t, testkit.Options{Port: port, Conf: testkit.ClusterConf()}, "port")
		}
	})
}

func TestCase_c137c_RewriteKeepsLines(t *testing.T) {
	own(t, "c137c", func(t testing.TB) {
		s := testkit.NewServer(t, testkit.Options{Files: map[string]string{"more.conf": "maxmemory-samples 7\n"}})
		s.Conf = []string{"# A comment of mine.", "include " + s.Path("more.conf"), "rename-command FLUSHALL WIPE", "maxmemory 1mb"}
		s.WriteConf(t)
		s.Restart(t)
		s.Want(t, "+OK", "CONFIG", "SET", "maxmemory", "5mb")
		s.Want(t, "+OK", "CONFIG", "REWRITE")
		for _, line := range []string{"# A comment of mine.", "include " + s.Path("more.conf"), "rename-command FLUSHALL WIPE"} {
			if conf := s.ReadFile(t, "test.conf"); !strings.Contains(conf, line+"\n") {
				t.Errorf("%q is gone:\n%s", line, conf)
			}
		}
		s.Kill(t)
		s.Restart(t)
		s.Want(t, `["maxmemory" "5242880"]`, "CONFIG", "GET", "maxmemory")
		s.Want(t, `["maxmemory-samples" "7"]`, "CONFIG", "GET", "maxmemory-samples")
		s.Want(t, "-ERR unknown command...", "FLUSHALL")
		s.Want(t, "+OK", "WIPE")
	})
}

// TestCommandsAreTakenAway leaves out commands of every kind: with keys, with subcommands, and those of other packages.
func TestCommandsAreTakenAway(t *testing.T) {
	t.Parallel()
	gone := []string{"GET", "FLUSHDB", "CONFIG", "CLUSTER", "DEBUG", "MIGRATE", "BGSAVE", "EVAL", "REPLICAOF", "SHUTDOWN"}
	var conf []string
	for _, name := range gone {
		conf = append(conf, "rename-command "+name+` ""`)
	}
	s := testkit.Start(t, testkit.Options{Conf: append(conf, "rename-command PING PONG")})
	for _, name := range gone {
		s.Want(t, "-ERR unknown command...", name, "x")
	}
	s.Want(t, "-ERR unknown command...", "PING")
	s.Want(t, "+PONG", "PONG")
	s.Want(t, "+OK", "SET", "k", "v")
	s.Want(t, "[nil nil]", "COMMAND", "INFO", "get", "config|set")
	if v := s.OK(t, "INFO", "everything"); strings.Contains(v.Plain(), "cmdstat_config") {
		t.Error("INFO shows a command that was taken away")
	}
	for _, section := range []string{"COMMAND", "COMMAND DOCS", "COMMAND LIST", "ACL CAT", "LATENCY HISTOGRAM"} {
		s.OK(t, strings.Fields(section)...)
	}
}

func TestCase_e17b_ConfigSetPort(t *testing.T) {
	own(t, "e17b", func(t testing.TB) {
		s := testkit.Start(t, testkit.Options{})
		old, oldAddress := s.Dial(t), s.Addr()
		s.Port = testkit.FreePort(t)
		old.Want(t, "+OK", "CONFIG", "SET", "port", strconv.Itoa(s.Port))
		old.Want(t, "+PONG", "PING")
		s.Want(t, "+PONG", "PING")
		if c, err := testkit.TryDial(oldAddress); err == nil {
			c.Close()
			t.Error("the old port still accepts")
		}
	})
}
