package server

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/persist"
)

// shutdown is a wish to end.
type shutdown struct {
	noSave, save, now, force bool
	err                      error  // the server cannot go on
	failed                   func() // called when the server goes on instead; may be nil
	why                      string // for the log
}

// quitQueue bounds the wishes that wait; more are dropped, as one is enough.
const quitQueue = 16

// ending is the shutdown under way.
type ending struct {
	mu      sync.Mutex // guards what follows
	waiting []func()   // whom to tell when the server goes on
	until   time.Time  // when the wait for replicas ends, zero when there is none
	stop    chan struct{}
	stopped bool // stop is closed
	active  bool
	final   bool      // it is too late to abort
	urgent  bool      // end now, whatever there is to save
	held    *shutdown // wish of a signal that came while the cron was paused
}

// hold keeps a wish until the cron goes on.
func (n *ending) hold(how shutdown) {
	n.mu.Lock()
	n.held = &how
	n.mu.Unlock()
}

// takeHeld takes the wish that is kept, nil if there is none.
func (n *ending) takeHeld() *shutdown {
	n.mu.Lock()
	defer n.mu.Unlock()
	how := n.held
	n.held = nil
	return how
}

// begin notes a wish; false when a shutdown is under way already, which the wish then only waits for.
func (n *ending) begin(failed func()) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if failed != nil {
		n.waiting = append(n.waiting, failed)
	}
	if n.active {
		return false
	}
	n.active, n.stop, n.stopped = true, make(chan struct{}), false
	return true
}

// giveUp ends the shutdown under way: the server goes on, and whoever waits is told.
func (n *ending) giveUp() {
	n.mu.Lock()
	waiting := n.waiting
	n.waiting, n.active, n.final, n.until = nil, false, false, time.Time{}
	n.mu.Unlock()
	for _, failed := range waiting {
		failed()
	}
}

// commit ends the time in which the shutdown can be aborted. False when it was.
func (n *ending) commit() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.final = !n.active || !n.stopped || n.urgent
	return n.final
}

// hurry ends the wait for replicas; urgent also gives up saving. False when no shutdown is under way, or none that could still be
// aborted.
func (n *ending) hurry(urgent bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.active || n.final && !urgent {
		return false
	}
	n.urgent = n.urgent || urgent
	if !n.stopped {
		n.stopped = true
		close(n.stop)
	}
	return true
}

func (s *Server) requestShutdown(how shutdown) {
	if how.err == nil && !s.ending.begin(how.failed) {
		return // one is under way
	}
	select {
	case s.quit <- how:
	default:
	}
}

var (
	errAborted   = errors.New("aborted")
	errFirstBase = errors.New("the first base of the append-only file is being written: nothing else has the data")
)

// await returns when the node is to end and has saved what is to be saved.
func (s *Server) await(ctx context.Context, loaded <-chan error) error {
	for {
		select {
		case err := <-loaded:
			if err != nil {
				return err
			}
			s.start(ctx)
			s.sayReady()
			s.notifyReady()
		case how := <-s.quit:
			if how.err != nil {
				return how.err
			}
			s.log.Warn(how.why)
			if err := s.finish(how); err == nil || how.force || s.isUrgent() {
				return nil
			}
			s.engine.Pause.End(engine.PauseByShutdown, s.engine.Clock.Now())
			s.ending.giveUp()
		case <-ctx.Done():
			_ = s.finish(shutdown{force: true}) // the process ends in any case
			return nil
		}
	}
}

func (s *Server) isUrgent() bool {
	s.ending.mu.Lock()
	defer s.ending.mu.Unlock()
	return s.ending.urgent
}

// finish lets replicas catch up, stops writes and saves. An error means that the node goes on, unless it is forced to end.
func (s *Server) finish(how shutdown) error {
	s.engine.AbortScripts() // they might hold data for ever
	if s.engine.Loading() { // what is in memory is not the data
		return nil
	}
	if !how.now {
		s.letReplicasCatchUp()
	}
	if !s.ending.commit() {
		s.log.Warn("Shutdown manually aborted.")
		return errAborted
	}
	s.stopWrites()
	if s.journal.BeginsBase() {
		if !how.force {
			s.log.Warn("Writing initial AOF, can't exit.")
			s.log.Warn("Errors trying to shut down the server.")
			return errFirstBase
		}
		s.log.Warn("Writing initial AOF. Exit anyway.")
	}
	if s.journal.On() {
		s.log.Info("Calling fsync() on the AOF file.")
		if err := s.journal.Flush(); err != nil {
			s.log.Warn("Fail to fsync the AOF file", "reason", err)
		}
	}
	if how.noSave || !how.save && len(s.store.Value("save").SavePoints()) == 0 {
		return nil
	}
	s.log.Info("Saving the final RDB snapshot before exiting.")
	if err := s.saver.SaveLast(false); err != nil && !errors.Is(err, persist.ErrLoading) {
		s.log.Warn("Error trying to save the DB, can't exit.", "reason", err)
		if !how.force {
			s.log.Warn("Errors trying to shut down the server.")
		}
		return err
	}
	return nil
}

