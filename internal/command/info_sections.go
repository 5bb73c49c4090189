package command

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/mem"
)

// This file holds what INFO tells, section by section, under the names of Redis 7.2.

func infoServer(w *infoWriter) {
	e := w.c.Engine()
	mode := "standalone"
	if e.ClusterOn {
		mode = "cluster"
	}
	up := int64(w.c.Now-e.Started()) / 1000
	w.add("redis_version", RedisVersion)
	w.add("redis_git_sha1", "00000000")
	w.add("redis_git_dirty", 0)
	w.add("redis_build_id", "0")
	w.add("redis_mode", mode)
	w.add("os", operatingSystem())
	w.add("arch_bits", 64)
	w.add("monotonic_clock", "POSIX clock_gettime")
	multiplexing := "epoll"
	if w.d.Multiplexing != nil {
		multiplexing = w.d.Multiplexing()
	}
	w.add("multiplexing_api", multiplexing)
	w.add("atomicvar_api", "go-atomic")
	w.add("gcc_version", "0.0.0") // as of a Redis that another compiler made
	w.add("process_id", os.Getpid())
	w.add("process_supervised", cmp.Or(w.d.Supervisor, "no"))
	w.add("run_id", e.RunID)
	w.add("tcp_port", cmp.Or(w.d.Config.Int("port"), w.d.Config.Int("tls-port")))
	w.add("server_time_usec", int64(w.c.Now)*1000)
	w.add("uptime_in_seconds", up)
	w.add("uptime_in_days", up/86400)
	if w.d.ShutdownLeft != nil {
		if left := w.d.ShutdownLeft(); left > 0 {
			w.add("shutdown_in_milliseconds", left)
		}
	}
	w.add("hz", w.d.Config.Int("hz"))
	w.add("configured_hz", w.d.Config.Int("hz"))
	w.add("lru_clock", e.LRUClock())
	w.add("executable", executable())
	w.add("config_file", w.d.ConfigFile)
	w.add("io_threads_active", 1)
	w.listeners()
	w.add("covey_version", w.d.Version)
	w.add("go_version", runtime.Version())
}

// listeners are the doors of this node, numbered by their kind.
func (w *infoWriter) listeners() {
	bind := strings.Join(w.d.Config.Strings("bind"), ",bind=")
	if port := w.d.Config.Int("port"); port != 0 {
		w.add("listener0", fmt.Sprintf("name=tcp,bind=%s,port=%d", bind, port))
	}
	if path := w.d.Config.String("unixsocket"); path != "" {
		w.add("listener1", "name=unix,bind="+path)
	}
	if port := w.d.Config.Int("tls-port"); port != 0 {
		w.add("listener2", fmt.Sprintf("name=tls,bind=%s,port=%d", bind, port))
	}
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return path
}

func infoClients(w *infoWriter) {
	e := w.c.Engine()
	var blocked, timed, clients int
	for _, s := range e.Clients.All() {
		info := s.Info()
		if info.Flags&(engine.FlagReplica|engine.FlagPrimary) == 0 {
			clients++
		}
		if info.Flags&engine.FlagBlocked != 0 {
			blocked++
		}
		if info.Flags&engine.FlagTimed != 0 {
			timed++
		}
	}
	maxIn, maxOut := e.ClientMemory.Recent()
	w.add("connected_clients", clients)
	links, _ := w.d.busLinks()
	w.add("cluster_connections", links)
	w.add("maxclients", e.Settings.MaxClients.Load())
	w.add("client_recent_max_input_buffer", maxIn)
	w.add("client_recent_max_output_buffer", maxOut)
	w.add("blocked_clients", blocked)
	w.add("tracking_clients", w.c.Engine().Tracking.Clients())
	w.add("clients_in_timeout_table", timed)
	keys, onDelete := w.c.BlockedKeys()
	w.add("total_blocking_keys", keys)
	w.add("total_blocking_keys_on_nokey", onDelete)
}

