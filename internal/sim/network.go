package sim

import "slices"

// This file holds the network: connections that keep the order of their bytes as TCP does, delays, losses (which TCP
// turns into delays), partitions in both or one direction, and hosts that vanish without a word.

// network is the net between all nodes.
type network struct {
	w *world
	// at finds the node that has an address now.
	at map[string]*node
	// cut[a][b] says that nothing gets from node a to node b.
	cut [][]bool
	// conns are the connections with an end that is still open, in the order they were opened.
	conns []*conn
	// delayMin and delayMax bound the time a packet takes; lossRate is the chance that it is lost and sent again.
	delayMin, delayMax instant
	lossRate           float64
	// slow multiplies the delays to and from a node.
	slow map[*node]instant
	// changed is when connectivity last changed.
	changed instant
}

const (
	// retransmitMin and retransmitMax bound the delay of a packet that was lost, and of one that waited for a heal.
	retransmitMin = 200 * millisecond
	retransmitMax = 800 * millisecond
	// dialTimeout is how long an attempt to connect waits for an answer that does not come.
	dialTimeout = 2 * second
	// heldMax is how many packets a connection holds back while it is cut, before it breaks.
	heldMax = 20000
)

func (n *network) init(w *world) {
	n.w = w
	n.at = map[string]*node{}
	n.slow = map[*node]instant{}
	n.delayMin, n.delayMax = 200, 2*millisecond // 0.2 to 2 ms
}

// grow makes room for one more node.
func (n *network) grow() {
	size := len(n.cut) + 1
	for i := range n.cut {
		n.cut[i] = append(n.cut[i], false)
	}
	n.cut = append(n.cut, make([]bool, size))
}

func (n *network) blocked(from, to *node) bool { return n.cut[from.index][to.index] }

// apart tells whether two nodes cannot talk to each other in both directions.
func (n *network) apart(a, b *node) bool { return n.blocked(a, b) || n.blocked(b, a) }

// delay is the time one packet takes.
func (n *network) delay(from, to *node) instant {
	d := n.w.between(n.delayMin, n.delayMax)
	d *= max(1, n.slow[from]) * max(1, n.slow[to])
	if n.w.chance(n.lossRate) {
		d += n.w.between(retransmitMin, retransmitMax)
	}
	return d
}

// conn is one connection. End 0 opened it.
type conn struct {
	net  *network
	ends [2]end
}

// end is one end of a connection.
type end struct {
	node *node
	life int  // the incarnation of the process that has it
	open bool // the process believes that the connection is up
	// received and closed are called when something comes, and when the connection turns out to be gone.
	received func(message any)
	closed   func()
	// arrives is when the last packet on its way to this end arrives; held are packets that are cut off on their way.
	arrives instant
	held    []any
	// reset says that the other end is gone and this one is still to be told.
	reset bool
}

// dial opens a connection from a to an address. accept runs at the listener and sets up its end; then up runs at the
// dialler, or failed.
func (n *network) dial(from *node, address string, bus bool, up func(*conn), failed func()) {
	life := from.life
	report := func(d instant, f func()) {
		n.w.after(d, func() { from.deliver(life, f) })
	}
	to := n.at[address]
	switch {
	case to == nil, to.vanished, n.apart(from, to):
		report(dialTimeout, failed)
		return
	case !to.running():
		report(n.delay(from, to), failed)
		return
	}
	c := &conn{net: n}
	c.ends[0] = end{node: from, life: life, open: true}
	c.ends[1] = end{node: to, life: to.life, open: true}
	there := n.delay(from, to)
	if there > dialTimeout {
		report(dialTimeout, failed)
		return
	}
	n.w.after(there, func() {
		if n.apart(from, to) || !to.running() || to.life != c.ends[1].life || from.life != life {
			report(dialTimeout, failed)
			return
		}
		n.conns = append(n.conns, c)
		to.deliver(to.life, func() { to.accept(c, bus) })
		report(n.delay(to, from), func() {
			if c.ends[0].open {
				up(c)
			} else {
				failed() // it broke on the way
			}
		})
	})
}

