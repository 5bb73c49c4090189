package tests

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/covey-db/covey/internal/testkit"
)

func startC3(t testing.TB) *testkit.Topology {
	t.Helper()
	return testkit.StartTopology(t, "C3")
}

func TestCase_c044_ScannerOnTheBusPort(t *testing.T) {
	own(t, "c044", func(t testing.TB) {
		top := startC3(t)
		noise := make([]byte, 3000)
		random := rand.New(rand.NewPCG(44, 0))
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		unmoved(t, top, func() {
			for _, text := range []string{"INFO\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "*1\r\n$4\r\nPING\r\n", string(noise), "RCmb", ""} {
				sendBus(t, top.Nodes[0], []byte(text))
			}
		})
	})
}

// badPackets sends packets to node 0, each once from a member and once from a stranger.
func badPackets(t testing.TB, top *testkit.Topology, packets []busPacket) {
	t.Helper()
	senders := []busSender{member(t, top, 1), stranger(testkit.FreePort(t))}
	unmoved(t, top, func() {
		for _, packet := range packets {
			for _, from := range senders {
				packet.From = from
				sendBus(t, top.Nodes[0], packet.bytes())
			}
		}
	})
}

func TestCase_c181_CountsThatDoNotFit(t *testing.T) {
	own(t, "c181", func(t testing.TB) {
		top := startC3(t)
		var packets []busPacket
		for _, kind := range []uint16{busPing, busPong, busMeet} {
			entry := busGossip(top.IDs[2], top.Nodes[2].Port)
			packets = append(packets,
				busPacket{Kind: kind, Count: 1},
				busPacket{Kind: kind, Count: 65535},
				busPacket{Kind: kind, Count: 2, Body: entry},
				busPacket{Kind: kind, Length: 100},
				busPacket{Kind: kind, Length: busHeadBytes - 1},
				busPacket{Kind: kind, Length: 16},
				busPacket{Kind: kind, Count: 1, Body: entry[:busGossipBytes-1]},
			)
		}
		badPackets(t, top, packets)
	})
}

// busExtension is a ping extension with a length field that may lie.
func busExtension(length uint32, kind uint16, body string) []byte {
	b := make([]byte, 8, 8+len(body))
	binary.BigEndian.PutUint32(b, length)
	binary.BigEndian.PutUint16(b[4:], kind)
	return append(b, body...)
}

func TestCase_c180_ExtensionsPastThePacket(t *testing.T) {
	own(t, "c180", func(t testing.TB) {
		top := startC3(t)
		var packets []busPacket
		for _, length := range []uint32{0, 4, 7, 65528, 1<<32 - 8, 17, 24} {
			packets = append(packets, busPacket{Kind: busPing, Extensions: 1, ExtFlag: true, Body: busExtension(length, 0, "host\x00\x00\x00\x00")})
		}
		packets = append(packets,
			busPacket{Kind: busPing, Extensions: 65535, ExtFlag: true},
			busPacket{Kind: busPing, Extensions: 1, ExtFlag: true, Body: busExtension(16, 0, "hostname")}, // no final NUL
			busPacket{Kind: busPing, Extensions: 2, ExtFlag: true, Body: busExtension(16, 0, "host\x00\x00\x00\x00")},
		)
		badPackets(t, top, packets)
	})
}

func TestCase_e230_FormOfAPong(t *testing.T) {
	own(t, "e230", func(t testing.TB) {
		top := startC3(t)
		c := sendBus(t, top.Nodes[0], busPacket{Kind: busPing, From: member(t, top, 1)}.bytes())
		pong := readBus(t, c)
		be := binary.BigEndian
		if version, kind := be.Uint16(pong[8:]), be.Uint16(pong[12:]); version != 1 || kind != busPong {
			t.Errorf("version %d, type %d", version, kind)
		}
		if port, bus := be.Uint16(pong[10:]), be.Uint16(pong[2248:]); int(port) != top.Nodes[0].Port || int(bus) != top.Nodes[0].BusPort {
			t.Errorf("port %d, bus port %d", port, bus)
		}
		if id := string(pong[40:80]); id != top.IDs[0] {
			t.Errorf("sender %s", id)
		}
		own := busPacket{From: member(t, top, 0)}.bytes()
		if string(pong[80:2128]) != string(own[80:2128]) {
			t.Error("not the slots of node 0")
		}
		count := int(be.Uint16(pong[14:]))
		if len(pong) < busHeadBytes+count*busGossipBytes {
			t.Fatalf("%d entries in %d bytes", count, len(pong))
		}
		for i := range count {
			entry := pong[busHeadBytes+i*busGossipBytes:]
			if name := string(entry[:busNameBytes]); name != top.IDs[1] && name != top.IDs[2] {
				t.Errorf("entry about %s", name)
			}
		}
	})
}

