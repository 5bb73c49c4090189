package wire

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/slot"
	"pgregory.net/rapid"
)

// testID is a node id of one repeated hex digit.
func testID(digit byte) NodeID {
	var id NodeID
	for i := range id {
		id[i] = digit
	}
	return id
}

func testHost(t testing.TB, text string) Host {
	t.Helper()
	h, ok := ParseHost(text)
	if !ok {
		t.Fatalf("%q is refused as an address", text)
	}
	return h
}

// samplePacket is a packet of the type with every field of its body set. The fixtures in testdata/encoded hold its bytes.
func samplePacket(t testing.TB, kind Type) *Packet {
	t.Helper()
	p := &Packet{Header: Header{
		Type: kind, Port: 7001, SecondPort: 7101, BusPort: 17001,
		CurrentEpoch: 0x0102030405060708, ConfigEpoch: 9, Offset: 1 << 40,
		Sender: testID('a'), IP: testHost(t, "127.0.0.1"), Flags: FlagPrimary | FlagMyself, State: StateFail,
	}}
	p.Slots.AddRange(0, 9)
	p.Slots.Add(16383)
	switch kind {
	case TypePing, TypePong, TypeMeet:
		p.Gossip = []Gossip{
			{ID: testID('b'), PingSent: 1700000000, PongReceived: 1700000001, IP: testHost(t, "10.0.0.2"),
				Port: 7002, SecondPort: 7102, BusPort: 17002, Flags: FlagReplica | FlagPFail},
			{ID: testID('c'), IP: testHost(t, "fe80::1%eth0"), Port: 1, BusPort: 65535, Flags: FlagPrimary},
		}
		p.MsgFlags = MsgExtData
		p.Ext = Extensions{
			Hostname: []byte("host-1.example"), NodeName: []byte("first"), ShardID: testID('d'),
			Forgotten: []Forgotten{{ID: testID('e'), TTLSeconds: 60}},
		}
	case TypeFail:
		p.Fail = testID('b')
	case TypePublish, TypePublishShard:
		p.Publish = Publish{Channel: []byte("news"), Message: []byte("a\r\nb\x00c")}
	case TypeVoteRequest:
		p.Primary, p.Flags, p.MsgFlags = testID('b'), FlagReplica|FlagMyself|FlagNoFailover, MsgForceAck
	case TypeUpdate:
		p.Update = Update{ConfigEpoch: 77, ID: testID('b')}
		p.Update.Slots.AddRange(100, 200)
	case TypeModule:
		p.Module = Module{ID: [8]byte{'m', 'o', 'd', 'u', 'l', 'e', '-', '1'}, Kind: 3, Payload: []byte("data")}
	}
	return p
}

// parseOne parses a packet that must be good and alone in b.
func parseOne(t testing.TB, b []byte) *Packet {
	t.Helper()
	var p Packet
	n, err := Parse(b, DefaultMaxBytes, &p)
	if err != nil || n != len(b) {
		t.Fatalf("Parse took %d of %d bytes, error %v", n, len(b), err)
	}
	return &p
}

func TestEveryTypeIsReadAsItWasWritten(t *testing.T) {
	for kind := range TypeCount {
		want := samplePacket(t, kind)
		b := AppendPacket([]byte("before"), want)
		if len(b)-6 != PacketBytes(want) {
			t.Errorf("%v: %d bytes, PacketBytes says %d", kind, len(b)-6, PacketBytes(want))
		}
		if got := parseOne(t, b[6:]); !samePacket(got, want) {
			t.Errorf("%v: read %+v, want %+v", kind, got, want)
		}
	}
}

// samePacket compares packets; empty and missing slices are the same.
func samePacket(a, b *Packet) bool {
	return reflect.DeepEqual(normal(*a), normal(*b))
}

func normal(p Packet) Packet {
	if len(p.Gossip) == 0 {
		p.Gossip = nil
	}
	if len(p.Ext.Forgotten) == 0 {
		p.Ext.Forgotten = nil
	}
	for _, b := range []*[]byte{&p.Ext.Hostname, &p.Ext.NodeName, &p.Publish.Channel, &p.Publish.Message, &p.Module.Payload} {
		if len(*b) == 0 {
			*b = nil
		}
	}
	return p
}

func TestPartOfAPacketAsksForMore(t *testing.T) {
	var p Packet
	for kind := range TypeCount {
		b := AppendPacket(nil, samplePacket(t, kind))
		for cut := range b {
			if n, err := Parse(b[:cut], DefaultMaxBytes, &p); n != 0 || err != nil {
				t.Fatalf("%v cut at %d: n %d, error %v", kind, cut, n, err)
			}
		}
	}
}

