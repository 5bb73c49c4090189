package journal

import (
	"errors"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/vfs"
)

// This file sends what was written to the disk.

const (
	syncEvery  = time.Second     // appendfsync everysec
	slowSync   = 2 * time.Second // a sync that takes longer no longer keeps writes back
	retryWrite = time.Second     // pause after a write that failed
)

// step writes and syncs what is there; Run alone calls it.
func (j *Journal) step(now time.Time) {
	if j.get() == stateOff {
		return
	}
	if Policy(j.policy.Load()) == Always {
		j.commit(now)
		return
	}
	if j.lag() > 0 && j.mayWrite(now) {
		j.mu.Lock()
		j.drain()
		j.mu.Unlock()
	}
	if Policy(j.policy.Load()) == EverySecond && now.Sub(j.lastSync) >= syncEvery && j.written.Load() != j.synced.Load() && j.maySync() {
		j.startSync(now)
	}
}

// mayWrite says whether a write is due: not soon after one that failed, and not while the disk is busy with a sync.
func (j *Journal) mayWrite(now time.Time) bool {
	j.mu.Lock()
	failed := j.mu.failed != nil
	j.mu.Unlock()
	if failed {
		if now.Sub(j.triedWrite) < retryWrite {
			return false
		}
		j.triedWrite = now
	}
	since := j.syncing.Load()
	if since == 0 {
		return true
	}
	if now.Sub(time.Unix(0, since)) < slowSync {
		return false
	}
	j.delayed.Add(1)
	j.opts.Log.Info("Asynchronous AOF fsync is taking too long (disk is busy?). Writing without waiting for it.")
	return true
}

// maySync says whether no-appendfsync-on-rewrite lets a sync be.
func (j *Journal) maySync() bool {
	if !j.opts.Settings().NoSyncOnRewrite {
		return true
	}
	return !j.Rewriting() && !j.saving()
}

// commit writes everything and waits until it is on disk: one sync for all clients whose effects it has.
func (j *Journal) commit(now time.Time) {
	if j.get() == stateWaiting && !j.mayWrite(now) {
		return
	}
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	j.drain()
	f, at, bad := j.mu.file, j.written.Load(), j.mu.failed != nil || j.mu.midway
	j.mu.Unlock()
	if f == nil || bad || at == j.synced.Load() {
		return
	}
	if j.maySync() {
		start := time.Now()
		if err := f.SyncData(); err != nil {
			j.syncFailed(err)
			return
		}
		j.e.NoteEvent("aof-fsync-always", int64(time.Since(start)))
	}
	j.advance(at)
}

// startSync syncs in the background.
func (j *Journal) startSync(now time.Time) {
	if !j.syncing.CompareAndSwap(0, now.UnixNano()) {
		return
	}
	j.lastSync = now
	j.wg.Add(1)
	go func() {
		defer j.wg.Done()
		j.syncMu.Lock()
		j.mu.Lock()
		f, at := j.mu.file, j.written.Load()
		j.mu.Unlock()
		if f != nil {
			j.syncFile(f, at)
		}
		j.syncMu.Unlock()
		j.syncing.Store(0)
		j.wake()
	}()
}

// syncFile makes what was written to f safe, which is everything up to at; syncMu is held.
func (j *Journal) syncFile(f vfs.File, at engine.Offset) {
	if err := f.SyncData(); err != nil {
		j.syncFailed(err)
		return
	}
	j.advance(at)
}

// syncFailed has writes refused until there is another base: what the file had may be gone, whatever a second sync says.
func (j *Journal) syncFailed(err error) {
	j.mu.Lock()
	first := j.mu.failed == nil
	j.mu.failed, j.mu.syncFail = err, true
	j.mu.Unlock()
	text := reason(err)
	j.e.Settings.FileError.Store(&text)
	if first {
		j.opts.Log.Warn("Fail to fsync the AOF file: " + text)
	}
	if Policy(j.policy.Load()) == Always && j.get() == stateOn {
		j.opts.Fatal(errors.New("Can't persist AOF for fsync error when the AOF fsync policy is 'always': " + text + ". Exiting..."))
	}
}

// Flush writes and syncs everything, for the end of the node. It does nothing while the journal is off.
func (j *Journal) Flush() error {
	if j.get() == stateOff {
		return nil
	}
	j.syncMu.Lock()
	defer j.syncMu.Unlock()
	j.mu.Lock()
	j.drain()
	f, at, err := j.mu.file, j.written.Load(), j.mu.failed
	j.mu.Unlock()
	if f == nil || err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	j.advance(at)
	return nil
}
