package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/covey-db/covey/internal/aof"
	"github.com/covey-db/covey/internal/vfs"
)

// This file switches the append-only file on and off.

const openNew = os.O_TRUNC

// Start goes on with the set that Load has read, or begins one, at the start of the node. Nobody writes yet.
func (j *Journal) Start() error {
	j.wanted.Store(true)
	if err := vfs.MakeDirSafe(j.fs, j.dir(), dirMode); err != nil {
		return fmt.Errorf("Can't open or create append-only dir %s: %s", j.opts.Settings().DirName, reason(err))
	}
	next := j.mu.manifest.Clone()
	if len(next.Files()) == 0 {
		if err := j.firstBase(next); err != nil {
			return fmt.Errorf("Can't create the AOF base file: %w", err)
		}
	}
	verb := "Opening"
	if len(next.Incr) == 0 {
		next.NewIncr(j.names())
		verb = "Creating"
	}
	incr := next.Incr[len(next.Incr)-1]
	f, err := j.openIncr(j.dir(), incr.Name, 0)
	if err == nil {
		err = j.persist(j.dir(), next)
	}
	if err != nil {
		return fmt.Errorf("Can't open the append-only file %s: %s", incr.Name, reason(err))
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	j.opts.Log.Info(verb + " AOF incr file " + incr.Name + " on server start")
	j.begunWith(next, f, info.Size())
	j.removeHistory(j.dir())
	return nil
}

// begunWith begins to write behind the files of a set, whose last one has size bytes.
func (j *Journal) begunWith(set *aof.Manifest, last vfs.File, size int64) {
	closed, base := j.sizeOf(set)
	j.e.LockAll()
	j.mu.Lock()
	j.mu.manifest = set
	j.mu.closed, j.mu.baseSize = closed-size, base
	j.attach(last, size)
	j.synced.Store(j.written.Load())
	j.mu.Unlock()
	j.state.Store(int32(stateOn))
	j.e.UnlockAll()
	j.rw.mu.Lock()
	j.rw.mu.sizeAfter = base
	j.rw.mu.Unlock()
	j.setGate()
	j.e.Log.SetSink(j.kicked)
}

// firstBase writes the data there is, which is none or what an RDB file had, as the base of a new set.
func (j *Journal) firstBase(next *aof.Manifest) error {
	set := j.opts.Settings()
	f, err := vfs.CreateTemp(j.fs, j.dir(), tempBefore, tempAfter)
	if err != nil {
		return err
	}
	_, err = j.writeBase(j.ctx, f, set)
	base := next.NewBase(j.names(), set.Preamble)
	if err = errors.Join(err, f.Close()); err == nil {
		err = j.fs.Rename(f.Name(), aof.Path(j.dir(), base.Name))
	}
	if err != nil {
		return errors.Join(err, j.fs.Remove(f.Name()))
	}
	j.opts.Log.Info("Creating AOF base file " + base.Name + " on server start")
	return nil
}

// errNotOn is the answer to CONFIG SET appendonly yes when it cannot be.
var errNotOn = errors.New("Unable to turn on AOF. Check server logs.")

// Enable begins the first base of a new set; from its snapshot on everything is collected beside it. It does not wait for
// the base.
func (j *Journal) Enable() error {
	if j.wanted.Swap(true) || j.get() != stateOff {
		return nil
	}
	j.opts.Log.Info("AOF was enabled. An AOF background was scheduled to start when possible.")
	if err := j.enable(); err != nil {
		j.wanted.Store(false)
		return errNotOn
	}
	return nil
}

// enable leaves the state off when it fails.
func (j *Journal) enable() error {
	j.beginMu.Lock()
	defer j.beginMu.Unlock()
	if !j.wanted.Load() || j.suspended.Load() || j.get() != stateOff {
		return nil // somebody was faster, or it is not the time: Resume enables
	}
	j.StopRewrite() // one that was begun before has no file beside it
	j.state.Store(int32(stateWaiting))
	j.synced.Store(0)
	j.e.Log.SetSink(j.kicked)
	err := j.beginFirst()
	if err != nil {
		j.opts.Log.Warn("Unable to turn on AOF", "reason", err)
		j.state.Store(int32(stateOff))
		j.e.Log.SetSink(nil)
	}
	return err
}

// beginFirst opens the file that collects what happens, and begins the first base. beginMu is held: a second one would make
// the file empty again.
func (j *Journal) beginFirst() error {
	if j.Rewriting() || j.saving() {
		return nil // what is under way, perhaps being broken off, comes to its end first: Run tries again
	}
	if err := vfs.MakeDirSafe(j.fs, j.dir(), dirMode); err != nil {
		return err
	}
	f, err := j.openIncr(j.dir(), j.names().TempIncr(), openNew)
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.mu.fresh = f
	j.mu.Unlock()
	return j.beginRewrite()
}

// retryFirst is beginFirst after one that failed.
func (j *Journal) retryFirst() {
	if !j.beginMu.TryLock() {
		return // somebody is about to begin something
	}
	defer j.beginMu.Unlock()
	if j.get() != stateWaiting {
		return
	}
	if err := j.beginFirst(); err != nil {
		j.opts.Log.Warn("Cannot begin the append-only file", "reason", err)
		j.rw.mu.Lock()
		j.rw.mu.err = err
		j.rw.mu.failures++
		j.rw.mu.Unlock()
	}
}

// Disable ends the append-only file: what is there already is made safe.
func (j *Journal) Disable() {
	j.wanted.Store(false)
	j.end()
}

// Suspend is Disable while the data set is replaced by a synchronisation, until Resume.
func (j *Journal) Suspend() {
	j.suspended.Store(true)
	j.end()
}

// Resume begins a new set after Suspend if the append-only file is still wanted.
func (j *Journal) Resume() {
	if !j.suspended.Swap(false) {
		return
	}
	if err := j.enable(); err != nil {
		j.opts.Log.Warn("The append-only file will be tried again")
	}
}

// end makes safe what is there and stops. Whoever waits for that to be on disk is not told: the file counts no more.
func (j *Journal) end() {
	j.beginMu.Lock()
	defer j.beginMu.Unlock()
	was := state(j.state.Load())
	if was == stateOff {
		return
	}
	j.StopRewrite()
	j.dropWaiting()
	j.syncMu.Lock()
	j.mu.Lock()
	j.drain()
	j.state.Store(int32(stateOff))
	failed := j.mu.failed
	f := j.detach()
	j.mu.Unlock()
	if f != nil {
		if failed == nil {
			failed = f.Sync()
		}
		if err := errors.Join(failed, f.Close()); err != nil {
			j.opts.Log.Warn("Fail to fsync the AOF file: " + reason(err))
		}
	}
	j.syncMu.Unlock()
	j.e.Log.SetSink(nil)
	j.synced.Store(0)
	j.setGate()
}

// Close ends the journal; Flush comes before it.
func (j *Journal) Close() {
	j.cancel()
	j.e.Log.SetSink(nil)
	j.wg.Wait()
	j.end()
}

// Sweep removes what rewrites left that did not come to their end because the process died.
func (j *Journal) Sweep() {
	removed, err := vfs.RemoveTemp(j.fs, j.dir(), tempBefore, tempAfter)
	if gone := j.fs.Remove(aof.Path(j.dir(), j.names().TempIncr())); gone == nil {
		removed = append(removed, j.names().TempIncr())
	}
	if len(removed) > 0 {
		j.opts.Log.Info("Removed the files of AOF rewrites that were not finished", "names", strings.Join(removed, " "))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		j.opts.Log.Warn("Cannot remove the files of AOF rewrites that were not finished", "reason", err)
	}
}
