package wire

import (
	"slices"

	"github.com/covey-db/covey/internal/invariant"
)

// This file writes packets.

// AppendPacket adds p to dst. The caller keeps p within what the form can count: at most 65535 gossip entries, names
// shorter than 256 bytes, channel and message shorter than 4 GB together.
func AppendPacket(dst []byte, p *Packet) []byte {
	start, size := len(dst), PacketBytes(p)
	dst = slices.Grow(dst, size)
	dst = appendHeader(dst, p, size)
	switch p.Type {
	case TypePing, TypePong, TypeMeet:
		dst = appendHeartbeat(dst, p)
	case TypeFail:
		dst = append(dst, p.Fail[:]...)
	case TypePublish, TypePublishShard:
		dst = wire.AppendUint32(dst, uint32(len(p.Publish.Channel)))
		dst = wire.AppendUint32(dst, uint32(len(p.Publish.Message)))
		dst = append(dst, p.Publish.Channel...)
		dst = append(dst, p.Publish.Message...)
	case TypeUpdate:
		dst = wire.AppendUint64(dst, uint64(p.Update.ConfigEpoch))
		dst = append(dst, p.Update.ID[:]...)
		dst = p.Update.Slots.AppendBitmap(dst)
	case TypeModule:
		dst = append(dst, p.Module.ID[:]...)
		dst = wire.AppendUint32(dst, uint32(len(p.Module.Payload)))
		dst = append(dst, p.Module.Kind)
		dst = append(dst, p.Module.Payload...)
	}
	invariant.That(len(dst)-start == size, "bus packet has another length than announced")
	return dst
}

// PacketBytes is the length of p on the wire.
func PacketBytes(p *Packet) int {
	switch p.Type {
	case TypePing, TypePong, TypeMeet:
		return headerBytes + gossipBytes*len(p.Gossip) + p.Ext.bytes()
	case TypeFail:
		return headerBytes + NodeIDLen
	case TypePublish, TypePublishShard:
		return headerBytes + publishHeadBytes + len(p.Publish.Channel) + len(p.Publish.Message)
	case TypeUpdate:
		return headerBytes + updateBytes
	case TypeModule:
		return headerBytes + moduleHeadBytes + len(p.Module.Payload)
	}
	return headerBytes
}

func appendHeader(dst []byte, p *Packet, size int) []byte {
	invariant.That(size <= 1<<32-1, "bus packet longer than its length field can say")
	count, extensions, flags := 0, 0, p.MsgFlags
	if p.Type.IsHeartbeat() {
		count, extensions = len(p.Gossip), p.Ext.count()
		invariant.That(max(count, extensions) <= gossipMax, "more entries than a heartbeat can count")
	}
	if extensions > 0 {
		flags |= MsgExtData
	}
	dst = append(dst, signature...)
	dst = wire.AppendUint32(dst, uint32(size))
	dst = wire.AppendUint16(dst, protocolVersion)
	dst = wire.AppendUint16(dst, p.Port)
	dst = wire.AppendUint16(dst, uint16(p.Type))
	dst = wire.AppendUint16(dst, uint16(count))
	dst = wire.AppendUint64(dst, uint64(p.CurrentEpoch))
	dst = wire.AppendUint64(dst, uint64(p.ConfigEpoch))
	dst = wire.AppendUint64(dst, p.Offset)
	dst = append(dst, p.Sender[:]...)
	dst = p.Slots.AppendBitmap(dst)
	dst = append(dst, p.Primary[:]...)
	dst = append(dst, p.IP[:]...)
	dst = wire.AppendUint16(dst, uint16(extensions))
	dst = appendZeros(dst, reservedBytes)
	dst = wire.AppendUint16(dst, p.SecondPort)
	dst = wire.AppendUint16(dst, p.BusPort)
	dst = wire.AppendUint16(dst, uint16(p.Flags))
	return append(dst, byte(p.State), byte(flags), 0, 0)
}

func appendHeartbeat(dst []byte, p *Packet) []byte {
	for i := range p.Gossip {
		g := &p.Gossip[i]
		dst = append(dst, g.ID[:]...)
		dst = wire.AppendUint32(dst, g.PingSent)
		dst = wire.AppendUint32(dst, g.PongReceived)
		dst = append(dst, g.IP[:]...)
		dst = wire.AppendUint16(dst, g.Port)
		dst = wire.AppendUint16(dst, g.BusPort)
		dst = wire.AppendUint16(dst, uint16(g.Flags))
		dst = wire.AppendUint16(dst, g.SecondPort)
		dst = append(dst, 0, 0)
	}
	return p.Ext.append(dst)
}

// count is how many extensions e has.
func (e *Extensions) count() int {
	n := len(e.Forgotten)
	if len(e.Hostname) > 0 {
		n++
	}
	if len(e.NodeName) > 0 {
		n++
	}
	if !e.ShardID.IsZero() {
		n++
	}
	return n
}

// bytes is the length of e on the wire.
func (e *Extensions) bytes() int {
	n := len(e.Forgotten) * extBytes(forgottenBytes)
	if len(e.Hostname) > 0 {
		n += extBytes(len(e.Hostname) + 1)
	}
	if len(e.NodeName) > 0 {
		n += extBytes(len(e.NodeName) + 1)
	}
	if !e.ShardID.IsZero() {
		n += extBytes(NodeIDLen)
	}
	return n
}

// append writes the extensions in Redis's order.
func (e *Extensions) append(dst []byte) []byte {
	if len(e.Hostname) > 0 {
		dst = appendExtText(dst, extHostname, e.Hostname)
	}
	if len(e.NodeName) > 0 {
		dst = appendExtText(dst, extNodeName, e.NodeName)
	}
	for i := range e.Forgotten {
		dst = appendExtHead(dst, extForgotten, forgottenBytes)
		dst = append(dst, e.Forgotten[i].ID[:]...)
		dst = wire.AppendUint64(dst, e.Forgotten[i].TTLSeconds)
	}
	if !e.ShardID.IsZero() {
		dst = appendExtHead(dst, extShardID, NodeIDLen)
		dst = append(dst, e.ShardID[:]...)
	}
	return dst
}

func appendExtHead(dst []byte, kind uint16, bodyBytes int) []byte {
	dst = wire.AppendUint32(dst, uint32(extBytes(bodyBytes)))
	dst = wire.AppendUint16(dst, kind)
	return append(dst, 0, 0)
}

// appendExtText writes an extension that is a NUL-terminated text.
func appendExtText(dst []byte, kind uint16, text []byte) []byte {
	dst = appendExtHead(dst, kind, len(text)+1)
	dst = append(dst, text...)
	return appendZeros(dst, extBytes(len(text)+1)-extHeadBytes-len(text))
}

func appendZeros(dst []byte, n int) []byte {
	var zeros [reservedBytes]byte
	return append(dst, zeros[:n]...)
}
