package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds what Step takes.

// TickPeriod is how often the driver sends a Tick.
const TickPeriod clock.Millis = 100

// LinkID names a link, a connection of the cluster bus. Core gives the ids of the links it asks for with Connect; the
// driver gives those of the links it accepts, with LinkAccepted set. An id is never used again.
type LinkID uint64

// LinkAccepted is set in the ids of links that a peer has opened.
const LinkAccepted LinkID = 1 << 63

// Address is where a node can be reached.
type Address struct {
	// Host is an IP address, or a name if nodes announce names.
	Host wire.Host
	// Port is the client port of the kind the cluster uses, BusPort the port of the cluster bus.
	Port, BusPort uint16
}

// Event is an input of Step: one of the types of this file.
type Event interface{ event() }

// Tick says that TickPeriod has passed.
type Tick struct{}

// Accepted says that a peer has opened a link. It comes before the first packet of the link.
type Accepted struct {
	Link LinkID
	// Remote and Local are the addresses of the two ends, as the socket tells them.
	Remote, Local wire.Host
}

// Connected says that a link asked for with Connect is up. It comes before the first packet of the link.
type Connected struct {
	Link LinkID
	// Remote is the address of the other end, as the socket tells it: never a name.
	Remote wire.Host
}

// Disconnected says that a link is gone: it could not be opened, it broke, the peer closed it, it was no bus connection,
// or its send buffer was full. It may come for a link that Core has closed.
type Disconnected struct{ Link LinkID }

// Received is a packet that came over a link. The packet stays the driver's; nothing of it is kept after the step.
type Received struct {
	Link   LinkID
	Packet *wire.Packet
}

// Replication is the state of this node's own replication. It comes before a packet or a tick when it has changed, and
// at once for every change while a failover by command goes on.
type Replication struct {
	// Offset is the replication offset: written by a primary, applied by a replica.
	Offset uint64
	// Primary is which primary the rest is about, as the last Follow named it; zero for a primary.
	Primary wire.NodeID
	// Up says that the first synchronisation with Primary is complete and the link to it works.
	Up bool
	// Contact is when the primary was last heard of: now and then while Up, afterwards when the link broke; 0 never.
	Contact clock.Millis
}

// Paused answers a Pause: no write runs any more and no write will before Resume.
type Paused struct {
	// Token is that of the Pause.
	Token uint64
	// Offset is the replication offset behind the last write.
	Offset uint64
}

// Loaded says that the data of the disk is in memory. A primary takes slots it has keys for and that nobody owns, and
// marks those that others own as being imported, so that the standard tools can repair it.
type Loaded struct {
	// Slots are the slots that hold keys.
	Slots *slot.Set
}

// Configure replaces the configuration.
type Configure struct{ Config Config }

// KeyCounts tells how many keys the node holds. It is asked only during Step, by commands that may not act on a node or
// a slot with keys. For SETSLOT the driver holds the lock of the slot from before Step until Routes is carried out.
type KeyCounts interface {
	// Keys is the number of all keys.
	Keys() int
	// KeysIn is the number of keys of a slot.
	KeysIn(s slot.ID) int
}

// Command is a CLUSTER command that changes something: MEET, FORGET, ADDSLOTS, DELSLOTS and their RANGE forms, FLUSHSLOTS,
// SETSLOT, REPLICATE, FAILOVER, RESET, BUMPEPOCH, SET-CONFIG-EPOCH, SAVECONFIG, and COUNT-FAILURE-REPORTS. The others read
// a view. A Reply with the same Request answers it.
type Command struct {
	// Request is the driver's name for this call.
	Request uint64
	// Args are the words behind CLUSTER.
	Args [][]byte
	// Keys tells of the data.
	Keys KeyCounts
}

// Publish asks to hand a Pub/Sub message to the other nodes; a sharded one goes to those of this shard.
type Publish struct {
	Channel, Message []byte
	Sharded          bool
}

// Seeds gives addresses at which other nodes may be found. A node that knows no other joins through them; a node that has
// lost others looks there whether they moved, without joining whoever else it finds. The driver sends it after start
// and whenever it has looked the names up again.
type Seeds struct{ Addresses []Address }

func (Tick) event()         {}
func (Accepted) event()     {}
func (Connected) event()    {}
func (Disconnected) event() {}
func (Received) event()     {}
func (Replication) event()  {}
func (Paused) event()       {}
func (Loaded) event()       {}
func (Configure) event()    {}
func (Command) event()      {}
func (Publish) event()      {}
func (Seeds) event()        {}