// letReplicasCatchUp pauses writes until all replicas have everything, for shutdown-timeout at most, or until that is aborted.
func (s *Server) letReplicasCatchUp() {
	wait := time.Duration(s.store.Int("shutdown-timeout")) * time.Second
	if wait == 0 || s.engine.Role.IsReplica() || s.repl.ReplicaCount() == 0 {
		return
	}
	now := s.engine.Clock.Now()
	s.engine.Pause.Begin(engine.PauseByShutdown, engine.PauseWrites, now, now+clock.Millis(wait/time.Millisecond)+1000)
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	n := &s.ending
	n.mu.Lock()
	n.until = time.Now().Add(wait)
	stop := n.stop
	n.mu.Unlock()
	go func() {
		select {
		case <-stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	total := s.repl.ReplicaCount()
	at := s.engine.Log.End()
	s.repl.AwaitReplicas(ctx, at)
	n.mu.Lock()
	aborted := n.stopped && !n.urgent
	n.until = time.Time{}
	n.mu.Unlock()
	if aborted {
		return
	}
	lagging := s.repl.Lagging(at)
	for _, one := range lagging {
		s.log.Info("Lagging replica " + one)
	}
	s.log.Info(fmt.Sprintf("%d of %d replicas are in sync when shutting down.", total-len(lagging), total))
}

// stopWrites keeps clients from writing until the end, or until the node goes on after all: what they wrote beside the last save
// would be acknowledged, and not in the file.
func (s *Server) stopWrites() {
	s.engine.Pause.Begin(engine.PauseByShutdown, engine.PauseWrites, s.engine.Clock.Now(), math.MaxInt64)
}

// shutdownCommand is SHUTDOWN.
func (s *Server) shutdownCommand(o command.ShutdownOptions, failed func()) {
	s.requestShutdown(shutdown{noSave: o.NoSave, save: o.Save, now: o.Now, force: o.Force, failed: failed, why: "User requested shutdown..."})
}

// abortShutdown is SHUTDOWN ABORT. It can end the wait for replicas, and take back a signal that waits for the cron.
func (s *Server) abortShutdown() bool {
	if s.ending.takeHeld() != nil {
		s.log.Warn("Shutdown manually aborted.")
		return true
	}
	return s.ending.hurry(false)
}

// shutdownLeft is how many milliseconds are left of the wait for replicas.
func (s *Server) shutdownLeft() int64 {
	s.ending.mu.Lock()
	defer s.ending.mu.Unlock()
	if s.ending.until.IsZero() {
		return 0
	}
	return max(time.Until(s.ending.until).Milliseconds(), 1)
}

// Signal ends the node as shutdown-on-sigint or shutdown-on-sigterm says; name is SIGINT or SIGTERM. A second SIGINT does not
// wait for anything.
func (s *Server) Signal(name string) {
	if name == "SIGINT" && s.ending.hurry(true) {
		s.log.Warn("You insist... exiting now.")
		s.saver.Stop()
		return
	}
	how := shutdown{why: "Received " + name + " scheduling shutdown..."}
	for _, word := range strings.Fields(s.store.String("shutdown-on-" + strings.ToLower(name))) {
		switch word {
		case "save":
			how.save = true
		case "nosave":
			how.noSave = true
		case "now":
			how.now = true
		case "force":
			how.force = true
		}
	}
	if s.engine.Settings.CronPaused.Load() {
		s.ending.hold(how)
		return
	}
	s.requestShutdown(how)
}

// removeFiles removes the pid file and the Unix socket.
func (s *Server) removeFiles() {
	if s.listeners.unix != "" {
		os.Remove(s.listeners.unix)
	}
	if path := s.pidFile(); path != "" {
		os.Remove(path)
	}
}

// pidFile is the path of the pid file, "" for none: a daemon has one always.
func (s *Server) pidFile() string {
	path := s.store.String("pidfile")
	if path == "" && s.store.Bool("daemonize") {
		return "/var/run/redis.pid"
	}
	return path
}

// WritePID writes the pid file.
func (s *Server) WritePID() {
	path := s.pidFile()
	if path == "" {
		return
	}
	if err := os.WriteFile(path, []byte(fmt.Sprintf("%d\n", os.Getpid())), 0o644); err != nil {
		s.log.Warn("Cannot write the pid file", "path", path, "reason", err)
	}
}
