package command

import (
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/resp"
	"github.com/covey-db/covey/internal/script"
	"github.com/covey-db/covey/internal/spec"
)

// This file holds SCRIPT DEBUG. The next EVAL of a client that asked for it takes the connection from its event loop: the
// script runs on a goroutine of its own, which talks with the client wherever the script stops. The session of the client
// stays, so that access control and the database are its own. Meanwhile the script holds its keys, as any long one does.
//
// There is no fork that could keep the changes of a session apart. With YES, what a command is about to change is noted
// before, and put back in the end; nothing is logged.

// debugMode is what a client asked for: it is attached to its session.
type debugMode struct{ keep bool } // with SYNC: the changes stay

// debugRun is a debugging session under way.
type debugRun struct {
	debugMode
	d *script.Debugger
}

func cmdScriptDebug(c *engine.Ctx) {
	switch {
	case c.ArgIs(2, "NO"):
		c.S.Attach(nil)
		c.OK()
	case !c.ArgIs(2, "YES") && !c.ArgIs(2, "SYNC"):
		c.Err("ERR Use SCRIPT DEBUG YES/SYNC/NO")
	case c.InExec():
		c.Err("ERR SCRIPT DEBUG is not for transactions")
	default:
		c.S.Attach(&debugMode{keep: c.ArgIs(2, "SYNC")})
		c.OK()
	}
}

// debugs begins or carries out the debugging of an EVAL, if the client asked for it; false when it is an EVAL as any other.
func (s *Scripts) debugs(c *engine.Ctx, n int, readOnly bool) bool {
	switch x := c.S.Attached().(type) {
	case *debugMode:
		if c.InExec() {
			return false
		}
		s.beginDebugging(c, *x)
		return true
	case *debugRun:
		s.debug(c, x, n, readOnly)
		return true
	}
	return false
}

// beginDebugging takes the connection; the command is given once more on the goroutine that the session gets.
func (s *Scripts) beginDebugging(c *engine.Ctx, mode debugMode) {
	sess, e := c.S, c.Engine()
	command := resp.AppendCommand(nil, c.Args...)
	body := string(c.Arg(1))
	c.Hijack(func(raw engine.Raw, unread []byte) {
		defer sess.Close()
		defer raw.Close()
		run := &debugRun{debugMode: mode, d: script.NewDebugger(raw, unread, body)}
		sess.Attach(run)
		w := e.NewWorker()
		defer w.Drop()
		if sess.ProcessTaken(w, command) == 0 {
			_, _ = raw.Write([]byte(errDebugPaused))
			return
		}
		run.d.End()
		for _, p := range w.Out.Pieces(nil) {
			if _, err := raw.Write(p); err != nil {
				break
			}
		}
	})
}

// debug runs the script under its debugger.
func (s *Scripts) debug(c *engine.Ctx, run *debugRun, n int, readOnly bool) {
	body := string(c.Arg(1))
	p, err := script.CompileForDebugging(body, script.SHA1(body))
	if err != nil {
		c.Err("ERR " + err.Error())
		return
	}
	if !mayBegin(c, p.Flags, readOnly) {
		return
	}
	m := s.machine(c.Engine(), forEval)
	m.program, m.debug = p, run
	m.runFor(c, n, scriptOptions(c, p.Flags, p.SHA, true, readOnly))
}

// runDebugged is run for a script under a debugger.
func (m *machine) runDebugged(r *script.Reply) {
	m.Widen() // the client may take its time
	if m.debug.keep {
		m.vm.Debug(m, m.debug.d, m.program, m.keys, m.args, r)
		return
	}
	host := &undoing{machine: m, before: make(map[string]before)}
	m.SetPropagation(false, false)
	m.vm.Debug(host, m.debug.d, m.program, m.keys, m.args, r)
	host.putBack()
}

// undoing is a host that notes what the commands of a script change.
type undoing struct {
	*machine
	before map[string]before // by key; all in one database
	order  []string
}

// before is what a key had at first.
type before struct {
	payload []byte // nil: there was no such key
	expires []byte // Unix milliseconds as a text, "0" for never
}

// SetPropagation implements script.Host: nothing of the session is logged.
func (u *undoing) SetPropagation(bool, bool) {}

// errDebugPaused is what a client hears instead that begins a session while clients are paused.
const errDebugPaused = "-ERR Clients are paused. Try again later.\r\n"

// Texts for commands whose changes could not be put back.
const (
	errDebugKeyless = "ERR Commands that change the data without naming keys cannot be debugged with YES, because they cannot be undone. Use SYNC."
	errDebugSelect  = "ERR SELECT cannot be debugged with YES. Use SYNC."
)

// Call implements script.Host.
func (u *undoing) Call(args [][]byte) (reply []byte, refusal string) {
	row := u.c.Engine().Table().Lookup(args[0])
	if row != nil && len(row.Subs) > 0 && len(args) > 1 {
		row = row.Sub(args[1])
	}
	switch {
	case row == nil:
	case row.Full == "select":
		return nil, errDebugSelect
	case row.Flags&spec.Write != 0:
		refs := row.RouteKeys(args, nil)
		if len(refs) == 0 {
			return nil, errDebugKeyless
		}
		own := make([][]byte, len(args)) // what they point to does not live until the command is called
		for i, a := range args {
			own[i] = append([]byte(nil), a...)
		}
		for _, ref := range refs {
			u.note(own[ref.Pos])
		}
		args = own
	}
	return u.machine.Call(args)
}

// note remembers a key as it is, the first time.
func (u *undoing) note(key []byte) {
	name := string(key)
	if _, known := u.before[name]; known {
		return
	}
	var was before
	if reply, refusal := u.machine.Call([][]byte{[]byte("DUMP"), key}); refusal == "" {
		if v, _, err := resp.ParseReply(reply); err == nil && v.Kind == resp.Bulk {
			was.payload = append([]byte(nil), v.Str...)
		}
	}
	if was.payload != nil {
		was.expires = []byte("0")
		if reply, refusal := u.machine.Call([][]byte{[]byte("PEXPIRETIME"), key}); refusal == "" {
			if v, _, err := resp.ParseReply(reply); err == nil && v.Int > 0 {
				was.expires = append([]byte(nil), v.Str...)
			}
		}
	}
	u.before[name] = was
	u.order = append(u.order, name)
}

// putBack makes every key what it was.
func (u *undoing) putBack() {
	for _, name := range u.order {
		was, key := u.before[name], []byte(name)
		if was.payload == nil {
			_, _ = u.machine.Call([][]byte{[]byte("DEL"), key})
			continue
		}
		_, _ = u.machine.Call([][]byte{[]byte("RESTORE"), key, was.expires, was.payload, []byte("REPLACE"), []byte("ABSTTL")})
	}
}
