// Directives of the process and its sockets.

package config

import "math"

const (
	int32Max  = math.MaxInt32
	int32Min  = math.MinInt32
	uint32Max = math.MaxUint32
	int64Max  = math.MaxInt64
	portMax   = 65535
)

func networkDirectives() []Directive {
	return []Directive{
		{Name: "bind", Kind: Addresses, Default: defaultBind},
		{Name: "bind-source-addr", Kind: Text, Is: EmptyUnset},
		{Name: "port", Kind: Number, Max: portMax, Default: "6379"},
		{Name: "protected-mode", Kind: Bool, Default: "yes"},
		{Name: "socket-mark-id", Kind: Number, Is: Immutable, Max: uint32Max, Default: "0", NoEffect: "connections are not marked yet"},
		{Name: "tcp-backlog", Kind: Number, Is: Immutable, Max: int32Max, Default: "511"},
		{Name: "tcp-keepalive", Kind: Number, Max: int32Max, Default: "300"},
		{Name: "timeout", Kind: Number, Max: int32Max, Default: "0"},
		{Name: "unixsocket", Kind: Text, Is: Immutable | EmptyUnset},
		{Name: "unixsocketperm", Kind: Octal, Is: Immutable, Max: 0o777, Default: "0"},
		{Name: "maxclients", Kind: Number, Min: 1, Max: uint32Max, Default: "10000"},
		{Name: "io-threads", Kind: Number, Is: Immutable | Own, Max: 128, Words: []Word{{"auto", 0}}, Default: "auto"},
		{Name: "io-backend", Kind: Enum, Is: Immutable | Hidden | Own, Words: []Word{{"auto", 0}, {"epoll", 1}, {"io_uring", 2}}, Default: "auto"},
		{Name: "io-threads-do-reads", Kind: Bool, Is: Immutable, Default: "no", NoEffect: "every event loop reads and parses for itself"},
		{Name: "client-query-buffer-limit", Kind: Memory, Min: 1 << 20, Max: int64Max, Default: "1gb"},
		{Name: "proto-max-bulk-len", Kind: Memory, Min: 1 << 20, Max: int64Max, Default: "512mb"},
		{Name: "client-output-buffer-limit", Kind: Buffers, Default: defaultBuffers},
	}
}

func tlsDirectives() []Directive {
	return []Directive{
		{Name: "tls-port", Kind: Number, Max: portMax, Default: "0"},
		{Name: "tls-cluster", Kind: Bool, Default: "no"},
		{Name: "tls-replication", Kind: Bool, Default: "no"},
		{Name: "tls-auth-clients", Kind: Enum, Words: []Word{{"no", 0}, {"yes", 1}, {"optional", 2}}, Default: "yes"},
		{Name: "tls-cert-file", Kind: Text, Is: Volatile | EmptyUnset},
		{Name: "tls-key-file", Kind: Text, Is: Volatile | EmptyUnset},
		{Name: "tls-key-file-pass", Kind: Text, Is: Sensitive | EmptyUnset},
		{Name: "tls-client-cert-file", Kind: Text, Is: Volatile | EmptyUnset},
		{Name: "tls-client-key-file", Kind: Text, Is: Volatile | EmptyUnset},
		{Name: "tls-client-key-file-pass", Kind: Text, Is: Sensitive | EmptyUnset},
		{Name: "tls-ca-cert-file", Kind: Text, Is: Volatile | EmptyUnset},
		{Name: "tls-ca-cert-dir", Kind: Text, Is: Volatile | EmptyUnset},
		{Name: "tls-protocols", Kind: Text, Is: EmptyUnset},
		{Name: "tls-ciphers", Kind: Text, Is: EmptyUnset},
		{Name: "tls-ciphersuites", Kind: Text, Is: EmptyUnset, check: checkCiphersuites, NoEffect: "the suites of TLS 1.3 are fixed in Go"},
		{Name: "tls-dh-params-file", Kind: Text, Is: Volatile | EmptyUnset, NoEffect: "only key exchanges on elliptic curves are offered"},
		{Name: "tls-prefer-server-ciphers", Kind: Bool, Default: "no", NoEffect: "Go orders the suites by their strength"},
		{Name: "tls-session-caching", Kind: Bool, Default: "yes"},
		{Name: "tls-session-cache-size", Kind: Number, Max: int32Max, Default: "20480", NoEffect: "sessions are resumed by tickets, which the clients keep"},
		{Name: "tls-session-cache-timeout", Kind: Number, Max: int32Max, Default: "300", NoEffect: "sessions are resumed by tickets, which live for 7 days"},
	}
}

