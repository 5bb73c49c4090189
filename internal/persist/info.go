package persist

import (
	"fmt"
	"time"
)

// Info is the section Persistence of INFO, as name and value pairs in Redis's order.
func (s *Saver) Info() [][2]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out [][2]string
	add := func(name string, value any) { out = append(out, [2]string{name, fmt.Sprint(value)}) }
	loading, beside, running, status, current := 0, 0, 0, "ok", int64(-1)
	if s.e.Loading() {
		loading = 1
	}
	if s.e.AsyncLoading() {
		beside = 1
	}
	if s.mu.running {
		running, current = 1, int64(time.Since(s.mu.started)/time.Second)
	}
	if s.mu.lastErr != nil {
		status = "err"
	}
	took := int64(-1)
	if s.mu.lastTook >= 0 {
		took = int64(s.mu.lastTook / time.Second)
	}
	add("loading", loading)
	add("async_loading", beside)
	held, most, last := s.opts.Taker.Held()
	add("current_cow_peak", most)
	add("current_cow_size", held)
	add("current_cow_size_age", 0)
	add("current_fork_perc", "0.00")
	add("current_save_keys_processed", s.keysIf(running, s.mu.keysDone))
	add("current_save_keys_total", s.keysIf(running, s.mu.keysTotal))
	add("rdb_changes_since_last_save", s.e.Stats.Dirty.Load())
	add("rdb_bgsave_in_progress", max(running, s.sending()))
	add("rdb_last_save_time", s.mu.lastSave.Unix())
	add("rdb_last_bgsave_status", status)
	add("rdb_last_bgsave_time_sec", took)
	add("rdb_current_bgsave_time_sec", current)
	add("rdb_saves", s.mu.saves)
	add("rdb_last_cow_size", last)
	add("rdb_last_load_keys_expired", s.loading.last.Expired)
	add("rdb_last_load_keys_loaded", int64(s.loading.last.Keys)-s.loading.last.Expired)
	var rest [][2]string
	if s.opts.AppendFile != nil {
		var always [][2]string
		always, rest = s.opts.AppendFile()
		out = append(out, always...)
	}
	add("module_fork_in_progress", 0)
	add("module_fork_last_cow_size", 0)
	out = append(out, rest...)
	if loading+beside > 0 {
		s.loadingInfo(add)
	}
	return out
}

// loadingInfo tells how far a load is; s.mu is held.
func (s *Saver) loadingInfo(add func(name string, value any)) {
	total, done := s.loading.total, s.loading.done.Load()
	left := int64(1) // seconds; nobody knows before the first byte
	if done > 0 {
		left = int64(time.Since(s.loading.startedAt).Seconds() * float64(total-done) / float64(done))
	}
	add("loading_start_time", s.loading.startedAt.Unix())
	add("loading_total_bytes", total)
	add("loading_rdb_used_mem", 0)
	add("loading_loaded_bytes", done)
	add("loading_loaded_perc", fmt.Sprintf("%.2f", 100*float64(done)/float64(max(total, 1))))
	add("loading_eta_seconds", left)
}

func (s *Saver) keysIf(running int, n int64) int64 {
	if running == 0 {
		return 0
	}
	return n
}

func (s *Saver) sending() int {
	if s.opts.Sending != nil && s.opts.Sending() {
		return 1
	}
	return 0
}
