package bus

import (
	"fmt"
	"slices"
	"strings"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the CLUSTER commands that show the cluster. They take the core's mutex for as long as a copy takes.

// lineForm is how nodes are shown to a client: with the ports of its own kind of connection.
func lineForm(c *engine.Ctx) wire.Form {
	if c.S.Peer.TLS {
		return wire.FormClientTLS
	}
	return wire.FormClient
}

func clientPort(c *engine.Ctx, n *core.NodeView) int64 {
	if c.S.Peer.TLS {
		return int64(n.TLSPort)
	}
	return int64(n.TCPPort)
}

func (b *Bus) cmdNodes(c *engine.Ctx) {
	b.core.Lock()
	text := b.core.AppendNodes(nil, lineForm(c))
	b.core.Unlock()
	c.Verbatim(string(text))
}

func (b *Bus) cmdReplicas(c *engine.Ctx) {
	b.core.Lock()
	lines, failure := b.core.Replicas(c.Args[2])
	b.core.Unlock()
	if failure != "" {
		c.Err(failure)
		return
	}
	c.Array(len(lines))
	for i := range lines {
		c.Bulk(lines[i].Append(nil, lineForm(c)))
	}
}

func (b *Bus) cmdInfo(c *engine.Ctx) {
	b.core.Lock()
	s := b.core.Stats()
	b.core.Unlock()
	var t strings.Builder
	fmt.Fprintf(&t, "cluster_state:%s\r\ncluster_slots_assigned:%d\r\ncluster_slots_ok:%d\r\n"+
		"cluster_slots_pfail:%d\r\ncluster_slots_fail:%d\r\ncluster_known_nodes:%d\r\ncluster_size:%d\r\n"+
		"cluster_current_epoch:%d\r\ncluster_my_epoch:%d\r\n", s.State, s.SlotsAssigned, s.SlotsOK, s.SlotsPFail,
		s.SlotsFail, s.KnownNodes, s.Size, s.CurrentEpoch, s.MyEpoch)
	appendCounts(&t, "sent", &s.Sent)
	appendCounts(&t, "received", &s.Received)
	fmt.Fprintf(&t, "total_cluster_links_buffer_limit_exceeded:%d\r\n", b.exceeded.Load())
	c.Verbatim(t.String())
}

func appendCounts(t *strings.Builder, what string, counts *[wire.TypeCount]uint64) {
	total := uint64(0)
	for kind, n := range counts {
		if n > 0 {
			fmt.Fprintf(t, "cluster_stats_messages_%s_%s:%d\r\n", wire.Type(kind), what, n)
			total += n
		}
	}
	fmt.Fprintf(t, "cluster_stats_messages_%s:%d\r\n", what, total)
}

// Links counts the links to and from other nodes, and the bytes that wait to be sent over them.
func (b *Bus) Links() (links int, bytes int64) {
	b.core.Lock()
	list := b.core.Links()
	b.core.Unlock()
	for _, l := range list {
		bytes += int64(b.links.queued(l.Link))
	}
	return len(list), bytes + b.news.bytes()
}

func (b *Bus) cmdLinks(c *engine.Ctx) {
	b.core.Lock()
	list := b.core.Links()
	b.core.Unlock()
	c.Array(len(list))
	for _, l := range list {
		direction, events, queued := "to", "r", b.links.queued(l.Link)
		if l.Inbound {
			direction = "from"
		}
		if queued > 0 {
			events = "rw"
		}
		c.Map(6)
		c.BulkString("direction")
		c.BulkString(direction)
		c.BulkString("node")
		c.BulkString(l.Node.String())
		c.BulkString("create-time")
		c.ReplyInt(int64(l.CreatedAt))
		c.BulkString("events")
		c.BulkString(events)
		c.BulkString("send-buffer-allocated")
		c.ReplyInt(int64(queued))
		c.BulkString("send-buffer-used")
		c.ReplyInt(int64(queued))
	}
}

// shown is a view as one client sees it.
type shown struct {
	*core.View
	c    *engine.Ctx
	kind EndpointKind
}

// show takes a view; this node's own offset is that of now.
func (b *Bus) show(c *engine.Ctx) shown {
	v := b.View()
	v.Me().Offset = uint64(b.e.Log.End())
	return shown{View: v, c: c, kind: b.settings.Load().Endpoint}
}

// replicasOf lists the places of the replicas of a primary that clients may read from.
func (v *shown) replicasOf(primary int) (list []int) {
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Primary == primary && !n.Flags.Has(wire.FlagFail) && n.Offset != 0 {
			list = append(list, i)
		}
	}
	return list
}

