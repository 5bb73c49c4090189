// Package persist keeps the data on disk: SAVE and BGSAVE from a fork-free snapshot, save points, and loading at the start.
package persist

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// SavePoint saves after so much time when there were so many changes.
type SavePoint struct {
	After   time.Duration
	Changes int64
}

// Settings are what configuration says of persistence, read anew at each use.
type Settings struct {
	Dir, File   string
	Compress    bool // rdbcompression
	Unsummed    bool // rdbchecksum no
	SyncOften   bool // rdb-save-incremental-fsync
	Points      []SavePoint
	StopOnError bool // stop-writes-on-bgsave-error
}

// Options are what a Saver needs.
type Options struct {
	Engine   *engine.Engine
	Taker    *snapshot.Taker
	Settings func() Settings
	FS       vfs.FS // nil is the system's
	Log      *slog.Logger
	// AppendFile is what INFO shows of the append-only file: fields that are always there, and fields behind all others. May be
	// nil.
	AppendFile func() (always, rest [][2]string)
	Sending    func() bool // whether a snapshot is on its way to a replica: INFO counts it as a save; may be nil
}

// Saver writes snapshots to the data directory. At most one at a time.
type Saver struct {
	e    *engine.Engine
	opts Options
	fs   vfs.FS
	wg   sync.WaitGroup

	mu struct {
		sync.Mutex
		running   bool
		idle      chan struct{} // closed when the save that runs has ended
		again     bool          // BGSAVE SCHEDULE: once more when the one under way is done
		next      chan struct{} // closed when the save behind the one that runs has ended; nil when nobody waits for it
		cancel    context.CancelFunc
		started   time.Time
		lastSave  time.Time
		lastTry   time.Time
		lastTook  time.Duration // -1: never saved
		lastErr   error         // of the last save in the background that was not broken off
		keysDone  int64
		keysTotal int64
		saves     int64
	}
	loading struct { // what INFO shows of a load; guarded by mu of Saver
		startedAt time.Time
		total     int64        // bytes of the file
		done      atomic.Int64 // of them read; anybody may look
		last      snapshot.Loaded
	}
}

// New makes a Saver.
func New(opts Options) *Saver {
	if opts.FS == nil {
		opts.FS = vfs.OS{}
	}
	s := &Saver{e: opts.Engine, opts: opts, fs: opts.FS}
	s.mu.lastSave = time.Now()
	s.mu.lastTook = -1
	return s
}

// ErrRunning says that a save is under way.
var ErrRunning = errors.New("Background save already in progress")

// ErrLoading says that there is nothing to save, as the data is on its way.
var ErrLoading = errors.New("the data is being loaded")

// begin claims the right to save.
func (s *Saver) begin() (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.running {
		return nil, ErrRunning
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.running, s.mu.cancel, s.mu.started = true, cancel, time.Now()
	if s.mu.idle, s.mu.next = s.mu.next, nil; s.mu.idle == nil {
		s.mu.idle = make(chan struct{})
	}
	return ctx, nil
}

// Save saves before it returns.
func (s *Saver) Save() error {
	ctx, err := s.begin()
	if err != nil {
		return err
	}
	return s.run(ctx, job{})
}

// SaveLast is Save for somebody for whom no other save will do: one that is under way is broken off, whoever wants it. loading
// tells that the node says that it loads, and that its data is whole.
func (s *Saver) SaveLast(loading bool) error {
	for {
		s.Stop()
		ctx, err := s.begin()
		if err == nil {
			return s.run(ctx, job{loading: loading})
		}
		<-s.idle() // Stop does not wait for the SAVE of a client, and another one may have begun just now
	}
}

// BgSave saves in the background. schedule asks for another save when one is under way.
func (s *Saver) BgSave(schedule bool) error {
	ctx, err := s.begin()
	if err != nil {
		if schedule {
			s.mu.Lock()
			s.mu.again = true
			s.mu.Unlock()
			return nil
		}
		return err
	}
	s.start(ctx, job{background: true})
	return nil
}

// job is what is particular about a save.
type job struct {
	background bool
	loading    bool           // the node says that it loads, and its data is whole all the same
	atCut      func()         // called at the moment of the snapshot, under all shard locks; may be nil
	take       chan<- outcome // gets the file, open, or why there is none; nil when nobody wants it
}

// outcome is what became of a save.
type outcome struct {
	file vfs.File
	err  error
}

// start runs a save in the background.
func (s *Saver) start(ctx context.Context, j job) {
	s.opts.Log.Info("Background saving started")
	s.e.Stats.Background.Add(1)
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		_ = s.run(ctx, j) // the error is logged and kept for INFO
	}()
}

