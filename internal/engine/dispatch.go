package engine

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/spec"
)

// execute takes one command through all checks to its handler and returns the time it ended. again means that the command
// has to wait and must be given once more.
func (c *Ctx) execute(start int64) (end int64, again bool) {
	s := c.S
	c.failed, c.rejected, c.explicit, c.pushed, c.sifted, c.dirty = false, false, false, false, false, 0
	c.keys = c.keys[:0]
	c.asking, s.asking = s.asking, false
	if s.replyMode == replySkipNext {
		s.replyMode = replySkipThis
	}
	mark := c.W.Out.mark()
	cmd := c.admit()
	if cmd != nil {
		if c.held == 0 && c.e.Pause.mode.Load() != 0 && c.mustPause(cmd) {
			s.asking = c.asking
			return start, true
		}
		if s.multi != nil && c.queues(cmd) {
			c.queue(cmd)
			cmd = nil // it is called by EXEC
		} else if c.run(cmd) {
			s.asking = c.asking
			return start, true
		}
	}
	end = c.W.nanos()
	if cmd != nil && !cmd.runsCode && c.e.monitors.count.Load() > 0 && !c.input.taken {
		c.tellMonitors(cmd, s.Peer.Remote)
	}
	if s.blockedOnKeys() {
		return end, false // it is counted, and answered, when it ends
	}
	if cmd != nil && !c.rejected {
		c.W.count(cmd, end-start, c.failed)
		if c.e.SlotStats.Enabled() {
			c.costs(end-start, mark)
		}
		if end-start >= c.e.Timing.remarkable.Load() {
			c.remark(cmd, end-start)
		}
		if cmd.weighty {
			c.weighedIn(end - start)
		}
	}
	c.W.commands++
	if s.replyMode != replyOn && !c.sifted {
		c.dropReply(mark)
	}
	if len(c.W.own) > 0 {
		c.W.deliverOwn()
	}
	if len(c.W.invalid) > 0 {
		c.W.tellOwnInvalidations(s)
	}
	if s.tracking.caching && s.multi == nil && (cmd == nil || cmd.Parent == nil || cmd.Parent.Name != "client") {
		s.tracking.caching = false // it was for one command
	}
	return end, false
}

// deliverOwn puts the messages that a command sent to its own session behind its reply. In a transaction the session may have
// stopped to listen since.
func (w *Worker) deliverOwn() {
	for _, p := range w.own {
		w.Out.buf = append(w.Out.buf, p.encoded()...)
	}
	clear(w.own)
	w.own = w.own[:0]
}

// dropReply is for a client that does not want this reply. What is pushed comes all the same, and so does the reply to the
// command that asked for the next one to be left out, which EXEC may be.
func (c *Ctx) dropReply(mark outMark) {
	if !c.pushed && c.S.replyMode != replySkipNext {
		c.W.Out.cutBack(mark)
	}
	if c.S.replyMode == replySkipThis {
		c.S.replyMode = replyOn
	}
}

// admit finds the command and applies the checks that need no key. nil: the refusal has been replied.
func (c *Ctx) admit() *Command {
	var cmd *Command
	var container *spec.Row
	if c.seen != nil {
		cmd = c.seen.cmd
	} else {
		cmd, container = c.e.lookup(c.Args)
	}
	if cmd == nil || cmd.run == nil {
		if c.spokenByBrowser() {
			c.S.closeAfterReply()
			return nil
		}
		c.unknown(cmd, container)
		return nil
	}
	c.Cmd = cmd
	if c.S.cmd.Load() != cmd {
		c.S.cmd.Store(cmd)
	}
	if cmd.flagsOf != nil && len(c.Args) > 2 {
		cmd = c.withFlags(cmd)
	}
	if cmd.Arity > 0 && len(c.Args) != cmd.Arity || len(c.Args) < -cmd.Arity {
		c.refuse("wrong number of arguments for '" + cmd.Full + "' command")
		return nil
	}
	if cmd.Flags&spec.Protected != 0 && !c.mayProtected(cmd) {
		c.refuse(fmt.Sprintf(errProtected, strings.ToUpper(cmd.container()), cmd.container()))
		return nil
	}
	if c.S.primaryLink {
		return cmd
	}
	if text := c.denied(cmd); text != "" {
		c.refuse(text)
		return nil
	}
	if text := c.refusal(cmd); text != "" {
		// A node that cannot serve the key now still knows who can.
		if !c.e.ClusterOn || !cmd.keyed || c.routedNow(cmd) {
			c.refuse(text)
			return nil
		}
		c.refused(cmd)
		return nil
	}
	return cmd
}

