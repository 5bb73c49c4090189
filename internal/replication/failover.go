package replication

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/engine"
)

// This file holds FAILOVER: a primary changes places with one of its replicas, in order, outside of a cluster. Writes are
// paused, the replica catches up, this node asks it for its stream with PSYNC ... FAILOVER, and with that it leads.

// failoverPhase is how far a change of places has come, as INFO tells it.
type failoverPhase int32

const (
	failoverWaits failoverPhase = iota // for the replica to catch up
	failoverAsks                       // this node follows the replica, which has not answered yet
)

func (p failoverPhase) String() string {
	return [...]string{"waiting-for-sync", "failover-in-progress"}[p]
}

// failover is a change of places that is under way. The manager's mutex guards it.
type failover struct {
	phase  failoverPhase
	target string // "host:port"; empty for any replica
	force  bool   // at the end of the time go ahead with what the replica has
	limit  time.Duration
	cancel context.CancelFunc
}

const (
	errFailoverCluster    = "ERR FAILOVER not allowed in cluster mode. Use CLUSTER FAILOVER command instead."
	errFailoverNone       = "ERR No failover in progress."
	errFailoverTimeout    = "ERR FAILOVER timeout must be greater than 0"
	errFailoverRuns       = "ERR FAILOVER already in progress."
	errFailoverReplica    = "ERR FAILOVER is not valid when server is a replica."
	errFailoverAlone      = "ERR FAILOVER requires connected replicas."
	errFailoverForce      = "ERR FAILOVER with force option requires both a timeout and target HOST and IP."
	errFailoverUnknown    = "ERR FAILOVER target HOST and PORT is not a replica."
	errFollowAmidFailover = "ERR REPLICAOF not allowed while failing over."
	errFailoverOffline    = "ERR FAILOVER target replica is not online."
)

func (m *Manager) cmdFailover(c *engine.Ctx) {
	if m.opts.Settings().ClusterOwned {
		c.Err(errFailoverCluster)
		return
	}
	if len(c.Args) == 2 && c.ArgIs(1, "ABORT") {
		if !m.abortFailover("Failover manually aborted") {
			c.Err(errFailoverNone)
			return
		}
		c.OK()
		return
	}
	f, ok := failoverOptions(c)
	if !ok {
		return
	}
	if text := m.beginFailover(f); text != "" {
		c.Err(text)
		return
	}
	c.OK()
}

// failoverOptions reads TO host port, FORCE and TIMEOUT; false when the error has been replied.
func failoverOptions(c *engine.Ctx) (f *failover, ok bool) {
	f = &failover{}
	for i := 1; i < len(c.Args); i++ {
		switch {
		case c.ArgIs(i, "TIMEOUT") && i+1 < len(c.Args) && f.limit == 0:
			i++
			ms, ok := c.Int(i)
			if !ok {
				return nil, false
			}
			if ms <= 0 {
				c.Err(errFailoverTimeout)
				return nil, false
			}
			f.limit = time.Duration(min(ms, 1<<40)) * time.Millisecond
		case c.ArgIs(i, "TO") && i+2 < len(c.Args) && f.target == "":
			port, ok := c.Int(i + 2)
			if !ok {
				return nil, false
			}
			f.target = net.JoinHostPort(string(c.Args[i+1]), strconv.FormatInt(port, 10))
			i += 2
		case c.ArgIs(i, "FORCE") && !f.force:
			f.force = true
		default:
			c.Err(engine.ErrSyntax)
			return nil, false
		}
	}
	return f, true
}

// beginFailover starts a change of places; the text is why it cannot be.
func (m *Manager) beginFailover(f *failover) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.mu.failover != nil:
		return errFailoverRuns
	case m.mu.follow != nil || m.e.Role.IsReplica(): // which it is also between two links
		return errFailoverReplica
	case len(m.mu.replicas) == 0:
		return errFailoverAlone
	case f.force && (f.limit == 0 || f.target == ""):
		return errFailoverForce
	}
	if f.target != "" {
		r := m.replicaAtLocked(f.target)
		if r == nil {
			return errFailoverUnknown
		}
		if !r.online() {
			return errFailoverOffline
		}
	}
	ctx, cancel := context.WithCancel(m.ctx)
	f.cancel = cancel
	m.mu.failover = f
	now := m.e.Clock.Now()
	m.e.Pause.Begin(engine.PauseByFailover, engine.PauseWrites, now, now+pauseMax)
	m.log.Info("FAILOVER requested to " + f.targetText() + ".")
	m.wg.Add(1)
	go func() {
		defer m.wg.Done()
		m.awaitTarget(ctx, f)
	}()
	return ""
}

