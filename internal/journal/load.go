package journal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/covey-db/covey/internal/aof"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// This file replays a set of files.

// Load replays the set into an empty keyspace. A set that is not there is empty. Errors are for the log as they are.
func (j *Journal) Load(ctx context.Context) error {
	set, err := j.findSet()
	if err != nil {
		return err
	}
	j.mu.Lock()
	j.mu.manifest = set
	j.mu.Unlock()
	files := set.Files()
	total := int64(0)
	for _, f := range files {
		info, err := j.fs.Stat(aof.Path(j.dir(), f.Name))
		if err != nil {
			return fmt.Errorf("Unable to obtain the AOF file %s length. stat: %s", f.Name, reason(err))
		}
		total += info.Size()
	}
	if total == 0 {
		return nil
	}
	j.opts.Progress.BeginLoad(total)
	l := &loader{j: j, ctx: ctx, set: j.opts.Settings(), replay: j.e.NewReplay()}
	defer l.replay.Close()
	for i, f := range files {
		start := time.Now()
		if err := l.file(f, i == len(files)-1); err != nil {
			return err
		}
		kind := "incr"
		if f.Kind == aof.Base {
			kind = "base"
		}
		j.opts.Log.Info(fmt.Sprintf("DB loaded from %s file %s: %.3f seconds", kind, f.Name, time.Since(start).Seconds()))
	}
	return nil
}

// findSet reads the manifest. The single file of a Redis before 7.0 becomes the base of a new set.
func (j *Journal) findSet() (*aof.Manifest, error) {
	set := j.opts.Settings()
	names := j.names()
	m, err := j.readManifest()
	if err != nil {
		return nil, fmt.Errorf("Error reading the AOF manifest file %s: %w", names.Manifest(), err)
	}
	old := aof.Path(set.Dir, set.File)
	if info, err := j.fs.Stat(old); err != nil || info.IsDir() || !j.upgrades(m, names) {
		return m, nil
	}
	if err := vfs.MakeDirSafe(j.fs, j.dir(), dirMode); err != nil {
		return nil, fmt.Errorf("Can't open or create append-only dir %s: %s", set.DirName, reason(err))
	}
	m = aof.Upgrade(names)
	if err := j.persist(j.dir(), m); err != nil {
		return nil, err
	}
	if err := j.fs.Rename(old, aof.Path(j.dir(), set.File)); err != nil {
		return nil, fmt.Errorf("Error trying to move the old AOF file %s into dir %s: %s", set.File, set.DirName, reason(err))
	}
	if err := errors.Join(j.fs.SyncDir(j.dir()), j.fs.SyncDir(set.Dir)); err != nil {
		return nil, err
	}
	j.opts.Log.Info(fmt.Sprintf("Successfully migrated an old-style AOF file (%s) into the AOF directory (%s).", set.File, set.DirName))
	return m, nil
}

// upgrades says whether a single file of old is to be used: there is no set, or one whose making was interrupted.
func (j *Journal) upgrades(m *aof.Manifest, n aof.Names) bool {
	if len(m.Incr) > 0 {
		return false
	}
	if m.Base == nil {
		return true
	}
	_, err := j.fs.Stat(aof.Path(j.dir(), n.File))
	return m.Base.Name == n.File && errors.Is(err, fs.ErrNotExist)
}

// loader replays files one after the other: the database that is selected lasts.
type loader struct {
	j      *Journal
	ctx    context.Context
	set    Settings
	replay *engine.Replay
	begun  int64 // offset of the MULTI under way
}

const readBytes = 1 << 20

// counted reads a file and tells how far it is.
type counted struct {
	r io.Reader
	p Progress
}

func (c counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.p.Loaded(int64(n))
	return n, err
}

