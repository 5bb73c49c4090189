package core

import (
	"iter"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds what others may see of the cluster. The methods of Core are for its driver's goroutine, between steps;
// what they return is a copy that may go anywhere.

// View is a picture of the cluster as one node saw it. It is never written again.
type View struct {
	// Nodes are the known nodes; the other fields refer to them by their place here.
	Nodes []NodeView
	// Myself is the place of the node whose view it is.
	Myself int
	// State is the cluster state.
	State wire.State
	// Owner is the owner of each slot: its place in Nodes plus one, 0 if there is none.
	Owner [slot.Count]uint16
	// Migrating and Importing are this node's slots on the move, with the place in Nodes of the other side.
	Migrating, Importing map[slot.ID]int
	// CurrentEpoch is the highest epoch seen.
	CurrentEpoch wire.Epoch
}

// NodeView is one node of a View.
type NodeView struct {
	ID, Shard                 wire.NodeID
	Flags                     wire.NodeFlags
	IP                        wire.Host
	TCPPort, TLSPort, BusPort uint16
	Hostname, Name            string
	// Primary is the place of a replica's primary in Nodes, -1 if it has none or it is not known.
	Primary int
	// Slots is how many slots it owns.
	Slots int
	// ConfigEpoch is its own, not its primary's.
	ConfigEpoch wire.Epoch
	// Offset is its replication offset, as last heard.
	Offset uint64
	// PingSent and PongReceived are as in CLUSTER NODES; Connected tells whether this node has a link to it.
	PingSent, PongReceived clock.Millis
	Connected              bool
}

// View takes a picture.
func (c *Core) View() *View {
	v := &View{
		Nodes:        make([]NodeView, len(c.nodes)),
		Myself:       c.me.place,
		State:        c.state,
		Migrating:    places(c.migrating),
		Importing:    places(c.importing),
		CurrentEpoch: c.currentEpoch,
	}
	for i, n := range c.nodes {
		v.Nodes[i] = c.viewNode(n)
	}
	for s, n := range &c.owners {
		if n != nil {
			v.Owner[s] = uint16(n.place + 1)
		}
	}
	return v
}

func (c *Core) viewNode(n *node) NodeView {
	v := NodeView{
		ID: n.id, Shard: n.shard, Flags: n.flags, IP: n.ip, TCPPort: n.tcpPort, TLSPort: n.tlsPort, BusPort: n.busPort,
		Hostname: n.hostname, Name: n.name, Primary: -1, Slots: n.owned, ConfigEpoch: n.configEpoch, Offset: n.offset,
		PingSent: n.pingSent, PongReceived: n.pongReceived, Connected: n == c.me || n.link != nil && n.link.up,
	}
	if n.primary != nil {
		v.Primary = n.primary.place
	}
	if n == c.me {
		v.Offset = c.repl.Offset
	}
	return v
}

func places(moves map[slot.ID]*node) map[slot.ID]int {
	if len(moves) == 0 {
		return nil
	}
	at := make(map[slot.ID]int, len(moves))
	for s, n := range moves {
		at[s] = n.place
	}
	return at
}

// Limit gives v without what a later view of the same node takes away: slots that went to others, and a state that is no
// longer ok. A driver whose effects wait behind a Persist uses it to take away at once and to give only what is still
// true: when Routes comes it installs what is installed limited by the new view, and when its turn has come the view of
// that Routes limited by the newest.
func (v *View) Limit(later *View) *View {
	limited := *v
	if later.State != wire.StateOK {
		limited.State = later.State
	}
	var at map[wire.NodeID]int
	mine := uint16(v.Myself + 1)
	for s, owner := range &v.Owner {
		if owner != mine || later.Owner[s] == uint16(later.Myself+1) {
			continue
		}
		if at == nil {
			at = v.index()
		}
		limited.Owner[s] = 0
		if n := later.OwnerOf(slot.ID(s)); n != nil {
			limited.Owner[s] = uint16(at[n.ID])
		}
	}
	return &limited
}

// index gives the place plus one of each node in Nodes.
func (v *View) index() map[wire.NodeID]int {
	at := make(map[wire.NodeID]int, len(v.Nodes))
	for i := range v.Nodes {
		at[v.Nodes[i].ID] = i + 1
	}
	return at
}

// Me is the node whose view it is.
func (v *View) Me() *NodeView { return &v.Nodes[v.Myself] }

// OwnerOf is the owner of a slot, nil if it has none.
func (v *View) OwnerOf(s slot.ID) *NodeView {
	if at := v.Owner[s]; at > 0 {
		return &v.Nodes[at-1]
	}
	return nil
}

// Ranges yields the runs of slots with the same owner, ascending: first and last slot, and the owner's place in Nodes.
func (v *View) Ranges() iter.Seq2[[2]slot.ID, int] {
	return func(yield func([2]slot.ID, int) bool) {
		for first := 0; first < slot.Count; {
			end := first + 1
			for end < slot.Count && v.Owner[end] == v.Owner[first] {
				end++
			}
			if at := v.Owner[first]; at > 0 && !yield([2]slot.ID{slot.ID(first), slot.ID(end - 1)}, int(at)-1) {
				return
			}
			first = end
		}
	}
}

// Shards groups the places of nodes by shard, in the order of the table; nodes in handshake are in none.
func (v *View) Shards() [][]int {
	var shards [][]int
	at := map[wire.NodeID]int{}
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Flags.Has(wire.FlagHandshake) {
			continue
		}
		k, known := at[n.Shard]
		if !known {
			k = len(shards)
			at[n.Shard] = k
			shards = append(shards, nil)
		}
		shards[k] = append(shards[k], i)
	}
	return shards
}

