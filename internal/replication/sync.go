package replication

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/covey-db/covey/internal/snapshot"
)

// This file receives and loads a full synchronisation.

// intake is how a snapshot gets into the keyspace.
type intake int

const (
	// intakeFile: a file keeps it until it is whole, so that the old data goes on being served, and is there still when the
	// transfer breaks. Then the data goes and the file is loaded.
	intakeFile intake = iota
	// intakeEmpty: it is loaded as it comes, for there is no data.
	intakeEmpty
	// intakeStaged: it is loaded as it comes, beside the data, which nobody can ask for meanwhile. In the end it takes the
	// place of the data; when the transfer breaks the data is there again.
	intakeStaged
	// intakeBeside is like intakeStaged, and the data is served meanwhile: it is of the history that the primary goes on with.
	intakeBeside
)

// WhenDirect is what repl-diskless-load says.
type WhenDirect int

const (
	DirectNever WhenDirect = iota
	DirectWhenEmpty
	DirectBeside
)

// intake decides how a snapshot of a history is taken in.
func (f *follower) intake(s Settings, id string) intake {
	h := f.m.e.Log.History()
	switch {
	case s.Direct == DirectBeside && h.On && h.ID == id:
		return intakeBeside
	case s.Direct == DirectBeside:
		return intakeStaged
	case s.Direct == DirectWhenEmpty && f.m.isEmpty():
		return intakeEmpty
	}
	return intakeFile
}

func (m *Manager) isEmpty() bool {
	m.e.LockAll()
	defer m.e.UnlockAll()
	for shard := range m.e.Shards() {
		for db := range m.e.Databases() {
			if m.e.Part(shard).Len(db) > 0 {
				return false
			}
		}
	}
	return true
}

