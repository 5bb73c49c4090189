package journal

import (
	"fmt"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// Handlers are the commands of the append-only file.
func (j *Journal) Handlers() map[string]engine.Handler {
	return map[string]engine.Handler{"bgrewriteaof": {Run: j.cmdRewrite}}
}

func (j *Journal) cmdRewrite(c *engine.Ctx) {
	if j.Rewriting() {
		c.Err("ERR " + ErrRewriting.Error())
		return
	}
	if c.HoldsLocks() || c.InExec() || j.saving() { // the snapshot comes when the transaction, or the other one, is over
		j.schedule()
		c.Simple("Background append only file rewriting scheduled")
		return
	}
	if err := j.Rewrite(); err != nil {
		c.Err("ERR " + err.Error())
		return
	}
	c.Simple("Background append only file rewriting started")
}

// Info is the part of the section Persistence of INFO that tells of the append-only file, in Redis's order: the fields that
// are always there, and those that follow all others.
func (j *Journal) Info() (always, rest [][2]string) {
	add := func(list *[][2]string, name string, value any) {
		*list = append(*list, [2]string{name, fmt.Sprint(value)})
	}
	yes := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	status := func(err error) string {
		if err != nil {
			return "err"
		}
		return "ok"
	}
	j.mu.Lock()
	failed := j.mu.failed
	j.mu.Unlock()
	r := &j.rw.mu
	r.Lock()
	current, took := int64(-1), int64(-1)
	if r.running {
		current = int64(time.Since(r.started) / time.Second)
	}
	if r.took >= 0 {
		took = int64(r.took / time.Second)
	}
	scheduled := r.scheduled || j.get() == stateWaiting && !r.running
	add(&always, "aof_enabled", yes(j.On()))
	add(&always, "aof_rewrite_in_progress", yes(r.running))
	add(&always, "aof_rewrite_scheduled", yes(scheduled))
	add(&always, "aof_last_rewrite_time_sec", took)
	add(&always, "aof_current_rewrite_time_sec", current)
	add(&always, "aof_last_bgrewrite_status", status(r.err))
	add(&always, "aof_rewrites", r.count)
	add(&always, "aof_rewrites_consecutive_failures", r.failures)
	add(&always, "aof_last_write_status", status(failed))
	add(&always, "aof_last_cow_size", 0)
	r.Unlock()
	if j.On() {
		size := j.sizes()
		add(&rest, "aof_current_size", size.total)
		add(&rest, "aof_base_size", size.base)
		add(&rest, "aof_pending_rewrite", yes(scheduled))
		add(&rest, "aof_buffer_length", j.lag())
		add(&rest, "aof_pending_bio_fsync", yes(j.syncing.Load() != 0))
		add(&rest, "aof_delayed_fsync", j.delayed.Load())
	}
	return always, rest
}

// BufferBytes is how much of the log waits to be written.
func (j *Journal) BufferBytes() int64 {
	if !j.On() {
		return 0
	}
	return j.lag()
}
