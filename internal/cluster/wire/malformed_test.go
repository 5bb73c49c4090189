package wire

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// This file holds packets that are wrong, kind by kind. "dropped" means that the stream goes on behind the packet,
// "closed" that it does not.

func expect(t *testing.T, what string, b []byte, want error) {
	t.Helper()
	var p Packet
	n, err := Parse(b, DefaultMaxBytes, &p)
	wantBytes := len(b)
	if want == ErrSignature || want == ErrTooShort || want == ErrTooLong {
		wantBytes = 0
	}
	if !errors.Is(err, want) || n != wantBytes {
		t.Errorf("%s: took %d of %d bytes, error %v, want %v", what, n, len(b), err, want)
	}
}

// edited is the sample packet of the type after edit, with its total length corrected.
func edited(t *testing.T, kind Type, edit func(b []byte) []byte) []byte {
	t.Helper()
	b := edit(AppendPacket(nil, samplePacket(t, kind)))
	wire.PutUint32(b[offTotalLen:], uint32(len(b)))
	return b
}

// TestStrangersAreClosed is public case c044.
func TestStrangersAreClosed(t *testing.T) {
	random := make([]byte, 3000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.Uint32())
	}
	for what, b := range map[string][]byte{
		"INFO":       []byte("INFO\r\n"),
		"HTTP":       []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"RESP":       []byte("*1\r\n$4\r\nPING\r\n"),
		"random":     random,
		"first byte": []byte("*"),
		"R only":     []byte("RESP"),
	} {
		expect(t, what, b, ErrSignature)
	}
	var p Packet
	if n, err := Parse(nil, DefaultMaxBytes, &p); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
}

func TestLengthsThatNoPacketHasAreClosed(t *testing.T) {
	b := AppendPacket(nil, samplePacket(t, TypePing))
	for _, total := range []uint32{0, 7, 16, headerBytes - 1} {
		wire.PutUint32(b[offTotalLen:], total)
		expect(t, "too short", b, ErrTooShort)
		expect(t, "too short, only the head", b[:frameBytes], ErrTooShort)
	}
	var p Packet
	for kind := range TypeCount + 2 {
		limit := uint32(DefaultMaxBytes)
		if kind != TypePublish && kind != TypePublishShard && kind != TypeModule && kind < TypeCount {
			limit = MaxControlBytes
		}
		head := bytes.Clone(b[:frameBytes])
		wire.PutUint16(head[offType:], uint16(kind))
		wire.PutUint32(head[offTotalLen:], limit)
		if n, err := Parse(head, DefaultMaxBytes, &p); n != 0 || err != nil {
			t.Errorf("%v of %d bytes: %d, %v", kind, limit, n, err)
		}
		for _, total := range []uint32{limit + 1, 1<<32 - 1} {
			wire.PutUint32(head[offTotalLen:], total)
			if n, err := Parse(head, DefaultMaxBytes, &p); n != 0 || !errors.Is(err, ErrTooLong) {
				t.Errorf("%v of %d bytes: %d, %v", kind, total, n, err)
			}
		}
		wire.PutUint32(head[offTotalLen:], 8001)
		if _, err := Parse(head, 8000, &p); !errors.Is(err, ErrTooLong) {
			t.Errorf("%v of 8001 bytes where 8000 are allowed: %v", kind, err)
		}
	}
}

// TestHeartbeatCounts is public case c181.
func TestHeartbeatCounts(t *testing.T) {
	count := func(n uint16, entries int) func([]byte) []byte {
		return func(b []byte) []byte {
			wire.PutUint16(b[offCount:], n)
			b[offMsgFlags] = 0
			return b[:headerBytes+entries*gossipBytes]
		}
	}
	for _, kind := range []Type{TypePing, TypePong, TypeMeet} {
		expect(t, "count 1 without entry", edited(t, kind, count(1, 0)), ErrLength)
		expect(t, "count 65535", edited(t, kind, count(65535, 2)), ErrLength)
		expect(t, "count 2 with one entry", edited(t, kind, count(2, 1)), ErrLength)
		expect(t, "count 1 with two entries", edited(t, kind, count(1, 2)), ErrLength)
		expect(t, "count 2 with two entries", edited(t, kind, count(2, 2)), nil)
		expect(t, "a byte behind", edited(t, kind, func(b []byte) []byte { return append(count(2, 2)(b), 0) }), ErrLength)
	}
}

// extensionsOf gives the sample heartbeat the extension bytes and their count.
func extensionsOf(t *testing.T, n uint16, ext ...byte) []byte {
	t.Helper()
	return edited(t, TypePing, func(b []byte) []byte {
		wire.PutUint16(b[offExtensions:], n)
		return append(b[:headerBytes+2*gossipBytes], ext...)
	})
}

