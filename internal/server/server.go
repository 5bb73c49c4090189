// Package server is the composition root: it makes a node out of the packages below it and wires them by hand. Nothing here
// is global, so any number of nodes can live in one process.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/bus"
	"github.com/covey-db/covey/internal/cluster/migrate"
	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/credential"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/journal"
	"github.com/covey-db/covey/internal/mem"
	"github.com/covey-db/covey/internal/persist"
	"github.com/covey-db/covey/internal/rdb"
	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/spec"
	"github.com/covey-db/covey/internal/transport"
	"github.com/covey-db/covey/internal/vfs"
)

// Version is Covey's own version.
const Version = "0.1.0"

// Options are what a node needs from its process.
type Options struct {
	Config *config.Loaded
	Output io.Writer // where log lines go when no logfile is set; nil is standard output
	Process
}

// Process is what the process is called.
type Process struct {
	Name     string       // by which it was started
	SetTitle func(string) // changes the title that ps shows; nil: it stays
}

// Server is one node.
type Server struct {
	store    *config.Store
	log      *slog.Logger
	level    *slog.LevelVar
	role     atomic.Int32 // letter of the log lines
	engine   *engine.Engine
	taker    *snapshot.Taker
	saver    *persist.Saver
	journal  *journal.Journal
	repl     *replication.Manager
	bus      *bus.Bus // nil outside cluster mode
	mover    *migrate.Migrator
	reserve  []byte // of heapReserve bytes once clients are served; nobody touches it
	loops    *transport.Loops
	streams  *transport.Goroutines               // clients over TLS
	identity atomic.Pointer[credential.Identity] // nil while nothing is encrypted
	output   *logFile
	hooked   bool // the configuration's hooks are in place
	fs       vfs.FS
	process  Process
	oom      oomScore

	confFile string // path of the configuration file, "" for none

	listeners listeners
	sampler   command.Sampler
	scripts   command.Scripts
	quit      chan shutdown
	ending    ending
	actors    sync.WaitGroup
}

// New makes a node from its configuration. Nothing listens yet.
func New(opts Options) (*Server, error) {
	s := &Server{store: config.NewStore(opts.Config), level: new(slog.LevelVar), fs: vfs.OS{}, quit: make(chan shutdown, quitQueue), confFile: opts.Config.File, process: opts.Process}
	s.role.Store('M')
	s.output = &logFile{path: s.store.String("logfile")}
	var out io.Writer = s.output
	if opts.Output != nil {
		out = opts.Output
	}
	s.level.Set(logLevels[s.store.String("loglevel")])
	s.log = newLogger(out, s.store.String("log-format"), s.level, &s.role)
	if s.putIdentity(s.store.Snapshot()) != nil {
		return nil, errIdentityStart
	}
	if err := s.build(opts.Config); err != nil {
		return nil, err
	}
	if err := s.fitMaxClients(); err != nil {
		return nil, err
	}
	s.hook()
	return s, nil
}