// errProtected names a command that the configuration has not allowed, in capitals and in the directive's name.
const errProtected = "ERR %s command not allowed. If the enable-%s-command option is set to \"local\", you can run it from a local " +
	"connection, otherwise you need to set this option in the configuration file, and then restart the server."

// Who may call a command that the configuration has to allow.
const (
	AllowNobody = iota
	AllowLocal  // over loopback or a Unix socket
	AllowAll
)

// mayProtected applies enable-debug-command and enable-module-command.
func (c *Ctx) mayProtected(cmd *Command) bool {
	allowed := &c.e.Settings.ModuleAllowed
	if cmd.container() == "debug" {
		allowed = &c.e.Settings.DebugAllowed
	}
	switch allowed.Load() {
	case AllowAll:
		return true
	case AllowLocal:
		return c.S.Peer.Unix || c.S.Peer.Loopback
	}
	return false
}

// container is the name of the command that the command is a subcommand of, or its own.
func (cmd *Command) container() string {
	name, _, _ := strings.Cut(cmd.Full, "|")
	return name
}

// refuse replies why the command is not executed; for EXEC that is the end of the transaction. A text without a code is an
// ERR.
func (c *Ctx) refuse(text string) {
	switch {
	case c.Cmd.Full == "exec":
		c.endMulti()
		c.Err(errExecRefused + strings.TrimPrefix(text, "ERR "))
	case text[0] >= 'a':
		c.Err("ERR " + text)
	default:
		c.Err(text)
	}
	c.refused(c.Cmd)
}

func (c *Ctx) refused(cmd *Command) {
	c.W.calls[cmd.ID].rejected.Add(1)
	c.spoilMulti()
}

// refusedHere is refused for the command under way, which does not count as a call.
func (c *Ctx) refusedHere(cmd *Command) {
	c.rejected = true
	c.refused(cmd)
}

// errExecRefused stands before the reason why EXEC is refused.
const errExecRefused = "EXECABORT Transaction discarded because of: "

// refusal is the first check that cmd fails, "" for none. The order is Redis's.
func (c *Ctx) refusal(cmd *Command) string {
	e, s := c.e, c.S
	switch {
	case e.Settings.MaxMemory().Load() > 0 && !e.Evictor.makeRoom(c) && (cmd.denyOOM || c.deniedInMulti(cmd)):
		return ErrOOM
	}
	write, lacks, has := cmd.write, ^cmd.Flags, cmd.Flags
	if s.multi != nil && cmd.Full == "exec" {
		write = s.multi.alters
		lacks |= s.multi.lacks
		has |= s.multi.has
	}
	if write && !e.Role.IsReplica() || cmd.forReplicas && cmd.Full == "ping" {
		if text := e.diskTrouble(); text != "" {
			return text
		}
	}
	if write && !e.Role.IsReplica() {
		if n := e.Settings.MinReplicas.Load(); n > 0 && int64(e.Role.GoodReplicas()) < n {
			return ErrNoReplicas
		}
	}
	if e.Role.IsReplica() {
		if write && e.Settings.ReplicaReadOnly.Load() && !c.routedElsewhere(cmd) {
			return ErrReadOnly
		}
	}
	if s.InSubscriberMode() && !forSubscribers(cmd) {
		return fmt.Sprintf(errSubscriber, cmd.Full)
	}
	if e.Role.IsReplica() {
		if !e.Role.linkUp.Load() && !e.Settings.ServeStale.Load() && lacks&spec.Stale != 0 {
			return ErrMasterDown
		}
	}
	if e.Loading() && lacks&spec.Loading != 0 {
		if c.held == 0 && !s.primaryLink {
			e.awaitBriefLoad()
		}
		if e.Loading() {
			return ErrLoading
		}
	}
	if e.AsyncLoading() && has&spec.NoAsyncLoading != 0 {
		return ErrLoading
	}
	// A script that may need any key keeps everybody out. Of another one PING tells, because monitors ask it.
	if h := e.busyScript.Load(); h != nil && lacks&spec.AllowBusy != 0 && (h.wide.Load() || cmd.Full == "ping") {
		return h.busyText()
	}
	return ""
}

