package replication

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/snapshot"
	"github.com/covey-db/covey/internal/vfs"
)

// This file sends snapshots to replicas: one snapshot for all that want one at about the same time. It goes to them as it is
// made, for which they are gathered for a while, or by way of the RDB file, which replicas can join until it is whole.

// kind is what replicas must have in common to get the same snapshot.
type kind struct {
	file      bool // by way of a file, which has a length
	only      bool // not the data
	functions bool // with only: the libraries of functions
}

// transfer is the sending of one snapshot.
type transfer struct {
	m      *Manager
	kind   kind
	since  time.Time // when its first replica came
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when the snapshot is sent, or the file is whole

	err error // why it failed; to be read when done is closed

	guarded struct { // by Manager.mu
		members map[*replica]struct{} // who gets the snapshot
		left    int                   // replicas that have joined and not left
		id      string                // the history, "" before the cut
		at      engine.Offset         // the offset of the cut
		pin     *engine.LogReader     // keeps what follows the cut for replicas that join; nil in the end
		file    vfs.File              // of a transfer by way of a file, when it is whole
		size    int64
	}
}

// errUnwanted says that a transfer ended because all its replicas have gone.
var errUnwanted = errors.New("no replica wants the snapshot any more")

// kindFor is what a replica can take.
func (m *Manager) kindFor(h hints, s Settings) kind {
	if h.only {
		return kind{file: !h.eof, only: true, functions: h.functions}
	}
	return kind{file: s.ToFile || !h.eof}
}

// join makes r a member of a transfer that it can take, of a new one if need be.
func (m *Manager) join(r *replica) *transfer {
	id := m.e.Log.History().ID
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.kindFor(r.hints, m.opts.Settings())
	for t := range m.mu.transfers {
		switch {
		case t.kind != k || t.ctx.Err() != nil:
			continue
		case t.guarded.id == "":
			t.add(r)
			return t
		case k.file && t.guarded.id == id && t.guarded.pin != nil && t.admit(r) == nil:
			return t
		}
	}
	t := &transfer{m: m, kind: k, since: time.Now(), done: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(m.ctx)
	t.guarded.members = make(map[*replica]struct{})
	t.add(r)
	m.mu.transfers[t] = struct{}{}
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		t.run()
	}()
	return t
}

func (t *transfer) add(r *replica) {
	t.guarded.members[r] = struct{}{}
	t.guarded.left++
}

// admit takes a replica into a transfer whose cut was made already; Manager.mu is held.
func (t *transfer) admit(r *replica) error {
	reader, err := t.m.e.Log.Reader(t.guarded.at)
	if err != nil {
		return err
	}
	t.add(r)
	r.reader.Store(reader)
	r.state.Store(int32(sendSnapshot))
	return nil
}

// leave ends the membership of r. The last one ends the transfer, and takes its file with it.
func (t *transfer) leave(r *replica) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	delete(t.guarded.members, r)
	if t.guarded.left--; t.guarded.left == 0 {
		t.cancel()
		t.closeFile()
	}
}

// closeFile closes the file, if there is one; Manager.mu is held.
func (t *transfer) closeFile() {
	if t.guarded.file != nil {
		t.guarded.file.Close()
		t.guarded.file = nil
	}
}

// members lists who is there now.
func (t *transfer) members() (list []*replica) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	for r := range t.guarded.members {
		list = append(list, r)
	}
	return list
}

// run sends the snapshot and tells the members.
func (t *transfer) run() {
	err := t.gather()
	if err == nil && t.kind.file {
		err = t.fill()
	} else if err == nil {
		err = t.stream()
	}
	if err != nil && t.ctx.Err() == nil {
		t.m.log.Warn("The snapshot for replicas failed", "reason", err)
	}
	t.m.mu.Lock()
	delete(t.m.mu.transfers, t)
	if t.guarded.pin != nil {
		t.guarded.pin.Close()
		t.guarded.pin = nil
	}
	if t.err = err; t.guarded.left == 0 {
		t.closeFile()
	}
	t.m.mu.Unlock()
	close(t.done)
}

// gatherStep is how often it is looked whether a transfer is due: the directives may change.
const gatherStep = 50 * time.Millisecond

// gather waits for replicas that come at about the same time. Who gets the RDB file can join later and is not waited for.
func (t *transfer) gather() error {
	tick := time.NewTicker(gatherStep)
	defer tick.Stop()
	for {
		s := t.m.opts.Settings()
		n := len(t.members())
		if n == 0 {
			return errUnwanted
		}
		if t.kind.file || time.Since(t.since) >= s.GatherFor || s.GatherMax > 0 && n >= s.GatherMax {
			return t.ctx.Err()
		}
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return errUnwanted
		}
	}
}