// human writes bytes as Redis does: 1.50M.
func human(n int64) string {
	units := []string{"B", "K", "M", "G", "T"}
	f := float64(n)
	i := 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	if i == 0 {
		return strconv.FormatInt(n, 10) + "B"
	}
	return strconv.FormatFloat(f, 'f', 2, 64) + units[i]
}

func infoMemory(w *infoWriter) {
	e := w.c.Engine()
	m := measureMemory(w.c, *w.d)
	process, used := m.process, m.used
	peak := max(e.Stats.PeakMemory.Load(), used)
	overhead := m.base + m.backlog + m.clients + m.arenas.Used[mem.ForTable]
	data := used - overhead
	limit := e.Settings.MaxMemory().Load()
	w.add("used_memory", used)
	w.add("used_memory_human", human(used))
	w.add("used_memory_rss", process.Resident)
	w.add("used_memory_rss_human", human(process.Resident))
	w.add("used_memory_peak", peak)
	w.add("used_memory_peak_human", human(peak))
	w.add("used_memory_peak_perc", fmt.Sprintf("%.2f%%", 100*float64(used)/float64(max(peak, 1))))
	w.add("used_memory_overhead", overhead)
	w.add("used_memory_startup", m.base)
	w.add("used_memory_dataset", data)
	w.add("used_memory_dataset_perc", fmt.Sprintf("%.2f%%", 100*float64(data)/float64(max(used-m.base, 1))))
	w.add("allocator_allocated", m.data)
	w.add("allocator_active", m.arenas.Mapped)
	w.add("allocator_resident", process.Resident)
	w.add("total_system_memory", w.d.systemMemory)
	w.add("total_system_memory_human", human(w.d.systemMemory))
	w.addScripts()
	w.add("maxmemory", limit)
	w.add("maxmemory_human", human(limit))
	w.add("maxmemory_policy", w.d.Config.String("maxmemory-policy"))
	w.add("allocator_frag_ratio", "1.00")
	w.add("allocator_frag_bytes", 0)
	w.add("allocator_rss_ratio", fmt.Sprintf("%.2f", float64(process.Resident)/float64(max(used, 1))))
	w.add("allocator_rss_bytes", process.Resident-used)
	w.add("rss_overhead_ratio", "1.00")
	w.add("rss_overhead_bytes", 0)
	w.add("mem_fragmentation_ratio", fmt.Sprintf("%.2f", float64(process.Resident)/float64(max(used, 1))))
	w.add("mem_fragmentation_bytes", process.Resident-used)
	w.add("mem_not_counted_for_evict", m.backlog)
	w.add("covey_go_heap", process.GoHeap)
	w.add("mem_replication_backlog", m.backlog-m.behind)
	w.add("mem_total_replication_buffers", w.d.replicationBytes())
	w.add("mem_clients_slaves", m.behind)
	w.add("mem_clients_normal", m.clients)
	_, queued := w.d.busLinks()
	w.add("mem_cluster_links", queued)
	w.add("mem_aof_buffer", w.d.appendFileBytes())
	w.add("mem_allocator", "covey-arenas")
	w.add("active_defrag_running", 0)
	pending, freed := e.Trash()
	w.add("lazyfree_pending_objects", pending)
	w.add("lazyfreed_objects", freed)
}

// systemMemory is the memory of the machine in bytes, 0 when it cannot be told.
func systemMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kib int64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err != nil {
		return 0
	}
	return kib << 10
}

func infoPersistence(w *infoWriter) {
	if w.d.Persistence != nil {
		w.pairs(w.d.Persistence())
	}
}

func infoReplication(w *infoWriter) {
	if w.d.Replication != nil {
		w.pairs(w.d.Replication())
	}
}

