package engine

import (
	"math"
)

// Replay executes the commands of an append-only file: no check of rights, roles or memory stops them, and nothing of them goes
// to the log. It belongs to one goroutine.
type Replay struct {
	s *Session
	w *Worker
}

// NewReplay begins to replay, in database 0.
func (e *Engine) NewReplay() *Replay {
	s := &Session{e: e, conn: noConn{}, loggedIn: true, primaryLink: true, replay: true, replyMode: replyOff, Created: e.Clock.Now()}
	s.queued.Store(-1)
	s.parser.Limits.MaxBulk = math.MaxInt64
	return &Replay{s: s, w: e.NewWorker()}
}

// Known says whether there is a command for args.
func (r *Replay) Known(args [][]byte) bool {
	cmd, _ := r.s.e.lookup(args)
	return cmd != nil && cmd.run != nil
}

// Do executes a command; what it replies is of no interest. A message to others is not sent again.
func (r *Replay) Do(args [][]byte) {
	if cmd, _ := r.s.e.lookup(args); cmd != nil && cmd.forReplicas {
		return
	}
	c := &r.w.ctx
	c.S, c.Now, c.Args = r.s, r.s.e.Clock.Now(), args
	c.execute(r.w.nanos())
	c.S, c.Args = nil, nil
	r.w.Out.Reset()
	r.w.kick()
}

// InMulti says whether a transaction has begun and not ended.
func (r *Replay) InMulti() bool { return r.s.multi != nil }

// Forget drops a transaction that has not ended.
func (r *Replay) Forget() {
	r.s.multi = nil
	r.s.queued.Store(-1)
}

// Close ends the replay.
func (r *Replay) Close() { r.w.Drop() }

// noConn is the connection of a session that has none.
type noConn struct{}

func (noConn) Post(func(*Worker))            {}
func (noConn) CloseSoon(bool)                {}
func (noConn) Hijack(func(Raw, []byte))      {}
func (noConn) Buffered() (query, output int) { return 0, 0 }