// build makes the parts from the bottom up.
func (s *Server) build(loaded *config.Loaded) error {
	table, err := spec.Load()
	if err != nil {
		return err
	}
	users, err := s.loadUsers(table, loaded.Users)
	if err != nil {
		return err
	}
	table, err = renamed(table, loaded.Renames)
	if err != nil {
		return err
	}
	cluster := s.store.Bool("cluster-enabled")
	databases := int(s.store.Int("databases"))
	if cluster {
		databases = 1
	}
	used := new(atomic.Int64)
	s.engine = engine.New(engine.Options{
		Table: table, Clock: clock.Real(), Seed: uint64(time.Now().UnixNano()), RunID: replication.NewID(),
		HashSeed: maphash.MakeSeed(), Parts: newParts(databases, used), Used: used, Databases: databases, Cluster: cluster,
		Users: users,
	})
	s.taker = snapshot.NewTaker(s.engine)
	s.buildDisk()
	s.repl = replication.New(replication.Options{Engine: s.engine, Taker: s.taker, Settings: s.replicationSettings, FS: s.fs, Log: s.log, Dial: s.dialPrimary,
		Changed: s.roleChanged, Followed: s.notePrimary, Replacing: s.journal.Suspend, Replaced: s.journal.Resume, FileSynced: s.journal.Synced,
		Progress: s.saver, Save: s.saver.SaveFor})
	if s.mover, err = migrate.New(migrate.Options{Engine: s.engine, Log: s.log, Dial: s.dialPeer}); err != nil {
		return err
	}
	handlers := []map[string]engine.Handler{s.repl.Handlers(), s.saver.Handlers(), s.journal.Handlers(), s.mover.Handlers(), command.Table(s.deps())}
	if cluster {
		if s.bus, err = s.newBus(); err != nil {
			return err
		}
		handlers = append(handlers, s.bus.Handlers())
	} else {
		handlers = append(handlers, bus.DisabledHandlers())
	}
	all := make(map[string]engine.Handler)
	for _, family := range handlers {
		for name, h := range family {
			all[name] = h
		}
	}
	s.engine.Libraries = &s.scripts
	s.scripts.Log = s.logOfScript
	s.engine.SlowScript = func(runs time.Duration) {
		s.log.Warn(fmt.Sprintf("Slow script detected: it runs for %d milliseconds now. SCRIPT KILL, or FUNCTION KILL, ends it unless it has written.", runs.Milliseconds()))
	}
	s.engine.Register(all)
	s.engine.ClientMemory.Evicted = func(c *engine.Session) {
		s.log.Info("Evicted a client: " + command.ClientLine(c, int64(s.engine.Clock.Now())))
	}
	return nil
}

// renamed applies the rename-command lines.
func renamed(table *spec.Table, lines []config.Line) (*spec.Table, error) {
	for _, line := range lines {
		next, err := table.Rename(line.Args[0], line.Args[1])
		if err != nil {
			return nil, line.Fail(renameReason(err))
		}
		table = next
	}
	return table, nil
}

func renameReason(err error) string {
	if errors.Is(err, spec.ErrNameTaken) {
		return "Target command name already exists"
	}
	return "No such command in rename-command"
}

// spareProcs is how many threads may run Go code beside the event loops, so that heartbeats and snapshots go on while all
// loops are busy. The watchdog of the loops holds one of them.
const spareProcs = 3

// maxLoops is the most event loops that "auto" makes.
const maxLoops = 8

// loopCount is io-threads, or one less than the cores.
func (s *Server) loopCount() int {
	if n := int(s.store.Int("io-threads")); n > 0 {
		return n
	}
	return min(max(runtime.NumCPU()-1, 1), maxLoops)
}

// Run serves until ctx ends or SHUTDOWN is executed. It returns nil after a clean end.
func (s *Server) Run(ctx context.Context) (failed error) {
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), s.loopCount()+spareProcs))
	s.banner()
	if err := s.listen(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() { s.close(cancel, failed) }()
	s.tryDir()
	s.log.Info("Server initialized")
	opts := transport.Options{Loops: s.loopCount(), Backend: transport.Backend(s.store.String("io-backend")), KeepAlive: time.Duration(s.store.Int("tcp-keepalive")) * time.Second,
		Logf:   func(format string, args ...any) { s.log.Warn(fmt.Sprintf(format, args...)) },
		Debugf: func(format string, args ...any) { s.log.Debug(fmt.Sprintf(format, args...)) }}
	loops, err := transport.NewLoops(s.engine, opts)
	if err != nil {
		return err
	}
	s.loops, s.streams = loops, transport.NewGoroutines(s.engine, opts)
	s.measureBase()
	s.reserve = make([]byte, heapReserve)
	mem.Discard(s.reserve) // Go clears it, and thereby touches it, where its heap has been before
	if s.bus != nil {
		if err := s.bus.Load(); err != nil {
			return err
		}
	}
	s.engine.Role.SetReplica(s.store.String("replicaof") != "" && s.bus == nil)
	s.engine.SetLoading(true)
	loaded := make(chan error, 1)
	s.actors.Add(1)
	go func() {
		defer s.actors.Done()
		loaded <- s.load(ctx)
	}()
	select {
	case err := <-loaded:
		loaded <- err
	case <-time.After(quickLoad):
	}
	s.serve() // clients that come while the data is loaded are told so
	return s.await(ctx, loaded)
}

