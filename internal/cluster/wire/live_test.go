package wire

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/covey-db/covey/internal/slot"
	"github.com/covey-db/covey/internal/testkit"
)

// update makes the live tests store what redis-server sent and wrote as the fixtures of the other tests.
var update = flag.Bool("update", false, "store the fixtures in testdata anew")

// lineOf gives the line of a node in the node's CLUSTER NODES.
func lineOf(n *redisNode, id NodeID) string {
	n.t.Helper()
	for line := range strings.SplitSeq(n.do("CLUSTER", "NODES"), "\n") {
		if strings.HasPrefix(line, id.String()) {
			return line
		}
	}
	return ""
}

// awaitLine waits until the line of a node has what it should: the other side may not have read yet what we sent last.
func awaitLine(n *redisNode, id NodeID, parts ...string) {
	n.t.Helper()
	testkit.Eventually(n.t, patience, func() error {
		line := lineOf(n, id)
		for _, part := range parts {
			if !strings.Contains(line, part) {
				return fmt.Errorf("CLUSTER NODES: %q, want %q", line, part)
			}
		}
		return nil
	})
}

// capture checks a packet of redis-server against our encoder: what was parsed is written as the same bytes.
func capture(t *testing.T, name string, r received) {
	t.Helper()
	checkCaptured(t, name, r.bytes)
	if *update {
		writeDump(t, filepath.Join("testdata", "captured", redisVersion(t)+"-"+name+".hex"), r.bytes)
	}
}

// captureConf checks a nodes.conf that redis-server wrote.
func captureConf(n *redisNode, name string) {
	n.t.Helper()
	text := n.file()
	checkRedisConf(n.t, text)
	if *update {
		path := filepath.Join("testdata", "nodesconf", redisVersion(n.t)+"-"+name+".conf")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			n.t.Fatal(err)
		}
	}
}

func TestRealNodeTakesUsIn(t *testing.T) {
	t.Parallel()
	n := startRedis(t, "", "--cluster-announce-hostname", "redis-1.example")
	us := startPeer(t, testID('f'))
	c := us.connect(n)
	meet := samplePacket(t, TypeMeet) // with every extension; its gossip is about nodes that lead nowhere
	us.change(func(self *Packet) { self.Ext = meet.Ext; self.Gossip = nil })
	c.send(us.packet(TypeMeet))
	pong := us.await("pong to our meet", func(r received) bool { return r.on == c })
	if pong.p.Type != TypePong || pong.p.Sender.String() != n.do("CLUSTER", "MYID") || int(pong.p.Port) != n.port ||
		int(pong.p.BusPort) != n.bus || string(pong.p.Ext.Hostname) != "redis-1.example" {
		t.Errorf("pong: %+v", pong.p)
	}
	capture(t, "pong-with-hostname", pong)
	ping := us.await("ping", func(r received) bool { return r.on != c && r.p.Type == TypePing })
	capture(t, "ping-first", ping)
	us.awaitType(TypePing)
	want := fmt.Sprintf("%s 127.0.0.1:%d@%d,host-1.example master - ", testID('f'), us.packet(0).Port, us.packet(0).BusPort)
	awaitLine(n, testID('f'), want, " connected")
	captureConf(n, "pair")
	if hasAux(redisVersion(t)) {
		for _, part := range []string{",nodename=first", ",shard-id=" + testID('d').String()} {
			if !strings.Contains(n.file(), part) {
				t.Errorf("the node does not store %s:\n%s", part, n.file())
			}
		}
		n.mustNotComplain() // older ones log every extension they do not know
	}
}

