package engine

import (
	"bytes"
	"math"
	"strconv"
	"sync/atomic"

	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/spec"
)

// Route is where a slot is served, as this node sees it.
type Route struct {
	Owner NodeIndex // who owns it, NoNode when nobody does
	Other NodeIndex // where it is being moved to or from
	State RouteState
}

// NodeIndex numbers the endpoints of the current view.
type NodeIndex uint16

// NoNode is the owner of an unassigned slot.
const NoNode NodeIndex = 0xffff

// RouteState is a set of facts about a slot.
type RouteState uint8

const (
	RouteMine      RouteState = 1 << iota // this node owns it
	RouteMigrating                        // mine, on its way to Other
	RouteImporting                        // on its way from Other to this node
	RouteReplica                          // owned by the primary this node follows
)

// Endpoint is where clients reach a node.
type Endpoint struct {
	Plain, TLS string // "host:port", for each kind of connection
}

// ClusterHealth says what the cluster's state allows.
type ClusterHealth uint32

const (
	HealthOK ClusterHealth = iota
	HealthDown
)

// Routes is the routing table. The route of a slot is guarded by the lock of the slot's shard, so that no command can
// execute on a slot that was just given away; endpoints are swapped as a whole.
type Routes struct {
	e         *Engine
	health    atomic.Uint32
	endpoints atomic.Pointer[[]Endpoint]
	slots     [slot.Count]Route
	unserved  [slot.Count / 64]atomic.Uint64 // a bit for each slot that nobody owns, for those that hold no lock
}

func (r *Routes) init(e *Engine) {
	r.e = e
	for i := range r.slots {
		r.slots[i].Owner, r.slots[i].Other = NoNode, NoNode
	}
	for i := range r.unserved {
		r.unserved[i].Store(math.MaxUint64)
	}
	r.endpoints.Store(&[]Endpoint{})
	if e.ClusterOn {
		r.health.Store(uint32(HealthDown))
	}
}

// SetHealth switches between serving and CLUSTERDOWN. The caller holds no shard lock.
func (r *Routes) SetHealth(h ClusterHealth) {
	if r.health.Swap(uint32(h)) == uint32(h) || h == HealthOK || r.e.blockedOnKeys.Load() == 0 {
		return
	}
	for i := range r.e.shards {
		s := &r.e.shards[i]
		s.mu.Lock()
		s.blocked.endWith(func(*waitQueue, *waiter) string { return ErrClusterDown })
		s.mu.Unlock()
	}
}

// Health is what SetHealth set.
func (r *Routes) Health() ClusterHealth { return ClusterHealth(r.health.Load()) }

// SetEndpoints replaces the addresses. Indexes that routes refer to must keep their meaning: add at the end, or flip the
// routes first to nodes that stay.
func (r *Routes) SetEndpoints(list []Endpoint) { r.endpoints.Store(&list) }

// RouteChange is one slot's new route.
type RouteChange struct {
	Slot  slot.ID
	Route Route
}

// Flip changes routes, each under its shard's lock; when it returns no command executes under an old route.
func (r *Routes) Flip(changes []RouteChange) {
	for shard := range r.e.shards {
		s := &r.e.shards[shard]
		locked := false
		for _, ch := range changes {
			if int(ch.Slot)&(len(r.e.shards)-1) != shard {
				continue
			}
			if !locked {
				s.mu.Lock()
				locked = true
			}
			r.set(ch)
		}
		if locked {
			s.blocked.endWith(r.sendAway)
			s.mu.Unlock()
		}
	}
}

// SetLocked changes one route; the caller holds the lock of the slot's shard.
func (r *Routes) SetLocked(ch RouteChange) {
	r.set(ch)
	r.e.shards[keyspace.ShardOf(ch.Slot)].blocked.endWith(r.sendAway)
}

// set changes a route under its shard's lock. Who listens to channels of a slot that leaves is told so.
func (r *Routes) set(ch RouteChange) {
	r.slots[ch.Slot] = ch.Route
	if word, bit := &r.unserved[ch.Slot/64], uint64(1)<<(ch.Slot%64); ch.Route.Owner == NoNode {
		word.Or(bit)
	} else {
		word.And(^bit)
	}
	if ch.Route.State&(RouteMine|RouteReplica) == 0 {
		r.e.PubSub.dropShardChannels(ch.Slot)
	}
}

// sendAway is the redirection for a client that blocks on a key this node does not serve any more, "" while it does.
func (r *Routes) sendAway(q *waitQueue, wt *waiter) string {
	route, s := &r.slots[q.slot], wt.wait.s
	switch {
	case route.State&(RouteMine|RouteImporting) != 0, route.State&RouteReplica != 0 && s.readonly && wt.cmd.readonly:
		return ""
	case route.Owner == NoNode:
		return ErrSlotUnbound
	}
	return "MOVED " + strconv.Itoa(int(q.slot)) + " " + r.address(s, route.Owner)
}

// address is where a client reaches a node.
func (r *Routes) address(s *Session, node NodeIndex) string {
	endpoints := *r.endpoints.Load()
	switch {
	case int(node) >= len(endpoints):
		return "?:0"
	case s.Peer.TLS:
		return endpoints[node].TLS
	}
	return endpoints[node].Plain
}

