package wire

import (
	"bytes"
	"errors"
	"slices"

	"github.com/covey-db/covey/internal/slot"
)

// This file reads packets. No length and no count of a packet is believed before it has been held against the bytes
// that are there.

// What can be wrong with a packet. After the first three the stream has no known next packet: the link is closed.
// After the others Parse has told the packet's length, and the link may go on with what follows it.
var (
	ErrSignature = errors.New("wire: not a cluster bus packet")
	ErrTooShort  = errors.New("wire: packet shorter than its header")
	ErrTooLong   = errors.New("wire: packet longer than allowed")
	ErrVersion   = errors.New("wire: packet of another protocol version")
	ErrType      = errors.New("wire: packet of an unknown type")
	ErrLength    = errors.New("wire: length of the packet does not fit its content")
	ErrExtension = errors.New("wire: malformed heartbeat extension")
	ErrSender    = errors.New("wire: sender is no node id")
	ErrAddress   = errors.New("wire: announced address is no address")
	ErrNodeID    = errors.New("wire: a node that the packet is about has no node id")
)

// Parse reads one packet from buf into p. n is the number of bytes it took.
//
//   - n > 0, no error: p is complete.
//   - n == 0, no error: more bytes are needed (Size tells how many).
//   - n > 0 and an error: this packet is to be dropped, the next one begins at n.
//   - n == 0 and an error: this is not a bus connection, or the packet is too long; close it.
//
// maxBytes bounds packets that carry user data (DefaultMaxBytes; less for a link whose peer is not known yet); all others
// are also bounded by MaxControlBytes. After an error only p.Type and p.Sender may be looked at, for a log line; what
// they hold is as the peer sent it.
func Parse(buf []byte, maxBytes int, p *Packet) (n int, err error) {
	size, err := frame(buf, maxBytes)
	if err != nil || size == 0 || len(buf) < size {
		return 0, err
	}
	buf = buf[:size]
	p.reset()
	p.Type = Type(wire.Uint16(buf[offType:]))
	copy(p.Sender[:], buf[offSender:])
	if wire.Uint16(buf[offVersion:]) != protocolVersion {
		return size, ErrVersion
	}
	if p.Type >= TypeCount {
		return size, ErrType
	}
	if err := p.parseHeader(buf); err != nil {
		return size, err
	}
	return size, p.parseBody(buf)
}

// frameBytes is how much of a packet must be there to judge its length: signature, length, version, port and type.
const frameBytes = offType + 2

// frame finds the length of the packet at the start of buf, 0 if buf is still too short to tell.
func frame(buf []byte, maxBytes int) (size int, err error) {
	if head := buf[:min(len(buf), len(signature))]; string(head) != signature[:len(head)] {
		return 0, ErrSignature
	}
	if len(buf) < frameBytes {
		return 0, nil
	}
	total := uint64(wire.Uint32(buf[offTotalLen:]))
	if total < headerBytes {
		return 0, ErrTooShort
	}
	if total > uint64(bound(Type(wire.Uint16(buf[offType:])), maxBytes)) {
		return 0, ErrTooLong
	}
	return int(total), nil
}

// bound is the greatest length of a packet of type t, in bytes. A type that is not known may carry anything.
func bound(t Type, maxBytes int) int {
	switch {
	case t == TypePublish, t == TypePublishShard, t == TypeModule, t >= TypeCount:
		return maxBytes
	}
	return min(maxBytes, MaxControlBytes)
}

// reset empties p but keeps the room of its slices.
func (p *Packet) reset() {
	gossip, forgotten := p.Gossip[:0], p.Ext.Forgotten[:0]
	*p = Packet{Gossip: gossip, Ext: Extensions{Forgotten: forgotten}}
}

func (p *Packet) parseHeader(buf []byte) error {
	p.Port = wire.Uint16(buf[offPort:])
	p.SecondPort = wire.Uint16(buf[offSecondPort:])
	p.BusPort = wire.Uint16(buf[offBusPort:])
	p.CurrentEpoch = Epoch(wire.Uint64(buf[offCurrentEpoch:]))
	p.ConfigEpoch = Epoch(wire.Uint64(buf[offConfigEpoch:]))
	p.Offset = wire.Uint64(buf[offOffset:])
	p.Slots = slot.FromBitmap(buf[offSlots : offSlots+slotBytes])
	copy(p.Primary[:], buf[offPrimary:])
	p.Flags = NodeFlags(wire.Uint16(buf[offFlags:]))
	p.State = State(buf[offState])
	p.MsgFlags = MsgFlags(buf[offMsgFlags])
	if !p.Sender.IsValid() {
		return ErrSender
	}
	if !p.Primary.IsZero() && !p.Primary.IsValid() {
		return ErrNodeID
	}
	if !p.IP.parse(buf[offIP : offIP+HostLen]) {
		return ErrAddress
	}
	return nil
}

// parseBody reads what follows the header of a whole packet.
func (p *Packet) parseBody(buf []byte) error {
	body := buf[headerBytes:]
	switch p.Type {
	case TypePing, TypePong, TypeMeet:
		return p.parseHeartbeat(buf, body)
	case TypeFail:
		if len(body) != NodeIDLen {
			return ErrLength
		}
		return parseBodyID(&p.Fail, body)
	case TypePublish, TypePublishShard:
		return p.Publish.parse(body)
	case TypeUpdate:
		return p.Update.parse(body)
	case TypeModule:
		return p.Module.parse(body)
	}
	if len(body) != 0 { // votes and the start of a manual failover are their header
		return ErrLength
	}
	return nil
}

