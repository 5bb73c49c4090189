package persist

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// This file writes the data file.

// tempBefore and what tempAfter returns are around the number in the name of a file that is not whole yet. The name of the
// data file is in it, so that two nodes with one directory leave each other's files alone.
const tempBefore = "temp-save-"

func tempAfter(file string) string { return "-" + file }

// syncEvery is how much is written before it is sent to the disk where rdb-save-incremental-fsync is on, bytes. The disk is
// not kept busy by one large sync at the end then.
const syncEvery = 4 << 20

// syncer is a file that sends what is written to the disk now and then.
type syncer struct {
	vfs.File
	pending int
}

func (w *syncer) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	if w.pending += n; err == nil && w.pending >= syncEvery {
		w.pending = 0
		err = w.SyncData()
	}
	return n, err
}

// write makes a new file beside the old one and puts it in its place when it is whole and on disk. It returns how many
// changes the file contains.
func (s *Saver) write(ctx context.Context, j job) (dirty int64, err error) {
	var out outcome
	if j.take != nil {
		defer func() {
			if out.err = err; err != nil && out.file != nil {
				out.file.Close()
				out.file = nil
			}
			j.take <- out
		}()
	}
	set := s.opts.Settings()
	f, err := vfs.CreateTemp(s.fs, set.Dir, tempBefore, tempAfter(set.File))
	if err != nil {
		return 0, err
	}
	dirty, err = s.fill(ctx, f, set, j)
	if err = errors.Join(err, f.Close()); err == nil && j.take != nil {
		out.file, err = s.fs.Open(f.Name()) // as long as nobody else can put another file there
	}
	if err == nil {
		err = s.fs.Rename(f.Name(), filepath.Join(set.Dir, set.File))
	}
	if err != nil {
		return 0, errors.Join(err, s.fs.Remove(f.Name()))
	}
	return dirty, s.fs.SyncDir(set.Dir)
}

// fill writes the data to f and makes it safe.
func (s *Saver) fill(ctx context.Context, f vfs.File, set Settings, j job) (dirty int64, err error) {
	loads := false
	snap, err := s.opts.Taker.Cut(ctx, snapshot.Options{
		Compress: set.Compress, Unsummed: set.Unsummed, Stream: s.e.Log.On() || j.atCut != nil,
		AtCut: func() {
			loads = s.e.Loading() // since the save was begun
			if dirty = s.e.Stats.Dirty.Load(); j.atCut != nil {
				j.atCut()
			}
		},
		Progress: s.progress,
	})
	if err != nil {
		return 0, err
	}
	if loads && !j.loading {
		snap.Drop()
		return 0, ErrLoading
	}
	s.mu.Lock()
	s.mu.keysDone, s.mu.keysTotal = 0, snap.Keys()
	s.mu.Unlock()
	out := f
	if set.SyncOften {
		out = &syncer{File: f}
	}
	if _, err := snap.WriteTo(ctx, out); err != nil {
		return 0, err
	}
	return dirty, f.Sync()
}

func (s *Saver) progress(keys int64) {
	s.mu.Lock()
	s.mu.keysDone = keys
	s.mu.Unlock()
}
