package core

import (
	"bytes"
	"slices"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/invariant"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the table of nodes.

// nodesMax bounds the table: no cluster has more primaries than slots. Replicas count too; Redis advises 1000 nodes.
const nodesMax = 2 * slot.Count

// node is what is known of one node of the cluster.
type node struct {
	id    wire.NodeID
	flags wire.NodeFlags
	place int // where it is in Core.nodes

	shard wire.NodeID // its shard; random until its own word is known
	// ip and the ports are where it can be reached; a zero ip is "not known".
	ip                        wire.Host
	tcpPort, tlsPort, busPort uint16
	hostname, name            string
	// extensions says that it understands heartbeat extensions.
	extensions bool
	// probe says that it is a handshake with an address at which a known node may be; it never adds one.
	probe bool

	createdAt    clock.Millis
	pingSent     clock.Millis // when the outstanding ping left, 0 if none is outstanding
	pongReceived clock.Millis // when the last pong came, to us or to one who told us
	dataReceived clock.Millis // when the last packet came
	failedAt     clock.Millis // when FlagFail was set
	votedAt      clock.Millis // when this node last voted for one of its replicas
	orphanedAt   clock.Millis // since when it has no working replica, 0 if it has one

	configEpoch wire.Epoch
	// slots are the slots it owns, nil if it never had any; owned counts them.
	slots *slot.Set
	owned int
	// primary is the primary of a replica, nil if not known; replicas are the replicas of a primary.
	primary  *node
	replicas []*node
	// offset is its last known replication offset.
	offset uint64

	// link is the link this node opened to it, inbound the one it opened.
	link, inbound *link
	// claim is the word of a process elsewhere to be this node.
	claim claim
	// retryAt and retryDelay space out attempts to connect.
	retryAt, retryDelay clock.Millis

	// reports says which primaries called it failing, and when. nil if none did.
	reports map[*node]clock.Millis
	// gossiped is the last packet (Core.gossipRound) it was mentioned in.
	gossiped uint64
	// updated is the last step in which an Update about it was sent.
	updated uint64
	// voteEpoch is the last election of ours it voted in.
	voteEpoch wire.Epoch
}

var noSlots slot.Set // never written: what a node without slots owns

// slotSet gives the slots of n, not to be written.
func (n *node) slotSet() *slot.Set {
	if n.slots == nil {
		return &noSlots
	}
	return n.slots
}

func (n *node) isPrimary() bool { return n.flags.Has(wire.FlagPrimary) }
func (n *node) isReplica() bool { return n.flags.Has(wire.FlagReplica) }
func (n *node) hasFailed() bool { return n.flags.Has(wire.FlagFail) }
func (n *node) inHandshake() bool {
	return n.flags.Has(wire.FlagHandshake)
}
func (n *node) isSuspect() bool { return n.flags.Has(wire.FlagFail | wire.FlagPFail) }
func (n *node) hasAddress() bool {
	return !n.flags.Has(wire.FlagNoAddr) && !n.ip.IsZero()
}

// leader is the node whose slots n serves: its primary, or n itself.
func (n *node) leader() *node {
	if n.isReplica() && n.primary != nil {
		return n.primary
	}
	return n
}

// clientPort is the port that clients of the cluster's kind use.
func (c *Core) clientPort(n *node) uint16 {
	if c.cfg.TLSCluster {
		return n.tlsPort
	}
	return n.tcpPort
}

// loadTimes turns the marks "a ping was outstanding" and "a pong was received" of a loaded nodes.conf into times.
func (n *node) loadTimes(now clock.Millis) {
	n.createdAt = now
	if n.pingSent != 0 {
		n.pingSent = now
	}
	if n.pongReceived != 0 {
		n.pongReceived = now
	}
	if n.hasFailed() {
		n.failedAt = now
	}
}

// addNode puts a new node into the table. Its shard is one of its own until it is learned.
func (c *Core) addNode(id wire.NodeID, flags wire.NodeFlags) *node {
	n := &node{id: id, flags: flags, shard: c.rng.nodeID(), createdAt: c.now, place: len(c.nodes)}
	invariant.That(c.byID[id] == nil, "node added twice")
	c.byID[id] = n
	c.nodes = append(c.nodes, n)
	if n.inHandshake() {
		c.handshakes++
	}
	if flags.Has(wire.FlagPFail) {
		c.pfails++
	}
	return n
}

// lookup finds a node by name, nil if it is not known.
func (c *Core) lookup(id wire.NodeID) *node { return c.byID[id] }

// dropNode removes a node and all that refers to it.
func (c *Core) dropNode(n *node) {
	invariant.That(n != c.me, "a node forgets itself")
	c.disown(n)
	c.dropMoves(n)
	for _, other := range c.nodes {
		other.dropReport(n)
	}
	if c.manual.replica == n {
		c.resetManual()
	}
	for len(n.replicas) > 0 {
		c.detach(n.replicas[len(n.replicas)-1])
	}
	c.detach(n)
	c.closeLink(n.link)
	c.closeLink(n.inbound)
	c.clearPFail(n)
	if n.inHandshake() {
		c.handshakes--
	}
	delete(c.byID, n.id)
	last := c.nodes[len(c.nodes)-1]
	c.nodes[n.place], last.place = last, n.place
	c.nodes[len(c.nodes)-1] = nil
	c.nodes = c.nodes[:len(c.nodes)-1]
	c.out.routes = true
	c.todo.state = true
}

// renameNode gives a node its own name once a handshake has told it.
func (c *Core) renameNode(n *node, id wire.NodeID) {
	delete(c.byID, n.id)
	n.id = id
	c.byID[id] = n
}

// attach makes r a replica of p in the table; the role of r is set by the caller.
func (c *Core) attach(r, p *node) {
	if r.primary == p {
		return
	}
	c.detach(r)
	r.primary = p
	p.replicas = append(p.replicas, r)
	p.flags |= wire.FlagMigrateTo
	c.out.routes = true
}

// detach ends that r is a replica of anybody.
func (c *Core) detach(r *node) {
	p := r.primary
	if p == nil {
		return
	}
	at := slices.Index(p.replicas, r)
	invariant.That(at >= 0, "replica is not in the list of its primary")
	p.replicas = slices.Delete(p.replicas, at, at+1)
	if len(p.replicas) == 0 {
		p.flags &^= wire.FlagMigrateTo
	}
	r.primary = nil
	c.out.routes = true
}

// working counts the replicas of n that have not failed.
func (n *node) working() int {
	count := 0
	for _, r := range n.replicas {
		if !r.hasFailed() {
			count++
		}
	}
	return count
}

// before tells whether the name of n comes before that of other.
func (n *node) before(other *node) bool { return bytes.Compare(n.id[:], other.id[:]) < 0 }
