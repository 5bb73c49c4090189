package wire

import (
	"fmt"
	"strconv"

	"github.com/covey-db/covey/internal/slot"
)

// This file holds what a nodes.conf says, and writes it; nodesconf_parse.go reads it. The same lines answer CLUSTER NODES.
// docs/formats/nodes-conf.md describes the format.

// busPortOffset is where the bus port lies above the client port unless something else is said.
const busPortOffset = 10000

// Conf is the content of a nodes.conf.
type Conf struct {
	// Nodes are the known nodes, in the order of the file. One of them has FlagMyself.
	Nodes []NodeLine
	// CurrentEpoch is the highest epoch the node has seen; a parsed one is at least every primary's ConfigEpoch.
	CurrentEpoch Epoch
	// LastVoteEpoch is the epoch of the last vote the node has granted.
	LastVoteEpoch Epoch
	// Disputed are slots that more than one line of a parsed file claimed; the first claim was kept.
	Disputed slot.Set
}

// NodeLine is one node as nodes.conf and CLUSTER NODES show it.
type NodeLine struct {
	// ID is the name of the node.
	ID NodeID
	// IP is its address, empty if not known.
	IP Host
	// TCPPort and TLSPort are its client ports, 0 if not known or not served.
	TCPPort, TLSPort uint16
	// BusPort is its cluster bus port.
	BusPort uint16
	// Hostname is its announced host name, "" if none.
	Hostname string
	// NodeName is its human readable name, "" if none. Only files have it.
	NodeName string
	// ShardID names its shard, zero if the file is of a version without shards. Only files have it.
	ShardID NodeID
	// Flags are the node's flags. A parsed line with no flags at all may be a node that other lines only referred to.
	Flags NodeFlags
	// Primary is the primary of a replica, otherwise zero.
	Primary NodeID
	// PingSentMillis is when the outstanding ping left, in Unix milliseconds, 0 if none. In a file only "is it 0" counts.
	PingSentMillis int64
	// PongReceivedMillis is when the last pong came, in Unix milliseconds, 0 if never. In a file only "is it 0" counts.
	PongReceivedMillis int64
	// ConfigEpoch is the epoch of the slots; on the line of a replica it is its primary's.
	ConfigEpoch Epoch
	// Connected says whether there is a link to the node, or it is this node.
	Connected bool
	// Slots are the slots the node serves.
	Slots slot.Set
	// Open are the slots on the move, in ascending order when Redis writes them; only the line of this node has some.
	Open []OpenSlot
}

// OpenSlot is a slot that is being moved.
type OpenSlot struct {
	// Slot is the slot.
	Slot slot.ID
	// Importing says that the slot comes from Node; otherwise it goes to Node.
	Importing bool
	// Node is the other side of the move.
	Node NodeID
}

// Form is a way of writing a node's line.
type Form uint8

// The forms of a line.
const (
	FormFile      Form = iota // nodes.conf: with shard and node name
	FormClient                // CLUSTER NODES over plain TCP
	FormClientTLS             // CLUSTER NODES over TLS: the main port is the TLS port
)

// Myself finds the line of the node itself, nil in an empty Conf.
func (c *Conf) Myself() *NodeLine {
	for i := range c.Nodes {
		if c.Nodes[i].Flags.Has(FlagMyself) {
			return &c.Nodes[i]
		}
	}
	return nil
}

// Append adds the content of the file to dst. Nodes in handshake have no lasting name and are left out.
func (c *Conf) Append(dst []byte) []byte {
	for i := range c.Nodes {
		if !c.Nodes[i].Flags.Has(FlagHandshake) {
			dst = c.Nodes[i].Append(dst, FormFile)
			dst = append(dst, '\n')
		}
	}
	return AppendVars(dst, c.CurrentEpoch, c.LastVoteEpoch)
}

// AppendVars adds the line that ends a nodes.conf.
func AppendVars(dst []byte, currentEpoch, lastVoteEpoch Epoch) []byte {
	dst = append(dst, "vars currentEpoch "...)
	dst = strconv.AppendUint(dst, uint64(currentEpoch), 10)
	dst = append(dst, " lastVoteEpoch "...)
	dst = strconv.AppendUint(dst, uint64(lastVoteEpoch), 10)
	return append(dst, '\n')
}

// Append adds the node's line, without a newline, to dst.
func (n *NodeLine) Append(dst []byte, form Form) []byte {
	dst = append(dst, n.ID[:]...)
	dst = append(dst, ' ')
	dst = n.appendAddress(dst, form)
	dst = append(dst, ' ')
	dst = n.Flags.Append(dst)
	dst = append(dst, ' ')
	if n.Primary.IsZero() {
		dst = append(dst, '-')
	} else {
		dst = append(dst, n.Primary[:]...)
	}
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, n.PingSentMillis, 10)
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, n.PongReceivedMillis, 10)
	dst = append(dst, ' ')
	dst = strconv.AppendUint(dst, uint64(n.ConfigEpoch), 10)
	if n.Connected {
		dst = append(dst, " connected"...)
	} else {
		dst = append(dst, " disconnected"...)
	}
	return n.appendSlots(dst)
}

// appendAddress writes ip:port@busport[,hostname], and for a file the aux fields in Redis's order.
func (n *NodeLine) appendAddress(dst []byte, form Form) []byte {
	port := n.TCPPort
	if form == FormClientTLS {
		port = n.TLSPort
	}
	dst = n.IP.Append(dst)
	dst = append(dst, ':')
	dst = strconv.AppendUint(dst, uint64(port), 10)
	dst = append(dst, '@')
	dst = strconv.AppendUint(dst, uint64(n.BusPort), 10)
	if n.Hostname != "" || form == FormFile {
		dst = append(dst, ',')
		dst = append(dst, n.Hostname...)
	}
	if form != FormFile {
		return dst
	}
	dst = append(dst, ","+auxTLSPort+"="...)
	dst = strconv.AppendUint(dst, uint64(n.TLSPort), 10)
	if n.NodeName != "" {
		dst = append(dst, ","+auxNodeName+"="...)
		dst = append(dst, n.NodeName...)
	}
	if !n.ShardID.IsZero() {
		dst = append(dst, ","+auxShardID+"="...)
		dst = append(dst, n.ShardID[:]...)
	}
	return dst
}

// The names of the aux fields.
const (
	auxShardID  = "shard-id"
	auxNodeName = "nodename"
	auxTCPPort  = "tcp-port"
	auxTLSPort  = "tls-port"
)

func (n *NodeLine) appendSlots(dst []byte) []byte {
	for first, last := range n.Slots.Ranges {
		dst = append(dst, ' ')
		dst = strconv.AppendUint(dst, uint64(first), 10)
		if last != first {
			dst = append(dst, '-')
			dst = strconv.AppendUint(dst, uint64(last), 10)
		}
	}
	for _, o := range n.Open {
		dst = append(dst, " ["...)
		dst = strconv.AppendUint(dst, uint64(o.Slot), 10)
		if o.Importing {
			dst = append(dst, "-<-"...)
		} else {
			dst = append(dst, "->-"...)
		}
		dst = append(dst, o.Node[:]...)
		dst = append(dst, ']')
	}
	return dst
}

// ConfError is what makes a nodes.conf unusable. The caller adds the name of the file.
type ConfError struct {
	// Line is the number of the line, from 1; 0 if the file as a whole is wrong.
	Line int
	// Reason is what is wrong.
	Reason string
	// Text is the beginning of the line.
	Text string
}

// Error gives line, reason and text.
func (e *ConfError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d: %s: %q", e.Line, e.Reason, e.Text)
}
