package server

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/engine"
)

// shutdown is a wish to end.
type shutdown struct {
	noSave, save, now, force bool
	err                      error
}

func (s *Server) requestShutdown(how shutdown) {
	select {
	case s.quit <- how:
	default: // one is under way
	}
}

// await returns when the node is to end and has saved what is to be saved.
func (s *Server) await(ctx context.Context, loaded <-chan error) error {
	for {
		var how shutdown
		select {
		case err := <-loaded:
			if err != nil {
				return err
			}
			s.start(ctx)
			s.log.Info("Ready to accept connections tcp")
			continue
		case how = <-s.quit:
		case <-ctx.Done():
			s.log.Warn("Received SIGTERM scheduling shutdown...")
		}
		if how.err != nil {
			return how.err
		}
		if err := s.finish(how); err == nil || ctx.Err() != nil || how.force {
			return nil
		}
	}
}

// finish lets replicas catch up and saves.
func (s *Server) finish(how shutdown) error {
	s.log.Warn("User requested shutdown...")
	if s.engine.Loading() { // what is in memory is not the data
		return nil
	}
	if !how.now {
		s.letReplicasCatchUp()
	}
	if how.noSave || !how.save && len(s.store.Value("save").SavePoints()) == 0 {
		return nil
	}
	s.log.Info("Saving the final RDB snapshot before exiting.")
	s.saver.Stop()
	if err := s.saver.Save(); err != nil {
		s.log.Warn("Error trying to save the DB, can't exit.", "reason", err)
		return err
	}
	return nil
}

// letReplicasCatchUp pauses writes until all replicas have everything, for shutdown-timeout at most.
func (s *Server) letReplicasCatchUp() {
	wait := time.Duration(s.store.Int("shutdown-timeout")) * time.Second
	if wait == 0 || s.engine.Role.IsReplica() || s.repl.ReplicaCount() == 0 {
		return
	}
	now := s.engine.Clock.Now()
	s.engine.Pause.Begin(engine.PauseByClient, engine.PauseWrites, now, now+clock.Millis(wait/time.Millisecond))
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	s.repl.AwaitReplicas(ctx, s.engine.Log.End())
}

// shutdownCommand is SHUTDOWN.
func (s *Server) shutdownCommand(o command.ShutdownOptions) error {
	s.requestShutdown(shutdown{noSave: o.NoSave, save: o.Save, now: o.Now, force: o.Force})
	return nil
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
