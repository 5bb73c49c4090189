package replication

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/snapshot"
)

// This file receives and loads a full synchronisation. The snapshot is kept in a file until it is whole, so that the old
// data goes on being served, and is there still when the transfer breaks.

const markBytes = 40

func (f *follower) fullSync(ctx context.Context, p *primaryConn, s Settings, id string, offset int64) error {
	f.state.Store(int32(linkSync))
	f.m.changed()
	f.m.log.Info("Full resync from master", "id", id, "offset", offset)
	file, err := f.m.tempFile(receivedBefore, s)
	if err != nil {
		return err
	}
	defer f.m.removeTemp(file)
	if err := f.receive(p, file); err != nil {
		return fmt.Errorf("receiving the snapshot: %w", err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := f.load(ctx, p, file, s, id, offset); err != nil {
		return err
	}
	if f.m.opts.Replaced != nil {
		f.m.opts.Replaced()
	}
	return nil
}

// receive copies the payload to w: a length and so many bytes, or a mark and everything before it comes again.
func (f *follower) receive(p *primaryConn, w io.Writer) error {
	head, err := p.line()
	if err != nil {
		return err
	}
	if mark, ok := strings.CutPrefix(head, "$EOF:"); ok {
		if len(mark) != markBytes {
			return fmt.Errorf("bad end mark %q", mark)
		}
		f.syncLeft.Store(-1)
		return f.receiveMarked(p, w, []byte(mark))
	}
	size, err := strconv.ParseInt(strings.TrimPrefix(head, "$"), 10, 64)
	if err != nil || !strings.HasPrefix(head, "$") || size < 0 {
		return fmt.Errorf("bad protocol from master: %q", head)
	}
	for size > 0 {
		f.syncLeft.Store(size)
		if len(p.buf) == 0 {
			if err := p.more(); err != nil {
				return err
			}
		}
		n := int(min(int64(len(p.buf)), size))
		if _, err := w.Write(p.buf[:n]); err != nil {
			return err
		}
		f.syncRead.Add(int64(n))
		size -= int64(n)
		p.buf = p.buf[:copy(p.buf, p.buf[n:])]
	}
	return nil
}

// receiveMarked copies until the mark; the primary sends nothing behind it before it has heard from this node.
func (f *follower) receiveMarked(p *primaryConn, w io.Writer, mark []byte) error {
	for {
		if n := len(p.buf); n >= markBytes && bytes.Equal(p.buf[n-markBytes:], mark) {
			_, err := w.Write(p.buf[:n-markBytes])
			p.buf = p.buf[:0]
			return err
		}
		if n := len(p.buf) - markBytes; n > 0 { // the last bytes may be the start of the mark
			if _, err := w.Write(p.buf[:n]); err != nil {
				return err
			}
			f.syncRead.Add(int64(n))
			p.buf = p.buf[:copy(p.buf, p.buf[n:])]
		}
		if err := p.more(); err != nil {
			return err
		}
	}
}

// freePerHold is how many records of the old data are freed under one hold of a shard's lock.
const freePerHold = 1000

// load replaces the data set.
func (f *follower) load(ctx context.Context, p *primaryConn, file io.Reader, s Settings, id string, offset int64) error {
	e := f.m.e
	f.m.log.Info("MASTER <-> REPLICA sync: Flushing old data")
	f.m.dropReplicas()
	if f.m.opts.Replacing != nil {
		f.m.opts.Replacing()
	}
	e.LockAll()
	e.SetLoading(true)
	if f.m.opts.Flushed != nil {
		f.m.opts.Flushed()
	}
	for shard := range e.Shards() {
		e.DetachAll(shard)
	}
	e.UnlockAll()
	defer e.SetLoading(false)
	stop := make(chan struct{})
	defer close(stop)
	go p.signsOfLife(stop)
	e.FreeTrash(freePerHold)
	f.m.log.Info("MASTER <-> REPLICA sync: Loading DB in memory")
	loaded, err := snapshot.Load(e, file, snapshot.LoadOptions{Stop: ctx.Done(), Unsummed: s.Unsummed, KeepExpired: true})
	if err != nil {
		e.LockAll()
		for shard := range e.Shards() {
			e.DetachAll(shard)
		}
		e.UnlockAll()
		return errors.Join(errors.New("failed trying to load the MASTER synchronization DB"), err)
	}
	e.LockAll()
	e.Log.Adopt(id, offset, loaded.StreamDB)
	e.UnlockAll()
	e.ServeBlocked()
	f.m.log.Info("MASTER <-> REPLICA sync: Finished with success", "keys", loaded.Keys)
	return nil
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
