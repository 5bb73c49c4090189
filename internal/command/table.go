// Package command holds the handlers of the commands, one file a family. A handler knows its arguments and the data; what
// surrounds it (arity, routing, locks, the log) is package engine's business.
package command

import (
	"time"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/engine"
)

// Deps are what handlers need from outside of the engine. The server fills them in before the first client comes and never
// changes them. A function may be nil: the commands that need it then answer that they are not available.
type Deps struct {
	// Config holds the directives: CONFIG and INFO.
	Config *config.Store
	// ConfigFile is the path of the configuration file, empty for none.
	ConfigFile string
	// Version is Covey's own version.
	Version string
	// RewriteConfig writes the values in force into the configuration file; nil without one.
	RewriteConfig func() error
	// Links lets tests break links of the cluster bus and drop packets; nil outside of a cluster.
	Links LinkBreaker
	// Segfault sends this process SIGSEGV; nil: DEBUG SEGFAULT is a panic.
	Segfault func()
	// CachedSockets is the number of connections that MIGRATE keeps; nil: none.
	CachedSockets func() int
	// RewriteConfigAll is the same with a line for every directive.
	RewriteConfigAll func() error
	// Shutdown asks the server to end: SHUTDOWN. failed is called, from any goroutine, when it goes on instead.
	Shutdown func(o ShutdownOptions, failed func())
	// AbortShutdown makes the server go on: SHUTDOWN ABORT. False: no shutdown is under way.
	AbortShutdown func() bool
	// ShutdownLeft is how many milliseconds a shutdown still waits for replicas, 0 when none is under way.
	ShutdownLeft func() int64
	// Multiplexing names how the event loops move bytes; nil: epoll.
	Multiplexing func() string
	// Supervisor names the service manager that runs the server, empty for none.
	Supervisor string
	// ServingTime is the processor time of the threads that serve clients, in user mode and in the kernel's; nil where there
	// are no threads for that.
	ServingTime func() (user, system time.Duration)
	// Sampler keeps the figures per second of INFO.
	Sampler *Sampler
	// Replication and Persistence are the sections of INFO whose state lives in those packages.
	Replication, Persistence func() [][2]string
	// BusLinks tells how many links to other nodes there are, and the bytes that wait in them. May be nil.
	BusLinks func() (links int, bytes int64)
	// ReplicationBytes is the memory of the log that is kept for replicas.
	ReplicationBytes func() int64
	// Reload is DEBUG RELOAD: it saves the data set, empties the keyspace and loads the file again, or parts of that.
	// It runs without any shard lock. The text of the error is what the client gets.
	Reload func(ReloadOptions) error
	// ReloadAppendFile is DEBUG LOADAOF, likewise with the append-only file; SlowAppendFile is DEBUG AOF-FLUSH-SLEEP.
	ReloadAppendFile func() error
	SlowAppendFile   func(time.Duration)
	// AppendFileBytes is how much of the log waits for the append-only file; may be nil.
	AppendFileBytes func() int64
	// FlushedAll is told, under all locks, that FLUSHALL has emptied every database: a background save that runs is useless. What
	// it returns is closed when the file has been saved that is due now; nil when none is.
	FlushedAll func() (saved <-chan struct{})
	// Freeze stops the whole node for a while, its bus and its cron too: DEBUG SLEEP. nil: only the data is locked.
	Freeze func(time.Duration)
	// NewReplID makes 40 hexadecimal digits for DEBUG CHANGE-REPL-ID.
	NewReplID func() string
	// LogWarning writes a line to the server's log: DEBUG LOG.
	LogWarning func(text string)
	// ReleaseMemory gives memory that nobody uses back to the system: MEMORY PURGE.
	ReleaseMemory func()
	// Broadcast hands a message of PUBLISH or SPUBLISH to the other nodes of the cluster; it keeps the slices.
	Broadcast func(channel, message []byte, sharded bool)
	// LoadUsers replaces all users by those in the ACL file, SaveUsers writes them there; nil without such a file.
	LoadUsers func() ([]acl.Change, error)
	SaveUsers func() error
	// Memory measures the process and what lies outside the arenas: MEMORY STATS and MEMORY DOCTOR.
	Memory func() ProcessMemory
	// Scripts keeps scripts and functions; nil: a store of their own.
	Scripts *Scripts

	systemMemory int64 // bytes of the machine; Table asks for them
}

// Table is all handlers by the full names of their rows ("get", "config|get").
func Table(d Deps) map[string]engine.Handler {
	if d.Scripts == nil {
		d.Scripts = new(Scripts)
	}
	d.systemMemory = systemMemory()
	return merge(
		keyHandlers(),
		expireHandlers(),
		scanHandlers(),
		flushHandlers(d),
		objectHandlers(),
		dumpHandlers(d),
		memoryHandlers(d),
		debugHandlers(d),
		stringHandlers(),
		streamHandlers(),
		listHandlers(),
		sortHandlers(),
		setHandlers(),
		hashHandlers(),
		bitHandlers(),
		hyperLogLogHandlers(),
		zsetHandlers(),
		geoHandlers(),
		connectionHandlers(),
		pubsubHandlers(d),
		transactionHandlers(),
		clientHandlers(),
		aclHandlers(d),
		slowlogHandlers(),
		latencyHandlers(),
		configHandlers(d),
		commandHandlers(),
		infoHandlers(d),
		serverHandlers(d),
		scriptHandlers(d.Scripts),
		functionHandlers(d.Scripts),
	)
}

// merge joins families. Two handlers for one row are a mistake of ours.
func merge(families ...map[string]engine.Handler) map[string]engine.Handler {
	all := make(map[string]engine.Handler)
	for _, family := range families {
		for name, h := range family {
			if _, twice := all[name]; twice {
				panic("command: two handlers for " + name)
			}
			all[name] = h
		}
	}
	return all
}

// ReloadOptions are the words behind DEBUG RELOAD.
type ReloadOptions struct {
	Save  bool // write the file first
	Flush bool // empty the keyspace before the file is loaded
	Merge bool // a key that is there already is overwritten
}

// ProcessMemory is what the operating system and the Go runtime say of the process, in bytes.
type ProcessMemory struct {
	Resident int64 // memory of the process that is in RAM
	GoHeap   int64 // live and dead objects of the Go heap
	GoSystem int64 // what the Go runtime holds of the system's memory
}