func (b *Bus) cmdSlots(c *engine.Ctx) {
	v := b.show(c)
	replicas := map[int][]int{}
	for i := range v.Nodes {
		if v.Nodes[i].Slots > 0 {
			replicas[i] = v.replicasOf(i)
		}
	}
	runs := 0
	for range v.Ranges() {
		runs++
	}
	c.Array(runs)
	for run, owner := range v.Ranges() {
		c.Array(3 + len(replicas[owner]))
		c.ReplyInt(int64(run[0]))
		c.ReplyInt(int64(run[1]))
		v.replyNode(owner)
		for _, r := range replicas[owner] {
			v.replyNode(r)
		}
	}
}

// replyNode is a node in CLUSTER SLOTS: the preferred endpoint, port, id, and what else is known of its address.
func (v *shown) replyNode(at int) {
	n, c := &v.Nodes[at], v.c
	c.Array(4)
	if v.kind == EndpointUnknown {
		c.Null()
	} else {
		c.BulkString(preferred(n, v.kind))
	}
	c.ReplyInt(clientPort(c, n))
	c.BulkString(n.ID.String())
	var more []string
	if v.kind != EndpointIP {
		more = append(more, "ip", n.IP.String())
	}
	if v.kind != EndpointHostname && n.Hostname != "" {
		more = append(more, "hostname", n.Hostname)
	}
	c.Map(len(more) / 2)
	for _, word := range more {
		c.BulkString(word)
	}
}

func (b *Bus) cmdShards(c *engine.Ctx) {
	v := b.show(c)
	slots := make([][]slot.ID, len(v.Nodes))
	for run, owner := range v.Ranges() {
		slots[owner] = append(slots[owner], run[0], run[1])
	}
	shards := v.Shards()
	c.Array(len(shards))
	for _, nodes := range shards {
		primary := nodes[0]
		if at := slices.IndexFunc(nodes, func(i int) bool { return v.Nodes[i].Flags.Has(wire.FlagPrimary) && v.Nodes[i].Slots > 0 }); at >= 0 {
			primary = nodes[at]
		}
		c.Map(2)
		c.BulkString("slots")
		c.Array(len(slots[primary]))
		for _, s := range slots[primary] {
			c.ReplyInt(int64(s))
		}
		c.BulkString("nodes")
		c.Array(len(nodes))
		for _, at := range nodes {
			v.replyShardNode(at)
		}
	}
}

// replyShardNode is a node in CLUSTER SHARDS.
func (v *shown) replyShardNode(at int) {
	n, c := &v.Nodes[at], v.c
	fields := 6
	for _, set := range [...]bool{n.TCPPort != 0, n.TLSPort != 0, n.Hostname != ""} {
		if set {
			fields++
		}
	}
	text := func(name, value string) {
		c.BulkString(name)
		c.BulkString(value)
	}
	number := func(name string, value int64) {
		c.BulkString(name)
		c.ReplyInt(value)
	}
	c.Map(fields)
	text("id", n.ID.String())
	if n.TCPPort != 0 {
		number("port", int64(n.TCPPort))
	}
	if n.TLSPort != 0 {
		number("tls-port", int64(n.TLSPort))
	}
	text("ip", n.IP.String())
	text("endpoint", preferred(n, v.kind))
	if n.Hostname != "" {
		text("hostname", n.Hostname)
	}
	role, health := "master", "online"
	if n.Flags.Has(wire.FlagReplica) {
		role = "replica"
		if n.Offset == 0 {
			health = "loading"
		}
	}
	if n.Flags.Has(wire.FlagFail) {
		health = "fail"
	}
	text("role", role)
	number("replication-offset", int64(n.Offset))
	text("health", health)
}
