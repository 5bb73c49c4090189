package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/covey-db/covey/internal/aof"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// This file makes the append-only file short again: a new base from a snapshot takes the place of all that was before it.

// rewriting is the rewrite under way, and what became of those before it.
type rewriting struct {
	mu struct { // a leaf lock
		sync.Mutex
		running   bool
		scheduled bool
		cancel    context.CancelFunc
		started   time.Time
		took      time.Duration // of the last one; -1: there was none
		err       error         // of the last one
		count     int64
		failures  int           // one after another
		wait      time.Duration // after so many failures; 0: none yet
		notBefore time.Time
		sizeAfter int64 // bytes of all files when the last one ended
	}
}

// ErrRewriting says that a rewrite is under way.
var ErrRewriting = errors.New("Background append only file rewriting already in progress")

// Rewriting says whether a rewrite is under way.
func (j *Journal) Rewriting() bool {
	j.rw.mu.Lock()
	defer j.rw.mu.Unlock()
	return j.rw.mu.running
}

// BeginsBase says whether the first base is being written: what the append-only file is to keep is nowhere on disk yet.
func (j *Journal) BeginsBase() bool { return j.get() == stateWaiting && j.Rewriting() }

// begin claims the right to rewrite.
func (j *Journal) begin() (context.Context, error) {
	r := &j.rw.mu
	r.Lock()
	defer r.Unlock()
	if r.running {
		return nil, ErrRewriting
	}
	ctx, cancel := context.WithCancel(j.ctx)
	r.running, r.scheduled, r.cancel, r.started = true, false, cancel, time.Now()
	return ctx, nil
}

// Rewrite makes a new base in the background.
func (j *Journal) Rewrite() error {
	j.beginMu.Lock()
	defer j.beginMu.Unlock()
	if j.get() == stateWaiting && !j.Rewriting() {
		return j.beginFirst()
	}
	return j.beginRewrite()
}

// beginRewrite is Rewrite; beginMu is held.
func (j *Journal) beginRewrite() error {
	ctx, err := j.begin()
	if err != nil {
		return err
	}
	j.opts.Log.Info("Background append only file rewriting started")
	j.e.Stats.Background.Add(1)
	j.wg.Add(1)
	go func() {
		defer j.wg.Done()
		err := j.rewrite(ctx)
		if err == nil { // before anybody can begin another one
			j.goOn()
		} else {
			j.dropWaiting()
		}
		j.rewritten(ctx, err)
	}()
	return nil
}

// rewritten notes what became of a rewrite.
func (j *Journal) rewritten(ctx context.Context, err error) {
	size := j.sizes().total
	r := &j.rw.mu
	r.Lock()
	broken := ctx.Err() != nil
	r.cancel()
	r.running = false
	r.took = time.Since(r.started)
	switch {
	case err == nil:
		r.err, r.failures, r.wait = nil, 0, 0
		r.count++
		r.sizeAfter = size
	case !broken:
		r.err = err
		r.failures++
	}
	r.Unlock()
	switch {
	case err == nil:
		j.opts.Log.Info("Background AOF rewrite finished successfully")
	case broken:
		j.opts.Log.Info("Background AOF rewrite was broken off")
	default:
		j.opts.Log.Warn("Background AOF rewrite failed", "reason", err)
	}
}

// saving says whether an RDB file is being written: a rewrite waits for its end, so that what writers hand over is not kept
// twice and the disk has one thing to do.
func (j *Journal) saving() bool { return j.opts.Saving != nil && j.opts.Saving() }

// schedule has Run begin a rewrite as soon as it may.
func (j *Journal) schedule() {
	j.rw.mu.Lock()
	j.rw.mu.scheduled, j.rw.mu.failures, j.rw.mu.wait = true, 0, 0
	j.rw.mu.Unlock()
}