// routedElsewhere says whether a cluster node redirects the command anyway, so that a replica answers MOVED and not
// READONLY.
func (c *Ctx) routedElsewhere(cmd *Command) bool { return c.e.ClusterOn && cmd.keyed }

// mustPause suspends the session when a pause holds cmd.
func (c *Ctx) mustPause(cmd *Command) bool {
	if c.S.multi != nil && c.queues(cmd) {
		return false
	}
	writes := cmd.write || cmd.mayReplicate || cmd.Full == "exec" && c.S.multi != nil && c.S.multi.writes
	held := c.e.Pause.Mode() == PauseEverything || c.pausedFor(writes)
	if c.S.primaryLink {
		held = c.pausedFor(writes)
	}
	return held && c.pauseHere()
}

// run executes one command outside a transaction; true when it has to be given again: a pause began, or it is for another
// thread.
func (c *Ctx) run(cmd *Command) (again bool) {
	if !cmd.keyed {
		if cmd.weighty && c.leaves(cmd) {
			return true
		}
		if c.S.over != nil && cmd.write { // it would take the locks itself
			c.LockAll()
			if c.S.linkOver() {
				c.unlockHeld()
				return true
			}
		}
		c.beginEffects()
		c.repeat = false
		cmd.run(c)
		c.finish()
		return c.repeat
	}
	set, ok := c.findKeys(cmd)
	if !ok {
		c.refusedHere(cmd)
		return false
	}
	if len(c.Args) >= manyWords && c.leavesNow() || cmd.weighty && c.leaves(cmd) {
		return true
	}
	if c.lockUnlessPaused(set, cmd.write || cmd.mayReplicate) {
		return true
	}
	if c.busy {
		c.refusedHere(cmd)
		return false
	}
	if c.e.ClusterOn && !c.S.primaryLink && !c.routed(cmd) {
		c.refusedHere(cmd)
		c.unlock()
		return false
	}
	if cmd.count > 0 && len(c.Args) > cmd.count && c.takesMany(cmd) && c.leavesNow() {
		c.unlock()
		return true
	}
	if len(c.keys) > 1 {
		c.warmKeys()
	}
	if cmd.runsCode && c.e.monitors.count.Load() > 0 {
		c.tellMonitors(cmd, c.S.Peer.Remote) // before what the script calls
	}
	c.beginEffects()
	cmd.run(c)
	if c.e.Tracking.active.Load() != 0 {
		c.remember(c.S)
	}
	c.finish()
	return false
}

// lockUnlessPaused takes the locks of a command. A pause that began meanwhile holds a write here: once the pause is seen by
// whoever takes the same locks, no write is under way any more. A write also waits here for a snapshot that copies a value,
// and a loop for whoever has a shard for long. true says that the session is suspended, without locks, or for another thread, or
// that it is the link of a primary that counts no more.
func (c *Ctx) lockUnlessPaused(set uint64, write bool) bool {
	for {
		if taken, again := c.lockForClient(set); !taken {
			return again
		}
		c.held = set
		switch {
		case c.S.over != nil && c.S.linkOver():
			c.unlockHeld()
			return true
		case c.pausedFor(write):
			c.unlockHeld()
			if c.pauseHere() {
				return true
			}
		case !write || c.e.Cuts.Load() == 0:
			return false
		default:
			if waits, suspended := c.waitForCopy(); !waits || suspended {
				return suspended
			}
		}
	}
}

