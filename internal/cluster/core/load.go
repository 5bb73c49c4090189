package core

import (
	"cmp"
	"slices"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file reads the table of nodes from a parsed nodes.conf and writes it as lines.

// load fills the empty table. ParseConf has seen to it that what the lines refer to is there.
func (c *Core) load(conf *wire.Conf) error {
	c.currentEpoch = conf.CurrentEpoch
	c.lastVote = conf.LastVoteEpoch
	for i := range conf.Nodes {
		if n := c.loadNode(&conf.Nodes[i]); n.flags.Has(wire.FlagMyself) {
			c.me = n
		}
	}
	if c.me == nil {
		return &wire.ConfError{Reason: "no line is flagged myself"}
	}
	for i := range conf.Nodes {
		c.loadRelations(&conf.Nodes[i])
	}
	c.currentEpoch = max(c.maxEpoch(), c.lastVote)
	c.repl.data = dataOfShard
	if c.me.isReplica() {
		c.repl.data = dataUnknown
	}
	c.out.routes = true
	return nil
}

// loadNode adds one node. Times are only marks until the first step.
func (c *Core) loadNode(line *wire.NodeLine) *node {
	flags := line.Flags &^ (wire.FlagHandshake | wire.FlagMeet)
	if flags.Has(wire.FlagMyself) {
		flags &^= wire.FlagPFail | wire.FlagFail | wire.FlagNoAddr
	} else if line.IP.IsZero() || line.BusPort == 0 {
		flags |= wire.FlagNoAddr
	}
	if flags.Has(wire.FlagPrimary) || !line.Flags.Has(wire.FlagReplica) {
		flags = flags&^wire.FlagReplica | wire.FlagPrimary
	}
	if flags.Has(wire.FlagFail) {
		flags &^= wire.FlagPFail
	}
	n := c.addNode(line.ID, flags)
	n.ip, n.tcpPort, n.tlsPort, n.busPort = line.IP, line.TCPPort, line.TLSPort, line.BusPort
	n.hostname, n.name = line.Hostname, line.NodeName
	n.pingSent, n.pongReceived = clock.Millis(line.PingSentMillis), clock.Millis(line.PongReceivedMillis)
	n.configEpoch = line.ConfigEpoch
	if !line.ShardID.IsZero() {
		n.shard = line.ShardID
	}
	return n
}

// loadRelations adds what one line says of other nodes and of slots. Slots on the line of a replica are nobody's.
func (c *Core) loadRelations(line *wire.NodeLine) {
	n := c.lookup(line.ID)
	if primary := c.lookup(line.Primary); primary != nil && primary != n && n.isReplica() {
		c.attach(n, primary)
		n.configEpoch = 0
		if line.ShardID.IsZero() {
			n.shard = primary.shard
		}
	}
	if n.isReplica() {
		return
	}
	for first, last := range line.Slots.Ranges {
		for s := first; s <= last; s++ {
			c.setOwner(s, n)
		}
	}
	for _, o := range line.Open {
		if n != c.me || c.lookup(o.Node) == nil {
			continue
		}
		if o.Importing {
			c.importing[o.Slot] = c.lookup(o.Node)
		} else {
			c.migrating[o.Slot] = c.lookup(o.Node)
		}
	}
}

// AppendConf adds to dst what nodes.conf has to hold now.
func (c *Core) AppendConf(dst []byte) []byte {
	var line wire.NodeLine
	for _, n := range c.nodes {
		if !n.inHandshake() {
			c.fillLine(&line, n)
			dst = append(line.Append(dst, wire.FormFile), '\n')
		}
	}
	return wire.AppendVars(dst, c.currentEpoch, c.lastVote)
}

// AppendNodes adds to dst the lines of CLUSTER NODES.
func (c *Core) AppendNodes(dst []byte, form wire.Form) []byte {
	var line wire.NodeLine
	for _, n := range c.nodes {
		c.fillLine(&line, n)
		dst = append(line.Append(dst, form), '\n')
	}
	return dst
}

// fillLine describes n.
func (c *Core) fillLine(line *wire.NodeLine, n *node) {
	*line = wire.NodeLine{
		ID:                 n.id,
		IP:                 n.ip,
		TCPPort:            n.tcpPort,
		TLSPort:            n.tlsPort,
		BusPort:            n.busPort,
		Hostname:           n.hostname,
		NodeName:           n.name,
		ShardID:            n.shard,
		Flags:              n.flags,
		PingSentMillis:     int64(n.pingSent),
		PongReceivedMillis: int64(n.pongReceived),
		ConfigEpoch:        n.leader().configEpoch,
		Connected:          n == c.me || n.link != nil && n.link.up,
		Slots:              *n.slotSet(),
	}
	if n.primary != nil {
		line.Primary = n.primary.id
	}
	if n == c.me {
		line.Open = c.openSlots()
	}
}

// openSlots lists this node's slots on the move, by slot.
func (c *Core) openSlots() []wire.OpenSlot {
	if len(c.migrating)+len(c.importing) == 0 {
		return nil
	}
	var open []wire.OpenSlot
	add := func(moves map[slot.ID]*node, importing bool) {
		for s, n := range moves {
			open = append(open, wire.OpenSlot{Slot: s, Importing: importing, Node: n.id})
		}
	}
	add(c.migrating, false)
	add(c.importing, true)
	slices.SortFunc(open, func(a, b wire.OpenSlot) int { return cmp.Compare(a.Slot, b.Slot) })
	return open
}
