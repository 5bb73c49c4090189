package journal

import (
	"errors"
	"os"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/aof"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/vfs"
)

// This file writes the log to the last file of the set.

// tail is the file that is written to, and the place in the log.
type tail struct {
	file    vfs.File          // nil while there is none
	reader  *engine.LogReader // nil likewise
	pending []byte            // read from the log and not written yet
	midway  bool              // what was written last ends inside a command
	head    []byte            // precedes the next command: it selects the database
	size    int64             // of the file
	stopAt  engine.Offset     // the log is read up to here: what follows is another file's
	stamped int64             // second of the last note of time
	begun   engine.Offset     // where the log was first read
}

const noStop = 1<<63 - 1

// lagMax is how far the file may be behind the log, bytes, before those who make effects have to wait for the disk.
const lagMax = 64 << 20

// kicked is called by whoever ended a batch of commands, before replies are sent: it writes what they did. While the disk is
// busy with a sync, or another file takes the place of this one, that is left to Run, so that nobody waits for the disk: as
// in Redis, what a process that is killed meanwhile had replied may be lost.
func (j *Journal) kicked() {
	if Policy(j.policy.Load()) == Always || j.sleep.Load() > 0 {
		j.wake()
		return
	}
	if (j.syncing.Load() != 0 || j.rotating.Load()) && j.e.Log.End()-j.written.Load() < lagMax {
		return // Run is woken when that is over
	}
	j.mu.Lock()
	j.drain()
	j.mu.Unlock()
}

// drain writes what is in the log. mu is held.
func (j *Journal) drain() {
	m := &j.mu
	if m.file == nil {
		return
	}
	for {
		if len(m.pending) == 0 {
			if m.pending = m.reader.NextBefore(m.stopAt); m.pending == nil {
				m.midway = false
				break
			}
			if !m.midway {
				m.pending = j.withHead(m.pending)
			}
			m.midway = true
		}
		if err := j.writePending(); err != nil {
			j.writeFailed(err)
			return
		}
	}
	j.written.Store(m.reader.Offset())
	if m.failed != nil && !m.syncFail {
		m.failed = nil
		j.e.Settings.FileError.Store(nil)
		j.opts.Log.Warn("AOF write error looks solved. The server can write again.")
	}
}

// withHead puts what precedes a command before b.
func (j *Journal) withHead(b []byte) []byte {
	m := &j.mu
	var head []byte
	if j.stamps.Load() {
		if now := int64(j.e.Clock.Now()) / 1000; now != m.stamped {
			m.stamped = now
			head = aof.AppendTimestamp(head, now)
		}
	}
	head = append(head, m.head...)
	m.head = nil
	if len(head) == 0 {
		return b
	}
	return append(head, b...)
}

// writePending writes m.pending. A part of it that was written before an error is taken back, or else counts.
func (j *Journal) writePending() error {
	m := &j.mu
	if d := j.sleep.Load(); d > 0 {
		<-time.After(time.Duration(d))
	}
	n, err := m.file.Write(m.pending)
	if err == nil {
		m.size += int64(n)
		m.pending = nil
		return nil
	}
	if n > 0 {
		if cut := m.file.Truncate(m.size); cut != nil {
			j.opts.Log.Warn("Could not remove short write from the append-only file. The file is longer than what counts until the rest is written", "reason", cut)
			m.size += int64(n)
			m.pending = m.pending[n:]
		}
	}
	return err
}

// writeFailed has writes refused until the file takes them; with always the node ends. mu is held.
func (j *Journal) writeFailed(err error) {
	m := &j.mu
	if m.failed == nil {
		j.opts.Log.Warn("Error writing to the AOF file: "+reason(err), "path", m.file.Name(), "size", m.size)
	}
	m.failed = err
	text := reason(err)
	j.e.Settings.FileError.Store(&text)
	if Policy(j.policy.Load()) == Always && j.get() == stateOn {
		j.opts.Fatal(errors.New("Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting..."))
	}
}

// lag is how many bytes of the log are not written yet.
func (j *Journal) lag() int64 { return max(0, j.e.Log.End()-j.written.Load()) }

// attach begins to read the log at its end into file, which has size bytes. The caller holds all shard locks and mu.
func (j *Journal) attach(file vfs.File, size int64) {
	j.e.Log.Start()
	m := &j.mu
	m.tail = tail{file: file, reader: j.e.Log.FileReader(), size: size, stopAt: noStop, head: selectDB(j.e.Log.StreamDB())}
	m.begun = m.reader.Offset()
	j.written.Store(m.begun)
}

// detach ends the reading of the log and returns the file, nil if there is none; mu is held.
func (j *Journal) detach() vfs.File {
	m := &j.mu
	f := m.file
	if f == nil { // there was no snapshot yet
		f = m.fresh
	}
	m.fresh = nil
	if m.reader != nil {
		m.reader.Close()
	}
	m.tail = tail{stopAt: noStop}
	m.failed, m.syncFail = nil, false
	j.e.Settings.FileError.Store(nil)
	return f
}

// selectDB is the command that selects db; a stream that has selected none yet selects one itself.
func selectDB(db int) []byte {
	if db < 0 {
		return nil
	}
	return resp.AppendCommand(nil, []byte("SELECT"), strconv.AppendInt(nil, int64(db), 10))
}

const fileMode = 0o644

// openIncr opens an incremental file to append to it.
func (j *Journal) openIncr(dir, name string, flag int) (vfs.File, error) {
	return j.fs.OpenFile(aof.Path(dir, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|flag, fileMode)
}