// quickLoad is a load that nobody is told of: clients that have connected wait so long. Redis does not look at them before it
// has read two megabytes.
const quickLoad = 100 * time.Millisecond

// measureBase tells the engine what this process takes while it has no data: the objects of the Go heap that are alive.
func (s *Server) measureBase() {
	runtime.GC()
	objects, _ := s.goMemory()
	s.engine.SetBase(objects)
}

func (s *Server) banner() {
	mode := "standalone"
	if s.engine.ClusterOn {
		mode = "cluster"
	}
	s.log.Warn("oO0OoO0OoO0Oo Covey is starting oO0OoO0OoO0Oo")
	s.log.Warn(fmt.Sprintf("Covey version=%s, Redis version=%s, bits=64, pid=%d, just started", Version, command.RedisVersion, os.Getpid()))
	s.log.Info(fmt.Sprintf("Running mode=%s, port=%d. PID: %d", mode, cmp.Or(s.store.Int("port"), s.store.Int("tls-port")), os.Getpid()))
}

// load reads the data file and continues the history that it tells of, so that replicas can go on where they stopped.
func (s *Server) load(ctx context.Context) error {
	follows := s.store.String("replicaof") != "" || s.bus != nil && s.bus.Follows()
	defer s.engine.SetLoading(false)
	s.saver.Sweep()
	s.repl.Sweep()
	s.journal.Sweep()
	if s.store.Bool("appendonly") {
		return s.loadJournal(ctx)
	}
	var gone []byte // removals of keys that were due
	loaded, err := s.saver.Load(persist.LoadOptions{Context: ctx, Replica: follows, Expired: func(db int, key []byte) {
		gone = engine.AppendRemoval(gone, db, key)
	}})
	if err != nil {
		if rdb.IsDamage(err) {
			s.log.Warn("The RDB file is damaged: " + rdb.Complaint(err))
			s.log.Warn("Terminating server after rdb file reading failure.")
			return fmt.Errorf("Fatal error loading the DB: integrity check failed: %w", err)
		}
		return fmt.Errorf("Fatal error loading the DB: %w", err)
	}
	s.engine.Stats.Dirty.Store(0)
	if loaded.Offset >= 0 && len(loaded.ReplID) == 40 {
		s.engine.LockAll()
		s.engine.Log.Adopt(loaded.ReplID, loaded.Offset, loaded.StreamDB)
		if !follows && s.bus == nil {
			s.engine.Log.Rename(replication.NewID())
			s.engine.Log.AppendCommand(gone) // replicas that go on where they stopped still have these keys
		}
		s.engine.UnlockAll()
	}
	return nil
}

// start runs the actors. They end with ctx.
func (s *Server) start(ctx context.Context) {
	actors := []func(context.Context) error{s.cron, s.keepHeap, s.saver.Run, s.journal.Run, s.repl.Run}
	if s.bus != nil {
		actors = append(actors, s.bus.Run)
	}
	for _, run := range actors {
		s.actors.Add(1)
		go func() {
			defer s.actors.Done()
			if err := run(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("An actor ended", "reason", err)
				s.requestShutdown(shutdown{err: err})
			}
		}()
	}
	if host, port, ok := s.store.Value("replicaof").Primary(); ok && s.bus == nil {
		s.repl.Follow(joinHostPort(host, port))
	}
}

// close ends everything in the order of dependence: no new clients, no clients, actors, disk.
func (s *Server) close(cancel context.CancelFunc, failed error) {
	if supervisorOf(s.store.String("supervised")) == systemd {
		s.notify("STOPPING=1\n")
	}
	s.listeners.close()
	if s.loops != nil {
		s.loops.Close()
		s.streams.Close()
	}
	cancel()
	s.mover.Close()
	s.repl.Close()
	s.saver.Stop()
	if s.bus != nil {
		s.bus.Close()
	}
	s.actors.Wait()
	s.journal.Close()
	s.removeFiles()
	if failed != nil {
		s.log.Warn(failed.Error())
		return
	}
	s.log.Warn("Covey is now ready to exit, bye bye...")
}

// Engine gives tests and embedders access to the kernel.
func (s *Server) Engine() *engine.Engine { return s.engine }
