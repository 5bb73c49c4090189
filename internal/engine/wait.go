package engine

import (
	"sync"
	"sync/atomic"
	"time"
)

// waitState is the suspension of a session: WAIT, a pause, a blocking pop. Whoever ends it first wins; the others find the
// token changed. So a client never gets two replies.
type waitState struct {
	mu     sync.Mutex    // held to change token, and while a blocked command runs again: whether it ends is open so long
	token  atomic.Uint64 // odd while suspended
	kind   atomic.Uint32 // WaitKind
	onEnd  func()        // removes the session from what it waits for
	timer  *time.Timer
	expire atomic.Pointer[func(c *Ctx)] // the reply of a timeout
}

// WaitKind says what a session waits for.
type WaitKind uint32

const (
	WaitNone  WaitKind = iota
	WaitPause          // CLIENT PAUSE: the command is executed again afterwards
	WaitAcks           // WAIT
	WaitKeys           // a blocking pop
	WaitEnd            // SHUTDOWN: the server ends, or says why not
	WaitWork           // another goroutine works on the command; only its end resumes the session
)

// Wait is a suspension in progress: a handle for whoever ends it.
type Wait struct {
	s     *Session
	token uint64
}

// Suspend stops the session's input until the returned Wait is resumed or the timeout has passed (0: never). onTimeout
// replies then; it runs on the session's thread. cancel is called once when the suspension ends in any way; it may be
// nil. Inside EXEC nothing can wait: the handler must reply at once.
func (c *Ctx) Suspend(kind WaitKind, timeout time.Duration, onTimeout func(c *Ctx), cancel func()) Wait {
	s := c.S
	s.state = stateWaiting
	s.wait.kind.Store(uint32(kind))
	s.wait.onEnd = cancel
	s.wait.expire.Store(&onTimeout)
	s.setFlag(FlagBlocked, kind != WaitWork)
	w := Wait{s, s.wait.token.Add(1)} // last: who sees the token sees the rest
	if timeout > 0 {
		s.setFlag(FlagTimed, kind == WaitAcks || kind == WaitKeys)
		s.wait.timer = time.AfterFunc(timeout, func() { w.Resume(onTimeout) })
	}
	return w
}

// Resume ends the suspension: reply runs on the session's thread and may reply. It reports whether this call was the one
// that ended it. Any goroutine may call it.
func (w Wait) Resume(reply func(c *Ctx)) bool { return w.resume(reply, false) }

// fail is Resume with an error.
func (w Wait) fail(text string) bool {
	return w.resume(func(c *Ctx) { c.Err(text) }, true)
}

func (w Wait) resume(reply func(c *Ctx), failed bool) bool {
	s := w.s
	kind := WaitKind(s.wait.kind.Load())
	if !s.wait.end(w.token) {
		return false
	}
	if kind == WaitKeys {
		s.e.Stats.countEnded(s.cmd.Load(), failed)
	}
	s.conn.Post(func(wk *Worker) {
		s.wake()
		if reply == nil {
			return
		}
		wk.RunFor(s, reply)
		if kind == WaitWork && wk.ctx.failed { // as a call it was counted when it began to wait
			wk.calls[s.cmd.Load().ID].failed.Add(1)
		}
	})
	return true
}

// end ends the suspension that token stands for; false when somebody else did.
func (w *waitState) end(token uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return token&1 == 1 && w.token.CompareAndSwap(token, token+1)
}

// wake makes the session open again; it runs on the session's thread.
func (s *Session) wake() {
	if s.wait.timer != nil {
		s.wait.timer.Stop()
		s.wait.timer = nil
	}
	if cancel := s.wait.onEnd; cancel != nil {
		s.wait.onEnd = nil
		cancel()
	}
	s.wait.kind.Store(uint32(WaitNone))
	s.setFlag(FlagBlocked|FlagTimed, false)
	if s.state == stateWaiting {
		s.state = stateOpen
	}
}

// RunFor lets fn reply to a session outside a command, on the session's thread.
func (w *Worker) RunFor(s *Session, fn func(c *Ctx)) {
	c := &w.ctx
	c.S, c.Now = s, s.e.Clock.Now()
	c.failed, c.pushed, c.dirty = false, false, 0
	mark := w.Out.mark()
	fn(c)
	if s.replyMode != replyOn {
		c.dropReply(mark)
	}
	c.S = nil
	w.kick()
}

// blockedOnKeys says whether the session is suspended by BlockOnKeys; on the session's thread.
func (s *Session) blockedOnKeys() bool {
	return s.state == stateWaiting && s.wait.kind.Load() == uint32(WaitKeys)
}

// answer appends a reply that another thread prepared.
func (s *Session) answer(w *Worker, pieces [][]byte) {
	mark := w.Out.mark()
	w.Out.give(pieces)
	if s.replyMode != replyOn {
		w.ctx.S, w.ctx.pushed = s, false
		w.ctx.dropReply(mark)
		w.ctx.S = nil
	}
}

// Unblock is CLIENT UNBLOCK: it ends a wait for keys or acknowledgements as a timeout, or with an error. It reports
// whether the session was blocked.
func (s *Session) Unblock(withError bool) bool {
	w, kind := s.waiting()
	if kind != WaitAcks && kind != WaitKeys {
		return false
	}
	if withError {
		return w.fail("UNBLOCKED client unblocked via CLIENT UNBLOCK")
	}
	return w.Resume(*s.wait.expire.Load())
}

// waiting is the suspension that is in progress, WaitNone when the session is not suspended; any goroutine may ask.
func (s *Session) waiting() (Wait, WaitKind) {
	token := s.wait.token.Load()
	kind := WaitKind(s.wait.kind.Load())
	if token&1 == 0 {
		return Wait{}, WaitNone
	}
	return Wait{s, token}, kind
}

// cancel ends a suspension because the connection is gone; it runs on the session's thread.
func (w *waitState) cancel(s *Session) {
	w.end(w.token.Load()) // if somebody else was faster, what he posted does not arrive any more
	s.wake()
	s.e.Pause.forget(s)
}

// pauseHere suspends the session because a pause holds the command; false when the pause just ended.
func (c *Ctx) pauseHere() bool {
	w := c.Suspend(WaitPause, 0, nil, nil)
	if !c.e.Pause.wait(c.S, func() { w.Resume(nil) }) {
		c.S.unpark()
		return false
	}
	return true
}
