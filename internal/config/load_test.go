package config_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/config"
)

func TestDefaults(t *testing.T) {
	s := load(t, "")
	wantValue(t, s, "dir", workDir)
	wantValue(t, s, "save", "3600 1 300 100 60 10000")
	wantValue(t, s, "bind", "* -::*")
	wantValue(t, s, "client-output-buffer-limit", "normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60")
	wantValue(t, s, "io-threads", "0")
	wantValue(t, s, "log-format", "plain")
	wantValue(t, s, "latency-tracking-info-percentiles", "50 99 99.9")
}

func TestValues(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"maxmemory 1gb", "maxmemory", "1073741824"},
		{"maxmemory 1G", "maxmemory", "1000000000"},
		{"MaxMemory 64KB", "maxmemory", "65536"},
		{"maxmemory-clients 5%", "maxmemory-clients", "5%"},
		{"maxmemory-clients 0%", "maxmemory-clients", "0"},
		{"maxmemory-clients 1mb", "maxmemory-clients", "1048576"},
		{"cluster-enabled YES", "cluster-enabled", "yes"},
		{"loglevel Verbose", "loglevel", "verbose"},
		{"oom-score-adj relative", "oom-score-adj", "yes"},
		{"unixsocketperm 700", "unixsocketperm", "700"},
		{"unixsocketperm 0770", "unixsocketperm", "770"},
		{"hz 100000", "hz", "500"},
		{"hz 0", "hz", "1"},
		{"port 0", "port", "0"},
		{"slave-priority 7", "replica-priority", "7"},
		{"hash-max-ziplist-value 1kb", "hash-max-listpack-value", "1024"},
		{"lua-time-limit 7", "busy-reply-threshold", "7"},
		{"io-threads auto", "io-threads", "0"},
		{"io-threads 4", "io-threads", "4"},
		{"shutdown-on-sigint now NOSAVE", "shutdown-on-sigint", "nosave now"},
		{"shutdown-on-sigint \"save force\"", "shutdown-on-sigint", "save force"},
		{"oom-score-adj-values 1 2 3", "oom-score-adj-values", "1 2 3"},
		{"notify-keyspace-events KEA", "notify-keyspace-events", "AKE"},
		{"notify-keyspace-events Kg$lshzxetdmn", "notify-keyspace-events", "AKm"},
		{"notify-keyspace-events \"\"", "notify-keyspace-events", ""},
		{"bind 127.0.0.1 -::1", "bind", "127.0.0.1 -::1"},
		{"bind \"\"", "bind", ""},
		{"bind *", "bind", "*"},
		{"replicaof 10.0.0.1 6379", "replicaof", "10.0.0.1 6379"},
		{"slaveof h 1\nreplicaof no one", "replicaof", ""},
		{"latency-tracking-info-percentiles 50.0 99.95 100", "latency-tracking-info-percentiles", "50 99.95 100"},
		{"latency-tracking-info-percentiles \"\"", "latency-tracking-info-percentiles", ""},
		{"client-output-buffer-limit replica 1gb 64mb 5", "client-output-buffer-limit", "normal 0 0 0 slave 1073741824 67108864 5 pubsub 33554432 8388608 60"},
		{"client-output-buffer-limit \"normal 1 2 3 slave 4 5 6\"", "client-output-buffer-limit", "normal 1 2 3 slave 4 5 6 pubsub 33554432 8388608 60"},
		{"dir sub/../x", "dir", "/base/x"},
		{"dir /data/\ndir more", "dir", "/data/more"},
		{`requirepass "a \"b\"\x41\n"`, "requirepass", "a \"b\"A\n"},
		{`requirepass 'it\'s \n'`, "requirepass", `it's \n`},
		{"requirepass \"#1\"", "requirepass", "#1"},
		{"requirepass \"\"", "requirepass", ""},
		{"  \t maxmemory-samples 7 \r\n# maxmemory-samples 8\n", "maxmemory-samples", "7"},
		{"list-max-ziplist-entries 5\nlua-replicate-commands yes\nport 1", "port", "1"},
		{"cluster-enabled yes", "databases", "1"},
	} {
		t.Run(c.text, func(t *testing.T) { wantValue(t, load(t, c.text), c.name, c.want) })
	}
}

func TestSaveLines(t *testing.T) {
	for text, want := range map[string]string{
		"save 100 1":                       "100 1",
		"save 100 1 200 2":                 "100 1 200 2",
		"save 100 1\nsave 200 2":           "100 1 200 2",
		"save 100 1\nsave \"\"":            "",
		"save \"\"\nsave 200 2":            "200 2",
		"save \"100 1 200 2\"\nport 1":     "100 1 200 2",
		"save":                             "",
		"port 1\nsave 1 1\nsave \"2 2\"\n": "1 1 2 2",
	} {
		wantValue(t, load(t, text), "save", want)
	}
}

