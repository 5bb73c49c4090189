// Directives of the cluster, of what can be watched, and those that Redis hides.

package config

func clusterDirectives() []Directive {
	return []Directive{
		{Name: "cluster-enabled", Kind: Bool, Is: Immutable, Default: "no"},
		{Name: "cluster-config-file", Kind: Text, Is: Immutable, Default: "nodes.conf"},
		{Name: "cluster-port", Kind: Number, Is: Immutable, Max: portMax, Default: "0"},
		{Name: "cluster-node-timeout", Kind: Number, Max: int64Max, Default: "15000"},
		{Name: "cluster-replica-validity-factor", Alias: "cluster-slave-validity-factor", Kind: Number, Max: int32Max, Default: "10"},
		{Name: "cluster-replica-no-failover", Alias: "cluster-slave-no-failover", Kind: Bool, Default: "no"},
		{Name: "cluster-migration-barrier", Kind: Number, Max: int32Max, Default: "1"},
		{Name: "cluster-allow-replica-migration", Kind: Bool, Default: "yes"},
		{Name: "cluster-require-full-coverage", Kind: Bool, Default: "yes"},
		{Name: "cluster-allow-reads-when-down", Kind: Bool, Default: "no"},
		{Name: "cluster-allow-pubsubshard-when-down", Kind: Bool, Default: "yes"},
		{Name: "cluster-slot-stats-enabled", Kind: Bool, Is: Own, Default: "no"},
		{Name: "cluster-link-sendbuf-limit", Kind: Memory, Max: int64Max, Default: "0"},
		{Name: "cluster-announce-ip", Kind: Text, Is: EmptyUnset},
		{Name: "cluster-announce-hostname", Kind: Text, Is: EmptyUnset, check: checkHostname},
		{Name: "cluster-announce-human-nodename", Kind: Text, Is: EmptyUnset, check: checkNodename},
		{Name: "cluster-announce-port", Kind: Number, Max: portMax, Default: "0"},
		{Name: "cluster-announce-tls-port", Kind: Number, Max: portMax, Default: "0"},
		{Name: "cluster-announce-bus-port", Kind: Number, Max: portMax, Default: "0"},
		{Name: "cluster-preferred-endpoint-type", Kind: Enum, Words: []Word{{"ip", 0}, {"hostname", 1}, {"unknown-endpoint", 2}}, Default: "ip"},
	}
}

func watchingDirectives() []Directive {
	return []Directive{
		{Name: "busy-reply-threshold", Alias: "lua-time-limit", Kind: Number, Max: int64Max, Default: "5000"},
		{Name: "slowlog-log-slower-than", Kind: Number, Min: -1, Max: int64Max, Default: "10000"},
		{Name: "slowlog-max-len", Kind: Number, Max: int64Max, Default: "128"},
		{Name: "latency-monitor-threshold", Kind: Number, Max: int64Max, Default: "0"},
		{Name: "latency-tracking", Kind: Bool, Default: "yes"},
		{Name: "latency-tracking-info-percentiles", Kind: Percentiles, Default: "50 99 99.9"},
		{Name: "notify-keyspace-events", Kind: Events},
	}
}

func hiddenDirectives() []Directive {
	return []Directive{
		{Name: "aof-disable-auto-gc", Kind: Bool, Is: Hidden, Default: "no"},
		{Name: "cluster-ping-interval", Kind: Number, Is: Hidden, Max: int64Max, Default: "0"},
		{Name: "key-load-delay", Kind: Number, Is: Hidden, Min: int32Min, Max: int32Max, Default: "0"},
		{Name: "loading-process-events-interval-bytes", Kind: Number, Is: Hidden, Min: 1024, Max: int32Max, Default: "2097152", NoEffect: "clients are served by loops of their own during loading"},
		{Name: "rdb-key-save-delay", Kind: Number, Is: Hidden, Min: int32Min, Max: int32Max, Default: "0"},
		{Name: "use-exit-on-panic", Kind: Bool, Is: Hidden, Default: "no", NoEffect: forRedisTests},
		{Name: "watchdog-period", Kind: Number, Is: Hidden, Max: int32Max, Default: "0", NoEffect: "a long command leaves its loop by itself"},
	}
}

const forRedisTests = "it serves the tests of Redis only"