// pausedFor says whether a pause holds a command that writes, or a command of the stream of a primary.
func (c *Ctx) pausedFor(write bool) bool {
	if c.S.primaryLink {
		return c.e.Pause.holdsStream(write)
	}
	return write && c.e.Pause.any()
}

// finish ends a command that ran by itself: its effects go to the log, its locks are released.
func (c *Ctx) finish() {
	c.endCommand()
	c.commitEffects()
	c.unlock()
}

// findKeys fills c.keys and returns the set of shards they live in; false when an error has been replied.
func (c *Ctx) findKeys(cmd *Command) (set uint64, ok bool) {
	if cmd.simple > 0 {
		if c.seen != nil && c.seen.cmd == cmd {
			c.keys = append(c.keys, c.seen.key)
		} else {
			c.keys = append(c.keys, c.e.hasher.Key(c.Args[cmd.simple]))
		}
		return shardBit(c.keys[0].Slot), true
	}
	if cmd.shardPubSub {
		return c.findChannels(cmd)
	}
	c.keyRefs = cmd.RouteKeys(c.Args, c.keyRefs[:0]) // none when the handler is going to refuse the arguments
	for _, ref := range c.keyRefs {
		k := c.e.hasher.Key(c.Args[ref.Pos])
		if c.e.ClusterOn && len(c.keys) > 0 && k.Slot != c.keys[0].Slot && !c.S.primaryLink {
			c.refuseApart()
			return 0, false
		}
		c.keys = append(c.keys, k)
		set |= shardBit(k.Slot)
	}
	if cmd.wholeIf != nil && cmd.wholeIf(c.Args) {
		set = allShards
	}
	return set, true
}

// spokenByBrowser says whether the command is a line of an HTTP request. A web page can make its reader's browser send one
// here, with commands in its body, so the connection ends before they are read.
func (c *Ctx) spokenByBrowser() bool {
	word := c.Args[0]
	return len(word) == 4 && strings.EqualFold(string(word), "post") || len(word) == 5 && strings.EqualFold(string(word), "host:")
}

// unknown replies that a command or sub-command does not exist.
func (c *Ctx) unknown(cmd *Command, container *spec.Row) {
	defer c.spoilMulti()
	if container != nil {
		c.Err(fmt.Sprintf(ErrUnknownSub, printable(c.Args[1], 128), strings.ToUpper(container.Full)))
		return
	}
	if cmd != nil && len(c.Args) < 2 {
		c.Cmd = cmd
		c.ArityErr()
		c.W.calls[cmd.ID].rejected.Add(1)
		return
	}
	const argsBytesMax = 128 // as much of the arguments as Redis shows
	var shown strings.Builder
	for _, a := range c.Args[1:] {
		if shown.Len() >= argsBytesMax {
			break
		}
		fmt.Fprintf(&shown, "'%s' ", printable(a, argsBytesMax-shown.Len()))
	}
	c.Err(fmt.Sprintf("ERR unknown command '%s', with args beginning with: %s", printable(c.Args[0], 128), shown.String()))
}

// printable is as much of an argument as an error of Redis shows: nothing behind a zero byte.
func printable(b []byte, most int) string {
	b = b[:min(len(b), most)]
	if end := bytes.IndexByte(b, 0); end >= 0 {
		b = b[:end]
	}
	return string(b)
}

// KeyAt computes the key of an argument outside the row's key specs.
func (c *Ctx) KeyAt(arg int) keyspace.Key { return c.e.hasher.Key(c.Args[arg]) }