// StopRewrite breaks a rewrite off and does not wait for its end.
func (j *Journal) StopRewrite() {
	j.rw.mu.Lock()
	defer j.rw.mu.Unlock()
	j.rw.mu.scheduled = false
	if j.rw.mu.running {
		j.rw.mu.cancel()
	}
}

// What the name of a base that is not whole begins and ends with; a number is between.
const (
	tempBefore = "temp-rewriteaof-bg-"
	tempAfter  = ".aof"
)

// rewrite writes a new base and puts it in force. It keeps to the directory in which it began, whatever dir is meanwhile.
func (j *Journal) rewrite(ctx context.Context) error {
	set := j.opts.Settings()
	if err := vfs.MakeDirSafe(j.fs, set.dir(), dirMode); err != nil {
		return fmt.Errorf("can't open or create append-only dir %s: %w", set.DirName, err)
	}
	f, err := vfs.CreateTemp(j.fs, set.dir(), tempBefore, tempAfter)
	if err != nil {
		return err
	}
	to, err := j.writeBase(ctx, f, set)
	if err = errors.Join(err, f.Close()); err == nil {
		err = j.install(ctx, f.Name(), set, to)
	}
	if err != nil {
		return errors.Join(err, j.fs.Remove(f.Name()))
	}
	j.removeHistory(set.dir())
	return nil
}

const dirMode = 0o755

// writeBase writes the data as of now to f and makes it safe; what happens from now on goes to another file, if there is one
// at all. It tells what that was.
func (j *Journal) writeBase(ctx context.Context, f vfs.File, set Settings) (kept state, err error) {
	var db int
	snap, err := j.opts.Taker.Cut(ctx, snapshot.Options{Compress: set.Compress, Unsummed: set.Unsummed, AOFBase: true, AtCut: func() {
		kept = j.get()
		db = j.cut(kept)
	}})
	if err != nil {
		return kept, err
	}
	defer snap.Drop()
	if kept == stateOn {
		if err := j.rotate(db, set.dir()); err != nil {
			return kept, err
		}
	}
	out := io.Writer(f)
	if set.SyncOften {
		out = &syncer{File: f}
	}
	if set.Preamble {
		_, err = snap.WriteTo(ctx, out)
	} else {
		err = writeCommands(ctx, out, snap, j.stamp())
	}
	if err != nil {
		return kept, err
	}
	return kept, f.Sync()
}

// stamp is the note of time that a file of commands begins with, or nothing.
func (j *Journal) stamp() []byte {
	if !j.stamps.Load() {
		return nil
	}
	return aof.AppendTimestamp(nil, int64(j.e.Clock.Now())/1000)
}

// cut is called at the moment of the snapshot, under all shard locks: what is in the log from here on belongs behind the new
// base. It returns the database that the stream has selected.
func (j *Journal) cut(kept state) (db int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch kept {
	case stateOn:
		j.mu.stopAt = j.e.Log.End()
	case stateWaiting:
		if f := j.mu.fresh; f != nil {
			j.mu.fresh = nil
			j.attach(f, 0)
		}
	}
	return j.e.Log.StreamDB()
}

// rotate ends the last incremental file, makes it safe and goes on in a new one: a file that is followed by another is never
// cut short by a crash.
func (j *Journal) rotate(db int, dir string) (err error) {
	j.rotating.Store(true)
	defer j.wake()
	defer j.rotating.Store(false)
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	m := &j.mu
	at := m.stopAt
	defer func() { m.stopAt = noStop }() // if anything went wrong the old file goes on
	if m.file == nil {
		return errOff
	}
	if j.drain(); m.failed != nil && !m.syncFail {
		return m.failed
	}
	if err := m.file.Sync(); err != nil && !m.syncFail { // what could not be synced before is why there is a rewrite
		return err
	}
	next := m.manifest.Clone()
	incr := next.NewIncr(j.names())
	f, err := j.openIncr(dir, incr.Name, openNew)
	if err != nil {
		return err
	}
	if err := j.persistOrBack(dir, next, func() error { return j.fs.Remove(f.Name()) }); err != nil {
		return errors.Join(err, f.Close())
	}
	j.opts.Log.Info("Creating AOF incr file " + incr.Name + " on background rewrite")
	old := m.file
	m.manifest = next
	m.closed += m.size
	m.file, m.size, m.head = f, 0, selectDB(db)
	j.advance(at)
	return old.Close()
}

