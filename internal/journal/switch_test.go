package journal

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/vfs"
)

// This file tests that what switches the journal on and off, and what begins and ends a rewrite, keep out of each other's way.

// collects says whether a file waits for a snapshot that has not been taken yet.
func (r *rig) collects() bool {
	r.j.mu.Lock()
	defer r.j.mu.Unlock()
	return r.j.mu.fresh != nil
}

// wantFilesClosed makes sure that nobody keeps a file open.
func (r *rig) wantFilesClosed() {
	r.t.Helper()
	if opened, closed := r.disk.Count(vfs.OpOpen), r.disk.Count(vfs.OpClose); opened != closed {
		r.t.Errorf("%d files were opened and %d closed", opened, closed)
	}
}

// TestFirstBaseEndsOnce: what time brings when a first base is whole leaves it alone, so that what happens next is in the set.
func TestFirstBaseEndsOnce(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.c.change(rng(7), 100)
	r.log.on("rewrite finished", func() {
		r.disk.Slow(vfs.Calls{Op: vfs.OpSync, Name: "temp-rewriteaof-*", Max: 1}, func() { soon(func() bool { return r.j.get() == stateOn }) })
		r.j.periodic(time.Now())
		if r.collects() {
			soon(func() bool { return !r.collects() })
		}
	})
	if err := r.j.Enable(); err != nil {
		t.Fatal(err)
	}
	r.j.wg.Wait()
	r.c.change(rng(8), 100)
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	if next, got := reloaded(t, r.mem); got != r.digest() {
		t.Fatal(got, next.names(), r.log.String())
	}
	r.j.Close()
	if names := r.names(); strings.Contains(names, "temp-") {
		t.Error(names)
	}
}

// TestFailedFirstBaseEndsOnce: what time brings when a first base has failed does not begin in a file that is about to go.
func TestFailedFirstBaseEndsOnce(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.c.change(rng(9), 100)
	r.disk.Fail(vfs.Calls{Op: vfs.OpWrite, Name: "temp-rewriteaof-*", Max: 1}, syscall.ENOSPC)
	r.log.on("rewrite failed", func() { r.j.periodic(time.Now()) })
	if err := r.j.Enable(); err != nil {
		t.Fatal(err)
	}
	r.j.wg.Wait()
	if r.j.get() != stateOn || r.info("aof_rewrites_consecutive_failures") != "0" {
		t.Fatal(r.log.String())
	}
	r.j.Close()
	r.wantFilesClosed()
}

// TestNotEnabledWhileSuspended: CONFIG SET appendonly yes waits for the end of a synchronisation.
func TestNotEnabledWhileSuspended(t *testing.T) {
	for name, enable := range map[string]func(*rig) error{
		"before": func(r *rig) error { r.j.Suspend(); return r.j.Enable() },
		"amid":   func(r *rig) error { r.log.on("AOF was enabled", r.j.Suspend); return r.j.Enable() },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, vfs.NewMem())
			if err := enable(r); err != nil || r.j.On() {
				t.Fatal("it is on", err)
			}
			r.j.Resume()
			r.j.wg.Wait()
			if r.j.get() != stateOn {
				t.Fatal("it is off")
			}
		})
	}
}

// TestResumedAmidSuspend: a synchronisation that is given up while the file is closed leaves the journal on, and what a batch
// of commands has left is written by that batch.
func TestResumedAmidSuspend(t *testing.T) {
	r := newRig(t, vfs.NewMem()).start()
	r.c.change(rng(10), 100)
	done := make(chan struct{})
	r.disk.Slow(vfs.Calls{Op: vfs.OpSync, Name: "*.incr.aof", Max: 1}, func() {
		go func() {
			defer close(done)
			r.j.Resume()
		}()
		soon(func() bool { return r.j.get() == stateOn })
	})
	r.j.Suspend()
	<-done
	r.j.wg.Wait()
	r.c.Do("SET", "a", "1")
	if r.j.get() != stateOn || r.j.lag() > 0 {
		t.Fatal("state", r.j.get(), "behind by", r.j.lag())
	}
}

// TestSuspendedAmidBegin: whoever begins to collect what happens has begun before the journal is switched off.
func TestSuspendedAmidBegin(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	done := make(chan struct{})
	r.disk.Slow(vfs.Calls{Op: vfs.OpOpen, Name: "temp-*.incr", Max: 1}, func() {
		go func() {
			defer close(done)
			r.j.Suspend()
		}()
		soon(func() bool { return !r.j.On() })
	})
	if err := r.j.Enable(); err != nil {
		t.Fatal(err)
	}
	<-done
	r.j.wg.Wait()
	if r.j.On() {
		t.Error("it is on")
	}
	if err := r.j.Rewrite(); err != nil && !errors.Is(err, ErrRewriting) {
		t.Fatal(err)
	}
	r.j.Close()
	r.wantFilesClosed()
	if names := r.names(); strings.Contains(names, "temp-") {
		t.Error(names)
	}
}

// TestRewriteKeepsItsDirectory: a rewrite that has begun leaves no manifest in another directory that is set meanwhile.
func TestRewriteKeepsItsDirectory(t *testing.T) {
	r := newRig(t, vfs.NewMem())
	r.start()
	r.c.change(rng(7), 100)
	const other = "/other/appendonlydir"
	if err := errors.Join(vfs.MakeDirSafe(r.mem, "/other", 0o755), vfs.MakeDirSafe(r.mem, other, 0o755)); err != nil {
		t.Fatal(err)
	}
	r.disk.Slow(vfs.Calls{Op: vfs.OpSync, Name: "temp-rewriteaof-*", Max: 1}, func() {
		r.setMu.Lock()
		r.set.Dir = "/other"
		r.setMu.Unlock()
	})
	if err := r.j.Rewrite(); err != nil {
		t.Fatal(err)
	}
	r.j.wg.Wait()
	r.c.change(rng(8), 100)
	if err := r.j.Flush(); err != nil {
		t.Fatal(err)
	}
	if text, err := r.mem.ReadFile(other + "/appendonly.aof.manifest"); err == nil {
		t.Errorf("what is elsewhere is named there: %s", text)
	}
	if _, got := reloaded(t, r.mem); got != r.digest() {
		t.Error(got)
	}
}
