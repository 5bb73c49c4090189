package core

import (
	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/wire"
)

// This file holds the links to other nodes: opening them, losing them, and which one to use.

// link is one connection of the cluster bus.
type link struct {
	id        LinkID
	createdAt clock.Millis
	up        bool
	// node is the peer; nil for an accepted link whose peer has not told its name or is not known.
	node *node
	// remote and local are the addresses of the two ends; local is known for accepted links only.
	remote, local wire.Host
	// extensions says that a packet of this link came from one who understands heartbeat extensions.
	extensions bool
	// told is where the peer last said it is, over a link that this node opened.
	told place
	// doubted says that a packet of this accepted link came from elsewhere than its sender was.
	doubted bool
}

// inbound tells whether the peer opened the link.
func (l *link) inbound() bool { return l.id&LinkAccepted != 0 }

// The delay between attempts to connect doubles from connectDelayMin to connectDelayMax: a dead node must not cost a
// connection attempt per tick, a live one must be found again well within the node timeout.
const (
	connectDelayMin clock.Millis = 100
	connectDelayMax clock.Millis = 1000
)

// connect asks for a link to n.
func (c *Core) connect(n *node) {
	c.lastLink++
	l := &link{id: c.lastLink, createdAt: c.now, node: n}
	c.links[l.id] = l
	n.link = l
	c.out.links = append(c.out.links, Connect{Link: l.id, Host: n.ip, Port: n.busPort})
}

// closeLink ends a link; nil is no link.
func (c *Core) closeLink(l *link) {
	if l == nil {
		return
	}
	c.unlink(l)
	c.out.links = append(c.out.links, Close{Link: l.id})
}

// unlink takes a link out of the tables.
func (c *Core) unlink(l *link) {
	delete(c.links, l.id)
	switch n := l.node; {
	case n == nil:
	case n.link == l:
		n.link = nil
	case n.inbound == l:
		n.inbound = nil
	}
}

func (c *Core) onAccepted(e Accepted) {
	if c.links[e.Link] == nil {
		c.links[e.Link] = &link{id: e.Link, createdAt: c.now, up: true, remote: e.Remote, local: e.Local}
	}
}

// onConnected sends the first packet at once, which is what keeps a young link from looking dead: a Meet to a node that
// is to add us, otherwise a ping. A ping that was outstanding on the former link stays so.
func (c *Core) onConnected(e Connected) {
	l := c.links[e.Link]
	if l == nil || l.inbound() || l.up {
		return
	}
	l.up, l.remote = true, e.Remote
	n := l.node
	n.retryDelay = 0
	kind := wire.TypePing
	if n.flags.Has(wire.FlagMeet) {
		kind = wire.TypeMeet
		n.flags &^= wire.FlagMeet
	}
	before := n.pingSent
	c.ping(n, kind)
	if before != 0 {
		n.pingSent = before
	}
}

// onDisconnected forgets the link. A node whose link broke counts as pinged from now on, so that a dead process is
// noticed one node timeout later, whether or not a ping was outstanding.
func (c *Core) onDisconnected(id LinkID) {
	l := c.links[id]
	if l == nil {
		return
	}
	c.unlink(l)
	if n := l.node; n != nil && !l.inbound() {
		if n.pingSent == 0 {
			n.pingSent = c.now
		}
		n.retryDelay = min(max(2*n.retryDelay, connectDelayMin), max(connectDelayMin, min(connectDelayMax, c.cfg.NodeTimeout/8)))
		n.retryAt = c.now + n.retryDelay
	}
}

// path is the link over which n can be told something, nil if there is none.
func (n *node) path() *link {
	if n.link != nil && n.link.up {
		return n.link
	}
	return n.inbound
}

// bind notes that an accepted link is n's. A former link is closed: it is the older one.
func (c *Core) bind(l *link, n *node) {
	if l.node == n {
		return
	}
	if l.node != nil && l.node.inbound == l {
		l.node.inbound = nil
	}
	old := n.inbound
	l.node, n.inbound = n, l
	if old != nil {
		old.node = nil
		c.closeLink(old)
	}
}

// allLinks collects the links this node opened to members, those for which want holds, in the order of the table.
func (c *Core) allLinks(want func(*node) bool) []LinkID {
	o := &c.out
	start := len(o.targets)
	for _, n := range c.nodes {
		if n.link != nil && n.link.up && !n.inHandshake() && want(n) {
			o.targets = append(o.targets, n.link.id)
		}
	}
	return o.targets[start:len(o.targets):len(o.targets)]
}

func anyNode(*node) bool { return true }
