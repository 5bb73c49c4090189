package engine

import (
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/spec"
)

// This file knows which commands take long before they run. A thread that serves many clients leaves such a command to
// another one (see Session.Long), so that nobody behind it waits until a watchdog finds out.
//
// What a command will take is guessed from what the same took before: a script by its body, name or digest, every other command by
// its first key. Only commands whose row says that they may take long are looked up, and only those that did are remembered,
// so a short command pays for nothing.

// longNanos is the time from which on a command is too long for a thread with other clients. Handing it over and back costs
// some 30 µs of both threads.
const longNanos = int64(time.Millisecond)

// longKept is how many commands are remembered. Two that meet in one place push each other out; they are then found out late,
// as everything is the first time.
const longKept = 1024

// An entry holds, from the lowest bit, whether the last run was measured by the clock of all, the estimate in microseconds,
// and what tells commands apart.
const (
	longMicrosMax = 1<<23 - 1
	longBits      = 24
)

// longOnes are the commands that have taken long. An estimate follows what the command takes by a quarter each time: one run
// of several milliseconds is enough to be taken for long, and some short ones to be forgotten. By the clock of all a short
// command takes long too where others have the processor, so the time of a thread that comes after such a run counts alone.
type longOnes [longKept]atomic.Uint64

// entry is what is known of a command: 0 when nothing is.
func (l *longOnes) entry(like uint64) uint64 {
	entry := l[like%longKept].Load()
	if entry>>longBits != like>>longBits {
		return 0
	}
	return entry & (1<<longBits - 1)
}

// micros is what a command is expected to take, 0 when nothing is known.
func (l *longOnes) micros(like uint64) uint64 { return l.entry(like) >> 1 }

// learn notes what a command has taken, as it was measured: by the time of its thread, or by the clock of all.
func (l *longOnes) learn(like uint64, nanos int64, own bool) {
	entry := l.entry(like)
	known := int64(entry >> 1)
	if known == 0 && nanos < longNanos {
		return
	}
	took := min(nanos/nanosPerMicro, longMicrosMax)
	if byClock := entry&1 != 0; !(own && byClock) {
		took = known + (took-known)/4
	}
	next := like>>longBits<<longBits | uint64(took)<<1
	if !own {
		next |= 1
	}
	l[like%longKept].Store(next)
}

// likeness stands for the command with its keys, which are found, and for all that are expected to take as long.
func (c *Ctx) likeness(cmd *Command) uint64 {
	like := uint64(cmd.ID)
	switch {
	case cmd.runsCode:
		like ^= c.e.hasher.Hash(c.Args[1])
	case len(c.keys) > 0:
		like ^= uint64(c.keys[0].Hash)
	}
	const odd = 0x9e3779b97f4a7c15 // spreads what differs in few bits
	like *= odd
	return like ^ like>>32
}

// weigh begins to find out what a command takes, whose keys are found.
func (c *Ctx) weigh(cmd *Command) {
	c.like = c.likeness(cmd)
	c.weighed = c.W.ownTime()
}

// weighedIn ends what weigh has begun; nanos is what the command took by the clock.
func (c *Ctx) weighedIn(nanos int64) {
	own := c.W.OwnTime != nil
	if own {
		nanos = c.W.ownTime() - c.weighed
	}
	c.e.long.learn(c.like, nanos, own)
}

// ownTime is for how many nanoseconds the worker's thread has had a processor, 0 where that is not counted.
func (w *Worker) ownTime() int64 {
	if w.OwnTime == nil {
		return 0
	}
	return int64(w.OwnTime())
}

// leaves says whether a command, whose keys are found, is left to another thread.
func (c *Ctx) leaves(cmd *Command) bool {
	c.weigh(cmd)
	if !c.W.Shared || c.e.long.micros(c.like) < uint64(longNanos/nanosPerMicro) {
		return false
	}
	c.S.long = true
	return true
}

const (
	// manyWords is from how many arguments on a command is left to another thread before they are even collected: each of them is
	// at least an element that is looked for.
	manyWords = 4096
	// manyElements is the same for elements that a command takes out of a value: each costs some 100 to 500 ns.
	manyElements = 2048
)

// leavesNow leaves a command, which is about to do much, to another thread; false when it is on one already.
func (c *Ctx) leavesNow() bool {
	c.S.long = c.S.long || c.W.Shared
	return c.W.Shared
}

// takesMany says whether a command with a count is about to take many elements; its shard is locked.
func (c *Ctx) takesMany(cmd *Command) bool {
	if n, ok := num.ParseInt(c.Args[cmd.count]); !ok || n < manyElements || len(c.keys) == 0 {
		return false
	}
	rec, ok := c.Part(0).Find(c.S.db, &c.keys[0])
	if !ok || !rec.IsRoot() {
		return false
	}
	_, elements := rec.Root()
	return elements >= manyElements
}

// leavesAll is leaves for the commands of a transaction.
func (c *Ctx) leavesAll(m *multi) bool {
	args, cmd := c.Args, c.Cmd
	defer func() { c.Args, c.Cmd = args, cmd }()
	for i := range m.queue {
		q := &m.queue[i]
		if len(q.args) >= manyWords && c.leavesNow() {
			return true
		}
		if q.cmd.weighty {
			c.load(q)
			if q.cmd.keyed {
				c.findKeys(q.cmd)
			}
			if c.leaves(q.cmd) {
				return true
			}
		}
	}
	return false
}

// Long says that the last Process stopped before a command that is known to take long. A worker that is not Shared is to go
// on with it.
func (s *Session) Long() bool { return s.long }

// mayTakeLong says whether a command may take long, as its row has it. EXEC is judged by what it executes.
func mayTakeLong(r *spec.Row) bool {
	return r.Flags&spec.Fast == 0 && r.Complexity != "O(1)" && r.Full != "exec"
}
