// Package journal keeps the append-only file: it is a reader of the engine's log that writes what it reads to disk, syncs it
// as appendfsync says, makes the file short again from a fork-free snapshot, and replays it at the start. The format is that of
// package aof.
//
// Nobody waits for the disk who does not have to. With appendfsync everysec and no, the thread that ends a batch of commands
// writes what the batch has left in the log before it replies, unless the disk is busy with a sync: then the journal's own
// goroutine does it later. With always that goroutine writes and syncs what all clients have done meanwhile
// in one go, and the engine's gate holds their replies so long.
package journal

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/covey-db/covey/internal/aof"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// Policy is appendfsync.
type Policy int32

// The policies.
const (
	Never       Policy = iota // the system decides when data reaches the disk
	EverySecond               // a crash of the system loses a second or two
	Always                    // no reply before what it is about is on disk
)

// Settings are what configuration says of the append-only file, read anew at each use.
type Settings struct {
	Dir             string // of the server
	DirName         string // appenddirname
	File            string // appendfilename
	LoadTruncated   bool   // aof-load-truncated
	Preamble        bool   // aof-use-rdb-preamble
	NoSyncOnRewrite bool   // no-appendfsync-on-rewrite
	SyncOften       bool   // aof-rewrite-incremental-fsync
	GrowPercent     int64  // auto-aof-rewrite-percentage; 0: never by itself
	GrowMin         int64  // auto-aof-rewrite-min-size, bytes
	KeepHistory     bool   // aof-disable-auto-gc
	Compress        bool   // rdbcompression
	Unsummed        bool   // rdbchecksum no
}

// Progress is told how far a load is.
type Progress interface {
	BeginLoad(bytes int64)
	Loaded(bytes int64)
}

// Options are what a Journal needs.
type Options struct {
	Engine   *engine.Engine
	Taker    *snapshot.Taker
	Settings func() Settings
	FS       vfs.FS // nil is the system's
	Log      *slog.Logger
	Progress Progress
	Saving   func() bool     // whether an RDB file is being written; may be nil
	Synced   func()          // called when more is on disk than before, from any goroutine; may be nil
	Fatal    func(err error) // called when the node must not go on, from any goroutine
}

// state says what is written.
type state int32

const (
	stateOff     state = iota
	stateWaiting       // what happens is collected in a file that counts only when the first base is whole
	stateOn
)

// Journal is the append-only file of one node.
type Journal struct {
	e    *engine.Engine
	opts Options
	fs   vfs.FS

	policy     atomic.Int32
	stamps     atomic.Bool  // aof-timestamp-enabled
	sleep      atomic.Int64 // DEBUG AOF-FLUSH-SLEEP, microseconds
	state      atomic.Int32
	wanted     atomic.Bool // appendonly
	suspended  atomic.Bool // a synchronisation replaces the data
	written    atomic.Int64
	synced     atomic.Int64 // offset of the log up to which all is on disk; 0 while no file counts
	syncing    atomic.Int64 // since when a sync in the background runs, Unix nanoseconds; 0: none does
	delayed    atomic.Int64 // aof_delayed_fsync
	rotating   atomic.Bool  // another file takes the place of the last one
	work       chan struct{}
	wg         sync.WaitGroup
	ctx        context.Context
	cancel     context.CancelFunc
	lastSync   time.Time // owned by Run
	triedWrite time.Time // likewise

	// beginMu is held while a rewrite is begun, with the file that goes with it, and while the journal is switched on or off. It is
	// taken before the others here, and no shard lock is taken while it is held.
	beginMu sync.Mutex

	syncMu sync.Mutex // held while the file is synced, and while another takes its place; taken before mu

	mu struct { // taken under shard locks; no shard lock is taken while it is held
		sync.Mutex
		tail
		fresh    vfs.File // collects what happens from the first snapshot on, which has not been taken yet
		manifest *aof.Manifest
		closed   int64 // bytes of the base and of the incremental files before the last
		baseSize int64 // bytes of the base
		failed   error // why the file could not be written or synced
		syncFail bool  // it could not be synced: only another base heals that
	}
	rw rewriting
}

// New makes a Journal that is off.
func New(opts Options) *Journal {
	if opts.FS == nil {
		opts.FS = vfs.OS{}
	}
	j := &Journal{e: opts.Engine, opts: opts, fs: opts.FS, work: make(chan struct{}, 1)}
	j.ctx, j.cancel = context.WithCancel(context.Background())
	j.mu.stopAt = noStop
	j.mu.manifest = &aof.Manifest{}
	j.rw.mu.took = -1
	return j
}

// tickEvery is how often the journal looks at what time brings.
const tickEvery = 100 * time.Millisecond

// Run does what is not done by others until ctx ends.
func (j *Journal) Run(ctx context.Context) error {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-j.work:
			j.step(time.Now())
		case now := <-tick.C:
			j.step(now)
			j.periodic(now)
		}
	}
}

// On says whether what the clients do is in files that count, or will be.
func (j *Journal) On() bool { return j.get() != stateOff }

func (j *Journal) get() state { return state(j.state.Load()) }

// wake has Run look at once.
func (j *Journal) wake() {
	select {
	case j.work <- struct{}{}:
	default:
	}
}

func (j *Journal) dir() string {
	return j.opts.Settings().dir()
}

// dir is where the files of the set are.
func (s Settings) dir() string { return aof.Path(s.Dir, s.DirName) }

func (j *Journal) names() aof.Names { return aof.Names{File: j.opts.Settings().File} }

// SetPolicy puts appendfsync in force.
func (j *Journal) SetPolicy(p Policy) {
	if Policy(j.policy.Swap(int32(p))) == p {
		return
	}
	j.setGate()
	j.wake()
}

// setGate makes replies wait for the disk, or not.
func (j *Journal) setGate() {
	hold := Policy(j.policy.Load()) == Always && j.get() == stateOn
	if hold {
		j.e.Gate.Restart(j.synced.Load())
	}
	j.e.Gate.Require(hold)
}

// SetTimestamps puts aof-timestamp-enabled in force.
func (j *Journal) SetTimestamps(on bool) { j.stamps.Store(on) }

// SetSleep slows every write down, for tests.
func (j *Journal) SetSleep(d time.Duration) { j.sleep.Store(int64(d)) }

// Synced is the offset of the log up to which everything is on disk, and whether there is an append-only file at all.
func (j *Journal) Synced() (at engine.Offset, on bool) { return j.synced.Load(), j.On() }

// advance notes that everything up to at is on disk.
func (j *Journal) advance(at engine.Offset) {
	if j.get() != stateOn {
		return
	}
	if j.synced.Swap(at) != at && j.opts.Synced != nil {
		j.opts.Synced()
	}
	j.e.Gate.Advance(at)
}

// reason is an error as Redis shows it: the text of the system, with a capital.
func reason(err error) string {
	var errno syscall.Errno
	text := err.Error()
	if errors.As(err, &errno) {
		text = errno.Error()
	}
	if text != "" && text[0] >= 'a' && text[0] <= 'z' {
		text = string(text[0]-'a'+'A') + text[1:]
	}
	return text
}
