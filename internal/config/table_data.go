// Directives of the data, on disk, in memory and on the way to replicas.

package config

func snapshotDirectives() []Directive {
	return []Directive{
		{Name: "save", Kind: Save, Default: defaultSave},
		{Name: "dir", Kind: Directory, Is: Protected | DenyLoading | Volatile, Default: "."},
		{Name: "dbfilename", Kind: Text, Is: Protected, Default: "dump.rdb", check: checkSnapshotName},
		{Name: "rdbcompression", Kind: Bool, Default: "yes"},
		{Name: "rdbchecksum", Kind: Bool, Is: Immutable, Default: "yes"},
		{Name: "rdb-save-incremental-fsync", Kind: Bool, Default: "yes"},
		{Name: "rdb-del-sync-files", Kind: Bool, Default: "no"},
		{Name: "stop-writes-on-bgsave-error", Kind: Bool, Default: "yes"},
	}
}

func replicationDirectives() []Directive {
	return []Directive{
		{Name: "replicaof", Alias: "slaveof", Kind: Primary, Is: Immutable},
		{Name: "masteruser", Kind: Text, Is: Sensitive | EmptyUnset},
		{Name: "masterauth", Kind: Text, Is: Sensitive | EmptyUnset},
		{Name: "replica-serve-stale-data", Alias: "slave-serve-stale-data", Kind: Bool, Default: "yes"},
		{Name: "replica-read-only", Alias: "slave-read-only", Kind: Bool, Default: "yes"},
		{Name: "replica-ignore-maxmemory", Alias: "slave-ignore-maxmemory", Kind: Bool, Default: "yes"},
		{Name: "replica-ignore-disk-write-errors", Kind: Bool, Default: "no", NoEffect: "a replica goes on with its primary's stream when its own saves fail"},
		{Name: "replica-lazy-flush", Alias: "slave-lazy-flush", Kind: Bool, Default: "no", NoEffect: alwaysLazy},
		{Name: "replica-priority", Alias: "slave-priority", Kind: Number, Max: int32Max, Default: "100"},
		{Name: "replica-announced", Kind: Bool, Default: "yes"},
		{Name: "replica-announce-ip", Alias: "slave-announce-ip", Kind: Text, Is: EmptyUnset},
		{Name: "replica-announce-port", Alias: "slave-announce-port", Kind: Number, Max: portMax, Default: "0"},
		{Name: "repl-diskless-sync", Kind: Bool, Default: "yes"},
		{Name: "repl-diskless-sync-delay", Kind: Number, Max: int32Max, Default: "5"},
		{Name: "repl-diskless-sync-max-replicas", Kind: Number, Max: int32Max, Default: "0"},
		{Name: "repl-diskless-load", Kind: Enum, Is: DenyLoading, Words: []Word{{"disabled", 0}, {"on-empty-db", 1}, {"swapdb", 2}}, Default: "disabled"},
		{Name: "repl-ping-replica-period", Alias: "repl-ping-slave-period", Kind: Number, Min: 1, Max: int32Max, Default: "10"},
		{Name: "repl-timeout", Kind: Number, Min: 1, Max: int32Max, Default: "60"},
		{Name: "repl-disable-tcp-nodelay", Kind: Bool, Default: "no"},
		{Name: "repl-backlog-size", Kind: Memory, Min: 1, Max: int64Max, Default: "1mb", normalise: atLeastBacklog},
		{Name: "repl-backlog-ttl", Kind: Number, Max: int64Max, Default: "3600"},
		{Name: "min-replicas-to-write", Alias: "min-slaves-to-write", Kind: Number, Max: int32Max, Default: "0"},
		{Name: "min-replicas-max-lag", Alias: "min-slaves-max-lag", Kind: Number, Max: int32Max, Default: "10"},
		{Name: "propagation-error-behavior", Kind: Enum, Words: []Word{{"ignore", 0}, {"panic", 1}, {"panic-on-replicas", 2}}, Default: "ignore", NoEffect: "a replica goes on after an error in its primary's stream, which is ignore"},
	}
}

const (
	alwaysLazy = "big values are always freed in slices"
	noDefrag   = "the arenas reuse their memory by size class and are not moved"
)