// The texts are those that redis-server prints.
func TestBadLines(t *testing.T) {
	const oneOf = "argument(s) must be one of the following: "
	for text, want := range map[string]string{
		"nosuch-directive yes":            "Bad directive or wrong number of arguments",
		"include":                         "Bad directive or wrong number of arguments",
		"rename-command GET":              "Bad directive or wrong number of arguments",
		"maxmemory ":                      "wrong number of arguments",
		"port 1 2":                        "wrong number of arguments",
		"dir a b":                         "wrong number of arguments",
		"requirepass \"abc":               "Unbalanced quotes in configuration line",
		"requirepass 'abc'd":              "Unbalanced quotes in configuration line",
		"appendonly yas":                  "argument must be 'yes' or 'no'",
		"port 70000":                      "argument must be between 0 and 65535 inclusive",
		"port x":                          "argument couldn't be parsed into an integer",
		"port \" 1\"":                     "argument couldn't be parsed into an integer",
		"unixsocketperm 1000":             "argument must be between 0 and 777 inclusive",
		"unixsocketperm 9":                "argument couldn't be parsed as an octal number",
		"maxmemory 1x":                    "argument must be a memory value",
		"maxmemory -1":                    "argument must be a memory value",
		"maxmemory-clients 101%":          "percentage argument must be less or equal to 100",
		"maxmemory-clients x":             "argument must be a memory or percent value",
		"appendfsync sometimes":           oneOf + "everysec, always, no",
		"shutdown-on-sigterm save x":      oneOf + "default, save, nosave, now, force",
		"shutdown-on-sigterm save nosave": "shutdown options SAVE and NOSAVE can't be used simultaneously",
		"save 1":                          "Invalid save parameters",
		"save 0 1":                        "Invalid save parameters",
		"save 1 x":                        "Invalid save parameters",
		"client-output-buffer-limit a b":  "Wrong number of arguments in buffer limit configuration.",
		"client-output-buffer-limit master 0 0 0":               "Invalid client class specified in buffer limit configuration.",
		"client-output-buffer-limit normal 0 0 x":               "Error in hard, soft or soft_seconds setting in buffer limit configuration.",
		"oom-score-adj-values 1 2":                              "wrong number of arguments",
		"oom-score-adj-values 1 2 3000":                         "Invalid oom-score-adj-values, elements must be between -2000 and 2000.",
		"notify-keyspace-events q":                              "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
		"bind" + strings.Repeat(" a", 17):                       "Too many bind addresses specified.",
		"replicaof h":                                           "wrong number of arguments",
		"replicaof h 65536":                                     "Invalid master port",
		"latency-tracking-info-percentiles x":                   "Invalid latency-tracking-info-percentiles parameters",
		"latency-tracking-info-percentiles 101":                 "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]",
		"dbfilename a/b":                                        "dbfilename can't be a path, just a filename",
		"appendfilename \"\"":                                   "appendfilename can't be empty",
		"appenddirname /a":                                      "appenddirname can't be a path, just a dirname",
		"cluster-announce-hostname a_b":                         "Hostnames may only contain alphanumeric characters, hyphens or dots",
		"cluster-announce-hostname " + strings.Repeat("a", 256): "Hostnames must be less than 256 characters",
		"cluster-announce-human-nodename a,b":                   "Announced human node name contained invalid character",
		"tls-ciphersuites TLS_AES_128_GCM_SHA256:TLS_NULL":      "Unable to update TLS configuration. Check server logs.",
		"proc-title-template {nosuch}":                          "template format is invalid or contains unknown variables",
		"proc-title-template {title":                            "template format is invalid or contains unknown variables",
		"proc-title-template \"\"":                              "template format is invalid or contains unknown variables",
		"sentinel monitor a b 1 1":                              "sentinel directive while not in sentinel mode",
		"loadmodule x.so":                                       "loadmodule is refused: Covey cannot run modules of Redis",
		"search.limit 1":                                        "module directives are refused: Covey cannot run modules of Redis",
	} {
		e := loadError(t, "# first\n "+text+" \nport 1\n")
		trimmed := strings.TrimSpace(text)
		if e.Reason != want || e.Line != 2 || e.Text != trimmed || e.File != "/base/test.conf" {
			t.Errorf("%q: %+v, want reason %q", text, e, want)
		}
		fatal := "\n*** FATAL CONFIG FILE ERROR (Redis 7.2.4) ***\nReading the configuration file, at line 2\n>>> '" + trimmed + "'\n" + want +
			"\nIn the file /base/test.conf\n"
		if e.Fatal() != fatal {
			t.Errorf("%q prints %q", text, e.Fatal())
		}
	}
}