func parseBodyID(id *NodeID, b []byte) error {
	copy(id[:], b)
	if !id.IsValid() {
		return ErrNodeID
	}
	return nil
}

func (m *Publish) parse(body []byte) error {
	if len(body) < publishHeadBytes {
		return ErrLength
	}
	channel, message := uint64(wire.Uint32(body)), uint64(wire.Uint32(body[4:]))
	body = body[publishHeadBytes:]
	if channel+message != uint64(len(body)) {
		return ErrLength
	}
	m.Channel = slices.Clip(body[:channel])
	m.Message = slices.Clip(body[channel:])
	return nil
}

func (u *Update) parse(body []byte) error {
	if len(body) != updateBytes {
		return ErrLength
	}
	u.ConfigEpoch = Epoch(wire.Uint64(body))
	u.Slots = slot.FromBitmap(body[8+NodeIDLen:])
	return parseBodyID(&u.ID, body[8:])
}

func (m *Module) parse(body []byte) error {
	if len(body) < moduleHeadBytes || uint64(wire.Uint32(body[8:])) != uint64(len(body)-moduleHeadBytes) {
		return ErrLength
	}
	copy(m.ID[:], body)
	m.Kind = body[12]
	m.Payload = slices.Clip(body[moduleHeadBytes:])
	return nil
}

// parseHeartbeat reads gossip and extensions, which must fill the body exactly.
func (p *Packet) parseHeartbeat(buf, body []byte) error {
	count := int(wire.Uint16(buf[offCount:]))
	if count*gossipBytes > len(body) {
		return ErrLength
	}
	p.Gossip = slices.Grow(p.Gossip, count)
	for range count {
		p.addGossip(body)
		body = body[gossipBytes:]
	}
	extensions := 0
	if p.MsgFlags&MsgExtData != 0 {
		extensions = int(wire.Uint16(buf[offExtensions:]))
	}
	return p.Ext.parse(body, extensions)
}

// addGossip reads one entry. An entry that names no node, or has an address that no nodes.conf could hold, is left out
// without giving up what the sender says about the others.
func (p *Packet) addGossip(b []byte) {
	p.Gossip = append(p.Gossip, Gossip{
		PingSent:     wire.Uint32(b[gossipPingSent:]),
		PongReceived: wire.Uint32(b[gossipPongReceived:]),
		Port:         wire.Uint16(b[gossipPort:]),
		SecondPort:   wire.Uint16(b[gossipSecondPort:]),
		BusPort:      wire.Uint16(b[gossipBusPort:]),
		Flags:        NodeFlags(wire.Uint16(b[gossipFlags:])),
	})
	g := &p.Gossip[len(p.Gossip)-1]
	copy(g.ID[:], b)
	if !g.ID.IsHex() || !g.IP.parse(b[gossipIP:gossipIP+HostLen]) {
		p.Gossip = p.Gossip[:len(p.Gossip)-1]
		p.GossipSkipped++
	}
}

// parse reads the extensions, which must fill b exactly.
func (e *Extensions) parse(b []byte, count int) error {
	for range count {
		if len(b) < extHeadBytes {
			return ErrExtension
		}
		size := uint64(wire.Uint32(b))
		if size < extHeadBytes || size%8 != 0 || size > uint64(len(b)) {
			return ErrExtension
		}
		if !e.add(wire.Uint16(b[4:]), b[extHeadBytes:size]) {
			return ErrExtension
		}
		b = b[size:]
	}
	if len(b) != 0 {
		return ErrLength
	}
	return nil
}

// add reads the body of one extension and reports whether it is well formed. A text or id that is well formed but of no
// use is left out and counted, so that one odd name does not silence a peer. Of two equal ones the last counts.
func (e *Extensions) add(kind uint16, body []byte) bool {
	switch kind {
	case extHostname, extNodeName:
		end := bytes.IndexByte(body, 0)
		if end < 0 {
			return false
		}
		e.setName(kind, body[:end])
	case extForgotten:
		if len(body) < forgottenBytes {
			return false
		}
		f := Forgotten{ID: NodeID(body), TTLSeconds: wire.Uint64(body[NodeIDLen:])}
		if !f.ID.IsValid() {
			e.Refused++
			return true
		}
		e.Forgotten = append(e.Forgotten, f)
	case extShardID:
		if len(body) < NodeIDLen {
			return false
		}
		if id := NodeID(body); id.IsValid() {
			e.ShardID = id
		} else {
			e.Refused++
		}
	default:
		e.Unknown++
	}
	return true
}

func (e *Extensions) setName(kind uint16, text []byte) {
	text = slices.Clip(text)
	switch {
	case kind == extHostname && IsHostname(text):
		e.Hostname = text
	case kind == extNodeName && IsNodeName(text):
		e.NodeName = text
	case len(text) > 0:
		e.Refused++
	}
}

// parse reads an address field: a text that a NUL ends, or nothing.
func (h *Host) parse(b []byte) bool {
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return false
	}
	var ok bool
	*h, ok = ParseHost(b[:end])
	return ok
}