func memoryDirectives() []Directive {
	return []Directive{
		{Name: "maxmemory", Kind: Memory, Is: Unsigned, Max: int64Max, Default: "0"},
		{Name: "maxmemory-policy", Kind: Enum, Words: policies(), Default: "noeviction"},
		{Name: "maxmemory-samples", Kind: Number, Min: 1, Max: int32Max, Default: "5"},
		{Name: "maxmemory-eviction-tenacity", Kind: Number, Max: 100, Default: "10", NoEffect: "a command evicts 64 keys at most, and the next ones go on"},
		{Name: "maxmemory-clients", Kind: MemoryShare, Min: -100, Max: int64Max, Default: "0"},
		{Name: "lfu-log-factor", Kind: Number, Max: int32Max, Default: "10"},
		{Name: "lfu-decay-time", Kind: Number, Max: int32Max, Default: "1"},
		{Name: "active-expire-effort", Kind: Number, Min: 1, Max: 10, Default: "1"},
		{Name: "tracking-table-max-keys", Kind: Number, Max: int64Max, Default: "1000000"},
		{Name: "lazyfree-lazy-eviction", Kind: Bool, Default: "no"},
		{Name: "lazyfree-lazy-expire", Kind: Bool, Default: "no"},
		{Name: "lazyfree-lazy-server-del", Kind: Bool, Default: "no"},
		{Name: "lazyfree-lazy-user-del", Kind: Bool, Default: "no"},
		{Name: "lazyfree-lazy-user-flush", Kind: Bool, Default: "no"},
		{Name: "activerehashing", Kind: Bool, Default: "yes", NoEffect: "tables grow in steps of their own"},
		{Name: "activedefrag", Kind: Bool, Default: "no", NoEffect: noDefrag},
		{Name: "active-defrag-ignore-bytes", Kind: Memory, Min: 1, Max: int64Max, Default: "100mb", NoEffect: noDefrag},
		{Name: "active-defrag-threshold-lower", Kind: Number, Max: 1000, Default: "10", NoEffect: noDefrag},
		{Name: "active-defrag-threshold-upper", Kind: Number, Max: 1000, Default: "100", NoEffect: noDefrag},
		{Name: "active-defrag-cycle-min", Kind: Number, Min: 1, Max: 99, Default: "1", NoEffect: noDefrag},
		{Name: "active-defrag-cycle-max", Kind: Number, Min: 1, Max: 99, Default: "25", NoEffect: noDefrag},
		{Name: "active-defrag-max-scan-fields", Kind: Number, Min: 1, Max: int64Max, Default: "1000", NoEffect: noDefrag},
		{Name: "jemalloc-bg-thread", Kind: Bool, Default: "yes", NoEffect: "there is no jemalloc"},
	}
}

// policies are the words of maxmemory-policy. Covey numbers them as they come.
func policies() []Word {
	return []Word{
		{"volatile-lru", 0}, {"volatile-lfu", 1}, {"volatile-random", 2}, {"volatile-ttl", 3},
		{"allkeys-lru", 4}, {"allkeys-lfu", 5}, {"allkeys-random", 6}, {"noeviction", 7},
	}
}

func appendFileDirectives() []Directive {
	return []Directive{
		{Name: "appendonly", Kind: Bool, Is: DenyLoading, Default: "no"},
		{Name: "appendfilename", Kind: Text, Is: Immutable, Default: "appendonly.aof", check: checkAppendName},
		{Name: "appenddirname", Kind: Text, Is: Immutable, Default: "appendonlydir", check: checkAppendDirectory},
		{Name: "appendfsync", Kind: Enum, Words: []Word{{"everysec", 2}, {"always", 1}, {"no", 0}}, Default: "everysec"},
		{Name: "no-appendfsync-on-rewrite", Kind: Bool, Default: "no"},
		{Name: "auto-aof-rewrite-percentage", Kind: Number, Max: int32Max, Default: "100"},
		{Name: "auto-aof-rewrite-min-size", Kind: Memory, Max: int64Max, Default: "64mb"},
		{Name: "aof-load-truncated", Kind: Bool, Default: "yes"},
		{Name: "aof-use-rdb-preamble", Kind: Bool, Default: "yes"},
		{Name: "aof-timestamp-enabled", Kind: Bool, Default: "no"},
		{Name: "aof-rewrite-incremental-fsync", Kind: Bool, Default: "yes"},
	}
}

func collectionDirectives() []Directive {
	return []Directive{
		{Name: "hash-max-listpack-entries", Alias: "hash-max-ziplist-entries", Kind: Number, Max: int64Max, Default: "512"},
		{Name: "hash-max-listpack-value", Alias: "hash-max-ziplist-value", Kind: Memory, Max: int64Max, Default: "64"},
		{Name: "list-max-listpack-size", Alias: "list-max-ziplist-size", Kind: Number, Min: int32Min, Max: int32Max, Default: "-2"},
		{Name: "list-compress-depth", Kind: Number, Max: int32Max, Default: "0", NoEffect: "nodes of lists are not compressed"},
		{Name: "set-max-intset-entries", Kind: Number, Max: int64Max, Default: "512"},
		{Name: "set-max-listpack-entries", Kind: Number, Max: int64Max, Default: "128"},
		{Name: "set-max-listpack-value", Kind: Number, Max: int64Max, Default: "64"},
		{Name: "zset-max-listpack-entries", Alias: "zset-max-ziplist-entries", Kind: Number, Max: int64Max, Default: "128"},
		{Name: "zset-max-listpack-value", Alias: "zset-max-ziplist-value", Kind: Memory, Max: int64Max, Default: "64"},
		{Name: "hll-sparse-max-bytes", Kind: Memory, Max: int64Max, Default: "3000"},
		{Name: "stream-node-max-bytes", Kind: Memory, Max: int64Max, Default: "4096"},
		{Name: "stream-node-max-entries", Kind: Number, Max: int64Max, Default: "100"},
	}
}
