package replication

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/covey-db/covey/internal/engine"
)

// This file is the replica's side: the link to the primary.

type linkPhase int32

const (
	linkConnect    linkPhase = iota // waits for the next attempt
	linkConnecting                  // dials
	linkHandshake                   // greets and asks for the stream
	linkSync                        // receives or loads a snapshot
	linkConnected                   // applies the stream
)

func (p linkPhase) String() string {
	return [...]string{"connect", "connecting", "handshake", "sync", "connected"}[p]
}

// timeoutText is the log line of a link that repl-timeout ended.
func (p linkPhase) timeoutText() string {
	switch p {
	case linkConnected:
		return "MASTER timeout: no data nor PING received"
	case linkSync:
		return "Timeout receiving bulk data from MASTER"
	}
	return "Timeout connecting to the MASTER"
}

// follower is the link to one primary, from REPLICAOF to the next role.
type follower struct {
	m      *Manager
	addr   string
	cancel context.CancelFunc
	done   chan struct{}

	state    atomic.Int32 // linkPhase
	lastIO   atomic.Int64 // Unix nanoseconds
	downAt   atomic.Int64 // when the link went down, Unix nanoseconds; 0 while it is up
	syncSize atomic.Int64 // bytes of the snapshot that is on its way: -1 before it is told, 0 when it is not
	syncRead atomic.Int64 // of them read
	ahead    atomic.Int64 // bytes of the stream that were read and not applied
	writeMu  sync.Mutex   // guards writes to conn
	conn     atomic.Pointer[net.Conn]
	pending  struct { // the read that waits for the primary
		sync.Mutex           // a leaf lock, held while the deadline of a read is set
		since      time.Time // when it began, zero while there is none
	}
}

func (f *follower) phase() linkPhase { return linkPhase(f.state.Load()) }

// Primary is the address this node follows, "" on a primary.
func (m *Manager) Primary() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.follow == nil {
		return ""
	}
	return m.mu.follow.addr
}

// LinkUp says whether this node is a replica whose link applies the stream.
func (m *Manager) LinkUp() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mu.follow != nil && m.mu.follow.phase() == linkConnected
}

// LinkDownFor is how long the link has been down, 0 when it is up or there is none.
func (m *Manager) LinkDownFor() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.follow == nil || m.mu.follow.downAt.Load() == 0 {
		return 0
	}
	return time.Since(time.Unix(0, m.mu.follow.downAt.Load()))
}

// LastIO is when the primary was last heard, zero when there is none.
func (m *Manager) LastIO() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.follow == nil || m.mu.follow.lastIO.Load() == 0 {
		return time.Time{}
	}
	return time.Unix(0, m.mu.follow.lastIO.Load())
}

// Follow makes this node a replica of the node at addr ("host:port"). Its own history is kept, so that it can go on with a
// partial resynchronisation where the primary knows it. False: this node is about to change places with a replica.
func (m *Manager) Follow(addr string) bool {
	if old := m.unfollow(); old != nil {
		<-old.done
	}
	m.e.LockAll()
	defer m.e.UnlockAll()
	return m.followLocked(addr, nil)
}

// followLocked is Follow under all shard locks, as EXEC holds them. The link before, which may be about to take a lock, has
// been told to end, or is told now; the new one begins when it has ended. Replicas keep their links: only a full synchronisation takes their
// history away.
// It is false, and does nothing, when a change of places other than by is under way.
func (m *Manager) followLocked(addr string, by *failover) bool {
	ctx, cancel := context.WithCancel(m.ctx)
	f := &follower{m: m, addr: addr, cancel: cancel, done: make(chan struct{})}
	f.downAt.Store(time.Now().UnixNano())
	m.mu.Lock()
	if m.mu.failover != by {
		m.mu.Unlock()
		cancel()
		return false
	}
	m.e.Role.SetReplica(true)
	m.e.Role.SetLinkUp(false)
	if other := m.mu.follow; other != nil { // somebody else gave the order at the same time: the last one counts
		other.end()
	}
	before := m.mu.last
	m.mu.follow, m.mu.last = f, f
	m.mu.Unlock()
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		defer close(f.done)
		if before != nil {
			<-before.done
		}
		f.run(ctx)
	}()
	m.log.Info("REPLICAOF enabled", "primary", addr)
	m.followed(addr)
	m.changed()
	return true
}