func infoStats(w *infoWriter) {
	e := w.c.Engine()
	n, s, r := e.Totals(), &e.Stats, w.d.Sampler.rates()
	w.add("total_connections_received", s.Connections.Load())
	w.add("total_commands_processed", n.Commands.Load())
	w.add("instantaneous_ops_per_sec", int64(r.ops))
	w.add("total_net_input_bytes", n.NetIn.Load())
	w.add("total_net_output_bytes", n.NetOut.Load())
	w.add("total_net_repl_input_bytes", 0)
	w.add("total_net_repl_output_bytes", e.ReplOut.Load())
	w.add("instantaneous_input_kbps", fmt.Sprintf("%.2f", r.in/1024))
	w.add("instantaneous_output_kbps", fmt.Sprintf("%.2f", r.out/1024))
	w.add("instantaneous_input_repl_kbps", "0.00")
	w.add("instantaneous_output_repl_kbps", "0.00")
	w.add("rejected_connections", s.Rejected.Load())
	w.add("sync_full", s.SyncFull.Load())
	w.add("sync_partial_ok", s.SyncPartial.Load())
	w.add("sync_partial_err", s.SyncPartErr.Load())
	w.add("expired_keys", s.ExpiredKeys.Load())
	w.add("expired_subkeys", s.ExpiredFields.Load())
	w.add("expired_stale_perc", fmt.Sprintf("%.2f", float64(s.ExpiredStale.Load())/10))
	w.add("expired_time_cap_reached_count", 0)
	w.add("expire_cycle_cpu_milliseconds", 0)
	w.add("evicted_keys", s.EvictedKeys.Load())
	w.add("evicted_clients", s.EvictedClients.Load())
	w.add("total_eviction_exceeded_time", 0)
	w.add("current_eviction_exceeded_time", 0)
	w.add("keyspace_hits", n.Hits.Load())
	w.add("keyspace_misses", n.Misses.Load())
	w.add("pubsub_channels", e.PubSub.Len(engine.SubChannel))
	w.add("pubsub_patterns", e.PubSub.Len(engine.SubPattern))
	w.add("pubsubshard_channels", e.PubSub.Len(engine.SubShard))
	w.add("latest_fork_usec", 0)
	w.add("total_forks", e.Stats.Background.Load())
	cached := 0
	if w.d.CachedSockets != nil {
		cached = w.d.CachedSockets()
	}
	w.add("migrate_cached_sockets", cached)
	w.add("slave_expires_tracked_keys", 0)
	w.add("active_defrag_hits", 0)
	w.add("active_defrag_misses", 0)
	w.add("active_defrag_key_hits", 0)
	w.add("active_defrag_key_misses", 0)
	w.add("total_active_defrag_time", 0)
	w.add("current_active_defrag_time", 0)
	w.add("tracking_total_keys", e.Tracking.Keys())
	w.add("tracking_total_items", e.Tracking.Items())
	w.add("tracking_total_prefixes", e.Tracking.Prefixes())
	w.add("unexpected_error_replies", s.UnexpErrors.Load())
	w.add("total_error_replies", totalErrors(e))
	w.add("dump_payload_sanitizations", 0)
	w.add("total_reads_processed", n.Reads.Load())
	w.add("total_writes_processed", n.Writes.Load())
	w.add("io_threaded_reads_processed", 0)
	w.add("io_threaded_writes_processed", 0)
	w.add("client_query_buffer_limit_disconnections", s.QueryLimit.Load())
	w.add("client_output_buffer_limit_disconnections", s.OutputLimit.Load())
	w.add("reply_buffer_shrinks", 0)
	w.add("reply_buffer_expands", 0)
	w.add("eventloop_cycles", n.Turns.Load())
	w.add("eventloop_duration_sum", n.InTurns.Load()/1000)
	w.add("eventloop_duration_cmd_sum", commandNanos(e)/1000)
	w.add("instantaneous_eventloop_cycles_per_sec", int64(r.turns))
	w.add("instantaneous_eventloop_duration_usec", int64(r.turnMicros))
	w.add("acl_access_denied_auth", s.Denied[acl.DeniedAuth].Load())
	w.add("acl_access_denied_cmd", s.Denied[acl.DeniedCommand].Load())
	w.add("acl_access_denied_key", s.Denied[acl.DeniedKey].Load())
	w.add("acl_access_denied_channel", s.Denied[acl.DeniedChannel].Load())
}