// Stats is what CLUSTER INFO tells.
type Stats struct {
	State                                         wire.State
	SlotsAssigned, SlotsOK, SlotsPFail, SlotsFail int
	KnownNodes, Size                              int
	CurrentEpoch, MyEpoch                         wire.Epoch
	Sent, Received                                [wire.TypeCount]uint64 // packets by type
}

// Stats tells the state in numbers.
func (c *Core) Stats() Stats {
	info := Stats{
		State:         c.state,
		SlotsAssigned: c.assigned,
		KnownNodes:    len(c.nodes),
		Size:          c.size,
		CurrentEpoch:  c.currentEpoch,
		MyEpoch:       c.me.leader().configEpoch,
		Sent:          c.sent,
		Received:      c.received,
	}
	for _, n := range c.nodes {
		switch {
		case n.hasFailed():
			info.SlotsFail += n.owned
		case n.flags.Has(wire.FlagPFail):
			info.SlotsPFail += n.owned
		default:
			info.SlotsOK += n.owned
		}
	}
	return info
}

// LinkView is one link of CLUSTER LINKS. The driver knows its buffers.
type LinkView struct {
	Link LinkID
	// Node is the peer.
	Node wire.NodeID
	// Inbound tells whether the peer opened it.
	Inbound bool
	// CreatedAt is when it was opened.
	CreatedAt clock.Millis
}

// Links lists the links whose peer is known.
func (c *Core) Links() []LinkView {
	var list []LinkView
	for _, n := range c.nodes {
		for _, l := range [...]*link{n.link, n.inbound} {
			if l != nil {
				list = append(list, LinkView{Link: l.id, Node: n.id, Inbound: l.inbound(), CreatedAt: l.createdAt})
			}
		}
	}
	return list
}

// Replicas describes the replicas of a primary for CLUSTER REPLICAS. failure is the text of an error, "" if there is none.
func (c *Core) Replicas(id []byte) (lines []wire.NodeLine, failure string) {
	n, failure := c.findNode(id, "ERR Unknown node ")
	if failure != "" {
		return nil, failure
	}
	if n.isReplica() {
		return nil, "ERR The specified node is not a master"
	}
	lines = make([]wire.NodeLine, len(n.replicas))
	for i, r := range n.replicas {
		c.fillLine(&lines[i], r)
	}
	return lines, ""
}

// Serving is the set of slots that this node serves as their primary now; none while the cluster state is fail.
func (c *Core) Serving() slot.Set {
	if c.state != wire.StateOK {
		return slot.Set{}
	}
	return *c.me.slotSet()
}

// Owner names the owner of a slot, zero if it has none.
func (c *Core) Owner(s slot.ID) wire.NodeID {
	if n := c.owners[s]; n != nil {
		return n.id
	}
	return wire.NodeID{}
}

// Moving names the other side of a move of slot s, zero if there is none: where it goes, and where it comes from.
func (c *Core) Moving(s slot.ID) (to, from wire.NodeID) {
	if n := c.migrating[s]; n != nil {
		to = n.id
	}
	if n := c.importing[s]; n != nil {
		from = n.id
	}
	return to, from
}

// KnowsPeer tells whether the peer of a link is a node of the table.
func (c *Core) KnowsPeer(id LinkID) bool {
	l := c.links[id]
	return l != nil && l.node != nil
}

// Knows tells whether a node is in the table.
func (c *Core) Knows(id wire.NodeID) bool { return c.lookup(id) != nil }

// MyID is the name of this node.
func (c *Core) MyID() wire.NodeID { return c.me.id }

// State is the cluster state.
func (c *Core) State() wire.State { return c.state }