// Promote makes this node a primary that continues its history under a new id.
func (m *Manager) Promote() {
	old := m.unfollow()
	if old == nil {
		return
	}
	<-old.done
	m.e.LockAll()
	defer m.e.UnlockAll()
	if m.Primary() == "" { // nobody gave another order meanwhile
		m.promoteLocked()
	}
}

// promoteLocked is Promote under all shard locks. Replicas come back at once and hear the new id.
func (m *Manager) promoteLocked() {
	m.e.Log.Rename(NewID())
	m.e.Role.SetReplica(false)
	m.DropReplicas()
	m.log.Info("MASTER MODE enabled")
	m.followed("")
	m.changed()
}

// unfollow tells the link to end and returns it, nil when there is none. It is over when its done is closed.
func (m *Manager) unfollow() *follower {
	m.mu.Lock()
	f := m.mu.follow
	m.mu.follow = nil
	m.mu.Unlock()
	if f == nil {
		return nil
	}
	f.end()
	m.e.Role.SetLinkUp(false)
	return f
}

// end tells the link to end.
func (f *follower) end() {
	f.cancel()
	if c := f.conn.Load(); c != nil {
		(*c).Close()
	}
}

// retryWait is the pause between attempts to reach the primary.
const retryWait = 250 * time.Millisecond

func (f *follower) run(ctx context.Context) {
	said := "" // the last reason that was logged: a primary that stays away is told of once
	for ctx.Err() == nil {
		f.m.e.AwaitThaw()
		f.state.Store(int32(linkConnecting))
		err := f.attempt(ctx)
		if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
			f.m.log.Warn(f.phase().timeoutText())
		}
		if f.phase() == linkConnected {
			said = ""
		}
		f.state.Store(int32(linkConnect))
		f.m.e.Role.SetLinkUp(false)
		f.downAt.CompareAndSwap(0, time.Now().UnixNano())
		if ctx.Err() != nil {
			return
		}
		if reason := err.Error(); reason != said {
			said = reason
			f.m.log.Warn("Connection with master lost", "primary", f.addr, "reason", reason)
		}
		f.m.changed()
		select {
		case <-ctx.Done():
		case <-time.After(retryWait):
		}
	}
}

