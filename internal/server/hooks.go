package server

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/object"
	"github.com/covey-db/covey/internal/persist"
	"github.com/covey-db/covey/internal/replication"
)

// This file puts configuration in force: at the start once, and again whenever CONFIG SET changes a directive.

// put is a directive (or several) with what its value does.
type put struct {
	names []string
	apply func(config.Snapshot) error
}

// hook applies every directive that somebody must be told of. What is read at each use needs no hook.
func (s *Server) hook() {
	now := s.store.Snapshot()
	for _, p := range s.puts() {
		_ = p.apply(now) // the values were checked when they were read, and what fails all the same is in the log
		s.store.HookAll(p.names, p.apply)
	}
	s.store.HookAll(identityDirectives, s.putIdentity) // New has put them in force
	s.store.HookAll([]string{"port", "bind"}, func(c config.Snapshot) error { return s.relisten(doorTCP, int(c.Int("port"))) })
	s.store.HookAll([]string{"tls-port", "bind"}, s.putTLSPort)
	s.hooked = true
	s.store.Hook("dir", func(v config.Value) error { return s.checkDir(v.String()) })
}

func (s *Server) puts() []put {
	set, log := &s.engine.Settings, s.engine.Log
	list := []put{
		number("maxmemory", func(n int64) { set.MaxMemory().Store(n); s.engine.LookAtClients() }),
		number("proto-max-bulk-len", func(n int64) { set.MaxBulk.Store(n) }),
		number("client-query-buffer-limit", func(n int64) { set.MaxQueryBuffer.Store(n) }),
		number("busy-reply-threshold", set.BusyAfter.Store),
		number("timeout", func(n int64) { set.IdleTimeoutMs.Store(n * 1000) }),
		number("maxmemory-samples", s.engine.Evictor.SetSamples),
		number("notify-keyspace-events", s.engine.SetEvents),
		number("rdb-key-save-delay", set.SaveKeyDelay.Store),
		number("key-load-delay", set.LoadKeyDelay.Store),
		number("repl-backlog-size", log.SetBacklogBytes),
		number("slowlog-log-slower-than", s.engine.Timing.SetSlow),
		number("tracking-table-max-keys", s.engine.SetTrackingMax),
		number("slowlog-max-len", s.engine.Timing.SetSlowMax),
		number("latency-monitor-threshold", s.engine.Timing.SetLatency),
		toggle("latency-tracking", s.engine.Timing.SetTracking),
		toggle("lazyfree-lazy-eviction", set.LazyEvict.Store),
		toggle("lazyfree-lazy-expire", set.LazyExpire.Store),
		toggle("lazyfree-lazy-server-del", set.LazyServerDel.Store),
		toggle("lazyfree-lazy-user-del", set.LazyUserDel.Store),
		toggle("lazyfree-lazy-user-flush", set.LazyUserFlush.Store),
		toggle("replica-read-only", set.ReplicaReadOnly.Store),
		toggle("replica-serve-stale-data", set.ServeStale.Store),
		toggle("replica-ignore-maxmemory", set.IgnoreMaxMemory.Store),
		toggle("cluster-require-full-coverage", set.FullCoverage.Store),
		toggle("cluster-allow-reads-when-down", set.ReadsWhenDown.Store),
		toggle("cluster-allow-pubsubshard-when-down", set.PubsubWhenDown.Store),
		toggle("cluster-slot-stats-enabled", s.engine.SlotStats.Enable),
		toggle("protected-mode", set.ProtectedMode.Store),
		{[]string{"enable-debug-command"}, func(c config.Snapshot) error {
			set.DebugAllowed.Store(gateOf(c.String("enable-debug-command")))
			return nil
		}},
		{[]string{"enable-module-command"}, func(c config.Snapshot) error {
			set.ModuleAllowed.Store(gateOf(c.String("enable-module-command")))
			return nil
		}},
		{[]string{"loglevel"}, func(c config.Snapshot) error { s.level.Set(logLevels[c.String("loglevel")]); return nil }},
		{[]string{"stop-writes-on-bgsave-error", "save"}, func(config.Snapshot) error { s.saver.Review(); return nil }},
		{[]string{"maxmemory-policy", "lfu-log-factor", "lfu-decay-time"}, s.putPolicy},
		{[]string{"client-output-buffer-limit"}, s.putOutputLimits},
		{[]string{"maxmemory-clients"}, func(c config.Snapshot) error {
			v := c.Value("maxmemory-clients")
			percent, _ := v.Percent()
			s.engine.SetClientLimit(v.Int(), percent)
			return nil
		}},
		{[]string{"oom-score-adj", "oom-score-adj-values"}, s.putOOMScore},
		{[]string{"maxclients"}, s.putMaxClients},
		{[]string{"proc-title-template", "port", "tls-port", "bind"}, s.putTitle},
	}
	list = append(list, encodingPuts(&set.Encoding)...)
	list = append(list, s.usersPuts()...)
	list = append(list, s.journalPuts()...)
	list = append(list, put{[]string{"min-replicas-to-write", "min-replicas-max-lag"}, func(c config.Snapshot) error {
		set.MinReplicas.Store(c.Int("min-replicas-to-write"))
		set.MinReplicasLag.Store(c.Int("min-replicas-max-lag"))
		s.repl.Recount()
		return nil
	}})
	return append(list, put{clusterDirectives, func(config.Snapshot) error {
		if s.bus != nil {
			s.bus.SettingsChanged()
		}
		return nil
	}})
}

