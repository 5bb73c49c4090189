package server

import (
	"context"
	"fmt"
	"time"

	"github.com/covey-db/covey/internal/config"
	"github.com/covey-db/covey/internal/journal"
	"github.com/covey-db/covey/internal/persist"
)

// This file wires what keeps the data on disk.

// buildDisk makes the keepers of the RDB file and of the append-only file.
func (s *Server) buildDisk() {
	s.saver = persist.New(persist.Options{Engine: s.engine, Taker: s.taker, Settings: s.persistSettings, FS: s.fs, Log: s.log,
		Sending:    func() bool { return s.repl.Sending() },
		AppendFile: func() (always, rest [][2]string) { return s.journal.Info() }})
	s.journal = journal.New(journal.Options{Engine: s.engine, Taker: s.taker, Settings: s.journalSettings, FS: s.fs, Log: s.log,
		Progress: s.saver, Saving: s.saver.Running, Synced: func() { s.repl.FileSynced() },
		Fatal: func(err error) { s.requestShutdown(shutdown{err: err}) }})
}

func (s *Server) journalSettings() journal.Settings {
	c := s.store.Snapshot()
	return journal.Settings{
		Dir: c.String("dir"), DirName: c.String("appenddirname"), File: c.String("appendfilename"),
		LoadTruncated:   c.Bool("aof-load-truncated"),
		Preamble:        c.Bool("aof-use-rdb-preamble"),
		NoSyncOnRewrite: c.Bool("no-appendfsync-on-rewrite"),
		SyncOften:       c.Bool("aof-rewrite-incremental-fsync"),
		GrowPercent:     c.Int("auto-aof-rewrite-percentage"),
		GrowMin:         c.Int("auto-aof-rewrite-min-size"),
		KeepHistory:     c.Bool("aof-disable-auto-gc"),
		Compress:        c.Bool("rdbcompression"), Unsummed: !c.Bool("rdbchecksum"),
	}
}

// journalPuts are the directives that the append-only file must be told of.
func (s *Server) journalPuts() []put {
	policies := map[string]journal.Policy{"no": journal.Never, "everysec": journal.EverySecond, "always": journal.Always}
	return []put{
		{[]string{"appendfsync"}, func(c config.Snapshot) error { s.journal.SetPolicy(policies[c.String("appendfsync")]); return nil }},
		toggle("aof-timestamp-enabled", s.journal.SetTimestamps),
		{[]string{"appendonly"}, func(c config.Snapshot) error {
			if !s.hooked {
				return nil // it begins when the data is loaded
			}
			if c.Bool("appendonly") {
				return s.journal.Enable()
			}
			s.journal.Disable()
			s.repl.FileSynced()
			return nil
		}},
		{[]string{"aof-disable-auto-gc"}, func(c config.Snapshot) error {
			if s.hooked && !c.Bool("aof-disable-auto-gc") {
				s.journal.CollectHistory()
			}
			return nil
		}},
	}
}

// tryDir warns at the start of what would come to light at the first save otherwise: nothing can be written where the data file is.
// The append-only file needs no such look, as its directory is made at the start.
func (s *Server) tryDir() {
	if len(s.store.Value("save").SavePoints()) == 0 {
		return
	}
	if err := s.saver.Try(); err != nil {
		s.log.Warn("Nothing can be saved here; set dir to a directory that the server may write to, or turn saving off (save \"\")", "reason", err)
	}
}

// loadJournal reads the append-only file in place of the RDB file, and goes on with it.
func (s *Server) loadJournal(ctx context.Context) error {
	start := time.Now()
	if err := s.journal.Load(ctx); err != nil {
		return err
	}
	s.log.Info(fmt.Sprintf("DB loaded from append only file: %.3f seconds", time.Since(start).Seconds()))
	s.engine.Stats.Dirty.Store(0)
	return s.journal.Start()
}

// reloadJournal is DEBUG LOADAOF: the data is what the append-only file says.
func (s *Server) reloadJournal() error {
	if !s.beginReload() {
		return persist.ErrLoading
	}
	defer s.engine.SetLoading(false)
	if err := s.journal.Flush(); err != nil {
		return err
	}
	s.emptyAll()
	if err := s.journal.Load(context.Background()); err != nil {
		return err
	}
	s.engine.Stats.Dirty.Store(0)
	s.log.Warn("Append Only File loaded by DEBUG LOADAOF")
	return nil
}

// emptyAll empties every database without an effect for anybody; the node says that it loads.
func (s *Server) emptyAll() {
	s.engine.LockAll()
	s.engine.EmptyAll()
	s.engine.UnlockAll()
	s.engine.FreeTrash(trashPerHold)
}