// At is the route of a slot whose shard is locked.
func (r *Routes) At(s slot.ID) Route { return r.slots[s] }

// Verdicts on a command that is served elsewhere; the others are texts of errors.
const (
	verdictMoved = "MOVED"
	verdictAsk   = "ASK"
)

// routed decides under the shard locks whether this node executes cmd; otherwise the redirection has been replied.
func (c *Ctx) routed(cmd *Command) bool {
	switch text := c.verdict(cmd); text {
	case "":
		return true
	case verdictMoved:
		s := c.keys[0].Slot
		c.redirect("-MOVED ", s, c.e.Routes.slots[s].Owner)
	case verdictAsk:
		s := c.keys[0].Slot
		c.redirect("-ASK ", s, c.e.Routes.slots[s].Other)
	default:
		c.Err(text)
	}
	return false
}

// followsKeys sends a client whose key is gone after it when it went to where the whole slot is going.
func (c *Ctx) followsKeys() bool {
	leaving := c.e.Routes.slots[c.keys[0].Slot].State&RouteMigrating != 0
	return leaving && !c.S.primaryLink && !c.routed(c.Cmd)
}

// verdict is why this node does not execute cmd, "" when it does.
func (c *Ctx) verdict(cmd *Command) string {
	if len(c.keys) == 0 {
		return ""
	}
	r := &c.e.Routes
	route := &r.slots[c.keys[0].Slot]
	if route.Owner == NoNode {
		return ErrSlotUnbound
	}
	if r.Health() != HealthOK {
		if text := c.refusalWhenDown(cmd); text != "" {
			return text
		}
	}
	moving := route.State & (RouteMigrating | RouteImporting)
	if moving != 0 && cmd.Full == "migrate" {
		return ""
	}
	switch {
	case route.State&RouteMine != 0:
		if moving&RouteMigrating == 0 || cmd.shardPubSub {
			return ""
		}
		return c.verdictLeaving()
	case moving != 0 && (c.asking || cmd.Flags&spec.Asking != 0):
		if cmd.shardPubSub {
			return ""
		}
		return c.verdictArriving()
	case route.State&RouteReplica != 0 && (cmd.shardPubSub || c.S.readonly && cmd.readable()):
		return ""
	}
	return verdictMoved
}

// refusalWhenDown applies cluster-allow-reads-when-down; "" when the command may go on.
func (c *Ctx) refusalWhenDown(cmd *Command) string {
	switch {
	case cmd.shardPubSub && c.e.Settings.PubsubWhenDown.Load():
		return ""
	case cmd.shardPubSub || !c.e.Settings.ReadsWhenDown.Load():
		return ErrClusterDown
	case cmd.write:
		return ErrClusterRead
	}
	return ""
}

// verdictLeaving decides for a slot that is leaving: a command whose keys are all here is served, one whose keys are all
// gone is sent after them, one in between must try again.
func (c *Ctx) verdictLeaving() string {
	here, gone := c.countKeys()
	switch {
	case gone == 0:
		return ""
	case here > 0:
		return ErrTryAgain
	}
	return verdictAsk
}

// verdictArriving decides for a slot that is arriving: a command with several keys needs all of them.
func (c *Ctx) verdictArriving() string {
	if _, gone := c.countKeys(); gone > 0 && c.severalKeys() {
		return ErrTryAgain
	}
	return ""
}

// refuseApart replies to a command whose keys are of several slots. When nobody serves the slot of the first one that is
// said, as in Redis.
func (c *Ctx) refuseApart() {
	if s := c.keys[0].Slot; c.e.Routes.unserved[s/64].Load()>>(s%64)&1 != 0 {
		c.Err(ErrSlotUnbound)
		return
	}
	c.Err(ErrCrossSlot)
}

// severalKeys says whether the keys are not all the same one.
func (c *Ctx) severalKeys() bool {
	for i := 1; i < len(c.keys); i++ {
		if !bytes.Equal(c.keys[i].Bytes, c.keys[0].Bytes) {
			return true
		}
	}
	return false
}

func (c *Ctx) countKeys() (here, gone int) {
	for i := range c.keys {
		if rec, ok := c.Part(i).Find(c.S.db, &c.keys[i]); ok && (rec.ExpireAt() == 0 || !c.IsPast(rec.ExpireAt())) {
			here++
		} else {
			gone++
		}
	}
	return here, gone
}

// redirect replies -MOVED or -ASK; it allocates nothing.
func (c *Ctx) redirect(word string, s slot.ID, to NodeIndex) {
	c.failed = true
	if word == "-ASK " {
		c.e.Errors.ask.Add(1)
	} else {
		c.e.Errors.moved.Add(1)
	}
	b := append(c.W.Out.buf, word...)
	b = strconv.AppendUint(b, uint64(s), 10)
	b = append(b, ' ')
	b = append(b, c.e.Routes.address(c.S, to)...)
	c.W.Out.buf = append(b, '\r', '\n')
}
