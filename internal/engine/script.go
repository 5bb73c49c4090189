package engine

import (
	"time"

	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/spec"
)

// Script is a run of a script: the commands it calls are executed as those of its client, under one hold of the shards, and
// their effects are one block of the log. It belongs to a worker.
type Script struct {
	e    *Engine
	c    *Ctx    // the command that runs the script
	in   Ctx     // of the commands that the script calls
	own  Session // database and protocol version of the script
	opts ScriptOptions
	hold *hold
	set  uint64 // shards that the next run takes at once, after a restart
	slot int    // slot of the keys so far in cluster mode, -1 for none

	audience audience // who repeats the effects
	begun    bool     // effects are collected
	fresh    bool     // whether effects are wanted was decided when the script first wrote
	restart  bool     // the run is to be given up and begun again

	brief bool  // the mutexes are still taken, because the run has been short so far
	since int64 // reading of the clock at the first command, 0 before
	next  *hold // for a brief run, which nobody else learns about
}

// briefNanos is how long a script keeps the mutexes of its shards. Then it holds the shards without them.
const briefNanos = 50_000

// ScriptOptions describe a script.
type ScriptOptions struct {
	Name           string // what FUNCTION STATS calls it
	Eval           bool   // EVAL, not a function
	ReadOnly       bool   // may not write
	AllowOOM       bool   // may write although memory is over its limit
	AllowCrossSlot bool   // may use keys of several slots in cluster mode
	OOM            bool   // memory is over its limit
	FromPrimary    bool   // came over the link to this node's primary
	Stop           func(why error)
}

// restartText is seen by nobody: the run that gets it is given up.
const restartText = "ERR the script begins again"

// ErrScriptDeadlock is what a script hears that has written and needs a key it did not declare, of a script that waits for
// its keys.
const ErrScriptDeadlock = "ERR The script needs a key that it did not declare, and the script that uses the key waits for this one. Declare all keys."

// RunScript executes a script: run is called, and called again when the script has to begin anew; what it appends to the
// reply then is dropped. The shards of the command's keys are locked when it is called and given back when it returns,
// unless a transaction owns them.
func (c *Ctx) RunScript(o ScriptOptions, run func(s *Script)) {
	s := c.W.scriptRun()
	s.begin(c, o)
	s.brief, s.since = !c.inExec, 0
	if s.brief {
		s.hold = s.nextHold()
	} else {
		s.hold = c.hold
		s.publish()
	}
	at := c.W.Out.mark()
	for {
		run(s)
		if !s.restart {
			break
		}
		c.W.Out.cutBack(at)
		s.beginAgain()
	}
	if s.brief {
		return // the shards are the command's, as if it were any other
	}
	c.W.running.Store(nil)
	s.end()
}

// nextHold is a hold that nobody has seen.
func (s *Script) nextHold() *hold {
	h := s.next
	if h == nil {
		h = new(hold)
		s.next = h
	}
	if h.written.Load() {
		h.written.Store(false)
		h.firm.Store(false)
	}
	h.set = s.c.held
	return h
}

// publish gives the mutexes back; others see now who holds the shards.
func (s *Script) publish() {
	c := s.c
	s.hold.runs(&s.opts, c.Args)
	c.W.running.Store(s.hold)
	c.unlockHeld()
	s.in.held = 0
}

// Widen ends the brief part of a run: others must not wait for its mutexes any longer.
func (s *Script) Widen() {
	if !s.brief {
		return
	}
	s.brief = false
	h := s.hold
	s.next = nil
	h.begun = time.Now()
	if s.since != 0 {
		h.begun = s.c.W.watch.Start().Add(time.Duration(s.since))
	}
	s.e.mark(h.set, h)
	s.c.hold = h
	s.publish()
}

func (w *Worker) scriptRun() *Script {
	if w.script == nil {
		w.script = &Script{e: w.e}
		w.script.own.e, w.script.own.inScript = w.e, true
	}
	return w.script
}

