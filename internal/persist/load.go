package persist

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// This file reads the data file.

// Sweep removes what saves left that did not come to their end because the process died. It is called before the first save.
func (s *Saver) Sweep() {
	set := s.opts.Settings()
	removed, err := vfs.RemoveTemp(s.fs, set.Dir, tempBefore, tempAfter(set.File))
	for _, name := range removed {
		s.opts.Log.Info("Removed the file of a save that was not finished", "name", name)
	}
	if err != nil {
		s.opts.Log.Warn("Cannot remove the files of saves that were not finished", "reason", err)
	}
}

// Try makes a file where saves make theirs, and removes it.
func (s *Saver) Try() error {
	set := s.opts.Settings()
	f, err := vfs.CreateTemp(s.fs, set.Dir, tempBefore, tempAfter(set.File))
	if err != nil {
		return err
	}
	_ = f.Close() // it is empty
	return s.fs.Remove(f.Name())
}

// LoadOptions say how the data file is read at the start.
type LoadOptions struct {
	Context context.Context          // its end gives the load up
	Replica bool                     // keys that are due are kept
	Expired func(db int, key []byte) // called for each key that was due and is left out; may be nil
}

// Load reads the data file into an empty keyspace; a file that does not exist is an empty data set. A replica keeps
// what is due: its primary decides.
func (s *Saver) Load(o LoadOptions) (snapshot.Loaded, error) {
	return s.load(snapshot.LoadOptions{Stop: o.Context.Done(), KeepExpired: o.Replica, OnExpired: o.Expired})
}

// LoadInto reads the data file into a keyspace that may hold keys; merge lets the file win over keys that are there.
func (s *Saver) LoadInto(merge bool) (snapshot.Loaded, error) {
	return s.load(snapshot.LoadOptions{Merge: merge})
}

// BeginLoad notes the start of a load, of this file or of the append-only file: INFO shows how far it is.
func (s *Saver) BeginLoad(bytes int64) {
	s.mu.Lock()
	s.loading.startedAt, s.loading.total = time.Now(), bytes
	s.mu.Unlock()
	s.loading.done.Store(0)
}

// Loaded notes that so many bytes more have been read.
func (s *Saver) Loaded(bytes int64) { s.loading.done.Add(bytes) }

// counter counts what is read.
type counter struct {
	r io.Reader
	s *Saver
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.s.Loaded(int64(n))
	return n, err
}

// load reads the data file. Errors name it, and the place in it.
func (s *Saver) load(opts snapshot.LoadOptions) (snapshot.Loaded, error) {
	set := s.opts.Settings()
	opts.Unsummed = set.Unsummed
	path := filepath.Join(set.Dir, set.File)
	f, err := s.fs.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return snapshot.Loaded{Offset: -1}, nil
	}
	if err != nil {
		return snapshot.Loaded{}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return snapshot.Loaded{}, err
	}
	start := time.Now()
	s.BeginLoad(st.Size())
	if s.e.BeginLoading() { // else it ends with what else our caller does
		defer s.e.SetLoading(false)
	}
	opts.OnEmpty = func(key []byte) { s.opts.Log.Info("Loading the RDB file: skipping empty key: " + string(key)) }
	loaded, err := snapshot.Load(s.e, bufio.NewReaderSize(counter{f, s}, 1<<20), opts)
	if err != nil {
		return loaded, fmt.Errorf("%s: %w", path, err)
	}
	s.mu.Lock()
	s.loading.last = loaded
	s.mu.Unlock()
	if loaded.Empty > 0 {
		s.opts.Log.Info(fmt.Sprintf("Done loading RDB, keys loaded: %d, keys expired: %d, empty keys skipped: %d.", loaded.Keys, loaded.Expired, loaded.Empty))
	}
	s.opts.Log.Info(fmt.Sprintf("DB loaded from disk: %.3f seconds", time.Since(start).Seconds()), "keys", loaded.Keys, "expired", loaded.Expired)
	return loaded, nil
}
