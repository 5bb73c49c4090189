package engine

import (
	"github.com/covey-db/covey/internal/spec"
)

// multi is a transaction being queued.
type multi struct {
	queue  []queued
	broken bool      // an error at queue time: EXEC discards everything
	writes bool      // a queued command may change something, if only replicas
	alters bool      // a queued command changes the data
	oom    bool      // a queued command wants memory
	lacks  spec.Flag // what is not true of every queued command
	has    spec.Flag // what is true of any
	script bool      // a queued command runs a script
	aside  bool      // a queued command waits for others who take shard locks
	asking bool      // ASKING came before MULTI: it counts for all that is queued
	raw    []byte

	bytes []byte   // the block that the last arguments were copied into; earlier blocks are kept by the queue alone
	words [][]byte // and the one of their headers
}

// queued is one command of a transaction with its own copy of the arguments.
type queued struct {
	cmd  *Command
	args [][]byte
}

// queueableNot are the commands that MULTI executes at once.
func (c *Ctx) queues(cmd *Command) bool {
	switch cmd.Full {
	case "exec", "discard", "multi", "watch", "quit", "reset":
		return false
	}
	return true
}

// spoilMulti makes EXEC answer EXECABORT.
func (c *Ctx) spoilMulti() {
	if m := c.S.multi; m != nil {
		m.broken = true
	}
}

// queue keeps a command for EXEC; a wrong slot is refused at once.
func (c *Ctx) queue(cmd *Command) {
	m := c.S.multi
	c.asking = m.asking
	if cmd.Flags&spec.NoMulti != 0 {
		c.Err("ERR Command not allowed inside a transaction")
		c.refused(cmd)
		return
	}
	if c.e.ClusterOn && cmd.keyed && !c.S.primaryLink && !c.routedNow(cmd) {
		c.refused(cmd)
		return
	}
	c.W.Out.buf = append(c.W.Out.buf, "+QUEUED\r\n"...)
	if c.S.primaryLink {
		m.raw = append(m.raw, c.raw...)
		c.raw = emptied(c.raw)
	}
	if m.broken || c.S.watchBroken() {
		return // EXEC will run nothing
	}
	m.queue = append(m.queue, queued{cmd, m.keep(c.Args)})
	m.writes = m.writes || cmd.write || cmd.mayReplicate
	m.alters = m.alters || cmd.write
	m.script = m.script || cmd.flagsOf != nil
	m.aside = m.aside || cmd.aside
	m.lacks |= ^cmd.Flags
	m.has |= cmd.Flags
	m.oom = m.oom || cmd.denyOOM
	for _, a := range c.Args {
		c.S.memory.multi += int64(argumentBytes + len(a))
	}
	c.S.memory.multi += queuedBytes
	c.S.queued.Store(int32(len(m.queue)))
}

const (
	queueBytesMin, queueBytesMax = 1 << 10, 64 << 10 // of a block that arguments are copied into
	queueWordsMin, queueWordsMax = 64, 4096
)

// keep copies arguments into blocks that are shared by many commands: a transaction has many small ones.
func (m *multi) keep(args [][]byte) [][]byte {
	size := 0
	for _, a := range args {
		size += len(a)
	}
	if cap(m.bytes)-len(m.bytes) < size {
		m.bytes = make([]byte, 0, max(size, queueBytesMin, min(2*cap(m.bytes), queueBytesMax)))
	}
	if cap(m.words)-len(m.words) < len(args) {
		m.words = make([][]byte, 0, max(len(args), queueWordsMin, min(2*cap(m.words), queueWordsMax)))
	}
	first := len(m.words)
	for _, a := range args {
		from := len(m.bytes)
		m.bytes = append(m.bytes, a...)
		m.words = append(m.words, m.bytes[from:len(m.bytes):len(m.bytes)])
	}
	return m.words[first:len(m.words):len(m.words)]
}

// newMulti begins a transaction with the memory of an earlier one.
func (w *Worker) newMulti() *multi {
	m := w.spare
	w.spare = nil
	if m == nil {
		m = &multi{}
	}
	return m
}