// commandNanos is the time that all commands took.
func commandNanos(e *engine.Engine) (sum int64) {
	for _, n := range e.Calls() {
		sum += n.Nanos
	}
	return sum
}

// infoDebug tells what is shown only to those who ask for it by name.
func infoDebug(w *infoWriter) {
	s := &w.c.Engine().Stats
	w.add("eventloop_duration_aof_sum", 0)
	w.add("eventloop_duration_cron_sum", s.CronNanos.Load()/1000)
	w.add("eventloop_duration_max", s.LongestTurn.Load()/1000)
	w.add("eventloop_cmd_per_cycle_max", s.MostInTurn.Load())
}

func totalErrors(e *engine.Engine) (n int64) {
	for _, count := range e.Errors.Snapshot() {
		n += count
	}
	return n
}

func infoCommandStats(w *infoWriter) {
	calls := w.c.Engine().Calls()
	for row := range w.c.Engine().Table().All() {
		n := calls[row.ID]
		if n.Calls == 0 && n.Rejected == 0 && n.Failed == 0 {
			continue
		}
		usec := n.Nanos / 1000
		w.add("cmdstat_"+row.Full, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d",
			n.Calls, usec, float64(n.Nanos)/1000/float64(max(n.Calls, 1)), n.Rejected, n.Failed))
	}
}

// infoLatencyStats tells the percentiles that latency-tracking-info-percentiles names, in microseconds.
func infoLatencyStats(w *infoWriter) {
	if !w.d.Config.Bool("latency-tracking") {
		return
	}
	names := strings.Fields(w.d.Config.String("latency-tracking-info-percentiles"))
	for row := range w.c.Engine().Table().All() {
		sum, called := w.c.Engine().DurationsOf(row)
		if !called {
			continue
		}
		parts := make([]string, 0, len(names))
		for _, name := range names {
			p, _ := strconv.ParseFloat(name, 64)
			parts = append(parts, fmt.Sprintf("p%s=%.3f", name, sum.Percentile(p)))
		}
		w.add("latency_percentiles_usec_"+row.Full, strings.Join(parts, ","))
	}
}

func infoErrorStats(w *infoWriter) {
	counts := w.c.Engine().Errors.Snapshot()
	codes := make([]string, 0, len(counts))
	for code := range counts {
		codes = append(codes, code)
	}
	sort.Strings(codes)
	for _, code := range codes {
		w.add("errorstat_"+code, fmt.Sprintf("count=%d", counts[code]))
	}
}

func infoCluster(w *infoWriter) {
	on := 0
	if w.c.Engine().ClusterOn {
		on = 1
	}
	w.add("cluster_enabled", on)
}

func infoKeyspace(w *infoWriter) {
	e := w.c.Engine()
	keys, expires := make([]int64, e.Databases()), make([]int64, e.Databases())
	w.c.GlanceAtShards(func(s *engine.Shard) {
		for db := range keys {
			keys[db] += s.Part.Len(db)
			expires[db] += s.Part.Expires(db)
		}
	})
	for db, n := range keys {
		if n > 0 {
			w.add("db"+strconv.Itoa(db), fmt.Sprintf("keys=%d,expires=%d,avg_ttl=0", n, expires[db]))
		}
	}
}

func (d Deps) busLinks() (links int, bytes int64) {
	if d.BusLinks == nil {
		return 0, 0
	}
	return d.BusLinks()
}

// appendFileBytes is how much of the log waits for the append-only file.
func (d Deps) appendFileBytes() int64 {
	if d.AppendFileBytes == nil {
		return 0
	}
	return d.AppendFileBytes()
}

func (d Deps) replicationBytes() int64 {
	if d.ReplicationBytes == nil {
		return 0
	}
	return d.ReplicationBytes()
}
