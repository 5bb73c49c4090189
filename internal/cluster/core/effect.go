package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds what Step answers with. The order of effects, and who waits for whom, is in the package comment.

// Effect is something for the driver to do: one of the types of this file.
type Effect interface{ effect() }

// Persist asks to write nodes.conf, atomically: what AppendConf gives, at any time from this step on.
type Persist struct {
	// Sync asks that it survives a loss of power: fsync of the file and of its directory.
	Sync bool
	// Hold asks that nothing behind this effect happens before it is written (and durable, with Sync).
	Hold bool
}

// Lead says that this node is a primary from now on: it stops replicating and keeps its data.
type Lead struct {
	// Epoch is the configuration epoch under which it leads.
	Epoch wire.Epoch
	// Elected says that a majority has voted for it in that epoch.
	Elected bool
}

// Follow says that this node is a replica from now on, or that its primary or the primary's address has changed.
type Follow struct {
	// Primary names the primary.
	Primary wire.NodeID
	// Host and Port are where it takes replicas.
	Host wire.Host
	Port uint16
}

// Flush asks to drop all data.
type Flush struct{}

// Purge asks to drop the keys of slots that this node has lost while it stays a primary.
type Purge struct{ Slots *slot.Set }

// Routes says that who serves what has changed: the owner of slots, slots on the move, the cluster state, the role of this
// node, an address. The driver takes a new View and installs it; the slots in Changed under the locks of their shards.
type Routes struct{ Changed *slot.Set }

// Pause asks to stop writes for a failover by command and to answer with Paused once none runs any more. A driver that
// hears no Resume by Until goes on by itself.
type Pause struct {
	Token uint64
	Until clock.Millis
}

// Resume ends a Pause.
type Resume struct{}

// Connect asks for a link to a node. Connected or Disconnected follows.
type Connect struct {
	Link LinkID
	Host wire.Host
	Port uint16
}

// Close ends a link. What was sent before may still leave.
type Close struct{ Link LinkID }

// Send asks to send one packet over several links, each of which is up. A link whose send buffer is over its limit is to
// be closed by the driver, with a Disconnected.
type Send struct {
	To     []LinkID
	Packet *wire.Packet
}

// Deliver is a Pub/Sub message from another node. The slices are those of the packet.
type Deliver struct {
	Channel, Message []byte
	Sharded          bool
}

// Reply answers a Command.
type Reply struct {
	Request uint64
	// Kind says which of the others has the answer.
	Kind ReplyKind
	// Text is a status, or an error with its code ("ERR ...").
	Text string
	// Number is an integer.
	Number int64
}

// ReplyKind is a kind of answer.
type ReplyKind uint8

// The kinds of answers.
const (
	Status ReplyKind = iota
	Failure
	Integer
)

// Log is something an operator wants to know.
type Log struct {
	Level Level
	// Text says what happened; it is the same for every event of a kind.
	Text string
	// Node is the node it is about, Epoch the epoch, Value a number that Text names; zero if there is none.
	Node  wire.NodeID
	Epoch wire.Epoch
	Value int64
	// By is the node that told of it; zero if it was none.
	By wire.NodeID
}

// Level is how much a Log matters.
type Level uint8

// The levels. An error is something that must never happen in a healthy cluster of correct nodes.
const (
	Debug Level = iota
	Info
	Warn
	Error
)

func (Persist) effect() {}
func (Lead) effect()    {}
func (Follow) effect()  {}
func (Flush) effect()   {}
func (Purge) effect()   {}
func (Routes) effect()  {}
func (Pause) effect()   {}
func (Resume) effect()  {}
func (Connect) effect() {}
func (Close) effect()   {}
func (Send) effect()    {}
func (Deliver) effect() {}
func (Reply) effect()   {}
func (Log) effect()     {}