func TestRealNodeInvitesUs(t *testing.T) {
	t.Parallel()
	n := startRedis(t, "")
	us := startPeer(t, testID('f'))
	n.do("CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(us.packet(0).Port), fmt.Sprint(us.packet(0).BusPort))
	capture(t, "meet", us.awaitType(TypeMeet))
	us.awaitType(TypePing)
	awaitLine(n, testID('f'), testID('f').String(), " master - ")
	n.mustNotComplain()
}

// TestRealNodeObeysOurPackets sends every packet type that a known node may send.
func TestRealNodeObeysOurPackets(t *testing.T) {
	t.Parallel()
	n, other := startRedis(t, ""), startRedis(t, "")
	n.do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	n.do("CLUSTER", "SET-CONFIG-EPOCH", "5")
	us := startPeer(t, testID('f'))
	c := us.join(n)
	otherID, _ := ParseNodeID(other.do("CLUSTER", "MYID"))
	n.do("CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(other.port), fmt.Sprint(other.bus))
	gossip := us.await("gossip about a third node", func(r received) bool {
		return r.p.Type == TypePing && len(r.p.Gossip) == 1 && r.p.Gossip[0].ID == otherID && !r.p.Gossip[0].Flags.Has(FlagHandshake)
	})
	g := gossip.p.Gossip[0]
	if g.IP.String() != "127.0.0.1" || int(g.Port) != other.port || int(g.BusPort) != other.bus || g.Flags != FlagPrimary {
		t.Errorf("gossip %+v", g)
	}
	capture(t, "ping-with-gossip", gossip)

	for kind, subscribe := range map[Type]string{TypePublish: "SUBSCRIBE", TypePublishShard: "SSUBSCRIBE"} {
		subscriber := dialRedis(t, n.port)
		subscriber.do(subscribe, "news")
		p := us.packet(kind)
		p.Publish = Publish{Channel: []byte("news"), Message: []byte("from a peer")}
		c.send(p)
		if got := subscriber.reply(); !strings.HasSuffix(got, "message news from a peer") {
			t.Errorf("%v: subscriber gets %q", kind, got)
		}
	}
	n.do("PUBLISH", "news", "to all peers")
	published := us.awaitType(TypePublish)
	if string(published.p.Publish.Channel) != "news" || string(published.p.Publish.Message) != "to all peers" {
		t.Errorf("published: %+v", published.p.Publish)
	}
	capture(t, "publish", published)

	module := us.packet(TypeModule)
	module.Module = samplePacket(t, TypeModule).Module
	c.send(module)
	fail := us.packet(TypeFail)
	fail.Fail = otherID
	c.send(fail)
	n.mustLog("FAIL message received from " + testID('f').String())

	u := us.packet(TypeUpdate)
	u.CurrentEpoch, u.Update = 100, Update{ConfigEpoch: 100, ID: otherID} // above any epoch the nodes may choose
	u.Update.Slots.AddRange(100, 199)
	c.send(u)
	c.barrier()
	if line := lineOf(n, otherID); !strings.HasSuffix(line, " 100 connected 100-199") {
		t.Errorf("after UPDATE: %q", line)
	}
	n.do("CLUSTER", "SETSLOT", "5", "MIGRATING", otherID.String())
	n.do("CLUSTER", "SETSLOT", "7", "MIGRATING", testID('f').String())
	captureConf(n, "migrating")
	other.do("CLUSTER", "SETSLOT", "5", "IMPORTING", n.do("CLUSTER", "MYID"))
	captureConf(other, "importing")
	n.mustNotComplain()
	other.mustNotComplain()
}

func TestRealNodeCorrectsOurSlots(t *testing.T) {
	t.Parallel()
	n := startRedis(t, "", "--cluster-announce-hostname", "redis-1.example")
	n.do("CLUSTER", "ADDSLOTSRANGE", "0", "99", "200", "300")
	n.do("CLUSTER", "SET-CONFIG-EPOCH", "5")
	us := startPeer(t, testID('f'))
	c := us.join(n)
	us.change(func(self *Packet) { self.Slots.AddRange(50, 60); self.ConfigEpoch = 1 })
	c.send(us.packet(TypePing))
	r := us.awaitType(TypeUpdate)
	if r.p.Update.ConfigEpoch != 5 || r.p.Update.ID != r.p.Sender || r.p.Update.Slots.Len() != 201 || !r.p.Update.Slots.Has(200) {
		t.Errorf("update %v %v, %d slots", r.p.Update.ConfigEpoch, r.p.Update.ID, r.p.Update.Slots.Len())
	}
	capture(t, "update", r)
	us.change(func(self *Packet) { self.Slots = slot.Set{}; self.Slots.AddRange(301, 400) })
	c.barrier()
	if line := lineOf(n, testID('f')); !strings.HasSuffix(line, " 301-400") {
		t.Errorf("our slots: %q", line)
	}
	captureConf(n, "slots")
	n.mustNotComplain()
}

// TestRealNodeFailsAPeer lets a node die that a redis-server and we know.
func TestRealNodeFailsAPeer(t *testing.T) {
	t.Parallel()
	n, other := startRedis(t, ""), startRedis(t, "")
	n.do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	us := startPeer(t, testID('f'))
	c := us.join(n)
	otherID, _ := ParseNodeID(other.do("CLUSTER", "MYID"))
	n.do("CLUSTER", "MEET", "127.0.0.1", fmt.Sprint(other.port), fmt.Sprint(other.bus))
	us.await("gossip about a third node", func(r received) bool {
		return len(r.p.Gossip) == 1 && r.p.Gossip[0].ID == otherID && !r.p.Gossip[0].Flags.Has(FlagHandshake)
	})
	other.mustNotComplain() // and kill it
	us.await("suspicion", func(r received) bool { return len(r.p.Gossip) == 1 && r.p.Gossip[0].Flags.Has(FlagPFail) })
	us.change(func(self *Packet) { self.Gossip = []Gossip{{ID: otherID, Flags: FlagPrimary | FlagPFail}} })
	c.send(us.packet(TypePing)) // some versions count only what others report
	r := us.awaitType(TypeFail)
	if r.p.Fail != otherID {
		t.Errorf("FAIL about %v", r.p.Fail)
	}
	capture(t, "fail", r)
	captureConf(n, "failed")
	n.mustNotComplain()
}

// TestRealNodeVotesForUs plays a replica that asks for a manual failover, and its votes.
func TestRealNodeVotesForUs(t *testing.T) {
	t.Parallel()
	n := startRedis(t, "")
	n.do("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	n.do("CLUSTER", "SET-CONFIG-EPOCH", "5")
	id, _ := ParseNodeID(n.do("CLUSTER", "MYID"))
	us := startPeer(t, testID('f'))
	c := us.join(n)
	us.change(func(self *Packet) {
		self.Flags, self.Primary, self.CurrentEpoch, self.ConfigEpoch = FlagMyself|FlagReplica, id, 5, 5
		self.Slots.AddRange(0, slot.Count-1)
	})
	c.barrier()
	if line := lineOf(n, testID('f')); !strings.Contains(line, " slave "+id.String()) {
		t.Errorf("as a replica we are %q", line)
	}
	c.send(us.packet(TypeFailoverMe))
	capture(t, "ping-paused", us.await("paused ping", func(r received) bool { return r.p.MsgFlags&MsgPaused != 0 && r.p.Type == TypePing }))
	us.change(func(self *Packet) { self.CurrentEpoch = 6 })
	request := us.packet(TypeVoteRequest)
	request.MsgFlags = MsgForceAck
	c.send(request)
	vote := us.awaitType(TypeVote)
	if vote.p.CurrentEpoch != 6 || vote.p.Sender != id {
		t.Errorf("vote %+v", vote.p.Header)
	}
	capture(t, "auth-ack", vote)
	captureConf(n, "replica")
	n.mustNotComplain()
}

// TestRealReplicaTakesOurVote makes a redis-server our replica and votes for it.
func TestRealReplicaTakesOurVote(t *testing.T) {
	t.Parallel()
	n := startRedis(t, "")
	us := startPeer(t, testID('f'))
	us.change(func(self *Packet) { self.Slots.AddRange(0, slot.Count-1); self.ConfigEpoch, self.CurrentEpoch = 3, 3 })
	c := us.join(n)
	n.do("CLUSTER", "REPLICATE", testID('f').String())
	ping := us.await("ping of a replica", func(r received) bool { return r.p.Flags.Has(FlagReplica) && r.p.Type == TypePing })
	if ping.p.Primary != testID('f') || ping.p.Slots.Len() != slot.Count || ping.p.ConfigEpoch != 3 {
		t.Errorf("replica says primary %v, %d slots, epoch %d", ping.p.Primary, ping.p.Slots.Len(), ping.p.ConfigEpoch)
	}
	capture(t, "ping-of-replica", ping)
	captureConf(n, "is-replica")
	n.do("CLUSTER", "FAILOVER")
	capture(t, "mfstart", us.awaitType(TypeFailoverMe))
	n.do("CLUSTER", "FAILOVER", "FORCE")
	request := us.awaitType(TypeVoteRequest)
	if request.p.MsgFlags&MsgForceAck == 0 || request.p.CurrentEpoch != 4 {
		t.Errorf("request %+v", request.p.Header)
	}
	capture(t, "auth-req", request)
	us.change(func(self *Packet) { self.CurrentEpoch = 4 })
	c.send(us.packet(TypeVote))
	won := us.await("pong of the new primary", func(r received) bool { return r.p.Flags.Has(FlagPrimary) && r.p.Slots.Len() == slot.Count })
	if won.p.ConfigEpoch != 4 || !won.p.Primary.IsZero() {
		t.Errorf("new primary %+v", won.p.Header)
	}
	n.mustNotComplain()
}

// TestRealNodeLoadsOurFile starts redis-server on a file that we wrote.
func TestRealNodeLoadsOurFile(t *testing.T) {
	t.Parallel()
	version := redisVersion(t)
	c := mustParseConf(t, me(" 0-5 7 16383 [5->-"+idB+"] [9-<-"+idB+"]")+
		idB+" 127.0.0.1:1@2,host-2.example,tls-port=0,nodename=two,shard-id="+idB+" master - 0 0 2 connected 9-16382\n"+
		idC+" 127.0.0.1:3@4,,tls-port=0,shard-id="+idS+" slave "+idA+" 0 0 1 connected\n"+vars)
	text := c.Append(nil)
	if !hasAux(version) {
		text = text[:0]
		for i := range c.Nodes {
			text = append(c.Nodes[i].Append(text, FormClient), '\n')
		}
		text = AppendVars(text, c.CurrentEpoch, c.LastVoteEpoch)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "nodes.conf"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	n := startRedis(t, dir)
	if id := n.do("CLUSTER", "MYID"); id != idA {
		t.Errorf("the node is %s", id)
	}
	back := mustParseConf(t, n.file())
	checkRedisConf(t, n.file())
	if back.CurrentEpoch != 5 || back.LastVoteEpoch != 4 || len(back.Nodes) != 3 {
		t.Errorf("back comes %+v", back)
	}
	for _, b := range back.Nodes {
		for _, a := range c.Nodes {
			if a.ID != b.ID {
				continue
			}
			if a.Hostname != b.Hostname || a.Primary != b.Primary || a.Slots != b.Slots || fmt.Sprint(a.Open) != fmt.Sprint(b.Open) ||
				a.ConfigEpoch != b.ConfigEpoch || hasAux(version) && (a.NodeName != b.NodeName || a.ShardID != b.ShardID) {
				t.Errorf("sent %s\nback %s", a.Append(nil, FormFile), b.Append(nil, FormFile))
			}
		}
	}
}
