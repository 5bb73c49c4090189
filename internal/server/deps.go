package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/command"
	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/persist"
	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/script"
	"github.com/covey-db/covey/internal/vfs"
)

// deps gives the command handlers what they need from outside of the engine.
func (s *Server) deps() command.Deps {
	d := command.Deps{
		Config:           s.store,
		ConfigFile:       s.confFile,
		Version:          Version,
		Shutdown:         s.shutdownCommand,
		AbortShutdown:    s.abortShutdown,
		ShutdownLeft:     s.shutdownLeft,
		Multiplexing:     func() string { return string(s.loops.Backend()) },
		Supervisor:       supervisorOf(s.store.String("supervised")).String(),
		ServingTime:      func() (user, system time.Duration) { return s.loops.ServingTime() },
		Sampler:          &s.sampler,
		Replication:      s.repl.Info,
		ReplicationBytes: s.repl.BufferBytes,
		BusLinks:         s.busLinks,
		Persistence:      s.saver.Info,
		Reload:           s.reload,
		ReloadAppendFile: s.reloadJournal,
		SlowAppendFile:   s.journal.SetSleep,
		AppendFileBytes:  s.journal.BufferBytes,
		FlushedAll:       func() <-chan struct{} { s.repl.Flushed(); return s.saver.Flushed() },
		NewReplID:        replication.NewID,
		LogWarning:       func(text string) { s.log.Warn(text) },
		ReleaseMemory:    debug.FreeOSMemory,
		Memory:           s.processMemory,
		Broadcast:        s.broadcast,
		Scripts:          &s.scripts,
		Freeze:           s.engine.Freeze,
		CachedSockets:    s.mover.CachedSockets,
		Segfault:         func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSEGV) },
	}
	if s.engine.ClusterOn {
		d.Links = linkBreaker{s}
	}
	if s.confFile != "" {
		d.RewriteConfig = func() error { return s.rewriteConfig(s.store.Rewrite) }
		d.RewriteConfigAll = func() error { return s.rewriteConfig(s.store.RewriteAll) }
	}
	if file := s.store.String("aclfile"); file != "" {
		d.LoadUsers = func() ([]acl.Change, error) { return s.readUsers(s.engine.Access.Users, file) }
		d.SaveUsers = s.saveUsers
	}
	return d
}

// busLinks counts the links of the cluster bus and the bytes that wait in them.
func (s *Server) busLinks() (links int, bytes int64) {
	if s.bus == nil {
		return 0, 0
	}
	return s.bus.Links()
}

// broadcast hands a message to the other nodes of the cluster.
func (s *Server) broadcast(channel, message []byte, sharded bool) {
	if s.bus != nil && !s.bus.Publish(channel, message, sharded) {
		s.log.Warn("A message for the other nodes was dropped: too many wait for the cluster bus.")
	}
}

// logOfScript writes a line that a script logs.
func (s *Server) logOfScript(level int, text string) {
	at := [...]string{script.LogDebug: "debug", script.LogVerbose: "verbose", script.LogNotice: "notice", script.LogWarning: "warning"}
	s.log.Log(context.Background(), logLevels[at[level]], text)
}

// processMemory reads what the system and the Go runtime say of this process.
func (s *Server) processMemory() command.ProcessMemory {
	objects, system := s.goMemory()
	return command.ProcessMemory{Resident: residentBytes(), GoHeap: objects, GoSystem: system}
}

// residentBytes is the resident memory of this process, 0 where the system does not tell.
func residentBytes() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// rewriteConfig is CONFIG REWRITE, with what makes the new text: it is whole on disk before it takes the old one's place.
func (s *Server) rewriteConfig(text func(string, []config.User) string) error {
	old, err := s.fs.ReadFile(s.confFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return vfs.WriteFileAtomic(s.fs, s.confFile, []byte(text(string(old), s.userLines())))
}

// errLibrariesThere ends DEBUG RELOAD NOFLUSH: what the file holds is there already.
var errLibrariesThere = errors.New("Error trying to load the RDB dump, a library of functions is there already")

// beginReload tells clients that the data is being loaded; false when it is already, and is not whole.
func (s *Server) beginReload() bool {
	s.engine.LockAll()
	defer s.engine.UnlockAll()
	return s.engine.BeginLoading()
}

// reload is DEBUG RELOAD. From the moment of the save on, clients are told that the data is being loaded: what they wrote
// after it would be lost, and what they wrote into the emptied data would meet the same key in the file.
func (s *Server) reload(o command.ReloadOptions) error {
	if !s.beginReload() {
		return persist.ErrLoading
	}
	defer s.engine.SetLoading(false)
	if o.Save {
		if err := s.saver.SaveLast(true); err != nil {
			return err
		}
	}
	if o.Flush {
		s.emptyAll()
	}
	if n := len(s.scripts.Codes()); n > 0 && !o.Flush && !o.Merge {
		return errLibrariesThere
	}
	_, err := s.saver.LoadInto(o.Merge)
	return err
}