// clusterDirectives are those that the bus reads again when they change.
var clusterDirectives = []string{
	"port", "tls-port", "tls-cluster", "tls-replication", "cluster-announce-tls-port", "repl-ping-replica-period", "cluster-link-sendbuf-limit",
	"cluster-node-timeout", "cluster-ping-interval", "cluster-announce-ip", "cluster-announce-port", "cluster-announce-bus-port", "cluster-announce-hostname",
	"cluster-announce-human-nodename", "cluster-preferred-endpoint-type", "cluster-migration-barrier",
	"cluster-allow-replica-migration", "cluster-replica-validity-factor", "cluster-replica-no-failover", "cluster-require-full-coverage",
}

func number(name string, store func(int64)) put {
	return put{[]string{name}, func(c config.Snapshot) error { store(c.Int(name)); return nil }}
}

func toggle(name string, store func(bool)) put {
	return put{[]string{name}, func(c config.Snapshot) error { store(c.Bool(name)); return nil }}
}

// gateOf turns no, local and yes into the numbers of engine.Settings.
func gateOf(word string) int32 {
	switch word {
	case "yes":
		return engine.AllowAll
	case "local":
		return engine.AllowLocal
	}
	return engine.AllowNobody
}

var policies = map[string]engine.Policy{
	"noeviction": engine.NoEviction, "allkeys-lru": engine.AllKeysLRU, "volatile-lru": engine.VolatileLRU,
	"allkeys-lfu": engine.AllKeysLFU, "volatile-lfu": engine.VolatileLFU, "allkeys-random": engine.AllKeysRandom,
	"volatile-random": engine.VolatileRandom, "volatile-ttl": engine.VolatileTTL,
}

func (s *Server) putPolicy(c config.Snapshot) error {
	policy, ok := policies[c.String("maxmemory-policy")]
	if !ok {
		return fmt.Errorf("unknown policy %s", c.String("maxmemory-policy"))
	}
	s.engine.Evictor.SetPolicy(policy)
	s.engine.Evictor.SetLFU(c.Int("lfu-log-factor"), c.Int("lfu-decay-time"))
	s.engine.TickClock()
	return nil
}

func (s *Server) putOutputLimits(c config.Snapshot) error {
	for class, l := range c.Value("client-output-buffer-limit").BufferLimits() {
		to := &s.engine.Settings.OutputLimits[class]
		to.HardBytes.Store(l.HardBytes)
		to.SoftBytes.Store(l.SoftBytes)
		to.SoftSeconds.Store(l.SoftSeconds)
	}
	return nil
}