func TestValuesThatDoNotGoTogether(t *testing.T) {
	for text, want := range map[string]string{
		"cluster-enabled yes\nreplicaof a 1": "replicaof directive not allowed in cluster mode",
		"cluster-enabled yes\nport 55536": "port 55536 is too high for cluster mode: the bus listens 10000 above it, " +
			"so choose at most 55535 or set cluster-port",
	} {
		e := loadError(t, text)
		if e.Line != 0 || e.Fatal() != "\n*** FATAL CONFIG FILE ERROR (Redis 7.2.4) ***\n"+want+"\n" {
			t.Errorf("%q: %q", text, e.Fatal())
		}
	}
	load(t, "cluster-enabled yes\nport 60000\ncluster-port 1000")
	load(t, "cluster-enabled yes\nport 55535")
}

func TestClusterHasOneDatabase(t *testing.T) {
	for text, warnings := range map[string]int{
		"cluster-enabled yes":               0,
		"cluster-enabled yes\ndatabases 1":  0,
		"cluster-enabled yes\ndatabases 32": 1,
	} {
		l, err := config.Load(files{"stdin": text}.input("-"))
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Warnings) != warnings {
			t.Errorf("%q warns %q", text, l.Warnings)
		}
		wantValue(t, config.NewStore(l), "databases", "1")
	}
}

func TestUsersAndRenamesAreCollected(t *testing.T) {
	l, err := config.Load(files{"/base/a.conf": "user default off\nrename-command FLUSHALL \"\"\n user bob on \">a b\" ~*\n"}.input("a.conf"))
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v %+v", l.Users, l.Renames)
	want := fmt.Sprintf("%+v %+v", []config.Line{
		{File: "/base/a.conf", Number: 1, Text: "user default off", Args: []string{"default", "off"}},
		{File: "/base/a.conf", Number: 3, Text: `user bob on ">a b" ~*`, Args: []string{"bob", "on", ">a b", "~*"}},
	}, []config.Line{{File: "/base/a.conf", Number: 2, Text: `rename-command FLUSHALL ""`, Args: []string{"FLUSHALL", ""}}})
	if got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	e := l.Renames[0].Fail("No such command in rename-command")
	if e.Line != 2 || e.Text != `rename-command FLUSHALL ""` || e.Reason != "No such command in rename-command" {
		t.Fatalf("%+v", e)
	}
}

func TestIncludes(t *testing.T) {
	s := loadFiles(t, files{
		"/base/test.conf":      "port 1\ninclude sub/a.conf\ntimeout 9\ninclude \"conf.d/*.conf\"\ninclude none/*.conf\ndir /data\ninclude late.conf",
		"/base/sub/a.conf":     "port 2\ntimeout 8\ninclude /etc/b.conf",
		"/etc/b.conf":          "hz 50",
		"/base/conf.d/1.conf":  "databases 3",
		"/base/conf.d/2.conf":  "databases 4",
		"/base/conf.d/x.other": "nosuch",
		"/data/late.conf":      "tcp-backlog 77",
	}, "test.conf")
	for name, want := range map[string]string{"port": "2", "timeout": "9", "hz": "50", "databases": "4", "tcp-backlog": "77"} {
		wantValue(t, s, name, want)
	}
}

func TestBadIncludes(t *testing.T) {
	e := loadError(t, "include test.conf")
	if !strings.Contains(e.Reason, "deeper than 16") {
		t.Errorf("%+v", e)
	}
	_, err := config.Load(files{"/base/test.conf": "include x.conf"}.input("test.conf"))
	if err == nil || err.Error() != "Fatal error, can't open config file 'x.conf': No such file or directory" || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	_, err = config.Load(files{"/base/test.conf": "include x.conf\n", "/base/x.conf": "\n\nnosuch 1"}.input("test.conf"))
	var at *config.Error
	if !errors.As(err, &at) || at.File != "/base/x.conf" || at.Line != 3 {
		t.Error(err)
	}
	many := files{"/base/test.conf": strings.Repeat("include w*.conf\n", 200)}
	for i := range 100 {
		many[fmt.Sprintf("/base/w%d.conf", i)] = "port 1"
	}
	if _, err = config.Load(many.input("test.conf")); err == nil {
		t.Error("20000 files were included")
	}
}

