// Package wire is the text and bytes of the cluster: the packets of the cluster bus and the lines of nodes.conf, in
// the forms Redis 7.2 writes and reads. It holds no state, opens no socket or file and reads no clock.
//
// This file holds the decoded form of a bus packet. The byte layout is drawn in docs/formats/cluster-bus.md; the
// codec is in encode.go and parse.go.
package wire

import "github.com/covey-db/covey/internal/slot"

// Epoch is a logical clock of the cluster: the current epoch of a node or the configuration epoch of a primary.
type Epoch uint64

// Type is the type of a bus packet. Its number is on the wire.
type Type uint16

// The packet types. Ping, Pong and Meet share one form, the heartbeat.
const (
	TypePing         Type = 0  // heartbeat that wants a Pong
	TypePong         Type = 1  // answer to a Ping or Meet, or news for everybody
	TypeMeet         Type = 2  // a Ping that makes the receiver add the sender
	TypeFail         Type = 3  // a majority holds the node in Packet.Fail for dead
	TypePublish      Type = 4  // a Pub/Sub message
	TypeVoteRequest  Type = 5  // FAILOVER_AUTH_REQUEST: a replica asks for votes
	TypeVote         Type = 6  // FAILOVER_AUTH_ACK: a primary grants its vote
	TypeUpdate       Type = 7  // the slots of some node, newer than what the receiver claims
	TypeFailoverMe   Type = 8  // MFSTART: a replica asks its primary to pause for a manual failover
	TypeModule       Type = 9  // a module's own message
	TypePublishShard Type = 10 // a sharded Pub/Sub message
	TypeCount        Type = 11 // number of known types; not a type
)

// IsHeartbeat reports whether t is Ping, Pong or Meet.
func (t Type) IsHeartbeat() bool { return t <= TypeMeet }

// MsgFlags is the first byte of the message flags; the two others are reserved.
type MsgFlags uint8

// The message flags.
const (
	MsgPaused   MsgFlags = 1 << 0 // the sending primary has paused its clients for a manual failover
	MsgForceAck MsgFlags = 1 << 1 // vote even though the primary is up: the failover is manual
	MsgExtData  MsgFlags = 1 << 2 // the sender knows heartbeat extensions, and the packet may have some
)

// State is the sender's view of the cluster.
type State uint8

// The cluster states.
const (
	StateOK   State = 0
	StateFail State = 1
)

// String gives the state as CLUSTER INFO spells it.
func (s State) String() string {
	if s == StateOK {
		return "ok"
	}
	return "fail"
}

// Header is what every packet begins with: the sender's description of itself.
type Header struct {
	// Type says which body follows.
	Type Type
	// Port is the sender's client port of the kind the cluster uses: TLS in a TLS cluster, otherwise plain TCP.
	Port uint16
	// SecondPort is the client port of the other kind, 0 if it has none.
	SecondPort uint16
	// BusPort is the sender's cluster bus port.
	BusPort uint16
	// CurrentEpoch is the highest epoch the sender has seen.
	CurrentEpoch Epoch
	// ConfigEpoch is the epoch of the slot claim below: the sender's, or its primary's when it is a replica.
	ConfigEpoch Epoch
	// Offset is the replication offset the sender has written (primary) or applied (replica).
	Offset uint64
	// Sender is the name of the sending node.
	Sender NodeID
	// Slots are the slots of the sender, or of its primary when it is a replica.
	Slots slot.Set
	// Primary is the name of the sender's primary, zero for a primary.
	Primary NodeID
	// IP is the announced address of the sender; empty means: the address the packet came from.
	IP Host
	// Flags describe the sender as it sees itself.
	Flags NodeFlags
	// State is the cluster's state as the sender sees it.
	State State
	// MsgFlags qualify this packet. AppendPacket adds MsgExtData when it writes extensions.
	MsgFlags MsgFlags
}

// Packet is one decoded packet. Only the body that belongs to Type has a meaning: Gossip and Ext of a heartbeat, Fail,
// Publish (for both publish types), Update and Module; the vote and failover packets have no body.
//
// Byte slices that Parse puts in (channel, message, payload, extension texts) point into the parsed buffer and live
// until it is reused; the Gossip and Ext.Forgotten slices belong to the Packet and live until it is parsed into again.
type Packet struct {
	Header

	// Gossip is what the sender of a heartbeat says about other nodes.
	Gossip []Gossip
	// GossipSkipped counts entries Parse left out of Gossip because their node name or address was malformed.
	GossipSkipped int
	// Ext is what follows the gossip in a heartbeat. Without MsgExtData there is none.
	Ext Extensions
	// Fail is the node a Fail packet is about.
	Fail NodeID
	// Publish is the body of Publish and PublishShard.
	Publish Publish
	// Update is the body of Update.
	Update Update
	// Module is the body of Module.
	Module Module
}

// Gossip is one entry of a heartbeat: what the sender knows of a third node.
type Gossip struct {
	// ID is the name of that node.
	ID NodeID
	// PingSent is when the sender's outstanding ping to it left, in Unix seconds; 0 if none is outstanding.
	PingSent uint32
	// PongReceived is when the sender last heard a pong of it, in Unix seconds.
	PongReceived uint32
	// IP is its last known address.
	IP Host
	// Port, SecondPort and BusPort are as in Header.
	Port, SecondPort, BusPort uint16
	// Flags is the sender's opinion of the node.
	Flags NodeFlags
}

// Extensions are the optional parts of a heartbeat. An empty text and a zero id mean that the part is absent.
type Extensions struct {
	// Hostname is the announced host name of the sender.
	Hostname []byte
	// NodeName is the human readable name of the sender.
	NodeName []byte
	// ShardID names the shard (a primary and its replicas) of the sender.
	ShardID NodeID
	// Forgotten are nodes the sender was told to forget, and asks the receiver to forget too.
	Forgotten []Forgotten
	// Unknown counts extensions of a type this package does not know; they were skipped.
	Unknown int
	// Refused counts names and ids that were left out because they could not be shown or stored.
	Refused int
}

// Forgotten is a node to be removed and not to be added again for a while.
type Forgotten struct {
	// ID is the name of the node.
	ID NodeID
	// TTLSeconds is how long it must not be added again.
	TTLSeconds uint64
}

// Publish is a Pub/Sub message.
type Publish struct {
	Channel []byte
	Message []byte
}

// Update tells the receiver that a node has newer slots than the receiver thought.
type Update struct {
	// ConfigEpoch is the epoch of the claim.
	ConfigEpoch Epoch
	// ID is the owner.
	ID NodeID
	// Slots are all slots of the owner.
	Slots slot.Set
}

// Module is a message of a module to its peers.
type Module struct {
	// ID is the module's name, padded: eight bytes that are sent as they are.
	ID [8]byte
	// Kind is the module's own message type.
	Kind uint8
	// Payload is the module's data.
	Payload []byte
}
