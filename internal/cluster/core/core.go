// Package core is the cluster as a deterministic state machine: Step takes the time and one event (a packet, a tick, a
// command, news from the replication) and answers with effects (packets to send, links to open and close, configuration
// to write, slots to flip). It speaks the cluster bus of Redis 7.2. It opens no socket and no file, reads no clock, rolls
// no dice but its own seeded ones and starts no goroutine: the same start and the same events give the same effects.
//
// # What the driver owes
//
// One goroutine owns a Core and calls Step for each event; a Tick comes every TickPeriod. Times never come from a clock
// that jumps. The effects of one Step, and what they point to, are valid until the next Step.
//
// Effects are carried out in the order of the list. The order inside a Step is always: Log, Persist, Lead, Routes, Follow,
// Flush, Purge, Resume and Pause, Close and Connect, Send, Deliver and Reply. So a command's reply never comes before the
// slots it moved have been flipped; a node is a primary before it serves slots, and serves none before it becomes a
// replica or drops their keys; a former primary's paused clients run on when it is one no more; and a vote, a claim of
// slots or a new epoch is on disk before the packet that tells of it leaves. A Persist with Hold is the only effect that
// later ones wait for: until it is done nothing behind it, in this list or in a later one, may be carried out. A driver
// that does not want to stand still meanwhile goes on calling Step and queues the effects (it then has to copy or encode
// what they point to). But what takes slots away must not wait in a queue: see View.Limit.
//
// This file holds the state and the frame of a step. The rest is by idea: packet.go takes packets apart, then heartbeat,
// handshake, gossip, extension, address, failure, slots, epoch, election, vote, manual, migrate, state, role, forget,
// seed; the commands are in command*.go, the read-only views in view.go.
package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/slot"
)

// Core is one node's part of the cluster. It is not safe for concurrent use: its driver's goroutine owns it.
type Core struct {
	// cfg is the configuration as last given.
	cfg Config
	// rng is the only source of chance.
	rng rng
	// now is the time of the running step; it never goes back.
	now clock.Millis
	// startedAt is when the first step ran, the time from which a restarted primary waits before it takes writes.
	startedAt clock.Millis
	// steps and ticks count; the former also marks nodes that have been visited in this step.
	steps, ticks uint64

	// me is this node; it is in the table like every other.
	// reached says that a member has reached this node at the address it has in the table.
	me      *node
	reached bool
	// byID and nodes are the table of nodes. The slice gives a stable order: a map has none.
	byID  map[wire.NodeID]*node
	nodes []*node
	// pfails, handshakes and size count nodes in the table: possibly failing, in handshake, and owning slots.
	pfails, handshakes, size int
	// gossipRound marks the nodes that are already in the packet being written.
	gossipRound uint64

	// links holds every link the driver knows of; lastLink is the last id given to an outgoing one.
	links    map[LinkID]*link
	lastLink LinkID

	// owners says who serves each slot, assigned how many slots have an owner.
	owners   [slot.Count]*node
	assigned int
	// disowned are slots whose owner no longer claims them while nobody else does yet.
	disowned slot.Set
	// migrating and importing are this node's slots on the move and the other side of each move.
	migrating, importing map[slot.ID]*node

	// currentEpoch is the highest epoch seen, lastVote the epoch of the last vote granted.
	currentEpoch, lastVote wire.Epoch
	// state is the cluster's state as this node sees it; minorityAt when it last saw a majority unreachable.
	state      wire.State
	minorityAt clock.Millis

	// repl is what is known of this node's own replication.
	repl replication
	// election is this replica's attempt to replace its primary; electedIn is the epoch of the last one it won.
	election  election
	electedIn wire.Epoch
	// manual is a failover by command, on either side; pauseToken names the last pause that was ordered.
	manual     manual
	pauseToken uint64
	// forgotten are nodes that must not be learned again for a while.
	forgotten []forgotten
	// seeds are addresses at which other nodes may be found.
	seeds []Address

	// sent and received count packets by type.
	sent, received [wire.TypeCount]uint64
	// todo is what the end of the step has to look at.
	todo todo
	// out collects the effects of the step.
	out outbox
	// told is the role the driver was last told to play.
	told told
}

// todo is what several parts of a step may ask for, to be done once at its end.
type todo struct {
	state    bool // the cluster state may have changed
	election bool // a vote came, or a failover by command may go on
	manual   bool // the offset of the primary or our own moved during a failover by command
}

// New makes a node: from its nodes.conf, or a new one with a random name if conf is nil or empty.
func New(o Options) (*Core, error) {
	if err := o.Config.validate(); err != nil {
		return nil, err
	}
	c := &Core{
		cfg:       o.Config,
		rng:       newRNG(o.Seed),
		byID:      map[wire.NodeID]*node{},
		links:     map[LinkID]*link{},
		migrating: map[slot.ID]*node{},
		importing: map[slot.ID]*node{},
		state:     wire.StateFail,
	}
	if o.Conf == nil || len(o.Conf.Nodes) == 0 {
		c.me = c.addNode(c.rng.nodeID(), wire.FlagMyself|wire.FlagPrimary)
		c.save(saveSynced)
	} else if err := c.load(o.Conf); err != nil {
		return nil, err
	}
	c.applyConfig()
	c.todo.state = true
	return c, nil
}

// Step takes one event and answers with the effects.
func (c *Core) Step(now clock.Millis, ev Event) []Effect {
	c.begin(now)
	switch e := ev.(type) {
	case Tick:
		c.tick()
	case Received:
		c.onPacket(e.Link, e.Packet)
	case Accepted:
		c.onAccepted(e)
	case Connected:
		c.onConnected(e)
	case Disconnected:
		c.onDisconnected(e.Link)
	case Replication:
		c.onReplication(e)
	case Paused:
		c.onPaused(e)
	case Loaded:
		c.onLoaded(e.Slots)
	case Configure:
		c.onConfigure(e.Config)
	case Command:
		c.onCommand(e)
	case Publish:
		c.onPublishRequest(e)
	case Seeds:
		c.onSeeds(e.Addresses)
	default:
		invariant.That(false, "event of unknown type")
	}
	c.settle()
	invariant.Check(c.check)
	return c.collect()
}

// begin opens a step: it sets the time and notices when this process has slept.
func (c *Core) begin(now clock.Millis) {
	c.out.reset()
	c.steps++
	before := c.now
	c.now = max(now, before)
	if c.startedAt == 0 {
		c.startedAt = c.now
		for _, n := range c.nodes {
			n.loadTimes(c.now)
		}
		return
	}
	if gap := c.now - before; gap > c.sleepMin() {
		c.wake(gap)
	}
}

// settle does what the step has put off to its end.
func (c *Core) settle() {
	if c.todo.manual {
		c.todo.manual = false
		c.advanceManual()
	}
	if c.todo.election {
		c.todo.election = false
		c.runElection()
	}
	if c.todo.state {
		c.updateState()
	}
}