func TestDirectoryMustBeOneToEnter(t *testing.T) {
	in := files{"stdin": "dir nowhere"}.input("-")
	in.EnterDir = func(path string) error {
		if path != "/base/nowhere" {
			t.Errorf("enters %s", path)
		}
		return &fs.PathError{Op: "chdir", Path: path, Err: fs.ErrNotExist}
	}
	_, err := config.Load(in)
	var e *config.Error
	if !errors.As(err, &e) || e.Reason != "No such file or directory" {
		t.Fatal(err)
	}
}

func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args    []string
		file    string
		stdin   bool
		options string
	}{
		{nil, "", false, ""},
		{[]string{"a.conf"}, "a.conf", false, ""},
		{[]string{"-"}, "", true, ""},
		{[]string{"a.conf", "-"}, "a.conf", true, ""},
		{[]string{"a.conf", "--port", "1", "-"}, "a.conf", true, `port "1" `},
		{[]string{"-", "--port", "1"}, "", true, `port "1" `},
		{[]string{"--requirepass", "-", "--port", "1"}, "", false, "requirepass \"-\" \nport \"1\" "},
		{[]string{"--port", "1", "--save", "900 1", "300 10"}, "", false, "port \"1\" \nsave \"900 1\" \"300 10\" "},
		{[]string{"--save", ""}, "", false, `save "" `},
		{[]string{"--save"}, "", false, `save ""`},
		{[]string{"--save", "--port", "1"}, "", false, "save \"\"\nport \"1\" "},
		{[]string{"--SAVE", "--port", "1"}, "", false, "SAVE \"\"\nport \"1\" "},
		{[]string{"--port 7000", "--hz 5"}, "", false, "port 7000 \nhz 5 "},
		{[]string{"--requirepass", "--x"}, "", false, `requirepass "--x" `},
		{[]string{"--port", "--hz", "5"}, "", false, `port "--hz" "5" `},
		{[]string{"--bind", "127.0.0.1", "::1", "--hz", "5"}, "", false, "bind \"127.0.0.1\" \"::1\" \nhz \"5\" "},
		{[]string{"--sentinel", "--port", "1"}, "", false, "sentinel \nport \"1\" "},
		{[]string{"--port"}, "", false, "port "},
	} {
		file, stdin, options := config.Arguments(c.args)
		if file != c.file || stdin != c.stdin || options != c.options {
			t.Errorf("%q: %q %v %q", c.args, file, stdin, options)
		}
	}
}

func TestArgumentsWinOverStdinAndFile(t *testing.T) {
	s := loadFiles(t, files{"/base/a.conf": "port 1\nhz 11\ntimeout 1", "stdin": "hz 12\ntimeout 2"}, "a.conf", "--timeout", "3", "-")
	wantValue(t, s, "port", "1")
	wantValue(t, s, "hz", "12")
	wantValue(t, s, "timeout", "3")
	s = loadFiles(t, files{}, "--port", "0", "--save", "100 1", "200 2", "--appendonly", "no", "--maxmemory-policy", "allkeys-lru")
	wantValue(t, s, "save", "100 1 200 2")
	wantValue(t, s, "maxmemory-policy", "allkeys-lru")
}

func TestBadArgumentIsCountedAsRedisCounts(t *testing.T) {
	_, err := config.Load(files{"/base/a.conf": "port 0\n"}.input("a.conf", "--nosuch", "1"))
	var e *config.Error
	if !errors.As(err, &e) || e.Line != 3 || e.Text != `nosuch "1"` || e.File != "" {
		t.Fatalf("%+v", e)
	}
	if want := `command line, line 3: 'nosuch "1"': Bad directive or wrong number of arguments`; err.Error() != want {
		t.Fatal(err)
	}
}

func TestAccessors(t *testing.T) {
	s := load(t, "save 10 2\nreplicaof ::1 7\noom-score-adj-values 1 2 3\nmaxmemory-clients 7%\nreplica-announced yes\n"+
		"client-output-buffer-limit pubsub 1 2 3\nbind a -b\nlatency-tracking-info-percentiles 1.5\nnotify-keyspace-events Kx\nunixsocketperm 700")
	share, isShare := s.Value("maxmemory-clients").Percent()
	host, port, ok := s.Value("slaveof").Primary()
	got := fmt.Sprint(s.Value("save").SavePoints(), host, port, ok, s.Value("oom-score-adj-values").Scores(), share, isShare,
		s.Int("maxmemory-clients"), s.Bool("replica-announced"), s.Value("client-output-buffer-limit").BufferLimits()[config.PubsubClients],
		s.Strings("bind"), s.Value("latency-tracking-info-percentiles").Floats(),
		s.Int("notify-keyspace-events") == config.EventKeyspace|config.EventExpired, s.Int("unixsocketperm"))
	if want := "[{10 2}]::17 true [1 2 3] 7 true 0 true {1 2 3} [a -b] [1.5] true 448"; got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
}