func (s *Script) begin(c *Ctx, o ScriptOptions) {
	s.c, s.opts = c, o
	s.in = Ctx{e: c.e, W: c.W, S: &s.own, Now: c.Now, inExec: true, keys: s.in.keys[:0], keyRefs: s.in.keyRefs[:0]}
	s.own.ID, s.own.Peer = c.S.ID, c.S.Peer
	s.own.loggedIn, s.own.readonly, s.own.noTouch = true, c.S.readonly, c.S.noTouch
	s.own.primaryLink = c.S.primaryLink
	s.own.account.Store(c.S.Account())
	s.own.client = c.S
	s.reset()
	s.set, s.slot, s.fresh = 0, -1, false
	if len(c.keys) > 0 {
		s.slot = int(c.keys[0].Slot)
	}
	s.begun = c.inExec || c.held != 0
}

func (s *Script) reset() {
	s.own.db, s.own.proto = s.c.S.db, resp.RESP2
	s.audience, s.restart, s.in.held = everybody, false, 0
}

// beginAgain gives up what the script holds and takes what it turned out to need.
func (s *Script) beginAgain() {
	e, h := s.e, s.hold
	want := h.set | s.set
	e.lockUnlessHeld(h.set, h)
	e.mark(h.set, nil)
	e.unlockSet(h.set)
	h.finish()
	e.lockSet(want)
	s.c.held = want
	s.c.holdShards()
	s.hold, s.begun = s.c.hold, true
	s.hold.runs(&s.opts, s.c.Args)
	s.c.W.running.Store(s.hold)
	e.unlockSet(want)
	s.c.held = 0
	s.reset()
}

// end logs the effects and gives the shards back.
func (s *Script) end() {
	c, h := s.c, s.hold
	if s.e.busyScript.Load() == h {
		s.e.busyScript.Store(nil)
	}
	s.e.lockUnlessHeld(h.set, h)
	c.held = h.set
	if c.inExec {
		h.runs(nil, nil)
		return
	}
	c.commitEffects()
	c.letGo()
	c.unlockHeld()
	c.serveLate()
}

// SetProto is redis.setresp.
func (s *Script) SetProto(v resp.Version) { s.own.proto = v }

// SetPropagation is redis.set_repl: who repeats the effects.
func (s *Script) SetPropagation(replicas, file bool) {
	switch {
	case replicas && file:
		s.audience = everybody
	case replicas:
		s.audience = replicasAlone
	case file:
		s.audience = fileAlone
	default:
		s.audience = nobody
	}
}

// GivenUp says that the run has to end: it will be begun again.
func (s *Script) GivenUp() bool { return s.restart }

// Look makes others hear BUSY when the script has run for long. It is called now and then.
func (s *Script) Look() {
	s.Widen()
	limit := s.e.busyAfter()
	if limit == 0 || time.Since(s.hold.begun) < limit {
		return
	}
	wide := len(s.c.keys) == 0
	if other := s.e.busyScript.Load(); other == nil || wide && !other.wide.Load() {
		if s.e.SlowScript != nil && other != s.hold {
			s.e.SlowScript(time.Since(s.hold.begun))
		}
		s.hold.wide.Store(wide)
		s.e.busyScript.Store(s.hold)
	}
}

// Call executes a command of the script. Its reply lives until the next call or until the script appends to its own. When
// the command is not executed, refusal says why.
func (s *Script) Call(args [][]byte) (reply []byte, refusal string) {
	in := &s.in
	in.Args, in.keys, in.failed, in.explicit, in.dirty = args, in.keys[:0], false, false, 0
	cmd, _ := s.e.lookup(args)
	if refusal = s.refusal(cmd); refusal != "" {
		return nil, s.refuse(cmd, refusal)
	}
	in.Cmd = cmd
	mark := in.W.Out.mark()
	set, ok := s.shards(cmd)
	if !ok {
		in.W.Out.cutBack(mark)
		return nil, s.refuse(cmd, errNonLocal)
	}
	if s.brief && (!cmd.keyed || set&^s.hold.set != 0) {
		s.Widen()
	}
	if s.brief {
		set = s.hold.set
	} else {
		if refusal = s.reserve(set); refusal != "" {
			return nil, s.refuse(cmd, refusal)
		}
		s.e.lockUnlessHeld(set, s.hold)
	}
	in.held, in.hold = set, s.hold
	if s.e.ClusterOn && cmd.keyed && !s.own.primaryLink {
		if refusal = s.routed(cmd); refusal != "" {
			s.release()
			return nil, s.refuse(cmd, refusal)
		}
	}
	if !s.fresh && !s.brief && (cmd.write || cmd.mayReplicate) {
		s.fresh = true
		if !s.c.inExec {
			s.c.decideLogging() // it may have been switched while the script only read
		}
	}
	in.logging, in.audience = s.c.logging && s.audience != nobody, s.audience
	start := in.W.nanos()
	cmd.run(in)
	if cmd.keyed && s.e.Tracking.active.Load() != 0 {
		in.remember(s.c.S)
	}
	in.endCommand()
	s.release()
	end := in.W.nanos()
	in.W.count(cmd, end-start, in.failed)
	if s.brief {
		s.passed(start, end)
	}
	if s.e.monitors.count.Load() > 0 {
		in.tellMonitors(cmd, "lua")
	}
	reply = in.W.Out.since(mark)
	in.W.Out.cutBack(mark)
	return reply, ""
}