// ext is an extension whose length field is size, with body.
func ext(size uint32, kind uint16, body string) []byte {
	b := wire.AppendUint32(nil, size)
	b = wire.AppendUint16(b, kind)
	return append(append(b, 0, 0), body...)
}

// TestExtensionLengths is public case c180.
func TestExtensionLengths(t *testing.T) {
	for _, size := range []uint32{0, 4, 7, 9, 15, 24, 65528, 65536 + 16, 1<<32 - 8, 1<<32 - 1} {
		for kind := range uint16(5) {
			expect(t, "length", extensionsOf(t, 1, ext(size, kind, "abcdefg\x00")...), ErrExtension)
		}
	}
	expect(t, "unaligned, and as long as it says", extensionsOf(t, 1, ext(17, extHostname, "abcdefg\x00\x00")...), ErrExtension)
	expect(t, "65535 announced, none there", extensionsOf(t, 65535), ErrExtension)
	expect(t, "two announced, one there", extensionsOf(t, 2, ext(16, extHostname, "abcdefg\x00")...), ErrExtension)
	expect(t, "one announced, two there", extensionsOf(t, 1, append(ext(16, 9, "abcdefg\x00"), ext(16, 9, "abcdefg\x00")...)...), ErrLength)
	expect(t, "half a head", extensionsOf(t, 1, 0, 0, 0, 16), ErrExtension)
	for _, kind := range []uint16{extHostname, extNodeName} {
		expect(t, "name without NUL", extensionsOf(t, 1, ext(16, kind, "abcdefgh")...), ErrExtension)
		expect(t, "name without body", extensionsOf(t, 1, ext(8, kind, "")...), ErrExtension)
	}
	expect(t, "short forgotten node", extensionsOf(t, 1, ext(48, extForgotten, strings.Repeat("a", 40))...), ErrExtension)
	expect(t, "short shard id", extensionsOf(t, 1, ext(40, extShardID, strings.Repeat("a", 32))...), ErrExtension)
	expect(t, "unknown extension", extensionsOf(t, 1, ext(8, 99, "")...), nil)
}

func TestUselessExtensionsAreLeftOut(t *testing.T) {
	var b []byte
	add := func(kind uint16, body string) { b = append(b, ext(uint32(8+len(body)), kind, body)...) }
	add(extHostname, "not a ho\x00\x00\x00\x00\x00\x00\x00\x00")
	add(extNodeName, "a=b,c\x00xx")
	add(extForgotten, strings.Repeat(" ", 40)+"\x00\x00\x00\x00\x00\x00\x00\x05")
	add(extShardID, strings.Repeat("A", 40))
	add(99, "12345678")
	add(extHostname, "\x00\x00\x00\x00\x00\x00\x00\x00") // an empty name is no name, and nothing to refuse
	p := parseOne(t, extensionsOf(t, 6, b...))
	if len(p.Ext.Hostname)+len(p.Ext.NodeName)+len(p.Ext.Forgotten) != 0 || !p.Ext.ShardID.IsZero() {
		t.Errorf("taken: %+v", p.Ext)
	}
	if p.Ext.Refused != 4 || p.Ext.Unknown != 1 {
		t.Errorf("%d refused, %d unknown", p.Ext.Refused, p.Ext.Unknown)
	}
	b = b[:0]
	add(extHostname, "first\x00xx")
	add(extHostname, "second\x00x")
	if p = parseOne(t, extensionsOf(t, 2, b...)); string(p.Ext.Hostname) != "second" {
		t.Errorf("of two host names %q counts", p.Ext.Hostname)
	}
}

// TestGossipAboutNobody is public case c033: an entry that names no node is left out, the others stay.
func TestGossipAboutNobody(t *testing.T) {
	for what, id := range map[string]string{
		"text":       "this is forty characters of other text  ",
		"upper case": strings.Repeat("ABCDEF0123", 4),
		"no hex":     strings.Repeat("x", 40),
		"NUL bytes":  strings.Repeat("\x00", 40),
		"short":      strings.Repeat("a", 39) + "\x00",
		"new line":   strings.Repeat("a", 39) + "\n",
	} {
		p := parseOne(t, edited(t, TypePing, func(b []byte) []byte {
			copy(b[headerBytes:], id)
			return b
		}))
		if len(p.Gossip) != 1 || p.Gossip[0].ID != testID('c') || p.GossipSkipped != 1 {
			t.Errorf("%s: %d entries, %d skipped", what, len(p.Gossip), p.GossipSkipped)
		}
	}
	for what, ip := range map[string]string{
		"not terminated": strings.Repeat("1", 46),
		"space":          "10.0.0.1 \x00",
		"comma":          "10.0.0.1,x\x00",
		"line":           "10.0.0.1\nvars\x00",
	} {
		p := parseOne(t, edited(t, TypePing, func(b []byte) []byte {
			copy(b[headerBytes+gossipIP:], ip)
			return b
		}))
		if len(p.Gossip) != 1 || p.GossipSkipped != 1 {
			t.Errorf("address %s: %d entries, %d skipped", what, len(p.Gossip), p.GossipSkipped)
		}
	}
	p := parseOne(t, edited(t, TypePing, func(b []byte) []byte {
		copy(b[headerBytes+gossipIP:], "10.0.0.2\x00junk")
		return b
	}))
	if p.Gossip[0].IP != testHost(t, "10.0.0.2") {
		t.Errorf("bytes behind the NUL count: %q", p.Gossip[0].IP)
	}
}