func (s *Server) persistSettings() persist.Settings {
	c := s.store.Snapshot()
	set := persist.Settings{
		Dir: c.String("dir"), File: c.String("dbfilename"), Compress: c.Bool("rdbcompression"), Unsummed: !c.Bool("rdbchecksum"),
		StopOnError: c.Bool("stop-writes-on-bgsave-error"), SyncOften: c.Bool("rdb-save-incremental-fsync"),
	}
	for _, p := range c.Value("save").SavePoints() {
		set.Points = append(set.Points, persist.SavePoint{After: time.Duration(p.Seconds) * time.Second, Changes: p.Changes})
	}
	return set
}

var directLoads = map[string]replication.WhenDirect{
	"disabled": replication.DirectNever, "on-empty-db": replication.DirectWhenEmpty, "swapdb": replication.DirectBeside,
}

func (s *Server) replicationSettings() replication.Settings {
	c := s.store.Snapshot()
	port := int(c.Int("replica-announce-port"))
	if port == 0 && c.Bool("tls-replication") {
		port = int(c.Int("tls-port"))
	}
	if port == 0 {
		port = int(c.Int("port"))
	}
	return replication.Settings{
		Timeout:      time.Duration(c.Int("repl-timeout")) * time.Second,
		PingPeriod:   time.Duration(c.Int("repl-ping-replica-period")) * time.Second,
		User:         c.String("masteruser"),
		Password:     c.String("masterauth"),
		ListenPort:   port,
		AnnounceIP:   c.String("replica-announce-ip"),
		Announced:    c.Bool("replica-announced"),
		ToFile:       !c.Bool("repl-diskless-sync"),
		NoFileStays:  c.Bool("rdb-del-sync-files") && !c.Bool("appendonly") && len(c.Value("save").SavePoints()) == 0,
		GatherFor:    time.Duration(c.Int("repl-diskless-sync-delay")) * time.Second,
		GatherMax:    int(c.Int("repl-diskless-sync-max-replicas")),
		Direct:       directLoads[c.String("repl-diskless-load")],
		NoDelayOff:   c.Bool("repl-disable-tcp-nodelay"),
		BacklogTTL:   time.Duration(c.Int("repl-backlog-ttl")) * time.Second,
		Priority:     int(c.Int("replica-priority")),
		MinReplicas:  int(c.Int("min-replicas-to-write")),
		Dir:          c.String("dir"),
		File:         c.String("dbfilename"),
		Compress:     c.Bool("rdbcompression"),
		Unsummed:     !c.Bool("rdbchecksum"),
		ClusterOwned: s.engine.ClusterOn,
	}
}

// roleChanged keeps the letter of the log lines true and tells the cluster.
func (s *Server) roleChanged() {
	letter := 'M'
	if s.engine.Role.IsReplica() {
		letter = 'S'
	}
	s.role.Store(letter)
	if letter == 'M' {
		s.journal.Resume() // a synchronisation that was under way does not come to its end
	}
	if s.bus != nil {
		s.bus.ReplicationChanged()
	}
	_ = s.putOOMScore(s.store.Snapshot()) // what fails is in the log
}

// notePrimary records what REPLICAOF did, for CONFIG GET and CONFIG REWRITE. In a cluster roles are no configuration.
func (s *Server) notePrimary(addr string) {
	if s.bus != nil {
		return
	}
	host, port, err := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port) // an address that was followed has a number there
	if err != nil {
		host = ""
	}
	s.store.SetPrimary(host, n)
}

// encodingPuts are the sizes up to which values keep their small encoding.
func encodingPuts(l *object.Limits) []put {
	return []put{
		number("hash-max-listpack-entries", l.HashEntries.Store),
		number("hash-max-listpack-value", l.HashValue.Store),
		number("list-max-listpack-size", l.ListSize.Store),
		number("set-max-intset-entries", l.SetIntset.Store),
		number("set-max-listpack-entries", l.SetEntries.Store),
		number("set-max-listpack-value", l.SetValue.Store),
		number("zset-max-listpack-entries", l.ZSetEntries.Store),
		number("zset-max-listpack-value", l.ZSetValue.Store),
		number("hll-sparse-max-bytes", l.HLLSparse.Store),
		number("stream-node-max-bytes", l.StreamBytes.Store),
		number("stream-node-max-entries", l.StreamNodes.Store),
	}
}
