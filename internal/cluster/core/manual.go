package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds the failover that an operator orders (spec: manual failover). The replica asks its primary to pause
// writes; the primary flags its heartbeats as paused and sends the offset behind its last write; the replica waits until
// it has applied that much and then stands for election, which the voters grant although the primary is up.

const (
	// manualTimeout is how long the replica tries.
	manualTimeout clock.Millis = 5000
	// manualGrace is how much longer the primary stays paused: a replica that wins in its last moment must reach the
	// primary before clients write there again.
	manualGrace clock.Millis = 1000
	// pauseTimeout is when the driver ends a pause by itself.
	pauseTimeout = 2 * manualTimeout
)

// manual is a failover by command. The zero value: none goes on.
type manual struct {
	end clock.Millis // when it is given up, 0 if none goes on

	// On the primary: the replica that asked, the pause that was ordered, and whether writes have stopped.
	replica *node
	token   uint64
	paused  bool

	// On the replica: the offset behind the primary's last write, whether it is known, and whether all of it has been
	// applied (or the operator said not to care).
	offset   uint64
	known    bool
	canStart bool
}

// onFailoverMe pauses writes for a replica that is to take over. A pause that is on already is only prolonged: no write
// may slip in between.
func (c *Core) onFailoverMe(sender *node) {
	if !c.me.isPrimary() || sender.primary != c.me {
		return
	}
	c.logNode(Info, "replica is ordered to take over: pausing writes", sender)
	c.pauseToken++
	c.manual = manual{end: c.now + manualTimeout + manualGrace, replica: sender, token: c.pauseToken}
	c.out.pauses = append(c.out.pauses, Pause{Token: c.pauseToken, Until: c.now + pauseTimeout})
}

// onPaused tells the replica the final offset.
func (c *Core) onPaused(e Paused) {
	m := &c.manual
	if m.replica == nil || m.token != e.Token {
		return
	}
	m.paused = true
	c.repl.Offset = e.Offset
	c.pingReplica()
}

// pingReplica sends a heartbeat with the offset to the replica that is to take over.
func (c *Core) pingReplica() {
	r := c.manual.replica
	switch to := r.path(); {
	case to == nil:
	case to == r.link:
		c.ping(r, wire.TypePing)
	default:
		c.send(to, c.newHeartbeat(wire.TypePing, r.extensions))
	}
}

// learnPausedOffset notes the offset at which the primary of this replica has stopped.
func (c *Core) learnPausedOffset(sender *node, p *wire.Packet) {
	m := &c.manual
	if m.end == 0 || m.known || c.me.primary != sender || p.MsgFlags&wire.MsgPaused == 0 {
		return
	}
	m.offset, m.known = p.Offset, true
	c.logAbout(Info, "primary has paused at offset", sender.id, 0, int64(p.Offset))
	c.todo.manual = true
}

// advanceManual lets the election begin once everything the primary wrote has been applied.
func (c *Core) advanceManual() {
	m := &c.manual
	if m.end == 0 || m.canStart || !m.known || !c.repl.up || c.repl.Offset < m.offset {
		return
	}
	m.canStart = true
	c.log(Info, "all writes of the primary applied: failover can start")
	c.todo.election = true
}

// checkManual gives up a failover by command that took too long.
func (c *Core) checkManual() {
	if c.manual.end != 0 && c.manual.end < c.now {
		c.log(Warn, "failover by command timed out")
		c.resetManual()
	}
}

// resetManual ends a failover by command, whatever came of it.
func (c *Core) resetManual() {
	if c.manual.replica != nil {
		c.out.pauses = append(c.out.pauses, Resume{})
	}
	if c.manual.canStart {
		c.election = election{} // it was asked for with the order, which is over
	}
	c.manual = manual{}
}