// send sends a message from one end to the other.
func (c *conn) send(side int, message any) {
	from, to := &c.ends[side], &c.ends[1-side]
	if !from.open {
		return
	}
	if c.net.blocked(from.node, to.node) || len(to.held) > 0 {
		c.hold(to, message)
		return
	}
	c.transmit(side, message, c.net.delay(from.node, to.node))
}

// transmit puts a message on its way; it arrives after all that were sent before it.
func (c *conn) transmit(side int, message any, delay instant) {
	from, to := &c.ends[side], &c.ends[1-side]
	to.arrives = max(to.arrives+1, c.net.w.now+delay)
	c.net.w.after(to.arrives-c.net.w.now, func() {
		if c.net.blocked(from.node, to.node) || len(to.held) > 0 {
			c.hold(to, message)
			return
		}
		c.arrive(to, message)
	})
}

func (c *conn) arrive(to *end, message any) {
	to.node.deliver(to.life, func() {
		if to.open && to.received != nil {
			to.received(message)
		}
	})
}

// hold keeps a message until the cut is healed; a connection that has to keep too many breaks.
func (c *conn) hold(to *end, message any) {
	if to.held = append(to.held, message); len(to.held) > heldMax {
		to.held = nil
		c.lose(0)
		c.lose(1)
	}
}

// close ends the connection at one end. The other end is told if that is possible, and otherwise when it is.
func (c *conn) close(side int) {
	me, other := &c.ends[side], &c.ends[1-side]
	if !me.open {
		return
	}
	me.open = false
	if other.open {
		other.reset = true
		c.tell(1 - side)
	}
	c.net.forget(c)
}

// tell lets an end know that the connection is gone, if word of it can arrive.
func (c *conn) tell(side int) {
	me, other := &c.ends[side], &c.ends[1-side]
	if !me.reset || c.net.blocked(other.node, me.node) || other.node.vanished {
		return
	}
	me.reset = false
	delay := max(c.net.delay(other.node, me.node), me.arrives-c.net.w.now+1)
	c.net.w.after(delay, func() { c.lose(side) })
}

// lose closes one end from outside.
func (c *conn) lose(side int) {
	me := &c.ends[side]
	me.node.deliver(me.life, func() {
		if !me.open {
			return
		}
		me.open = false
		if me.closed != nil {
			me.closed()
		}
		c.net.forget(c)
	})
}

// forget drops a connection that is closed at both ends.
func (n *network) forget(c *conn) {
	if c.ends[0].open || c.ends[1].open {
		return
	}
	if at := slices.Index(n.conns, c); at >= 0 {
		n.conns = slices.Delete(n.conns, at, at+1)
	}
}

// touched is called when connectivity has changed: what was held back is sent again.
func (n *network) touched() {
	n.changed = n.w.now
	for _, c := range slices.Clone(n.conns) {
		for side := range c.ends {
			to, from := &c.ends[side], &c.ends[1-side]
			if n.blocked(from.node, to.node) {
				continue
			}
			held := to.held
			to.held = nil
			pause := n.w.between(0, retransmitMax)
			for _, m := range held {
				c.transmit(1-side, m, pause)
			}
			c.tell(side)
		}
	}
}

// processGone closes every connection of a node whose process has ended. The kernel tells the other ends, unless the
// whole host is gone.
func (n *network) processGone(gone *node) {
	for _, c := range slices.Clone(n.conns) {
		for side := range c.ends {
			if c.ends[side].node == gone && c.ends[side].open {
				c.close(side)
			}
		}
	}
}

// breakBetween resets the connections between two nodes, as a firewall or a flapping cable does.
func (n *network) breakBetween(a, b *node) {
	for _, c := range slices.Clone(n.conns) {
		x, y := c.ends[0].node, c.ends[1].node
		if x == a && y == b || x == b && y == a {
			c.lose(0)
			c.lose(1)
		}
	}
}
