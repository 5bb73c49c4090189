package engine

import (
	"sync/atomic"

	"github.com/covey-db/covey/internal/object"
)

// Settings are the configuration values that commands read while they run. The server's configuration hooks store them.
type Settings struct {
	maxMemory       atomic.Int64 // maxmemory, bytes; 0 is no limit
	MaxBulk         atomic.Int64 // proto-max-bulk-len, bytes
	MaxQueryBuffer  atomic.Int64 // client-query-buffer-limit, bytes
	MaxClients      atomic.Int64
	SkipChecksums   atomic.Bool // RESTORE does not look at checksums: DEBUG SET-SKIP-CHECKSUM-VALIDATION
	LazyExpire      atomic.Bool // lazyfree-lazy-expire: expired keys are logged as UNLINK
	LazyEvict       atomic.Bool // lazyfree-lazy-eviction: evicted keys are logged as UNLINK
	LazyServerDel   atomic.Bool // lazyfree-lazy-server-del: what SPOP empties is logged as UNLINK
	LazyUserDel     atomic.Bool
	LazyUserFlush   atomic.Bool
	ReplicaReadOnly atomic.Bool
	ServeStale      atomic.Bool  // replica-serve-stale-data
	BusyAfter       atomic.Int64 // busy-reply-threshold, milliseconds until a script that runs makes others hear BUSY; 0: never
	ScriptsMayAll   atomic.Bool  // DEBUG SET-DISABLE-DENY-SCRIPTS: commands that are not for scripts are
	MinReplicas     atomic.Int64
	MinReplicasLag  atomic.Int64           // seconds
	ActiveExpire    atomic.Bool            // DEBUG SET-ACTIVE-EXPIRE
	FullCoverage    atomic.Bool            // cluster-require-full-coverage
	ReadsWhenDown   atomic.Bool            // cluster-allow-reads-when-down
	Events          atomic.Int64           // notify-keyspace-events
	PubsubWhenDown  atomic.Bool            // cluster-allow-pubsubshard-when-down
	WritesRefused   atomic.Bool            // the last background save failed and stop-writes-on-bgsave-error is on
	FileError       atomic.Pointer[string] // why the append-only file cannot be written: the refusal of writes; nil while it can
	DebugAllowed    atomic.Int32           // enable-debug-command: AllowNobody, AllowLocal or AllowAll
	ModuleAllowed   atomic.Int32           // enable-module-command, likewise
	OutputLimits    [3]OutputLimit         // by client class: normal, replica, pubsub
	IdleTimeoutMs   atomic.Int64
	ProtectedMode   atomic.Bool
	ProtectConfigs  atomic.Int32 // enable-protected-configs, likewise
	IgnoreMaxMemory atomic.Bool  // replica-ignore-maxmemory
	SaveKeyDelay    atomic.Int64 // rdb-key-save-delay, microseconds a key; slows snapshots down for tests
	LoadKeyDelay    atomic.Int64 // key-load-delay, likewise for loading
	CronPaused      atomic.Bool  // DEBUG PAUSE-CRON
	Encoding        object.Limits
}

// OutputLimit is a client-output-buffer-limit; zero is no limit.
type OutputLimit struct {
	HardBytes   atomic.Int64
	SoftBytes   atomic.Int64
	SoftSeconds atomic.Int64
}

func (s *Settings) setDefaults() {
	s.MaxBulk.Store(512 << 20)
	s.MaxQueryBuffer.Store(1 << 30)
	s.MaxClients.Store(10000)
	s.ReplicaReadOnly.Store(true)
	s.ServeStale.Store(true)
	s.BusyAfter.Store(5000)
	s.MinReplicasLag.Store(10)
	s.ActiveExpire.Store(true)
	s.FullCoverage.Store(true)
	s.PubsubWhenDown.Store(true)
	s.IgnoreMaxMemory.Store(true)
	s.Encoding.SetDefaults()
	s.OutputLimits[1].HardBytes.Store(256 << 20)
	s.OutputLimits[1].SoftBytes.Store(64 << 20)
	s.OutputLimits[1].SoftSeconds.Store(60)
	s.OutputLimits[2].HardBytes.Store(32 << 20)
	s.OutputLimits[2].SoftBytes.Store(8 << 20)
	s.OutputLimits[2].SoftSeconds.Store(60)
}