// atCut gives every member its place in the log. It is called under all shard locks.
func (t *transfer) atCut() {
	log := t.m.e.Log
	log.Start()
	if !t.m.e.Role.IsReplica() { // a replica passes its primary's stream on as it is
		log.Unselect()
	}
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.guarded.id, t.guarded.at = log.History().ID, log.End()
	t.guarded.pin, _ = log.Reader(t.guarded.at) // the end is always there
	for r := range t.guarded.members {
		reader, _ := log.Reader(t.guarded.at)
		r.reader.Store(reader)
		r.state.Store(int32(sendSnapshot))
	}
}

// options are what goes into the snapshot.
func (t *transfer) options(s Settings) snapshot.Options {
	opts := snapshot.Options{Compress: s.Compress, Unsummed: s.Unsummed, Stream: true, AtCut: t.atCut}
	if t.kind.only {
		opts.Slots, opts.NoLibs = new(slot.Set), !t.kind.functions
	}
	return opts
}

// announce answers PSYNC.
func (t *transfer) announce(r *replica) error {
	if r.old {
		return nil
	}
	t.m.log.Info("Full resync requested by replica", "replica", r.name(), "offset", t.guarded.at)
	return r.write(fmt.Appendf(nil, "+FULLRESYNC %s %d\r\n", t.guarded.id, t.guarded.at))
}

// stream sends the snapshot to the members as it is made. It is logged in Redis's words, which programs look for, though there
// is neither a child nor a pipe.
func (t *transfer) stream() error {
	snap, err := t.m.opts.Taker.Cut(t.ctx, t.options(t.m.opts.Settings()))
	if err != nil {
		return err
	}
	defer snap.Drop()
	t.m.log.Info(fmt.Sprintf("Background RDB transfer started by pid %d", os.Getpid()))
	mark := NewID()
	t.toAll(func(r *replica) error {
		r.hush()
		if err := t.announce(r); err != nil {
			return err
		}
		return r.write([]byte("$EOF:" + mark + "\r\n"))
	})
	_, err = snap.WriteTo(t.ctx, writerFunc(func(b []byte) error {
		return t.toAll(func(r *replica) error { return r.write(b) })
	}))
	if err == nil {
		err = t.toAll(func(r *replica) error { return r.write([]byte(mark)) })
	}
	n := len(t.members())
	if n == 0 {
		t.m.log.Warn("Diskless rdb transfer, last replica dropped, killing fork child")
		return errUnwanted
	}
	t.m.log.Info(fmt.Sprintf("Diskless rdb transfer, done reading from pipe, %d replicas still up", n))
	return err
}

// toAll does something for every member. One for which it fails is dropped; without members it fails.
func (t *transfer) toAll(do func(*replica) error) error {
	alive := 0
	for _, r := range t.members() {
		err := do(r)
		if err == nil {
			alive++
			continue
		}
		r.fail(err)
		t.m.mu.Lock()
		delete(t.guarded.members, r) // it leaves when its own goroutine hears of it
		t.m.mu.Unlock()
	}
	if alive == 0 {
		return errUnwanted
	}
	return nil
}

// fill makes the file.
func (t *transfer) fill() error {
	save := t.m.opts.Save
	if save == nil || t.kind.only || t.m.opts.Settings().NoFileStays {
		save = t.saveTemp
	}
	f, err := save(t.ctx, t.atCut)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	t.m.mu.Lock()
	t.guarded.file = f
	if err == nil {
		t.guarded.size = info.Size()
	}
	t.m.mu.Unlock()
	return err
}

// saveTemp makes a file that nobody else sees.
func (t *transfer) saveTemp(ctx context.Context, _ func()) (vfs.File, error) {
	s := t.m.opts.Settings()
	f, err := t.m.tempFile(sentBefore, s)
	if err != nil {
		return nil, err
	}
	snap, err := t.m.opts.Taker.Cut(ctx, t.options(s))
	if err == nil {
		_, err = snap.WriteTo(ctx, f)
	}
	if err != nil {
		t.m.removeTemp(f)
		return nil, err
	}
	return f, t.m.opts.FS.Remove(f.Name()) // it is there as long as it is open
}

// send sends the file to one replica.
func (t *transfer) send(r *replica) error {
	r.state.Store(int32(sendFile))
	t.m.mu.Lock()
	f, size := t.guarded.file, t.guarded.size // which stay until r leaves
	t.m.mu.Unlock()
	if err := r.write(fmt.Appendf(nil, "$%d\r\n", size)); err != nil {
		return err
	}
	_, err := io.Copy(writerFunc(r.write), io.NewSectionReader(f, 0, size))
	return err
}

// Flushed is told, under all shard locks, that every database was emptied: snapshots under way are of no use any more. Their
// replicas are disconnected and come back for another one.
func (m *Manager) Flushed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for t := range m.mu.transfers {
		if t.guarded.id == "" || t.kind.file { // Options.Save hears of it by itself
			continue
		}
		t.cancel()
		for r := range t.guarded.members {
			r.close()
		}
	}
}
