package bus

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the CLUSTER commands that read.

const errInvalidSlot = "ERR Invalid or out of range slot"

func (b *Bus) cmdNodes(c *engine.Ctx) {
	form := wire.FormClient
	if c.S.Peer.TLS {
		form = wire.FormClientTLS
	}
	b.mu.Lock()
	text := b.mu.core.AppendNodes(nil, form)
	b.mu.Unlock()
	c.Verbatim(string(text))
}

func (b *Bus) cmdMyID(c *engine.Ctx)      { c.BulkString(b.MyID()) }
func (b *Bus) cmdMyShardID(c *engine.Ctx) { c.BulkString(b.fresh().Me().Shard.String()) }

// fresh takes a picture of now: offsets and failing nodes change without a change of routes.
func (b *Bus) fresh() *core.View {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.core.View()
}

func (b *Bus) cmdKeySlot(c *engine.Ctx) { c.ReplyInt(int64(slot.Of(c.Args[2]))) }

// slotArg reads a slot; false when the error has been replied.
func slotArg(c *engine.Ctx, i int) (slot.ID, bool) {
	n, ok := num.ParseInt(c.Args[i])
	if !ok || n < 0 || n >= slot.Count {
		c.Err(errInvalidSlot)
		return 0, false
	}
	return slot.ID(n), true
}

func (b *Bus) cmdCountKeys(c *engine.Ctx) {
	s, ok := slotArg(c, 2)
	if !ok {
		return
	}
	n := 0
	c.WithShard(keyspace.ShardOf(s), func(sh *engine.Shard) bool {
		n = sh.Part.Count(0, s)
		return true
	})
	c.ReplyInt(int64(n))
}

func (b *Bus) cmdGetKeys(c *engine.Ctx) {
	s, ok := slotArg(c, 2)
	if !ok {
		return
	}
	most, ok := c.Int(3)
	if !ok {
		return
	}
	if most < 0 {
		c.Err("ERR Invalid number of keys")
		return
	}
	var keys [][]byte
	c.WithShard(keyspace.ShardOf(s), func(sh *engine.Shard) bool {
		sh.Part.Each(0, s, func(r keyspace.Rec) bool {
			if int64(len(keys)) == most {
				return false
			}
			keys = append(keys, append([]byte(nil), r.Key()...))
			return true
		})
		return true
	})
	c.Array(len(keys))
	for _, k := range keys {
		c.Bulk(k)
	}
}

func (b *Bus) cmdReplicas(c *engine.Ctx) {
	b.mu.Lock()
	lines, failure := b.mu.core.Replicas(c.Args[2])
	b.mu.Unlock()
	if failure != "" {
		c.Err(failure)
		return
	}
	form := wire.FormClient
	if c.S.Peer.TLS {
		form = wire.FormClientTLS
	}
	c.Array(len(lines))
	for i := range lines {
		c.Bulk(lines[i].Append(nil, form))
	}
}

func (b *Bus) cmdLinks(c *engine.Ctx) {
	b.mu.Lock()
	list := b.mu.core.Links()
	b.mu.Unlock()
	c.Array(len(list))
	for _, l := range list {
		direction := "to"
		if l.Inbound {
			direction = "from"
		}
		c.Map(6)
		c.BulkString("direction")
		c.BulkString(direction)
		c.BulkString("node")
		c.BulkString(l.Node.String())
		c.BulkString("create-time")
		c.ReplyInt(int64(l.CreatedAt))
		c.BulkString("events")
		c.BulkString("r")
		c.BulkString("send-buffer-allocated")
		c.ReplyInt(0)
		c.BulkString("send-buffer-used")
		c.ReplyInt(0)
	}
}

func (b *Bus) cmdInfo(c *engine.Ctx) {
	b.mu.Lock()
	s := b.mu.core.Stats()
	b.mu.Unlock()
	state := "fail"
	if s.State == wire.StateOK {
		state = "ok"
	}
	var text strings.Builder
	add := func(name string, value any) { fmt.Fprintf(&text, "%s:%v\r\n", name, value) }
	add("cluster_state", state)
	add("cluster_slots_assigned", s.SlotsAssigned)
	add("cluster_slots_ok", s.SlotsOK)
	add("cluster_slots_pfail", s.SlotsPFail)
	add("cluster_slots_fail", s.SlotsFail)
	add("cluster_known_nodes", s.KnownNodes)
	add("cluster_size", s.Size)
	add("cluster_current_epoch", uint64(s.CurrentEpoch))
	add("cluster_my_epoch", uint64(s.MyEpoch))
	addMessages(add, "sent", s.Sent)
	addMessages(add, "received", s.Received)
	add("total_cluster_links_buffer_limit_exceeded", 0)
	c.Verbatim(text.String())
}

// addMessages tells the packets of each type, and their sum.
func addMessages(add func(string, any), direction string, counts [wire.TypeCount]uint64) {
	var sum uint64
	for t, n := range counts {
		if n > 0 {
			add("cluster_stats_messages_"+wire.Type(t).String()+"_"+direction, n)
		}
		sum += n
	}
	add("cluster_stats_messages_"+direction, sum)
}

