package wire

import "strings"

// This file holds the small value types that name and describe a node: its id, its address text and its flags.

// NodeIDLen is the length of a node id: 160 random bits in lower-case hex.
const NodeIDLen = 40

// NodeID is the name of a node (or of a shard). The zero value means "none". It is comparable: a map key.
type NodeID [NodeIDLen]byte

// ParseNodeID reads a node id. As in Redis any lower-case letter or digit is accepted, not only the hex ones.
func ParseNodeID[T string | []byte](s T) (id NodeID, ok bool) {
	if len(s) != NodeIDLen {
		return NodeID{}, false
	}
	copy(id[:], s)
	return id, id.IsValid()
}

// String gives the id as text; the zero id is "".
func (id NodeID) String() string {
	if id.IsZero() {
		return ""
	}
	return string(id[:])
}

// IsZero reports whether id names nothing.
func (id NodeID) IsZero() bool { return id == NodeID{} }

// IsValid reports whether every byte is a digit or a lower-case letter, which is all that Redis asks of an id in
// commands and in nodes.conf.
func (id NodeID) IsValid() bool {
	for _, c := range id {
		if !isDigit(c) && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// IsHex reports whether every byte is a lower-case hex digit, which is so for every id a node makes for itself.
func (id NodeID) IsHex() bool {
	for _, c := range id {
		if !isDigit(c) && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// HostLen is the room for an address text on the wire, with its final NUL: an IPv6 address in its longest form.
const HostLen = 46

// Host is an address text: an IPv4 or IPv6 address or a short host name, NUL-padded. It is comparable, and the zero
// value means "not known".
type Host [HostLen]byte

// ParseHost reads an address text. It refuses what does not fit or holds a byte that no address has, such as the
// separators of nodes.conf.
func ParseHost[T string | []byte](s T) (h Host, ok bool) {
	if len(s) >= HostLen {
		return Host{}, false
	}
	for i := range len(s) {
		if !isHostByte(s[i]) {
			return Host{}, false
		}
	}
	copy(h[:], s)
	return h, true
}

// isHostByte reports whether c may be in an address or host name: "%" is for the zone of an IPv6 address.
func isHostByte(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
		c == '.' || c == ':' || c == '-' || c == '_' || c == '%'
}

// nameMax bounds host names and node names, in bytes; with their final NUL they fit 256.
const nameMax = 255

// IsHostname reports whether s can be announced as a host name: letters, digits, hyphens, dots and, more than Redis
// takes from its configuration, underscores.
func IsHostname[T string | []byte](s T) bool {
	if len(s) == 0 || len(s) > nameMax {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isHostByte(c) || c == ':' || c == '%' {
			return false
		}
	}
	return true
}

// IsNodeName reports whether s can be a human readable node name: what Redis takes, without the separators and quotes
// with which a written nodes.conf could not be read again.
func IsNodeName[T string | []byte](s T) bool {
	if len(s) == 0 || len(s) > nameMax {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

// isNameByte reports whether c may be in the value of an aux field.
func isNameByte(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte("!#$%&()*+:;<>?@[]^{|}~,=\"'\\", c) < 0
}

// Len is the length of the text.
func (h *Host) Len() int {
	for i, c := range h {
		if c == 0 {
			return i
		}
	}
	return HostLen
}

// String gives the text.
func (h Host) String() string { return string(h[:h.Len()]) }

// Append adds the text to dst.
func (h *Host) Append(dst []byte) []byte { return append(dst, h[:h.Len()]...) }

// IsZero reports whether the address is not known.
func (h Host) IsZero() bool { return h[0] == 0 }

// NodeFlags is what is known of a node. The bits are on the wire.
type NodeFlags uint16

// The node flags.
const (
	FlagPrimary    NodeFlags = 1 << 0 // "master"
	FlagReplica    NodeFlags = 1 << 1 // "slave"
	FlagPFail      NodeFlags = 1 << 2 // "fail?": this node cannot reach it
	FlagFail       NodeFlags = 1 << 3 // "fail": a majority cannot reach it
	FlagMyself     NodeFlags = 1 << 4 // "myself"
	FlagHandshake  NodeFlags = 1 << 5 // "handshake": its first pong is still to come
	FlagNoAddr     NodeFlags = 1 << 6 // "noaddr": its address is not known
	FlagMeet       NodeFlags = 1 << 7 // it is to be sent a Meet; not in texts
	FlagMigrateTo  NodeFlags = 1 << 8 // a primary that had replicas, so one may migrate to it; not in texts
	FlagNoFailover NodeFlags = 1 << 9 // "nofailover": a replica that does not stand for election
)

// Has reports whether any bit of mask is set.
func (f NodeFlags) Has(mask NodeFlags) bool { return f&mask != 0 }

// flagNames are the names of the flags, in the order in which CLUSTER NODES lists them.
var flagNames = [...]struct {
	name string
	flag NodeFlags
}{
	{"myself", FlagMyself},
	{"master", FlagPrimary},
	{"slave", FlagReplica},
	{"fail?", FlagPFail},
	{"fail", FlagFail},
	{"handshake", FlagHandshake},
	{"noaddr", FlagNoAddr},
	{"nofailover", FlagNoFailover},
}

// Append adds the comma-separated names to dst, "noflags" if none is set.
func (f NodeFlags) Append(dst []byte) []byte {
	start := len(dst)
	for _, n := range flagNames {
		if !f.Has(n.flag) {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(dst, n.name...)
	}
	if len(dst) == start {
		dst = append(dst, "noflags"...)
	}
	return dst
}

// String gives the comma-separated names.
func (f NodeFlags) String() string { return string(f.Append(nil)) }