// errOff says that the append-only file was switched off meanwhile.
var errOff = errors.New("the append-only file was switched off")

// install puts a base that is whole in force. kept is what happened to effects when its snapshot was taken.
func (j *Journal) install(ctx context.Context, temp string, set Settings, kept state) error {
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	defer j.mu.Unlock()
	m := &j.mu
	if ctx.Err() != nil || j.get() != kept {
		return errOff
	}
	if m.failed != nil && !m.syncFail {
		return m.failed
	}
	names := aof.Names{File: set.File}
	next := m.manifest.Clone()
	base := next.NewBase(names, set.Preamble)
	info, err := j.fs.Stat(temp)
	if err != nil {
		return err
	}
	steps := [][2]string{{temp, base.Name}}
	if kept == stateWaiting {
		steps = append(steps, [2]string{aof.Path(set.dir(), names.TempIncr()), next.NewIncr(names).Name})
	}
	if kept == stateOff {
		next.RetireIncr(0)
	} else {
		next.RetireIncr(1)
	}
	if err := j.renameAll(set.dir(), next, steps); err != nil {
		return err
	}
	m.manifest = next
	m.closed, m.baseSize = info.Size(), info.Size()
	if m.syncFail {
		m.failed, m.syncFail = nil, false
		j.e.Settings.FileError.Store(nil)
	}
	return nil
}

// goOn makes the file that was collected beside the first base one that counts.
func (j *Journal) goOn() {
	j.mu.Lock()
	begun := j.mu.begun
	turned := j.mu.file != nil && j.state.CompareAndSwap(int32(stateWaiting), int32(stateOn))
	j.mu.Unlock()
	if !turned {
		return
	}
	j.setGate()
	j.advance(begun) // the base has what came before
	j.wake()
}

// renameAll gives files their names in the set that next describes, and makes next the manifest; or else nothing is changed.
func (j *Journal) renameAll(dir string, next *aof.Manifest, steps [][2]string) error {
	done := 0
	back := func() (err error) {
		for _, s := range steps[:done] {
			err = errors.Join(err, j.fs.Rename(aof.Path(dir, s[1]), s[0]))
		}
		return err
	}
	for _, s := range steps {
		if err := j.fs.Rename(s[0], aof.Path(dir, s[1])); err != nil {
			return errors.Join(err, back())
		}
		done++
	}
	return j.persistOrBack(dir, next, back)
}

// dropWaiting gives up the file that collects what happens beside a first base that did not become whole; Run begins anew.
func (j *Journal) dropWaiting() {
	if j.get() != stateWaiting {
		return
	}
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	f := j.detach()
	j.mu.Unlock()
	if f == nil {
		return
	}
	j.opts.Log.Info("Removing the temp incr aof file " + j.names().TempIncr() + " in the background")
	if err := errors.Join(f.Close(), j.fs.Remove(f.Name())); err != nil {
		j.opts.Log.Warn("Cannot remove the temp incr aof file", "reason", err)
	}
}

// syncAfter is how much of a base is written before it is sent to the disk where aof-rewrite-incremental-fsync is on, bytes.
const syncAfter = 4 << 20

// syncer is a file that sends what is written to the disk now and then.
type syncer struct {
	vfs.File
	pending int
}

func (w *syncer) Write(b []byte) (int, error) {
	n, err := w.File.Write(b)
	if w.pending += n; err == nil && w.pending >= syncAfter {
		w.pending = 0
		err = w.SyncData()
	}
	return n, err
}
