package replication

import (
	"math"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// This file is WAITAOF: a client's own writes, on disk here and on a number of replicas.

const (
	errNotBit            = "ERR value is out of range, value must between 0 and 1"
	errWaitFileOnReplica = "ERR WAITAOF cannot be used with replica instances. Please also note that writes to replicas are just local and are not propagated."
	errWaitNoFile        = "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."
)

func (m *Manager) cmdWaitFile(c *engine.Ctx) {
	local, ok := c.IntBetween(1, math.MinInt64, math.MaxInt64, engine.ErrNotInteger)
	if !ok {
		return
	}
	if local < 0 || local > 1 {
		c.Err(errNotBit)
		return
	}
	needed, ok := c.Int(2)
	if !ok {
		return
	}
	if needed < 0 {
		c.Err("ERR value is out of range, must be positive")
		return
	}
	timeout, ok := waitTime(c, 3)
	if !ok {
		return
	}
	if m.e.Role.IsReplica() {
		c.Err(errWaitFileOnReplica)
		return
	}
	_, on := m.fileSynced()
	if local == 1 && !on {
		c.Err(errWaitNoFile)
		return
	}
	w := &ackWait{at: c.S.Written(), needed: int(min(needed, math.MaxInt32)), file: true, local: local == 1}
	if m.fileWaitOver(w) || c.InExec() {
		m.replyFileWait(c, w.at)
		return
	}
	m.suspendFile(c, w, timeout)
}

func (m *Manager) suspendFile(c *engine.Ctx, w *ackWait, timeout time.Duration) {
	w.wait = c.Suspend(engine.WaitAcks, timeout, func(c *engine.Ctx) { m.replyFileWait(c, w.at) }, func() { m.forgetWait(w) })
	m.mu.Lock()
	m.mu.waits = append(m.mu.waits, w)
	m.mu.Unlock()
	m.e.Log.AppendCommand(wordsGetAck)
	m.checkWaits()
}

// fileSynced is the offset up to which this node's own append-only file is on disk, and whether there is one.
func (m *Manager) fileSynced() (at engine.Offset, on bool) {
	if m.opts.FileSynced == nil {
		return 0, false
	}
	return m.opts.FileSynced()
}

// filesHave is whether the data up to at is on disk here, and on how many replicas it is.
func (m *Manager) filesHave(at engine.Offset) (local bool, replicas int) {
	synced, on := m.fileSynced()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.replicas {
		if r.online() && r.fileAck.Load() >= at {
			replicas++
		}
	}
	return on && synced >= at, replicas
}

func (m *Manager) fileWaitOver(w *ackWait) bool {
	local, replicas := m.filesHave(w.at)
	return replicas >= w.needed && (local || !w.local)
}

func (m *Manager) replyFileWait(c *engine.Ctx, at engine.Offset) {
	local, replicas := m.filesHave(at)
	c.Array(2)
	c.ReplyInt(int64(bit(local)))
	c.ReplyInt(int64(replicas))
}

// FileSynced is told that more of the append-only file is on disk, or that there is none any more.
func (m *Manager) FileSynced() { m.checkFileWaits() }

// checkFileWaits resumes the clients whose data is where they want it.
func (m *Manager) checkFileWaits() {
	m.mu.Lock()
	var waits []*ackWait
	for _, w := range m.mu.waits {
		if w.file {
			waits = append(waits, w)
		}
	}
	m.mu.Unlock()
	_, on := m.fileSynced()
	for _, w := range waits {
		switch {
		case w.local && !on:
			w.wait.Resume(func(c *engine.Ctx) { c.Err(errWaitNoFile) })
		case m.fileWaitOver(w):
			w.wait.Resume(func(c *engine.Ctx) { m.replyFileWait(c, w.at) })
		}
	}
}
