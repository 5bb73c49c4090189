package engine

import (
	"github.com/covey-db/covey/internal/spec"
)

// This file holds the waiting for copies. A snapshot copies a big value without the lock of its shard, so for that time the
// value must not be changed in place. Who wants to waits, alone and without any lock; everybody else goes on, and the
// command is given again when the copy is made. Commands that remove a value or put another in its place wait for nothing:
// the snapshot keeps the old one (keyspace.Part.Pin).

// editsInPlace says whether a command may change values in place: those of keys that its row says it reads and writes, but
// for commands that put another value there or leave it as it is.
func editsInPlace(r *spec.Row) bool {
	switch r.Full {
	case "set", "getset", "getdel", "getex", "rename", "renamenx", "move", "migrate",
		"expire", "pexpire", "expireat", "pexpireat", "persist", "sinterstore":
		return false
	case "xreadgroup", "bitop": // their rows say that they read and overwrite
		return true
	}
	if r.Flags&(spec.Write|spec.MayReplicate) == 0 {
		return false
	}
	for i := range r.KeySpecs {
		if r.KeySpecs[i].Flags&spec.KeyRW != 0 {
			return true
		}
	}
	return false
}

// waitForCopy makes a write wait for copies of what it is about to change; its shards are locked. waits says that it has
// waited, and that the locks were given back: a client is suspended then, and the link to a primary has waited here, as what
// comes behind the command has to.
func (c *Ctx) waitForCopy() (waits, suspended bool) {
	var resume func()
	if !c.commandIsCopied(func() { resume() }) {
		return false, false
	}
	if !c.S.primaryLink {
		w := c.Suspend(WaitWork, 0, nil, nil)
		resume = func() { w.Resume(nil) } // not before the shard is unlocked
		c.unlockHeld()
		return true, true
	}
	made := make(chan struct{})
	resume = func() { close(made) }
	c.unlockHeld()
	<-made
	return true, false
}

// commandIsCopied says whether the command, or one of its transaction, may change a value that a snapshot copies. Then
// resume is called once when it is worth trying again.
func (c *Ctx) commandIsCopied(resume func()) bool {
	if c.S.multi == nil {
		return c.Cmd.edits && c.keysAreCopied(c.Cmd.runsCode, resume)
	}
	args, cmd := c.Args, c.Cmd
	defer func() { c.Args, c.Cmd = args, cmd }()
	for i := range c.S.multi.queue {
		q := &c.S.multi.queue[i]
		if !q.cmd.edits || !q.cmd.keyed {
			continue
		}
		c.load(q)
		if _, ok := c.findKeys(q.cmd); ok && c.keysAreCopied(true, resume) {
			return true
		}
	}
	return false
}

// keysAreCopied says whether a snapshot copies the value of one of the keys; anyDB is for what may select a database.
func (c *Ctx) keysAreCopied(anyDB bool, resume func()) (waits bool) {
	for i := range c.keys {
		part := c.Part(i)
		if !part.Cutting() {
			continue
		}
		first, last := c.S.db, c.S.db
		if anyDB {
			first, last = 0, c.e.dbs-1
		}
		for db := first; db <= last; db++ {
			if part.Await(db, &c.keys[i], resume) {
				resume, waits = nil, true // the others are only hurried
			}
		}
	}
	return waits
}

// isCopied says whether a snapshot copies the value of the i-th key, which is to be changed by the way.
func (c *Ctx) isCopied(i int) bool {
	return c.e.Cuts.Load() != 0 && c.Part(i).Await(c.S.db, &c.keys[i], nil)
}

// isHeldByCopy says whether a snapshot copies what a blocked command, whose shards are locked, is about to change. All that
// are blocked are served again when the copy is made.
func (c *Ctx) isHeldByCopy() bool {
	c.keys = c.keys[:0]
	if _, ok := c.findKeys(c.Cmd); !ok {
		return false
	}
	return c.keysAreCopied(false, func() { go c.e.ServeBlocked() })
}