func TestCase_c033_GossipAboutNoID(t *testing.T) {
	own(t, "c033", func(t testing.TB) {
		top := startC3(t)
		names := []string{
			strings.Repeat("z", 40), strings.Repeat("A", 40), strings.Repeat("\x00", 40), "a b c d e", "../../../../etc/passwd\nvars", strings.Repeat("a", 39) + "\n",
		}
		unmoved(t, top, func() {
			for _, name := range names {
				packet := busPacket{Kind: busPing, Count: 1, From: member(t, top, 1), Body: busGossip(name, testkit.FreePort(t))}
				sendBus(t, top.Nodes[0], packet.bytes())
			}
		})
		conf, err := os.ReadFile(top.Nodes[0].Path("nodes.conf"))
		must(t, err)
		lines, err := testkit.ParseNodeLines(string(conf))
		if err != nil || len(lines) != 3 {
			t.Errorf("nodes.conf has %d nodes, %v:\n%s", len(lines), err, conf)
		}
	})
}

// lengths are the two counts that open the body of a PUBLISH.
func lengths(channel, message uint32, rest string) []byte {
	b := make([]byte, 8, 8+len(rest))
	binary.BigEndian.PutUint32(b, channel)
	binary.BigEndian.PutUint32(b[4:], message)
	return append(b, rest...)
}

func TestCase_e231_OtherTypesWithWrongLengths(t *testing.T) {
	own(t, "e231", func(t testing.TB) {
		top := startC3(t)
		var packets []busPacket
		for _, kind := range []uint16{busPublish, busPublishSharded} {
			packets = append(packets,
				busPacket{Kind: kind},
				busPacket{Kind: kind, Body: lengths(100, 100, "abcd")},
				busPacket{Kind: kind, Body: lengths(1<<32-8, 8, "abcdefgh")},
				busPacket{Kind: kind, Body: lengths(1<<32-1, 1<<32-1, "abcdefgh")},
			)
		}
		packets = append(packets,
			busPacket{Kind: busFail},
			busPacket{Kind: busFail, Body: make([]byte, 39)},
			busPacket{Kind: busUpdate, Body: make([]byte, 20)},
			busPacket{Kind: busUpdate, Body: make([]byte, 8+busNameBytes+2047)},
			busPacket{Kind: busVoteRequest, Body: make([]byte, 33)},
			busPacket{Kind: busVote, Body: make([]byte, 33)},
			busPacket{Kind: busManualFailover, Body: make([]byte, 33)},
			busPacket{Kind: busModule, Body: make([]byte, 5)},
			busPacket{Kind: 99},
			busPacket{Kind: 65535, Body: make([]byte, 100)},
		)
		badPackets(t, top, packets)
	})
}

func TestCase_e233_MeetThatLeadsNowhere(t *testing.T) {
	own(t, "e233", func(t testing.TB) {
		top := startC3(t)
		before, err := membership(top)
		must(t, err)
		top.Hasten(t) // a handshake is given up after the node timeout
		closed := testkit.FreePort(t)
		for _, port := range []int{0, closed, top.Nodes[0].Port} {
			sendBus(t, top.Nodes[0], busPacket{Kind: busMeet, From: stranger(port)}.bytes())
		}
		top.Nodes[0].Want(t, "+OK", "CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(closed))
		testkit.Elapse(200 * time.Millisecond) // so that the packets have arrived
		testkit.Eventually(t, testkit.Patience, func() error {
			after, err := membership(top)
			if err == nil && after != before {
				err = fmt.Errorf("membership was\n%s\nand is\n%s", before, after)
			}
			return err
		})
	})
}

func TestCase_c032_ExtensionsOnlyForThoseWhoKnowThem(t *testing.T) {
	own(t, "c032", func(t testing.TB) {
		node := startWholeNode(t, "cluster-announce-hostname host-1.example")
		c := sendBus(t, node, busPacket{Kind: busPing, From: stranger(testkit.FreePort(t))}.bytes())
		pong := readBus(t, c)
		count := int(binary.BigEndian.Uint16(pong[14:]))
		if want := busHeadBytes + count*busGossipBytes; len(pong) != want {
			t.Errorf("%d bytes with %d entries, want %d", len(pong), count, want)
		}
		if extensions := binary.BigEndian.Uint16(pong[2214:]); extensions != 0 {
			t.Errorf("%d extensions", extensions)
		}
	})
}