func TestPacketsFollowEachOther(t *testing.T) {
	var b []byte
	for kind := range TypeCount {
		b = AppendPacket(b, samplePacket(t, kind))
	}
	var p Packet
	for kind := range TypeCount {
		n, err := Parse(b, DefaultMaxBytes, &p)
		if err != nil || !samePacket(&p, samplePacket(t, kind)) {
			t.Fatalf("%v: error %v, read %+v", kind, err, &p)
		}
		b = b[n:]
	}
	if len(b) != 0 {
		t.Errorf("%d bytes are left", len(b))
	}
}

// TestReusedPacketForgets checks that nothing of an earlier packet shows in a later one.
func TestReusedPacketForgets(t *testing.T) {
	var p Packet
	for before := range TypeCount {
		for kind := range TypeCount {
			mustParse(t, AppendPacket(nil, samplePacket(t, before)), &p)
			mustParse(t, AppendPacket(nil, samplePacket(t, kind)), &p)
			if !samePacket(&p, samplePacket(t, kind)) {
				t.Errorf("%v after %v: %+v", kind, before, &p)
			}
		}
	}
}

func mustParse(t *testing.T, b []byte, p *Packet) {
	t.Helper()
	if _, err := Parse(b, DefaultMaxBytes, p); err != nil {
		t.Fatal(err)
	}
}

