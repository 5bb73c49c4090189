package engine

import (
	"github.com/covey-db/covey/internal/acl"
	"github.com/covey-db/covey/internal/spec"
)

// This file says why a script may not run, and why it may not call a command.

// refuse counts a refusal and returns its text.
func (s *Script) refuse(cmd *Command, text string) string {
	if text == restartText {
		return text
	}
	if cmd != nil {
		s.c.W.calls[cmd.ID].rejected.Add(1)
	}
	coded := text
	if text[0] != '-' {
		coded = "-ERR " + text
	}
	s.e.Errors.count(coded[1:])
	return text
}

// Refusals of commands in scripts. A text that begins with - carries its code.
const (
	errNonLocal    = "Script attempted to access a non local key in a cluster node"
	errScriptSlots = "Script attempted to access keys that do not hash to the same slot"
	errScriptRead  = "Script attempted to execute a write command while the cluster is down and readonly"
	errScriptDown  = "Script attempted to execute a command while the cluster is down"
)

// refusal applies the checks that need no key, in Redis's order.
func (s *Script) refusal(cmd *Command) string {
	e := s.e
	if cmd == nil || cmd.run == nil && len(cmd.Subs) == 0 {
		return "Unknown Redis command called from script"
	}
	if n := len(s.in.Args); cmd.run == nil || cmd.Arity > 0 && n != cmd.Arity || n < -cmd.Arity {
		return "Wrong number of args calling Redis command from script"
	}
	if cmd.Flags&spec.NoScript != 0 && !e.Settings.ScriptsMayAll.Load() {
		return "This Redis command is not allowed from script"
	}
	if e.IsStale() && cmd.Flags&spec.Stale == 0 {
		return "Can not execute the command on a stale replica"
	}
	if v := s.in.Check(cmd, s.in.Args, acl.InScript); v.Reason != acl.Allowed {
		return "ACL failure in script: " + s.own.user().Refusal(v, cmd.Row)
	}
	if s.opts.ReadOnly && (cmd.write || cmd.mayReplicate) {
		return "Write commands are not allowed from read-only scripts."
	}
	if cmd.write && !s.hold.written.Load() {
		switch {
		case e.Role.IsReplica() && e.Settings.ReplicaReadOnly.Load() && !s.own.primaryLink:
			return "-" + ErrReadOnly
		case e.Role.IsReplica():
		case e.diskTrouble() != "":
			return "-" + e.diskTrouble()
		case e.lacksReplicas():
			return "-" + ErrNoReplicas
		}
	}
	if cmd.denyOOM && s.opts.OOM && !s.opts.AllowOOM && !s.hold.written.Load() && !s.own.primaryLink {
		return "-" + ErrOOM
	}
	if cmd.write || cmd.mayReplicate {
		s.hold.written.Store(true)
		s.hold.firm.Store(true)
	}
	return ""
}

// lacksReplicas says whether min-replicas-to-write forbids writing now.
func (e *Engine) lacksReplicas() bool {
	n := e.Settings.MinReplicas.Load()
	return n > 0 && !e.Role.IsReplica() && int64(e.Role.GoodReplicas()) < n
}

// routed checks that the keys of a command are here.
func (s *Script) routed(cmd *Command) (refusal string) {
	in := &s.in
	if len(in.keys) == 0 {
		return ""
	}
	in.asking = s.c.asking
	switch in.verdict(cmd) {
	case "":
	case ErrClusterRead:
		return errScriptRead
	case ErrClusterDown:
		return errScriptDown
	default:
		return errNonLocal
	}
	slot := int(in.keys[0].Slot)
	if s.slot < 0 {
		s.slot = slot
	}
	if slot != s.slot && !s.opts.AllowCrossSlot {
		return errScriptSlots
	}
	return ""
}

// Allowed says whether the script's client may execute a command; known is false when there is none.
func (s *Script) Allowed(args [][]byte) (allowed, known bool) {
	cmd, _ := s.e.lookup(args)
	if cmd == nil || cmd.run == nil {
		return false, false
	}
	u := s.own.user()
	return u == nil || u.Check(cmd.Row, args, nil).Reason == acl.Allowed, true
}

// ScriptRefusal is why a script with flags of its own does not begin, "" when it may. writes says that it may write.
func (c *Ctx) ScriptRefusal(writes, allowOOM, allowStale, noCluster, readOnlyCommand bool) string {
	e := c.e
	stale := e.IsStale()
	switch {
	case noCluster && e.ClusterOn:
		return "ERR Can not run script on cluster, 'no-cluster' flag is set."
	case stale && !allowStale:
		return "MASTERDOWN Link with MASTER is down, replica-serve-stale-data is set to 'no' and 'allow-stale' flag is not set on the script."
	case !writes:
	case e.Role.IsReplica() && e.Settings.ReplicaReadOnly.Load() && !c.S.primaryLink:
		return "READONLY Can not run script with write flag on readonly replica"
	case !e.Role.IsReplica() && !e.Settings.WritesRefused.Load() && e.Settings.FileError.Load() != nil:
		return errFileScript + *e.Settings.FileError.Load()
	case !e.Role.IsReplica() && e.Settings.WritesRefused.Load():
		return "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. Writable scripts are blocked. Use 'no-writes' flag for read only scripts."
	case readOnlyCommand:
		return "ERR Can not execute a script with write flag using *_ro command."
	case e.lacksReplicas():
		return ErrNoReplicas
	case !allowOOM && c.OverMemory():
		return "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'"
	}
	return ""
}

// OverMemory says whether the data does not fit maxmemory and nothing may go.
func (c *Ctx) OverMemory() bool {
	limit := c.e.Settings.maxMemory.Load()
	return limit > 0 && c.e.UsedMemory() > limit && !(c.e.Role.IsReplica() && c.e.Settings.IgnoreMaxMemory.Load())
}

// IsStale says whether this node follows a primary it has lost, and must not serve old data.
func (e *Engine) IsStale() bool {
	return e.Role.IsReplica() && !e.Role.linkUp.Load() && !e.Settings.ServeStale.Load()
}