// fullSync replaces the data set by the primary's, as it was at the given offset of a history.
func (f *follower) fullSync(ctx context.Context, p *primaryConn, s Settings, id string, offset int64) error {
	f.syncSize.Store(-1)
	f.syncRead.Store(0)
	f.state.Store(int32(linkSync))
	f.m.changed()
	f.m.log.Info("Full resync from master", "id", id, "offset", offset)
	from, err := p.payload()
	if err != nil {
		return fmt.Errorf("receiving the snapshot: %w", err)
	}
	l := &landing{f: f, p: p, settings: s, how: f.intake(s, id), id: id, offset: offset}
	if l.how != intakeFile {
		return l.run(ctx, from, from.checkEnd)
	}
	file, err := f.m.tempFile(receivedBefore, s)
	if err != nil {
		return err
	}
	defer f.m.removeTemp(file)
	if err := from.copyTo(file); err != nil {
		return fmt.Errorf("receiving the snapshot: %w", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return l.run(ctx, file, nil)
}

// freePerHold is how many records of the old data are freed under one hold of a shard's lock.
const freePerHold = 1000

// landing is the loading of one snapshot.
type landing struct {
	f        *follower
	p        *primaryConn
	settings Settings
	how      intake
	id       string // the history that the snapshot is a point of
	offset   int64  // and where in it
}

// run loads the snapshot and makes it the data set. checkEnd, which may be nil, is asked about what follows it.
func (l *landing) run(ctx context.Context, in io.Reader, checkEnd func(rest io.Reader) error) error {
	m := l.f.m
	end, err := l.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	stop := make(chan struct{})
	defer close(stop)
	go l.p.signsOfLife(stop)
	if l.how == intakeFile {
		m.e.FreeTrash(freePerHold)
	}
	m.log.Info("MASTER <-> REPLICA sync: Loading DB in memory")
	loaded, err := snapshot.Load(m.e, m.watched(in, l.f.syncSize.Load()), snapshot.LoadOptions{
		Stop: ctx.Done(), Unsummed: l.settings.Unsummed, KeepExpired: true, Staged: l.isStaged()})
	if err == nil && checkEnd != nil {
		err = checkEnd(loaded.Rest)
	}
	if err == nil {
		err = l.accept(ctx, loaded)
	}
	if err != nil {
		m.log.Warn("Internal error in RDB reading: the synchronisation is given up", "reason", err)
		l.discard()
		return fmt.Errorf("failed trying to load the MASTER synchronization DB: %w", err)
	}
	m.e.ServeBlocked()
	m.log.Info("MASTER <-> REPLICA sync: Finished with success", "keys", loaded.Keys)
	m.replaced()
	return nil
}

func (l *landing) isStaged() bool { return l.how == intakeStaged || l.how == intakeBeside }

// errLoads says that somebody else loads the data just now, so that it cannot be replaced.
var errLoads = errors.New("the data is being loaded")

// begin makes clients wait as far as they have to, and removes the old data when it is in the way, unless the link has been told
// to end. The function that it returns ends that.
func (l *landing) begin(ctx context.Context) (end func(), err error) {
	e := l.f.m.e
	if l.how == intakeBeside {
		e.SetAsyncLoading(true)
		return func() { e.SetAsyncLoading(false) }, nil
	}
	if !l.isStaged() {
		l.f.m.replacing()
	}
	e.LockAll()
	if err := ctx.Err(); err != nil {
		e.UnlockAll()
		l.f.m.replaced() // the old data is whole
		return nil, err
	}
	if !e.BeginLoading() {
		e.UnlockAll()
		l.f.m.replaced()
		return nil, errLoads
	}
	if !l.isStaged() {
		l.f.m.log.Info("MASTER <-> REPLICA sync: Flushing old data")
		l.empty()
	}
	e.UnlockAll()
	return func() { e.SetLoading(false) }, nil
}

// empty removes the old data, and the history with it: nobody may go on from a point of it any more, neither a replica of
// this node nor this node itself. All shards are locked.
func (l *landing) empty() {
	m := l.f.m
	m.DropReplicas()
	m.e.EmptyAll()
	m.e.Log.Forget(NewID())
}

// accept makes what was loaded the data set of this node, and its history this node's, unless the link has been told to end.
func (l *landing) accept(ctx context.Context, loaded snapshot.Loaded) error {
	m := l.f.m
	if l.isStaged() {
		m.replacing()
	}
	m.e.LockAll()
	defer m.e.UnlockAll()
	if err := ctx.Err(); err != nil {
		return err
	}
	if l.how == intakeBeside && m.e.Loading() { // the others say themselves that they load
		return errLoads
	}
	if l.isStaged() {
		if libraries := m.e.Libraries; libraries != nil {
			if err := libraries.Restore(m.e, loaded.Codes, false); err != nil {
				return err
			}
		}
		m.DropReplicas()
		m.e.TakeStaged()
	}
	m.e.Log.Adopt(l.id, l.offset, loaded.StreamDB)
	return nil
}

// discard removes what was loaded.
func (l *landing) discard() {
	e := l.f.m.e
	if l.isStaged() {
		e.DropStaged(freePerHold)
		l.f.m.replaced() // the old data is whole
		return
	}
	e.LockAll()
	e.EmptyAll()
	e.UnlockAll()
}

// replacing tells that the data set is about to be replaced. No lock is held.
func (m *Manager) replacing() {
	if m.opts.Replacing != nil {
		m.opts.Replacing()
	}
}

// replaced tells that what replacing began is over.
func (m *Manager) replaced() {
	if m.opts.Replaced != nil {
		m.opts.Replaced()
	}
}

// watched is a reader that tells Options.Progress how far a load of so many bytes is, 0 or less for an unknown number.
func (m *Manager) watched(in io.Reader, bytes int64) io.Reader {
	if m.opts.Progress == nil {
		return in
	}
	m.opts.Progress.BeginLoad(max(bytes, 0))
	return &watched{in, m.opts.Progress}
}

type watched struct {
	in       io.Reader
	progress Progress
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.in.Read(b)
	w.progress.Loaded(int64(n))
	return n, err
}

// signsOfLife sends newlines while the snapshot is loaded, so that the primary does not give the link up.
func (p *primaryConn) signsOfLife(stop chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			p.f.writeMu.Lock()
			_ = p.conn.SetWriteDeadline(time.Now().Add(p.timeout))
			_, _ = p.conn.Write([]byte("\n"))
			p.f.writeMu.Unlock()
		}
	}
}
