package engine

import (
	"errors"
	"time"
)

// Texts of SCRIPT KILL and FUNCTION KILL.
const (
	ErrNotBusy      = "NOTBUSY No scripts in execution right now."
	errUnkillable   = "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
	errFromPrimary  = "UNKILLABLE The busy script was sent by a master instance in the context of replication and cannot be killed."
	scriptKilled    = "Script killed by user with SCRIPT KILL..."
	scriptsAborted  = "Script ended because the server ends"
	killSettleShare = 2 // a script counts as running for long from half of busy-reply-threshold on
)

// runningScripts lists the holds of the scripts of all workers.
func (e *Engine) runningScripts() (list []*hold) {
	e.workers.Lock()
	defer e.workers.Unlock()
	for _, w := range e.workers.all {
		if h := w.running.Load(); h != nil {
			list = append(list, h)
		}
	}
	return list
}

// view calls fn with the script of a hold that has run for at least a time, if there is one.
func (h *hold) view(least time.Duration, fn func(o *ScriptOptions, args [][]byte)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.script != nil && time.Since(h.begun) >= least {
		fn(h.mu.script, h.mu.args)
	}
}

// KillScripts ends the scripts that run for long, or functions, if they have written nothing; the text says why none ended.
func (e *Engine) KillScripts(eval bool) (text string) {
	text = ErrNotBusy
	killed := false
	for _, h := range e.runningScripts() {
		h.view(e.busyAfter()/killSettleShare, func(o *ScriptOptions, _ [][]byte) {
			switch {
			case o.FromPrimary:
				text = errFromPrimary
			case h.written.Load():
				text = errUnkillable
			case o.Eval && !eval:
				text = ErrBusyScript
			case !o.Eval && eval:
				text = ErrBusyFunction
			default:
				o.Stop(errors.New(scriptKilled))
				killed = true
			}
		})
	}
	if killed {
		return ""
	}
	return text
}

// AbortScripts ends all scripts, whatever they have written: the server ends.
func (e *Engine) AbortScripts() {
	for _, h := range e.runningScripts() {
		h.view(0, func(o *ScriptOptions, _ [][]byte) { o.Stop(errors.New(scriptsAborted)) })
	}
}

// RunningScripts describes the scripts that run for long.
func (e *Engine) RunningScripts() (list []RunningScript) {
	for _, h := range e.runningScripts() {
		h.view(e.busyAfter()/killSettleShare, func(o *ScriptOptions, args [][]byte) {
			list = append(list, RunningScript{o.Name, copyArgs(args), o.Eval, time.Since(h.begun)})
		})
	}
	return list
}