func generalDirectives() []Directive {
	return []Directive{
		{Name: "daemonize", Kind: Bool, Is: Immutable, Default: "no"},
		{Name: "supervised", Kind: Enum, Is: Immutable, Words: []Word{{"upstart", 1}, {"systemd", 2}, {"auto", 3}, {"no", 0}}, Default: "no"},
		{Name: "pidfile", Kind: Text, Is: Immutable | EmptyUnset},
		{Name: "loglevel", Kind: Enum, Words: []Word{{"debug", 0}, {"verbose", 1}, {"notice", 2}, {"warning", 3}, {"nothing", 4}}, Default: "notice"},
		{Name: "logfile", Kind: Text, Is: Immutable},
		{Name: "log-format", Kind: Enum, Is: Immutable | Hidden | Own, Words: []Word{{"plain", 0}, {"json", 1}, {"logfmt", 2}}, Default: "plain"},
		{Name: "syslog-enabled", Kind: Bool, Is: Immutable, Default: "no", NoEffect: "the log goes to logfile or standard output; syslog is not written yet"},
		{Name: "syslog-ident", Kind: Text, Is: Immutable, Default: "redis", NoEffect: "the log goes to logfile or standard output; syslog is not written yet"},
		{Name: "syslog-facility", Kind: Enum, Is: Immutable, Words: facilities(), Default: "local0", NoEffect: "the log goes to logfile or standard output; syslog is not written yet"},
		{Name: "crash-log-enabled", Kind: Bool, Default: "yes", NoEffect: "the Go runtime reports a crash"},
		{Name: "crash-memcheck-enabled", Kind: Bool, Default: "yes", NoEffect: "the Go runtime reports a crash"},
		{Name: "databases", Kind: Number, Is: Immutable, Min: 1, Max: int32Max, Default: "16"},
		{Name: "always-show-logo", Kind: Bool, Is: Immutable, Default: "no", NoEffect: "there is no logo"},
		{Name: "set-proc-title", Kind: Bool, Is: Immutable, Default: "yes"},
		{Name: "proc-title-template", Kind: Text, Default: "{title} {listen-addr} {server-mode}", check: checkTitle},
		{Name: "locale-collate", Kind: Text, NoEffect: "SORT ALPHA and scripts compare bytes"},
		{Name: "hz", Kind: Number, Max: int32Max, Default: "10", normalise: clampHz},
		{Name: "dynamic-hz", Kind: Bool, Default: "yes", NoEffect: "timers are driven by what is due, not by the number of clients"},
		{Name: "oom-score-adj", Kind: Enum, Words: []Word{{"no", 0}, {"yes", 1}, {"relative", 1}, {"absolute", 2}}, Default: "no"},
		{Name: "oom-score-adj-values", Kind: Scores, Default: defaultScores},
		{Name: "disable-thp", Kind: Bool, Is: Immutable, Default: "yes", NoEffect: "there is no fork after which huge pages would be copied"},
		{Name: "ignore-warnings", Kind: Text, NoEffect: "the warning that it silences is about fork"},
		{Name: "server_cpulist", Kind: Text, Is: Immutable | EmptyUnset, NoEffect: noCPULists},
		{Name: "bio_cpulist", Kind: Text, Is: Immutable | EmptyUnset, NoEffect: noCPULists},
		{Name: "aof_rewrite_cpulist", Kind: Text, Is: Immutable | EmptyUnset, NoEffect: noCPULists},
		{Name: "bgsave_cpulist", Kind: Text, Is: Immutable | EmptyUnset, NoEffect: noCPULists},
		{Name: "shutdown-timeout", Kind: Number, Max: int32Max, Default: "10"},
		{Name: "shutdown-on-sigint", Kind: Flags, Words: shutdownWords(), Default: "default"},
		{Name: "shutdown-on-sigterm", Kind: Flags, Words: shutdownWords(), Default: "default"},
	}
}

const noCPULists = "the Go runtime places threads; use taskset or a cgroup"

func facilities() []Word {
	words := []Word{{"user", 1}}
	for i := range int64(8) {
		words = append(words, Word{"local" + string(rune('0'+i)), 16 + i}) // the numbers of syslog
	}
	return words
}

func shutdownWords() []Word {
	return []Word{{"default", 0}, {"save", ShutdownSave}, {"nosave", ShutdownNoSave}, {"now", ShutdownNow}, {"force", ShutdownForce}}
}

func allowWords() []Word {
	return []Word{{"no", AllowNobody}, {"yes", AllowAll}, {"local", AllowLocal}}
}

func securityDirectives() []Directive {
	return []Directive{
		{Name: "requirepass", Kind: Text, Is: Sensitive | EmptyUnset},
		{Name: "aclfile", Kind: Text, Is: Immutable},
		{Name: "acllog-max-len", Kind: Number, Max: int64Max, Default: "128"},
		{Name: "acl-pubsub-default", Kind: Enum, Words: []Word{{"allchannels", 1}, {"resetchannels", 0}}, Default: "resetchannels"},
		{Name: "enable-protected-configs", Kind: Enum, Is: Immutable, Words: allowWords(), Default: "no"},
		{Name: "enable-debug-command", Kind: Enum, Is: Immutable, Words: allowWords(), Default: "no"},
		{Name: "enable-module-command", Kind: Enum, Is: Immutable, Words: allowWords(), Default: "no"},
		{Name: "sanitize-dump-payload", Kind: Enum, Words: []Word{{"no", 0}, {"yes", 1}, {"clients", 2}}, Default: "no", NoEffect: "every payload is checked in full"},
	}
}
