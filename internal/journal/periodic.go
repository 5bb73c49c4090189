package journal

import (
	"fmt"
	"time"
)

// This file decides when the append-only file is rewritten without being asked.

const (
	failuresMax = 3 // rewrites that fail one after the other, before the next has to wait
	firstWait   = time.Minute
	lastWait    = time.Hour
)

// periodic does what time brings; Run alone calls it.
func (j *Journal) periodic(now time.Time) {
	if j.e.Settings.CronPaused.Load() || j.e.Loading() || j.Rewriting() || j.saving() {
		return
	}
	switch {
	case j.get() == stateOff:
		if j.wanted.Load() && !j.suspended.Load() && !j.limited(now) {
			_ = j.enable() // what fails is in the log
		} else if j.isScheduled() {
			_ = j.Rewrite() // one that is under way is as good
		}
	case j.get() == stateWaiting:
		if !j.limited(now) {
			j.retryFirst()
		}
	case j.isScheduled(), (j.needsBase() || j.grown()) && !j.limited(now):
		_ = j.Rewrite() // likewise
	}
}

func (j *Journal) isScheduled() bool {
	j.rw.mu.Lock()
	defer j.rw.mu.Unlock()
	return j.rw.mu.scheduled
}

// needsBase says whether only another base makes the data safe again.
func (j *Journal) needsBase() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.syncFail
}

// grown says whether the files have grown as much as auto-aof-rewrite-percentage tells.
func (j *Journal) grown() bool {
	set := j.opts.Settings()
	size := j.sizes().total
	if set.GrowPercent == 0 || size <= set.GrowMin {
		return false
	}
	j.rw.mu.Lock()
	base := max(j.rw.mu.sizeAfter, 1)
	j.rw.mu.Unlock()
	growth := size*100/base - 100
	if growth < set.GrowPercent {
		return false
	}
	j.opts.Log.Info(fmt.Sprintf("Starting automatic rewriting of AOF on %d%% growth", growth))
	return true
}

// limited says whether the next rewrite has to wait because several have failed: from a minute up to an hour.
func (j *Journal) limited(now time.Time) bool {
	r := &j.rw.mu
	r.Lock()
	defer r.Unlock()
	if r.failures < failuresMax {
		return false
	}
	if !r.notBefore.IsZero() && r.wait > 0 {
		if now.Before(r.notBefore) {
			return true
		}
		r.notBefore = time.Time{}
		return false
	}
	if r.wait == 0 {
		r.wait = firstWait
	} else {
		r.wait = min(2*r.wait, lastWait)
	}
	r.notBefore = now.Add(r.wait)
	j.opts.Log.Warn(fmt.Sprintf("Background AOF rewrite has repeatedly failed and triggered the limit, will retry in %d minutes", int(r.wait/time.Minute)))
	return true
}
