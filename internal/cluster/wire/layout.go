package wire

import (
	"encoding/binary"

	"github.com/covey-db/covey/internal/slot"
)

// This file holds where the fields of a packet are. All numbers are big endian, except that the slot bitmap is bytes:
// slot s is bit s&7 of byte s/8. docs/formats/cluster-bus.md draws the same table with its reasons.

// signature opens every packet.
const signature = "RCmb"

// protocolVersion is the only version of the bus protocol there has been.
const protocolVersion = 1

// The offsets of the header.
const (
	offTotalLen     = 4
	offVersion      = 8
	offPort         = 10
	offType         = 12
	offCount        = 14
	offCurrentEpoch = 16
	offConfigEpoch  = 24
	offOffset       = 32
	offSender       = 40
	offSlots        = 80
	offPrimary      = offSlots + slotBytes
	offIP           = offPrimary + NodeIDLen
	offExtensions   = offIP + HostLen
	offReserved     = offExtensions + 2
	offSecondPort   = offReserved + reservedBytes
	offBusPort      = offSecondPort + 2
	offFlags        = offBusPort + 2
	offState        = offFlags + 2
	offMsgFlags     = offState + 1
	headerBytes     = offMsgFlags + 3

	slotBytes     = slot.BitmapBytes
	reservedBytes = 30
)

// HeaderBytes is the length of a packet without a body, the shortest there is.
const HeaderBytes = headerBytes

// The lengths of the bodies and their fixed parts.
const (
	gossipBytes      = 104
	extHeadBytes     = 8
	forgottenBytes   = NodeIDLen + 8
	publishHeadBytes = 8
	updateBytes      = 8 + NodeIDLen + slotBytes
	moduleHeadBytes  = 8 + 4 + 1
)

// The offsets of a gossip entry; two reserved bytes end it.
const (
	gossipPingSent     = NodeIDLen
	gossipPongReceived = gossipPingSent + 4
	gossipIP           = gossipPongReceived + 4
	gossipPort         = gossipIP + HostLen
	gossipBusPort      = gossipPort + 2
	gossipFlags        = gossipBusPort + 2
	gossipSecondPort   = gossipFlags + 2
)

// The types of heartbeat extensions.
const (
	extHostname  = 0
	extNodeName  = 1
	extForgotten = 2
	extShardID   = 3
)

// gossipMax is how many gossip entries a heartbeat can count; so it is for extensions.
const gossipMax = 1<<16 - 1

// MaxControlBytes bounds every packet that carries no user data, in bytes. The longest is a heartbeat with 65535
// gossip entries (6.8 MB), as many forgotten nodes (3.7 MB) and the two names.
const MaxControlBytes = 16 << 20

// DefaultMaxBytes bounds packets that carry user data, in bytes: a channel name and a message of 512 MB each, the
// longest strings a client can send.
const DefaultMaxBytes = 1<<30 + headerBytes + publishHeadBytes

// wire is the byte order of all numbers.
var wire = binary.BigEndian

// extBytes is the length of an extension whose body has n bytes: bodies are padded to eight.
func extBytes(n int) int { return extHeadBytes + (n+7)&^7 }
