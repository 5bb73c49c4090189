package server

import (
	"context"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
)

const (
	cronPeriod   = 100 * time.Millisecond
	expireShare  = 25  // percent of a period that expiry may take with active-expire-effort 1
	effortShare  = 2   // percent more for each further step of effort
	trashPerHold = 128 // records freed under one hold of a lock: about 20 µs, and more when they are in no cache
	trashShare   = 75  // percent of a period that freeing may take, half of which it waits
)

// cron does what the node does without being asked.
func (s *Server) cron(ctx context.Context) error {
	w := s.engine.NewWorker()
	defer w.Drop()
	tick := time.NewTicker(cronPeriod)
	defer tick.Stop()
	second := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if s.engine.Settings.CronPaused.Load() {
				continue
			}
			s.engine.AwaitThaw()
			if how := s.ending.takeHeld(); how != nil {
				s.requestShutdown(*how)
			}
			t := w.BeginTurn()
			s.sampler.Tick(s.engine, now)
			s.expire(w)
			s.evict(w)
			s.engine.FreeTrashBeside(trashPerHold, cronPeriod*trashShare/100)
			s.engine.LookAtClients()
			if now.Sub(second) >= time.Second {
				second = now
				s.engine.TickClock()
				s.engine.Decay()
				s.notePeak()
				s.engine.ClientMemory.TickRecent()
				s.engine.CheckOutputs()
				s.closeIdle()
			}
			s.engine.Stats.CronNanos.Add(w.EndTurn(t))
		}
	}
}

// expire runs cycles while keys are due and there is time.
func (s *Server) expire(w *engine.Worker) {
	start := time.Now()
	budget := cronPeriod * time.Duration(expireShare+effortShare*(s.store.Int("active-expire-effort")-1)) / 100
	for more := true; more && time.Since(start) < budget; {
		_, more = s.engine.ExpireCycle(w)
	}
	s.engine.NoteEvent("expire-cycle", int64(time.Since(start)))
}

// evictTime is how much of a period eviction may take.
const evictTime = cronPeriod / 4

// evict drops keys while the data does not fit and there is time.
func (s *Server) evict(w *engine.Worker) {
	for start := time.Now(); s.engine.EvictCycle(w) && time.Since(start) < evictTime; {
	}
}

func (s *Server) notePeak() {
	peak := &s.engine.Stats.PeakMemory
	if used := s.engine.UsedMemory(); used > peak.Load() {
		peak.Store(used)
	}
}

// closeIdle ends clients that have been silent for longer than timeout, but not those that wait, subscribe or replicate.
func (s *Server) closeIdle() {
	limit := s.engine.Settings.IdleTimeoutMs.Load()
	if limit == 0 {
		return
	}
	now := s.engine.Clock.Now()
	const spared = engine.FlagBlocked | engine.FlagPubSub | engine.FlagReplica | engine.FlagPrimary
	for _, c := range s.engine.Clients.All() {
		info := c.Info()
		if info.Flags&spared == 0 && now-info.Last > clock.Millis(limit) {
			c.Kill()
		}
	}
}
