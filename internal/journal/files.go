package journal

import (
	"errors"
	"io/fs"

	"github.com/covey-db/covey/internal/aof"
	"github.com/covey-db/covey/internal/vfs"
)

// This file holds what concerns the files of the set as a whole.

// persist writes a manifest; when it returns nil the manifest is safe.
func (j *Journal) persist(dir string, m *aof.Manifest) error {
	return vfs.WriteFileAtomic(j.fs, aof.Path(dir, j.names().Manifest()), m.AppendText(nil))
}

// persistOrBack is persist, but when that fails the manifest of before is written again and back undoes what was done for the
// new one. If not even that can be, either manifest may be on disk, so the files of both stay. mu is held.
func (j *Journal) persistOrBack(dir string, next *aof.Manifest, back func() error) error {
	err := j.persist(dir, next)
	if err == nil {
		return nil
	}
	if len(j.mu.manifest.Files()) == 0 {
		again := j.fs.Remove(aof.Path(dir, j.names().Manifest()))
		if again != nil && !errors.Is(again, fs.ErrNotExist) {
			return errors.Join(err, again)
		}
	} else if again := j.persist(dir, j.mu.manifest); again != nil {
		return errors.Join(err, again)
	}
	return errors.Join(err, back())
}

// readManifest reads the manifest; one that is not there is that of a set without files.
func (j *Journal) readManifest() (*aof.Manifest, error) {
	text, err := j.fs.ReadFile(aof.Path(j.dir(), j.names().Manifest()))
	if errors.Is(err, fs.ErrNotExist) {
		return &aof.Manifest{}, nil
	}
	if err != nil {
		return nil, err
	}
	return aof.ParseManifest(text)
}

// CollectHistory removes the files that are history, where aof-disable-auto-gc kept them so far.
func (j *Journal) CollectHistory() { j.removeHistory(j.dir()) }

// removeHistory removes the files that are history, and then their lines.
func (j *Journal) removeHistory(dir string) {
	if j.opts.Settings().KeepHistory {
		return
	}
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	old := j.mu.manifest.History
	j.mu.Unlock()
	if len(old) == 0 {
		return
	}
	for _, f := range old {
		j.opts.Log.Info("Removing the history file " + f.Name + " in the background")
		if err := j.fs.Remove(aof.Path(dir, f.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			j.opts.Log.Warn("Cannot remove a history file", "name", f.Name, "reason", err)
			return
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	next := j.mu.manifest.Clone()
	next.History = nil
	if err := j.persist(dir, next); err != nil {
		j.opts.Log.Warn("Cannot write the AOF manifest", "reason", err)
		return
	}
	j.mu.manifest = next
}

// fileSizes are bytes.
type fileSizes struct{ total, base int64 }

// sizes are those of the set.
func (j *Journal) sizes() fileSizes {
	j.mu.Lock()
	defer j.mu.Unlock()
	return fileSizes{j.mu.closed + j.mu.size, j.mu.baseSize}
}

// sizeOf sums up the files of a set; one that cannot be looked at counts nothing.
func (j *Journal) sizeOf(m *aof.Manifest) (total, base int64) {
	for _, f := range m.Files() {
		info, err := j.fs.Stat(aof.Path(j.dir(), f.Name))
		if err != nil {
			continue
		}
		total += info.Size()
		if f.Kind == aof.Base {
			base = info.Size()
		}
	}
	return total, base
}
