package replication

import (
	"context"
	"fmt"
	"math"
	"sort"
	"time"

	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/num"
)

// This file is WAIT: a client's own writes, acknowledged by a number of replicas.

// ackWait is a client that waits.
type ackWait struct {
	at     engine.Offset
	needed int
	wait   engine.Wait
	file   bool // WAITAOF: the data has to be on disk
	local  bool // here too
}

var wordsGetAck = []byte("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n")

const errWaitOnReplica = "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is " +
	"configured to be writable (which is not the default) writes to replicas are just local and are not propagated."

func (m *Manager) cmdWait(c *engine.Ctx) {
	if m.e.Role.IsReplica() {
		c.Err(errWaitOnReplica)
		return
	}
	needed, ok := c.Int(1)
	if !ok {
		return
	}
	timeout, ok := waitTime(c, 2)
	if !ok {
		return
	}
	at := c.S.Written()
	if have := m.ackedBy(at); int64(have) >= needed || c.InExec() {
		c.ReplyInt(int64(have))
		return
	}
	m.suspend(c, at, int(needed), timeout)
}

// waitTime reads the timeout of a command, milliseconds; when it is none the error has been replied.
func waitTime(c *engine.Ctx, arg int) (d time.Duration, ok bool) {
	timeout, ok := num.ParseInt(c.Args[arg])
	switch {
	case !ok:
		c.Err("ERR timeout is not an integer or out of range")
	case timeout < 0:
		c.Err("ERR timeout is negative")
	case timeout > math.MaxInt64-int64(c.Now):
		c.Err("ERR timeout is out of range")
	default:
		return time.Duration(min(timeout, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, true
	}
	return 0, false
}

func (m *Manager) suspend(c *engine.Ctx, at engine.Offset, needed int, timeout time.Duration) {
	w := &ackWait{at: at, needed: needed}
	w.wait = c.Suspend(engine.WaitAcks, timeout, func(c *engine.Ctx) { c.ReplyInt(int64(m.ackedBy(at))) }, func() { m.forgetWait(w) })
	m.mu.Lock()
	m.mu.waits = append(m.mu.waits, w)
	m.mu.Unlock()
	m.e.Log.AppendCommand(wordsGetAck)
	m.checkWaits()
}

// ackedBy is how many replicas have processed the stream up to at.
func (m *Manager) ackedBy(at engine.Offset) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.replicas {
		if r.online() && r.ack.Load() >= at {
			n++
		}
	}
	return n
}

// checkWaits resumes the clients whose number of acknowledgements is reached.
func (m *Manager) checkWaits() {
	m.mu.Lock()
	offsets := make([]int64, 0, len(m.mu.replicas))
	for _, r := range m.mu.replicas {
		if r.online() {
			offsets = append(offsets, r.ack.Load())
		}
	}
	sort.Slice(offsets, func(i, j int) bool { return offsets[i] > offsets[j] })
	var ready []*ackWait
	for _, w := range m.mu.waits {
		if w.file {
			continue
		}
		if w.needed <= len(offsets) && offsets[w.needed-1] >= w.at {
			ready = append(ready, w)
		}
	}
	m.mu.Unlock()
	for _, w := range ready {
		at := w.at
		w.wait.Resume(func(c *engine.Ctx) { c.ReplyInt(int64(m.ackedBy(at))) })
	}
	m.checkFileWaits()
}

func (m *Manager) forgetWait(w *ackWait) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, x := range m.mu.waits {
		if x == w {
			m.mu.waits = append(m.mu.waits[:i], m.mu.waits[i+1:]...)
			return
		}
	}
}

// allAcked says whether every replica that applies the stream has processed it up to at. Those that still receive a snapshot
// do not count: they cannot catch up in time.
func (m *Manager) allAcked(at engine.Offset) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.replicas {
		if r.online() && r.ack.Load() < at {
			return false
		}
	}
	return true
}

// Lagging describes the replicas that have not processed the stream up to at.
func (m *Manager) Lagging(at engine.Offset) (list []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.onlineLocked() {
		if !r.online() || r.ack.Load() < at {
			list = append(list, fmt.Sprintf("%s reported offset %d behind master, lag=%d, state=%s.",
				r.name(), at-r.ack.Load(), int64(time.Since(r.lastAck())/time.Second), r.stateText()))
		}
	}
	return list
}

// BufferBytes is how much of the log is kept for replicas that are behind, or for partial resynchronisation.
func (m *Manager) BufferBytes() int64 {
	h := m.e.Log.History()
	if !h.On {
		return 0
	}
	return h.End - h.Start
}

// AwaitReplicas waits until every replica has processed the stream up to at, or ctx ends. It reports whether all have. Where
// all have said so already they are not asked, and nothing is added to the stream.
func (m *Manager) AwaitReplicas(ctx context.Context, at engine.Offset) bool {
	if m.allAcked(at) {
		return true
	}
	m.e.Log.AppendCommand(wordsGetAck)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if m.allAcked(at) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
	}
}