// recycle keeps the memory of a transaction that is over for the next one, unless it is much.
func (w *Worker) recycle(m *multi) {
	if m == nil || cap(m.bytes) > queueBytesMax || cap(m.words) > queueWordsMax || cap(m.queue) > queueWordsMax {
		return
	}
	clear(m.queue)
	clear(m.words)
	*m = multi{queue: m.queue[:0], bytes: m.bytes[:0], words: m.words[:0]}
	w.spare = m
}

// copyArgs copies arguments that are needed when their command is over, as one block.
func copyArgs(args [][]byte) [][]byte {
	size := 0
	for _, a := range args {
		size += len(a)
	}
	block := make([]byte, 0, size)
	copies := make([][]byte, len(args))
	for i, a := range args {
		from := len(block)
		block = append(block, a...)
		copies[i] = block[from:len(block):len(block)]
	}
	return copies
}

// routedNow checks slot and owner of a command's keys under its locks.
func (c *Ctx) routedNow(cmd *Command) bool {
	set, ok := c.findKeys(cmd)
	if !ok {
		return false
	}
	c.e.lockSet(set)
	c.held = set
	ok = c.routed(cmd)
	c.e.unlockSet(set)
	c.held = 0
	c.keys = c.keys[:0]
	return ok
}

// deniedInMulti says whether a command is refused for want of memory because of the transaction it belongs to: EXEC when a
// command in it needs memory, and all others that would only make the queue longer.
func (c *Ctx) deniedInMulti(cmd *Command) bool {
	if c.S.multi == nil {
		return false
	}
	switch cmd.Full {
	case "exec":
		return c.S.multi.oom
	case "discard", "quit", "reset":
		return false
	}
	return true
}

// Multi is MULTI.
func (c *Ctx) Multi() {
	if c.S.multi != nil {
		c.Err(ErrNestedMulti)
		return
	}
	m := c.W.newMulti()
	m.asking, m.raw = c.asking, append([]byte(nil), c.raw...)
	c.S.multi = m
	c.raw = c.raw[:0]
	c.S.queued.Store(0)
	c.S.setFlag(FlagMulti, true)
	c.OK()
}

// Discard is DISCARD.
func (c *Ctx) Discard() {
	if c.S.multi == nil {
		c.Err(ErrDiscardNoMulti)
		return
	}
	c.raw = append(c.S.multi.raw, c.raw...)
	c.endMulti()
	c.OK()
}

func (c *Ctx) endMulti() {
	c.W.recycle(c.S.multi)
	c.S.multi = nil
	c.S.memory.multi = 0
	c.S.queued.Store(-1)
	c.S.setFlag(FlagMulti, false)
	c.S.unwatch(c.held)
}

// Unwatch is UNWATCH.
func (c *Ctx) Unwatch() {
	c.S.unwatch(c.held)
	c.OK()
}

// InMulti says whether a transaction is being queued.
func (s *Session) InMulti() bool { return s.multi != nil }

// Exec is EXEC: all shards of all keys are locked at once, routing is decided again under the locks, and the effects are
// one contiguous block of the log.
func (c *Ctx) Exec() {
	m := c.S.multi
	if m == nil {
		c.Err(ErrExecNoMulti)
		return
	}
	args, cmd := c.Args, c.Cmd
	set := c.execLocks(m)
	c.Args, c.Cmd = args, cmd
	if c.leavesAll(m) || c.lockUnlessPaused(set, m.writes) {
		c.repeat, c.raw = true, emptied(c.raw) // nothing is passed on before it is given again
		return
	}
	c.raw = append(m.raw, c.raw...) // whatever becomes of it, replicas of this replica count the same bytes
	if c.busy {
		c.endMulti()
		return
	}
	defer c.unlock()
	if m.script || m.aside && set != 0 {
		c.holdShards()
		c.hold.firm.Store(true)
		defer c.letGo()
	}
	defer c.endMulti()
	switch {
	case !c.execRouted(m): // already replied: where to go matters more than what became of the watches
	case m.broken:
		c.Err(ErrExecAbort)
	case !c.watchesStand():
		c.NullArray()
	default:
		c.execAll(m)
	}
}