// TestBodiesOfWrongLength is public case e231.
func TestBodiesOfWrongLength(t *testing.T) {
	keep := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:headerBytes+n] } }
	grow := func(b []byte) []byte { return append(b, 'x') }
	set := func(at int, v uint32) func([]byte) []byte {
		return func(b []byte) []byte {
			wire.PutUint32(b[headerBytes+at:], v)
			return b
		}
	}
	for _, kind := range []Type{TypePublish, TypePublishShard} {
		expect(t, "publish without body", edited(t, kind, keep(0)), ErrLength)
		expect(t, "publish with half a head", edited(t, kind, keep(7)), ErrLength)
		expect(t, "publish with a longer channel", edited(t, kind, set(0, 5)), ErrLength)
		expect(t, "publish with a longer message", edited(t, kind, set(4, 1<<31)), ErrLength)
		expect(t, "publish with a byte behind", edited(t, kind, grow), ErrLength)
		expect(t, "publish whose lengths sum up over 2^32", edited(t, kind, func(b []byte) []byte {
			message := len(b) - headerBytes - publishHeadBytes - 4
			return set(4, uint32(message+8))(set(0, 1<<32-4)(b)) // the sum modulo 2^32 fits
		}), ErrLength)
	}
	expect(t, "FAIL without body", edited(t, TypeFail, keep(0)), ErrLength)
	expect(t, "FAIL with a short body", edited(t, TypeFail, keep(39)), ErrLength)
	expect(t, "FAIL with a byte behind", edited(t, TypeFail, grow), ErrLength)
	expect(t, "FAIL about nobody", edited(t, TypeFail, func(b []byte) []byte { b[headerBytes] = ' '; return b }), ErrNodeID)
	expect(t, "UPDATE cut short", edited(t, TypeUpdate, keep(updateBytes-1)), ErrLength)
	expect(t, "UPDATE without body", edited(t, TypeUpdate, keep(0)), ErrLength)
	expect(t, "UPDATE about nobody", edited(t, TypeUpdate, func(b []byte) []byte { b[headerBytes+8] = 0; return b }), ErrNodeID)
	expect(t, "MODULE cut short", edited(t, TypeModule, keep(moduleHeadBytes-1)), ErrLength)
	expect(t, "MODULE with a longer payload", edited(t, TypeModule, set(8, 1<<32-1)), ErrLength)
	for _, kind := range []Type{TypeVoteRequest, TypeVote, TypeFailoverMe} {
		expect(t, kind.String()+" with a body", edited(t, kind, grow), ErrLength)
	}
	for _, kind := range []uint16{uint16(TypeCount), 99, 65535} {
		expect(t, "unknown type", edited(t, TypePing, func(b []byte) []byte {
			wire.PutUint16(b[offType:], kind)
			return b
		}), ErrType)
	}
}

func TestHeadersThatAreDropped(t *testing.T) {
	put := func(at int, text string) func([]byte) []byte {
		return func(b []byte) []byte { copy(b[at:], text); return b }
	}
	for kind := range TypeCount {
		expect(t, "version 0", edited(t, kind, put(offVersion, "\x00\x00")), ErrVersion)
		expect(t, "version 2", edited(t, kind, put(offVersion, "\x00\x02")), ErrVersion)
		expect(t, "sender in upper case", edited(t, kind, put(offSender, "A")), ErrSender)
		expect(t, "sender of NUL bytes", edited(t, kind, put(offSender, strings.Repeat("\x00", 40))), ErrSender)
		expect(t, "primary that is none", edited(t, kind, put(offPrimary, "junk\x00")), ErrNodeID)
		expect(t, "address without NUL", edited(t, kind, put(offIP, strings.Repeat("1", 46))), ErrAddress)
		expect(t, "address with a space", edited(t, kind, put(offIP, "a b\x00")), ErrAddress)
	}
}