// release gives back what a command of the script has locked.
func (s *Script) release() {
	if !s.brief {
		s.e.unlockSet(s.in.held)
	}
	s.in.held = 0
}

// passed ends the brief part of a run in time.
func (s *Script) passed(start, end int64) {
	if s.since == 0 {
		s.since = start
	}
	if end-s.since > briefNanos {
		s.Widen()
	}
}

// since is everything behind a mark; it lives until something is appended.
func (o *Out) since(m outMark) []byte {
	if len(o.segs) == m.segs {
		return o.buf[m.buf:]
	}
	return o.bytesSince(m)
}

// shards is the set that a command needs; false when its keys are of several slots in cluster mode.
func (s *Script) shards(cmd *Command) (set uint64, ok bool) {
	switch {
	case cmd.scope == ScopeWhole:
		return allShards, true
	case cmd.keyed:
		return s.in.findKeys(cmd)
	case cmd.mayReplicate:
		return 1, true // what it logs stands under a lock
	}
	return 0, true
}

// reserve makes shards the script's for the rest of its run. The texts are reasons not to execute the command.
func (s *Script) reserve(set uint64) (refusal string) {
	h := s.hold
	missing := set &^ h.set
	if missing == 0 {
		return ""
	}
	for {
		other := s.e.lockUnlessHeld(missing, h)
		if other == nil {
			s.e.mark(missing, h)
			if !s.begun {
				s.begun = true
				s.c.beginEffects()
			}
			s.e.unlockSet(missing)
			h.set |= missing
			return ""
		}
		if !s.e.mayWait(h, other) {
			if h.written.Load() || s.c.inExec {
				return "-" + ErrScriptDeadlock
			}
			s.set, s.restart = missing, true
			return restartText
		}
		other.await(0)
		s.e.waits.Lock()
		h.waits = nil
		s.e.waits.Unlock()
	}
}

// mayWait notes that a script waits for another one; false when that waits, in however many steps, for the first.
func (e *Engine) mayWait(h, other *hold) bool {
	e.waits.Lock()
	defer e.waits.Unlock()
	for at := other; at != nil; at = at.waits {
		if at == h {
			return false
		}
	}
	h.waits = other
	return true
}

// withFlags is a command with the flags that its arguments give it.
func (c *Ctx) withFlags(cmd *Command) *Command {
	flags := cmd.flagsOf(c.Args, cmd.Flags)
	if flags == cmd.Flags {
		return cmd
	}
	row := *cmd.Row
	row.Flags = flags
	own := *cmd
	own.Row = &row
	own.write, own.denyOOM, own.mayReplicate = flags&spec.Write != 0, flags&spec.DenyOOM != 0, flags&spec.MayReplicate != 0
	c.Cmd = &own
	return &own
}

// RunningScript is a script that runs.
type RunningScript struct {
	Name string
	Args [][]byte
	Eval bool
	For  time.Duration
}

// readable says whether a replica may execute the command for a client that said READONLY: WATCH too, and a script without
// flags may try.
func (cmd *Command) readable() bool { return !cmd.write }

// LibraryStore keeps the libraries of functions, which are saved and copied with the data.
type LibraryStore interface {
	// Codes are the sources of the libraries.
	Codes() [][]byte
	// Restore puts libraries in force: in place of all others, or, to merge, of those of the same names.
	Restore(e *Engine, codes [][]byte, merge bool) error
}

// NoteError counts an error that the script has made part of its reply; counted says that the statistics know it.
func (c *Ctx) NoteError(text string, counted bool) {
	c.failed = true
	if !counted {
		c.e.Errors.count(text)
	}
}