// SaveFor is a save for somebody who wants the file, open, and to hear of the moment of its snapshot: atCut is called under
// all shard locks. It waits for the end of a save that is under way. When ctx ends nobody wants the file any more: the save
// is broken off unless save points want it.
func (s *Saver) SaveFor(ctx context.Context, atCut func()) (vfs.File, error) {
	for {
		saving, err := s.begin()
		if err == nil {
			return s.saveFor(ctx, saving, atCut)
		}
		select {
		case <-s.idle():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// saveFor is SaveFor with the right to save.
func (s *Saver) saveFor(ctx, saving context.Context, atCut func()) (vfs.File, error) {
	made := make(chan outcome, 1)
	saving, breakOff := context.WithCancel(saving)
	s.start(saving, job{background: true, atCut: atCut, take: made})
	select {
	case out := <-made:
		breakOff()
		return out.file, out.err
	case <-ctx.Done():
	}
	if len(s.opts.Settings().Points) == 0 {
		breakOff()
	}
	go func() { // save points may want the save to go on
		if out := <-made; out.file != nil {
			out.file.Close()
		}
		breakOff()
	}()
	return nil, ctx.Err()
}

// idle is closed when no save runs.
func (s *Saver) idle() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.running {
		now := make(chan struct{})
		close(now)
		return now
	}
	return s.mu.idle
}

// run saves and notes the outcome. A failure counts against writes only in the background: whoever asked for a save that it
// waits for is told.
func (s *Saver) run(ctx context.Context, j job) error {
	dirty, err := s.write(ctx, j)
	broken := ctx.Err() != nil || errors.Is(err, snapshot.ErrGivenUp) || errors.Is(err, ErrLoading)
	if err == nil {
		s.e.Stats.Dirty.Add(-dirty) // before anybody hears of the end
	}
	s.mu.Lock()
	s.mu.cancel()
	s.mu.running = false
	close(s.mu.idle)
	s.mu.lastTry = time.Now()
	s.mu.lastTook = time.Since(s.mu.started)
	again := s.mu.again
	s.mu.again = false
	switch {
	case err == nil:
		s.mu.lastErr = nil
		s.mu.lastSave = s.mu.lastTry
		s.mu.saves++
	case j.background && !broken:
		s.mu.lastErr = err
	}
	s.mu.Unlock()
	switch {
	case err == nil:
		s.opts.Log.Info("DB saved on disk")
	case broken:
		s.opts.Log.Warn("Saving was broken off")
	default:
		s.opts.Log.Warn("Saving failed", "reason", err)
	}
	s.Review()
	if again {
		return errors.Join(err, s.BgSave(false))
	}
	return err
}

// Review decides again whether writes are refused: after a save, and when configuration changed.
func (s *Saver) Review() {
	set := s.opts.Settings()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.e.Settings.WritesRefused.Store(s.mu.lastErr != nil && set.StopOnError && len(set.Points) > 0)
}

// Flushed is told that every database was emptied: a save under way has the old data and is broken off, and where there are
// save points another one begins. It does not wait, but returns what is closed when that one has ended; nil when there is none.
func (s *Saver) Flushed() (saved <-chan struct{}) {
	wanted := len(s.opts.Settings().Points) > 0
	s.mu.Lock()
	if s.mu.running {
		s.mu.cancel()
		s.mu.again = s.mu.again || wanted
		if wanted && s.mu.next == nil {
			s.mu.next = make(chan struct{})
		}
		saved = s.mu.next
		s.mu.Unlock()
		return saved
	}
	s.mu.Unlock()
	if !wanted {
		return nil
	}
	_ = s.BgSave(false) // one that began just now has the new data
	return s.idle()
}

// Stop breaks off a save under way and waits for it.
func (s *Saver) Stop() {
	s.mu.Lock()
	if s.mu.running {
		s.mu.cancel()
	}
	s.mu.again = false
	if s.mu.next != nil { // nothing is saved behind the one that runs
		close(s.mu.next)
		s.mu.next = nil
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// retryAfter is the pause after a failed save before a save point tries again.
const retryAfter = 5 * time.Second

// Run watches the save points until ctx ends.
func (s *Saver) Run(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if s.due(now) {
				_ = s.BgSave(false) // one that is under way is as good
			}
		}
	}
}

// due says whether a save point is reached.
func (s *Saver) due(now time.Time) bool {
	set := s.opts.Settings()
	dirty := s.e.Stats.Dirty.Load()
	if s.e.Loading() {
		return false // what is in memory is not the data
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.running || s.mu.lastErr != nil && now.Sub(s.mu.lastTry) < retryAfter {
		return false
	}
	for _, p := range set.Points {
		if dirty >= p.Changes && now.Sub(s.mu.lastSave) > p.After {
			return true
		}
	}
	return false
}

// LastSave is when the data was last saved, or when the server started.
func (s *Saver) LastSave() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.lastSave
}

// Running says whether a save is under way.
func (s *Saver) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.running
}
