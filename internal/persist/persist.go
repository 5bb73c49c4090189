// Package persist keeps the data on disk: SAVE and BGSAVE from a fork-free snapshot, save points, and loading at the start.
package persist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/snapshot"
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
	Points      []SavePoint
	StopOnError bool // stop-writes-on-bgsave-error
}

// Options are what a Saver needs.
type Options struct {
	Engine   *engine.Engine
	Taker    *snapshot.Taker
	Settings func() Settings
	Log      *slog.Logger
}

// Saver writes snapshots to the data directory. At most one at a time.
type Saver struct {
	e    *engine.Engine
	opts Options
	wg   sync.WaitGroup

	mu struct {
		sync.Mutex
		running   bool
		again     bool // BGSAVE SCHEDULE: once more when the one under way is done
		cancel    context.CancelFunc
		started   time.Time
		lastSave  time.Time
		lastTry   time.Time
		lastTook  time.Duration // -1: never saved
		lastErr   error
		keysDone  int64
		keysTotal int64
		saves     int64
	}
	loading struct { // what INFO shows of a load; guarded by mu of Saver
		startedAt time.Time
		total     int64
	}
}

// New makes a Saver.
func New(opts Options) *Saver {
	s := &Saver{e: opts.Engine, opts: opts}
	s.mu.lastSave = time.Now()
	s.mu.lastTook = -1
	return s
}

// ErrRunning says that a save is under way.
var ErrRunning = errors.New("Background save already in progress")

// begin claims the right to save.
func (s *Saver) begin() (context.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.running {
		return nil, ErrRunning
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.running, s.mu.cancel, s.mu.started = true, cancel, time.Now()
	return ctx, nil
}

// Save saves before it returns.
func (s *Saver) Save() error {
	ctx, err := s.begin()
	if err != nil {
		return err
	}
	return s.run(ctx)
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
	s.opts.Log.Info("Background saving started")
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		_ = s.run(ctx) // the error is logged and kept for INFO
	}()
	return nil
}

// run saves and notes the outcome.
func (s *Saver) run(ctx context.Context) error {
	dirty, err := s.write(ctx)
	s.mu.Lock()
	s.mu.cancel()
	s.mu.running = false
	s.mu.lastTry = time.Now()
	s.mu.lastTook = time.Since(s.mu.started)
	s.mu.lastErr = err
	again := s.mu.again
	s.mu.again = false
	if err == nil {
		s.mu.lastSave = s.mu.lastTry
		s.mu.saves++
	}
	s.mu.Unlock()
	switch {
	case err == nil:
		s.e.Stats.Dirty.Add(-dirty)
		s.e.Settings.WritesRefused.Store(false)
		s.opts.Log.Info("DB saved on disk")
	case errors.Is(err, context.Canceled), errors.Is(err, snapshot.ErrGivenUp):
	default:
		s.opts.Log.Warn("Saving failed", "reason", err)
		s.e.Settings.WritesRefused.Store(s.opts.Settings().StopOnError && len(s.opts.Settings().Points) > 0)
	}
	if again {
		return errors.Join(err, s.BgSave(false))
	}
	return err
}

// write makes a new file beside the old one and puts it in its place when it is whole and on disk. It returns how many
// changes the file contains.
func (s *Saver) write(ctx context.Context) (dirty int64, err error) {
	set := s.opts.Settings()
	f, err := os.OpenFile(filepath.Join(set.Dir, fmt.Sprintf("temp-%d.rdb", os.Getpid())), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	snap, err := s.opts.Taker.Cut(ctx, snapshot.Options{Compress: set.Compress, Unsummed: set.Unsummed, Stream: s.e.Log.On(),
		AtCut: func() { dirty = s.e.Stats.Dirty.Load() },
		Progress: func(keys int64) {
			s.mu.Lock()
			s.mu.keysDone = keys
			s.mu.Unlock()
		}})
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.mu.keysDone, s.mu.keysTotal = 0, snap.Keys()
	s.mu.Unlock()
	if _, err = snap.WriteTo(ctx, f); err != nil {
		return 0, err
	}
	if err = f.Sync(); err != nil {
		return 0, err
	}
	if err = f.Chmod(0o644); err != nil {
		return 0, err
	}
	if err = f.Close(); err != nil {
		return 0, err
	}
	if err = os.Rename(f.Name(), filepath.Join(set.Dir, set.File)); err != nil {
		return 0, err
	}
	return dirty, syncDir(set.Dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Stop breaks off a save under way and waits for it.
func (s *Saver) Stop() {
	s.mu.Lock()
	if s.mu.running {
		s.mu.cancel()
	}
	s.mu.again = false
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

// LoadOptions say how the data file is read at the start.
type LoadOptions struct {
	Context context.Context          // its end gives the load up
	Owned   func(slot.ID) bool       // nil: every slot
	Replica bool                     // keys that are due are kept
	Expired func(db int, key []byte) // called for each key that was due and is left out; may be nil
}

// Load reads the data file into an empty keyspace; a file that does not exist is an empty data set. Keys of slots that are
// not owned are left out. A replica keeps what is due: its primary decides.
func (s *Saver) Load(o LoadOptions) (snapshot.Loaded, error) {
	return s.load(snapshot.LoadOptions{Stop: o.Context.Done(), Owned: o.Owned, KeepExpired: o.Replica, OnExpired: o.Expired})
}

// LoadInto reads the data file into a keyspace that may hold keys; merge lets the file win over keys that are there.
func (s *Saver) LoadInto(merge bool) (snapshot.Loaded, error) {
	return s.load(snapshot.LoadOptions{Merge: merge})
}

func (s *Saver) load(opts snapshot.LoadOptions) (snapshot.Loaded, error) {
	set := s.opts.Settings()
	opts.Unsummed = set.Unsummed
	path := filepath.Join(set.Dir, set.File)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return snapshot.Loaded{Offset: -1}, nil
	}
	if err != nil {
		return snapshot.Loaded{}, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil {
		s.mu.Lock()
		s.loading.startedAt, s.loading.total = time.Now(), st.Size()
		s.mu.Unlock()
	}
	s.e.SetLoading(true)
	defer s.e.SetLoading(false)
	start := time.Now()
	loaded, err := snapshot.Load(s.e, bufio.NewReaderSize(f, 1<<20), opts)
	if err != nil {
		return loaded, fmt.Errorf("%s: %w", path, err)
	}
	s.opts.Log.Info(fmt.Sprintf("DB loaded from disk: %.3f seconds", time.Since(start).Seconds()), "keys", loaded.Keys, "expired", loaded.Expired)
	return loaded, nil
}