func (b *Bus) cmdSlots(c *engine.Ctx) {
	v, kind := b.fresh(), b.opts.Settings().Endpoint
	d := c.Defer()
	n := 0
	for r, owner := range v.Ranges() {
		n++
		replicas := availableReplicas(v, owner)
		c.Array(3 + len(replicas))
		c.ReplyInt(int64(r[0]))
		c.ReplyInt(int64(r[1]))
		replySlotNode(c, &v.Nodes[owner], kind)
		for _, i := range replicas {
			replySlotNode(c, &v.Nodes[i], kind)
		}
	}
	c.CloseArray(d, n)
}

// availableReplicas are the replicas of a primary that clients may be sent to.
func availableReplicas(v *core.View, primary int) (list []int) {
	for i := range v.Nodes {
		n := &v.Nodes[i]
		if n.Primary == primary && !n.Flags.Has(wire.FlagFail) && (n.Offset != 0 || i == v.Myself) {
			list = append(list, i)
		}
	}
	return list
}

// replyEndpoint replies the preferred way to a node: nothing when it is unknown.
func replyEndpoint(c *engine.Ctx, n *core.NodeView, kind EndpointKind) {
	if kind == EndpointUnknown {
		c.Null()
		return
	}
	c.BulkString(hostFor(n, kind))
}

func replySlotNode(c *engine.Ctx, n *core.NodeView, kind EndpointKind) {
	c.Array(4)
	replyEndpoint(c, n, kind)
	c.ReplyInt(int64(portFor(n, c.S.Peer.TLS)))
	c.BulkString(n.ID.String())
	var more [][2]string
	if kind != EndpointIP {
		more = append(more, [2]string{"ip", n.IP.String()})
	}
	if kind != EndpointHostname && n.Hostname != "" {
		more = append(more, [2]string{"hostname", n.Hostname})
	}
	c.Map(len(more))
	for _, m := range more {
		c.BulkString(m[0])
		c.BulkString(m[1])
	}
}

func (b *Bus) cmdShards(c *engine.Ctx) {
	v, kind := b.fresh(), b.opts.Settings().Endpoint
	ranges := make(map[int][][2]slot.ID)
	for r, owner := range v.Ranges() {
		ranges[owner] = append(ranges[owner], r)
	}
	shards := v.Shards()
	c.Array(len(shards))
	for _, members := range shards {
		var slots [][2]slot.ID
		for _, i := range members {
			slots = append(slots, ranges[i]...)
		}
		c.Map(2)
		c.BulkString("slots")
		c.Array(2 * len(slots))
		for _, r := range slots {
			c.ReplyInt(int64(r[0]))
			c.ReplyInt(int64(r[1]))
		}
		c.BulkString("nodes")
		c.Array(len(members))
		for _, i := range members {
			b.replyShardNode(c, v, i, kind)
		}
	}
}

func (b *Bus) replyShardNode(c *engine.Ctx, v *core.View, i int, kind EndpointKind) {
	n := &v.Nodes[i]
	pairs := 6
	for _, present := range []bool{n.TCPPort != 0, n.TLSPort != 0, n.Hostname != ""} {
		if present {
			pairs++
		}
	}
	c.Map(pairs)
	c.BulkString("id")
	c.BulkString(n.ID.String())
	if n.TCPPort != 0 {
		c.BulkString("port")
		c.ReplyInt(int64(n.TCPPort))
	}
	if n.TLSPort != 0 {
		c.BulkString("tls-port")
		c.ReplyInt(int64(n.TLSPort))
	}
	c.BulkString("ip")
	c.BulkString(n.IP.String())
	c.BulkString("endpoint")
	replyEndpoint(c, n, kind)
	if n.Hostname != "" {
		c.BulkString("hostname")
		c.BulkString(n.Hostname)
	}
	role := "master"
	if n.Flags.Has(wire.FlagReplica) {
		role = "replica"
	}
	c.BulkString("role")
	c.BulkString(role)
	c.BulkString("replication-offset")
	c.ReplyInt(b.offsetOf(v, i))
	c.BulkString("health")
	c.BulkString(b.healthOf(v, i))
}

func (b *Bus) offsetOf(v *core.View, i int) int64 {
	if i == v.Myself {
		return b.e.Log.End()
	}
	return int64(v.Nodes[i].Offset)
}

// healthOf is "fail" for a failed node, "loading" for a replica that has no data yet, otherwise "online".
func (b *Bus) healthOf(v *core.View, i int) string {
	n := &v.Nodes[i]
	switch {
	case n.Flags.Has(wire.FlagFail) || n.Flags.Has(wire.FlagPFail):
		return "fail"
	case n.Flags.Has(wire.FlagReplica) && b.offsetOf(v, i) == 0:
		return "loading"
	}
	return "online"
}