func TestHeartbeatsAllocateNothing(t *testing.T) {
	sent := samplePacket(t, TypePing)
	buf := AppendPacket(nil, sent)
	var p Packet
	mustParse(t, buf, &p)
	if n := testing.AllocsPerRun(100, func() { _, _ = Parse(buf, DefaultMaxBytes, &p) }); n != 0 {
		t.Errorf("Parse: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { buf = AppendPacket(buf[:0], sent) }); n != 0 {
		t.Errorf("AppendPacket: %v allocations", n)
	}
}

func BenchmarkParsePing(b *testing.B) {
	buf := AppendPacket(nil, samplePacket(b, TypePing))
	var p Packet
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(buf, DefaultMaxBytes, &p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendPing(b *testing.B) {
	p := samplePacket(b, TypePing)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendPacket(buf[:0], p)
	}
}

func TestExtensionsOnlyWithTheirFlag(t *testing.T) {
	p := samplePacket(t, TypePong)
	p.Ext, p.MsgFlags = Extensions{}, 0
	b := AppendPacket(nil, p)
	if len(b) != headerBytes+2*gossipBytes {
		t.Errorf("without extensions a heartbeat of two entries has %d bytes", len(b))
	}
	if got := parseOne(t, b); got.MsgFlags != 0 {
		t.Errorf("message flags %x", got.MsgFlags)
	}
	wire.PutUint16(b[offExtensions:], 9) // without the flag this is a reserved field
	if got := parseOne(t, b); !samePacket(got, p) {
		t.Errorf("read %+v", got)
	}
	p.Ext.Hostname = []byte("h")
	if got := parseOne(t, AppendPacket(nil, p)); got.MsgFlags != MsgExtData || string(got.Ext.Hostname) != "h" {
		t.Errorf("flag %x, host name %q", got.MsgFlags, got.Ext.Hostname)
	}
}

func TestTypeAndStateNames(t *testing.T) {
	var names []string
	for kind := range TypeCount + 1 {
		names = append(names, kind.String())
	}
	want := "ping pong meet fail publish auth-req auth-ack update mfstart module publishshard unknown"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names %q", got)
	}
	if StateOK.String() != "ok" || StateFail.String() != "fail" {
		t.Errorf("states %v %v", StateOK, StateFail)
	}
}

func TestFlagNames(t *testing.T) {
	all := FlagMyself | FlagPrimary | FlagReplica | FlagPFail | FlagFail | FlagHandshake | FlagNoAddr | FlagNoFailover
	for _, c := range []struct {
		flags NodeFlags
		text  string
	}{
		{0, "noflags"},
		{FlagMeet | FlagMigrateTo, "noflags"},
		{FlagMyself | FlagReplica | FlagNoFailover, "myself,slave,nofailover"},
		{all, "myself,master,slave,fail?,fail,handshake,noaddr,nofailover"},
	} {
		if c.flags.String() != c.text {
			t.Errorf("%x is %q, want %q", uint16(c.flags), c.flags, c.text)
		}
		if back, ok := parseNodeFlags(c.text); !ok || back != c.flags&all {
			t.Errorf("%q is read as %x", c.text, uint16(back))
		}
	}
}

func TestNamesAndAddresses(t *testing.T) {
	for text, ok := range map[string]bool{
		"": true, "127.0.0.1": true, "fe80::1%eth0": true, "redis-node-0.svc.local": true, "a_b": true,
		strings.Repeat("1", 45): true, strings.Repeat("1", 46): false,
		"a b": false, "a,b": false, "a@b": false, "a\n": false, "\x00": false, "é": false, "[::1]": false,
	} {
		h, got := ParseHost(text)
		if got != ok || got && (h.String() != text || h.IsZero() != (text == "")) {
			t.Errorf("address %q: %v, %q", text, got, h)
		}
	}
	for text, ok := range map[string]bool{
		"": false, "host-1.example": true, "a_b": true, "a:b": false, "a%b": false, "a b": false,
		strings.Repeat("h", 255): true, strings.Repeat("h", 256): false,
	} {
		if IsHostname(text) != ok {
			t.Errorf("host name %q: %v", text, !ok)
		}
	}
	for text, ok := range map[string]bool{
		"": false, "shard 1": false, "a-b_c.d/e": true, "näme": true, "a=b": false, "a,b": false, `a"b`: false, "a'b": false,
		`a\b`: false, "a{b}": false, "a\x7f": false, strings.Repeat("h", 256): false,
	} {
		if IsNodeName(text) != ok {
			t.Errorf("node name %q: %v", text, !ok)
		}
	}
	for text, ok := range map[string]bool{
		strings.Repeat("a", 40): true, strings.Repeat("z9", 20): true, strings.Repeat("A", 40): false,
		strings.Repeat("a", 39): false, strings.Repeat("a", 41): false, strings.Repeat("\x00", 40): false, "": false,
	} {
		if id, got := ParseNodeID(text); got != ok || ok && id.String() != text {
			t.Errorf("node id %q: %v", text, got)
		}
	}
	if (NodeID{}).String() != "" || testID('z').IsHex() || !testID('f').IsHex() {
		t.Error("zero id, hex ids")
	}
}

// rapidPacket draws a packet that any node could send.
func rapidPacket(t *rapid.T) *Packet {
	id := rapid.Custom(func(t *rapid.T) NodeID {
		return NodeID([]byte(rapid.StringMatching("[0-9a-f]{40}").Draw(t, "id")))
	})
	host := rapid.Custom(func(t *rapid.T) Host {
		h, _ := ParseHost(rapid.StringMatching(`[0-9a-zA-Z.:%_-]{0,45}`).Draw(t, "host"))
		return h
	})
	set := rapid.Custom(func(t *rapid.T) (s slot.Set) {
		for _, w := range rapid.SliceOfN(rapid.Uint16Range(0, slot.Count-1), 0, 50).Draw(t, "slots") {
			s.Add(slot.ID(w))
		}
		return s
	})
	blob := rapid.SliceOfN(rapid.Byte(), 0, 300)
	u16, u64 := rapid.Uint16(), rapid.Uint64()
	p := &Packet{Header: Header{
		Type: Type(rapid.IntRange(0, int(TypeCount)-1).Draw(t, "type")),
		Port: u16.Draw(t, "port"), SecondPort: u16.Draw(t, "second"), BusPort: u16.Draw(t, "bus"),
		CurrentEpoch: Epoch(u64.Draw(t, "current")), ConfigEpoch: Epoch(u64.Draw(t, "config")), Offset: u64.Draw(t, "offset"),
		Sender: id.Draw(t, "sender"), Slots: set.Draw(t, "slots"), IP: host.Draw(t, "ip"), Flags: NodeFlags(u16.Draw(t, "flags")),
		State: State(rapid.Byte().Draw(t, "state")), MsgFlags: MsgFlags(rapid.Byte().Draw(t, "mflags")),
	}}
	if rapid.Bool().Draw(t, "replica") {
		p.Primary = id.Draw(t, "primary")
	}
	switch p.Type {
	case TypePing, TypePong, TypeMeet:
		p.Gossip = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Gossip {
			return Gossip{ID: id.Draw(t, "id"), PingSent: rapid.Uint32().Draw(t, "ping"), PongReceived: rapid.Uint32().Draw(t, "pong"),
				IP: host.Draw(t, "ip"), Port: u16.Draw(t, "port"), SecondPort: u16.Draw(t, "second"), BusPort: u16.Draw(t, "bus"),
				Flags: NodeFlags(u16.Draw(t, "flags"))}
		}), 0, 20).Draw(t, "gossip")
		p.Ext.Hostname = []byte(rapid.StringMatching(`[0-9a-zA-Z._-]{0,255}`).Draw(t, "hostname"))
		p.Ext.NodeName = []byte(rapid.StringMatching(`[0-9a-zA-Z._-]{0,255}`).Draw(t, "nodename"))
		p.Ext.Forgotten = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Forgotten {
			return Forgotten{ID: id.Draw(t, "id"), TTLSeconds: u64.Draw(t, "ttl")}
		}), 0, 5).Draw(t, "forgotten")
		if rapid.Bool().Draw(t, "shard") {
			p.Ext.ShardID = id.Draw(t, "shard id")
		}
		if p.Ext.count() > 0 {
			p.MsgFlags |= MsgExtData
		}
	case TypeFail:
		p.Fail = id.Draw(t, "fail")
	case TypePublish, TypePublishShard:
		p.Publish = Publish{Channel: blob.Draw(t, "channel"), Message: blob.Draw(t, "message")}
	case TypeUpdate:
		p.Update = Update{ConfigEpoch: Epoch(u64.Draw(t, "epoch")), ID: id.Draw(t, "id"), Slots: set.Draw(t, "slots")}
	case TypeModule:
		p.Module = Module{ID: [8]byte(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "id")), Kind: rapid.Byte().Draw(t, "kind"),
			Payload: blob.Draw(t, "payload")}
	}
	return p
}

func TestAnyPacketIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapidPacket(t)
		b := AppendPacket(nil, want)
		var got Packet
		n, err := Parse(append(b, "RCmb"...), DefaultMaxBytes, &got)
		if err != nil || n != len(b) {
			t.Fatalf("took %d of %d bytes, error %v", n, len(b), err)
		}
		if !samePacket(&got, want) {
			t.Fatalf("read %+v, want %+v", &got, want)
		}
	})
}

// TestBrokenPacketIsBoundedOrDropped breaks good packets at random: Parse may take or refuse them, but never more bytes
// than there are, and a packet it takes can be written again.
func TestBrokenPacketIsBoundedOrDropped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := AppendPacket(nil, rapidPacket(t))
		for range rapid.IntRange(1, 8).Draw(t, "changes") {
			at := rapid.OneOf(rapid.IntRange(0, 16), rapid.IntRange(offPrimary, len(b)-1), rapid.IntRange(0, len(b)-1)).Draw(t, "at")
			b[at] = rapid.Byte().Draw(t, "to")
		}
		checkParse(t, b)
	})
}

// checkParse holds Parse to its promises for any bytes.
func checkParse(t interface{ Fatalf(string, ...any) }, b []byte) {
	var p Packet
	n, err := Parse(b, 1<<20, &p)
	if n < 0 || n > len(b) || n > 0 && n < headerBytes {
		t.Fatalf("took %d of %d bytes", n, len(b))
	}
	fatal := errors.Is(err, ErrSignature) || errors.Is(err, ErrTooShort) || errors.Is(err, ErrTooLong)
	if err != nil && fatal != (n == 0) {
		t.Fatalf("n %d with error %v", n, err)
	}
	if n == 0 || err != nil {
		return
	}
	again := AppendPacket(nil, &p)
	var back Packet
	if m, err := Parse(again, 1<<20, &back); err != nil || m != len(again) {
		t.Fatalf("what was read is written so that it cannot be read: %v", err)
	}
	back.GossipSkipped, back.Ext.Unknown, back.Ext.Refused = p.GossipSkipped, p.Ext.Unknown, p.Ext.Refused
	if !samePacket(&back, &p) {
		t.Fatalf("read %+v, then %+v", &p, &back)
	}
}

// FuzzParse fuzzes the parts of a packet that decide its form. The slot bitmap, which any bytes are good for, is left out:
// long inputs would keep the fuzzer busy with shortening them.
func FuzzParse(f *testing.F) {
	for kind := range TypeCount {
		b := AppendPacket(nil, samplePacket(f, kind))
		f.Add(b[:offSender], b[offPrimary:headerBytes], b[headerBytes:min(len(b), headerBytes+600)], true)
	}
	f.Add([]byte("INFO\r\n"), []byte{}, []byte{}, false)
	header := AppendPacket(nil, samplePacket(f, TypeVote))
	f.Fuzz(func(t *testing.T, start, end, body []byte, rightLength bool) {
		b := bytes.Clone(header)
		copy(b, start[:min(len(start), offSender)])
		copy(b[offPrimary:], end)
		b = append(b, body...)
		if rightLength {
			wire.PutUint32(b[offTotalLen:], uint32(len(b)))
		}
		checkParse(t, b)
		checkParse(t, start)
	})
}