// pauseMax is longer than any change of places takes: its end ends the pause.
const pauseMax clock.Millis = 10 * 365 * 24 * 3600 * 1000

func (f *failover) targetText() string {
	if f.target == "" {
		return "any replica"
	}
	return f.target
}

// replicaAtLocked finds a replica by the address it told; mu is held.
func (m *Manager) replicaAtLocked(addr string) *replica {
	for _, r := range m.mu.replicas {
		host, port := cutPort(r.name())
		if net.JoinHostPort(strings.Trim(host, "[]"), port) == addr {
			return r
		}
	}
	return nil
}

// failoverLook is how often the offsets of the replicas are looked at.
const failoverLook = 10 * time.Millisecond

// awaitTarget waits until a replica has all of the stream, and follows it then.
func (m *Manager) awaitTarget(ctx context.Context, f *failover) {
	m.e.LockAll() // whoever was writing when the pause began has ended
	m.e.UnlockAll()
	m.e.Log.AppendCommand(wordsGetAck)
	var end <-chan time.Time
	if f.limit > 0 {
		timer := time.NewTimer(f.limit)
		defer timer.Stop()
		end = timer.C
	}
	tick := time.NewTicker(failoverLook)
	defer tick.Stop()
	for {
		if m.targetSynced(f) {
			m.log.Info("Failover target " + f.target + " is synced, failing over.")
			break
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			continue
		case <-end:
		}
		if !f.force {
			m.abortFailover("Replica never caught up before timeout")
			return
		}
		m.log.Info("FAILOVER to " + f.target + " time out exceeded, failing over.")
		break
	}
	m.followTarget(f)
}

// followTarget follows the target of a change of places, unless it was aborted.
func (m *Manager) followTarget(f *failover) {
	m.e.LockAll()
	defer m.e.UnlockAll()
	m.mu.Lock()
	going := m.mu.failover == f
	if going {
		f.phase = failoverAsks
	}
	m.mu.Unlock()
	if going {
		m.followLocked(f.target, f)
	}
}

// targetSynced says whether the target, or any replica when there is none, has all of the stream. It is the target then.
func (m *Manager) targetSynced(f *failover) bool {
	end := m.e.Log.End()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.onlineLocked() {
		host, port := cutPort(r.name())
		addr := net.JoinHostPort(strings.Trim(host, "[]"), port)
		if r.online() && r.ack.Load() == end && (f.target == "" || f.target == addr) {
			f.target = addr
			return true
		}
	}
	return false
}

// failingOver is how far a change of places has come; false when there is none.
func (m *Manager) failingOver() (failoverPhase, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.failover == nil {
		return 0, false
	}
	return m.mu.failover.phase, true
}

// takeFailover ends the change of places that is under way and returns it; nil when there is none.
func (m *Manager) takeFailover() *failover {
	m.mu.Lock()
	f := m.mu.failover
	m.mu.failover = nil
	m.mu.Unlock()
	if f != nil {
		f.cancel()
	}
	return f
}

// abortFailover makes this node go on as the primary; false when no change of places is under way.
func (m *Manager) abortFailover(why string) bool {
	f := m.takeFailover()
	if f == nil {
		return false
	}
	m.log.Info("FAILOVER to " + f.targetText() + " aborted: " + why)
	if f.phase == failoverAsks {
		m.e.LockAll() // followTarget has come to its end
		m.e.UnlockAll()
		m.Promote()
	}
	m.e.Pause.End(engine.PauseByFailover, m.e.Clock.Now())
	return true
}

// answeredFailover is told what the target has answered to PSYNC ... FAILOVER.
func (m *Manager) answeredFailover(accepted bool) {
	if accepted {
		if m.takeFailover() != nil {
			m.e.Pause.End(engine.PauseByFailover, m.e.Clock.Now())
		}
		return
	}
	m.wg.Add(1)
	go func() { // Promote waits for the link whose goroutine this is
		defer m.wg.Done()
		m.abortFailover("Failover target rejected psync request")
	}()
}

var errRejected = errors.New("the target of the failover has refused")

// takeOver makes this node the primary because its primary asks for it; the text is why not.
func (m *Manager) takeOver(id string) string {
	switch {
	case m.opts.Settings().ClusterOwned:
		return errFailoverCluster
	case !m.e.Role.IsReplica():
		return "ERR PSYNC FAILOVER can't be sent to a master."
	case id != m.e.Log.History().ID:
		return "ERR PSYNC FAILOVER replid must match my replid."
	}
	m.log.Info("Failover request received for replid " + id + ".")
	m.Promote()
	return ""
}