func (l *loader) file(f aof.File, last bool) error {
	path := aof.Path(l.j.dir(), f.Name)
	file, err := l.j.fs.Open(path)
	if err != nil {
		return fmt.Errorf("Fatal error: can't open the append log file %s for reading: %s", f.Name, reason(err))
	}
	defer file.Close()
	in := bufio.NewReaderSize(counted{file, l.j.opts.Progress}, readBytes)
	stream, offset := io.Reader(in), int64(0)
	if head, _ := in.Peek(aof.HeadBytes); aof.IsRDB(head) {
		loaded, err := snapshot.Load(l.j.e, in, snapshot.LoadOptions{Stop: l.ctx.Done(), Unsummed: l.set.Unsummed, KeepExpired: l.j.e.Role.IsReplica()})
		if err != nil {
			return fmt.Errorf("Error reading the RDB base file %s, AOF loading aborted: %w", f.Name, err)
		}
		stream, offset = loaded.Rest, loaded.Bytes
	}
	err = l.commands(aof.NewScanner(stream, offset), f)
	var damage *aof.Damage
	if errors.As(err, &damage) {
		return l.damaged(f, damage, last)
	}
	return err
}

// commands executes a stream to its end.
func (l *loader) commands(s *aof.Scanner, f aof.File) error {
	delay := &l.j.e.Settings.LoadKeyDelay
	for n := 0; ; n++ {
		const lookEvery = 256 // records between two looks at ctx
		if n%lookEvery == 0 && l.ctx.Err() != nil {
			return l.ctx.Err()
		}
		rec, err := s.Next()
		if err == io.EOF {
			return l.ended(s)
		}
		if err != nil {
			return err
		}
		if rec.Args == nil {
			continue
		}
		if !l.replay.Known(rec.Args) {
			return fmt.Errorf("Unknown command '%s' reading the append only file %s", rec.Args[0], f.Name)
		}
		if bytes.EqualFold(rec.Args[0], []byte("multi")) {
			l.begun = rec.At
		}
		l.replay.Do(rec.Args)
		if d := delay.Load(); d > 0 {
			l.wait(time.Duration(d) * time.Microsecond)
		}
	}
}

// ended is the end of a file. A transaction that has not come to its end counts as cut off.
func (l *loader) ended(s *aof.Scanner) error {
	if !l.replay.InMulti() {
		return nil
	}
	return &aof.Damage{At: l.begun, Place: s.Offset(), Cut: true, Reason: "the file ends inside a transaction"}
}

// wait is key-load-delay.
func (l *loader) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-l.ctx.Done():
	}
}

// damaged decides what a damaged file means: one that was cut off at its end is cut back to what is whole, if that is wanted.
func (l *loader) damaged(f aof.File, d *aof.Damage, last bool) error {
	if !d.Cut {
		return fmt.Errorf("Bad file format reading the append only file %s: make a backup of it, then use covey check --fix on the manifest (%w)", f.Name, d)
	}
	valid := d.At
	if l.replay.InMulti() {
		valid = l.begun
		l.replay.Forget()
	}
	if !l.set.LoadTruncated {
		return fmt.Errorf("Unexpected end of file reading the append only file %s at offset %d: make a backup of it, then use covey check --fix on the manifest, or set aof-load-truncated to yes", f.Name, d.Place)
	}
	log := l.j.opts.Log
	log.Warn(fmt.Sprintf("!!! Warning: short read while loading the AOF file %s!!!", f.Name))
	if !last {
		return fmt.Errorf("Fatal error: the truncated file is not the last file (%s ends at offset %d inside a command)", f.Name, d.Place)
	}
	log.Warn(fmt.Sprintf("AOF %s loaded anyway because aof-load-truncated is enabled", f.Name), "valid", valid)
	file, err := l.j.fs.OpenFile(aof.Path(l.j.dir(), f.Name), os.O_RDWR, fileMode)
	if err != nil {
		return fmt.Errorf("Error truncating the AOF file %s: %s", f.Name, reason(err))
	}
	if err := errors.Join(file.Truncate(valid), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("Error truncating the AOF file %s: %s", f.Name, reason(err))
	}
	return nil
}

// Reload replays the set anew, for DEBUG LOADAOF; the keyspace is empty and nobody writes.
func (j *Journal) Reload(ctx context.Context) error {
	if err := j.Flush(); err != nil {
		return err
	}
	return j.Load(ctx)
}