// attempt is one connection, from dialing to its loss.
func (f *follower) attempt(ctx context.Context) error {
	s := f.m.opts.Settings()
	dialCtx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	conn, err := f.m.opts.Dial(dialCtx, f.addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	f.conn.Store(&conn)
	defer f.conn.Store(nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f.state.Store(int32(linkHandshake))
	p := &primaryConn{f: f, conn: conn, timeout: s.Timeout, spare: f.m.e.NewSpare()}
	defer p.release()
	if err := p.greet(s); err != nil {
		return err
	}
	if err := f.synchronise(ctx, p, s); err != nil {
		return err
	}
	return f.apply(ctx, p)
}

// synchronise brings this node to a point in the primary's stream, by what is missing or by everything.
func (f *follower) synchronise(ctx context.Context, p *primaryConn, s Settings) error {
	h := f.m.e.Log.History()
	id, next := "?", int64(-1) // nothing to go on from
	if h.On {
		id, next = h.ID, h.End+1
	}
	words := []string{"PSYNC", id, strconv.FormatInt(next, 10)}
	phase, going := f.m.failingOver()
	if going = going && phase == failoverAsks; going {
		words = append(words, "FAILOVER")
	}
	answer, err := p.ask(words...)
	if err != nil {
		return err
	}
	word, rest, _ := strings.Cut(answer, " ")
	if going {
		f.m.answeredFailover(word == "+CONTINUE")
		if word != "+CONTINUE" {
			return errRejected
		}
	}
	switch word {
	case "+CONTINUE":
		return f.continued(ctx, strings.TrimSpace(rest), h)
	case "+FULLRESYNC":
		id, off, _ := strings.Cut(rest, " ")
		offset, err := strconv.ParseInt(off, 10, 64)
		if err != nil || len(id) != 40 {
			return fmt.Errorf("bad answer to PSYNC: %s", answer)
		}
		return f.fullSync(ctx, p, s, id, offset)
	}
	return fmt.Errorf("master can't synchronise: %s", answer)
}

// continued goes on where this node stopped; the primary may have a new id for the same history. A link that
// has been told to end changes nothing.
func (f *follower) continued(ctx context.Context, id string, h engine.History) error {
	f.m.e.LockAll()
	if err := ctx.Err(); err != nil {
		f.m.e.UnlockAll()
		return err
	}
	if !h.On {
		f.m.e.Log.Start()
	}
	if len(id) == 40 && id != h.ID {
		f.m.e.Log.Follow(id)
		f.m.DropReplicas()
	}
	f.m.e.UnlockAll()
	f.m.log.Info("Successful partial resynchronization with master", "offset", h.End)
	return nil
}

// ackPeriod is how often the primary hears the offset.
const ackPeriod = time.Second

// apply executes the stream until the link is lost.
func (f *follower) apply(ctx context.Context, p *primaryConn) error {
	e := f.m.e
	w := e.NewWorker()
	defer w.Drop()
	p.mail = &linkMail{conn: p.conn, wake: make(chan struct{}, 1)}
	sess := e.NewPrimaryLink(linkConn{p.conn, p.mail}, engine.Peer{Remote: p.conn.RemoteAddr().String(), Local: p.conn.LocalAddr().String(), FD: -1}, ctx.Done())
	defer sess.Close()
	p.sess = sess
	defer f.ahead.Store(0)
	sess.SelectDB(max(0, e.Log.StreamDB()))
	f.downAt.Store(0)
	f.state.Store(int32(linkConnected))
	e.Role.SetLinkUp(true)
	f.m.changed()
	f.m.sendAck()
	stop := make(chan struct{})
	defer close(stop)
	go f.ackLoop(stop)
	for ctx.Err() == nil {
		e.AwaitThaw()
		p.mail.deliver(w)
		f.ahead.Store(int64(len(p.buf)))
		var used int
		used, p.buf = sess.ProcessOwn(w, p.buf)
		w.Out.Reset()
		p.buf = p.buf[:copy(p.buf, p.buf[used:])]
		f.ahead.Store(int64(len(p.buf)))
		if sess.Closing() {
			return errors.New("the primary's stream broke the protocol")
		}
		if sess.More() && len(p.buf) > 0 && used > 0 {
			continue
		}
		if !sess.Open() && len(p.buf) >= heldBytesMax {
			p.mail.await(ctx)
			continue
		}
		if err := p.more(); err != nil {
			if errors.Is(err, io.EOF) {
				return errors.New("the primary closed the connection")
			}
			return err
		}
	}
	return ctx.Err()
}

func (f *follower) ackLoop(stop chan struct{}) {
	tick := time.NewTicker(ackPeriod)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			f.m.sendAck()
		}
	}
}

// sendAck tells the primary how far this node is.
func (m *Manager) sendAck() {
	m.mu.Lock()
	f := m.mu.follow
	m.mu.Unlock()
	if f == nil || f.phase() != linkConnected {
		return
	}
	c := f.conn.Load()
	if c == nil {
		return
	}
	p := &primaryConn{f: f, conn: *c, timeout: m.opts.Settings().Timeout}
	words := []string{"REPLCONF", "ACK", strconv.FormatInt(m.e.Log.End(), 10)}
	if synced, on := m.fileSynced(); on {
		words = append(words, "FACK", strconv.FormatInt(synced, 10))
	}
	_ = p.send(words...) // the reader notices a broken link
}

// heldBytesMax is how much of the stream is read ahead while CLIENT PAUSE holds it.
const heldBytesMax = 64 << 20

// began notes that a read begins, or with the zero time that there is none any more.
func (f *follower) began(at time.Time) {
	f.pending.Lock()
	defer f.pending.Unlock()
	f.pending.since = at
	if c := f.conn.Load(); c != nil && !at.IsZero() {
		_ = (*c).SetReadDeadline(time.Time{}) // a connection that is gone fails in the read
	}
}

// dropSilentPrimary ends a read that has waited for longer than repl-timeout, which may have changed since it began.
func (m *Manager) dropSilentPrimary(s Settings, now time.Time) {
	m.mu.Lock()
	f := m.mu.follow
	m.mu.Unlock()
	if f == nil {
		return
	}
	f.pending.Lock()
	defer f.pending.Unlock()
	if c := f.conn.Load(); c != nil && !f.pending.since.IsZero() && now.Sub(f.pending.since) > s.Timeout {
		_ = (*c).SetReadDeadline(time.Unix(1, 0))
	}
}