// execLocks is the union of the shards that the queue and the watches need.
func (c *Ctx) execLocks(m *multi) uint64 {
	if m.script {
		return allShards
	}
	var set uint64
	for i := range m.queue {
		q := &m.queue[i]
		if q.cmd.scope == ScopeWhole {
			return allShards
		}
		if !q.cmd.keyed {
			if q.cmd.mayReplicate {
				set |= 1 // what it logs stands under a lock
			}
			continue
		}
		c.load(q)
		one, _ := c.findKeys(q.cmd)
		set |= one
	}
	for _, w := range c.S.watching {
		set |= 1 << uint(w.shard)
	}
	if m.aside && set != 0 {
		return allShards // others wait for the transaction, not for some of its locks: nobody waits in a circle
	}
	return set
}

func (c *Ctx) load(q *queued) {
	c.Args, c.Cmd = q.args, q.cmd
	c.keys = c.keys[:0]
}

// execRouted decides routing once more, now that the locks are held: a slot may have left since it was queued. The
// transaction is routed like one command that has all its keys.
func (c *Ctx) execRouted(m *multi) bool {
	if !c.e.ClusterOn || c.S.primaryLink {
		return true
	}
	args, cmd := c.Args, c.Cmd
	defer func() { c.Args, c.Cmd = args, cmd }()
	c.keys = c.keys[:0]
	c.asking = m.asking
	for i := range m.queue {
		q := &m.queue[i]
		if !q.cmd.keyed {
			continue
		}
		c.Args, c.Cmd = q.args, q.cmd
		if _, ok := c.findKeys(q.cmd); !ok {
			return false
		}
		if n := len(c.keys); n > 0 && c.keys[n-1].Slot != c.keys[0].Slot {
			c.refuseApart()
			return false
		}
		c.asking = c.asking || q.cmd.Flags&spec.Asking != 0
	}
	return c.routed(&Command{Row: cmd.Row, readonly: !m.writes, write: m.alters})
}

// sift drops the reply of one command of a transaction when CLIENT REPLY OFF is in force behind the command, or when the
// session had ended itself before it. As in Redis, the reply of EXEC is short of it then.
func (c *Ctx) sift(mark outMark, ended bool) {
	if ended || c.S.replyMode == replyOff && !c.pushed {
		c.W.Out.cutBack(mark)
	}
}

// execAll runs the queue under the locks that are held.
func (c *Ctx) execAll(m *multi) {
	args, cmd := c.Args, c.Cmd
	c.beginEffects()
	c.inExec = true
	c.sifted = c.S.replyMode != replySkipThis // that mode is of EXEC as a whole
	mark := c.W.Out.mark()
	c.Array(len(m.queue))
	c.sift(mark, false)
	failed, start := c.failed, c.W.nanos()
	for i := range m.queue {
		q := &m.queue[i]
		c.load(q)
		c.failed, c.explicit, c.dirty = false, false, 0
		if q.cmd.keyed {
			c.findKeys(q.cmd)
		}
		if q.cmd.weighty {
			c.weigh(q.cmd)
		}
		if !c.recheck(q.cmd) {
			failed = true // EXEC has, not the command, which is not called
			continue
		}
		mark, ended := c.W.Out.mark(), c.S.state == stateClosing
		c.pushed = false
		q.cmd.run(c)
		c.sift(mark, ended)
		if q.cmd.keyed && c.e.Tracking.active.Load() != 0 {
			c.remember(c.S)
		}
		c.endCommand()
		end := c.W.nanos()
		took := end - start
		start = end // the clock is asked once a command
		c.W.count(q.cmd, took, c.failed)
		if took >= c.e.Timing.remarkable.Load() {
			c.remark(q.cmd, took)
		}
		if q.cmd.weighty {
			c.weighedIn(took)
		}
		if c.e.monitors.count.Load() > 0 {
			c.tellMonitors(q.cmd, c.S.Peer.Remote)
		}
	}
	c.inExec = false
	c.Args, c.Cmd, c.failed, c.dirty = args, cmd, failed, 0
	c.commitEffects()
}
