package sim

import (
	"fmt"
	"strings"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds a node: the driver of one core. It is the pattern for the driver of the server, except that everything
// happens in virtual time.

const (
	clientPort = 6379
	busPort    = 16379
)

// node is one machine of the world with one process on it, or none while that is down.
type node struct {
	w      *world
	index  int // place in world.nodes; people count from 1
	config core.Config
	host   string
	moved  int // how often it got another address

	// life counts the starts of the process: what was meant for a former one is dropped. alive says that it runs.
	life  int
	alive bool
	// vanished says that the host itself is off: nobody answers for it.
	vanished bool
	// frozen says that the process is stopped; inbox is what comes meanwhile.
	frozen bool
	inbox  []func()

	// skew is how far the clock of the process is from the world's, and nextSkew how far that of the next process will be: a
	// process takes the wall clock at its start only.
	skew, nextSkew clock.Millis

	// spare says that it has not joined the cluster, gone that it was made to leave it.
	spare, gone bool

	core *core.Core
	id   wire.NodeID
	disk disk
	// links are the connections of the bus by the id the core knows; accepted counts those that peers opened.
	links    map[core.LinkID]busEnd
	accepted core.LinkID
	// waiting are effects behind a Persist with Hold that is not done; held says that there is one.
	held    bool
	waiting []func()
	// answers are called when the core answers a command; asked counts the commands.
	answers map[uint64]func(core.Reply)
	asked   uint64

	// serving is what the routes installed last let this node serve; paused stops its writes.
	serving slot.Set
	paused  bool
	pause   uint64 // token of the last Pause
	// data is the toy data set.
	data data
	// seeds are given to the core after each start.
	seeds []core.Address
	// packet is where incoming packets are parsed.
	packet wire.Packet
}

// busEnd is this node's end of a connection of the bus.
type busEnd struct {
	conn *conn
	side int
}

// newNode adds a machine; its process is started with start.
func (w *world) newNode() *node {
	n := &node{w: w, index: len(w.nodes), config: core.DefaultConfig()}
	n.config.NodeTimeout = w.timeout.millis()
	n.disk.syncTime = syncTimeUsual
	w.nodes = append(w.nodes, n)
	w.net.grow()
	n.setHost(0)
	return n
}

// setHost gives the machine an address; move makes it another than before.
func (n *node) setHost(move int) {
	if n.w.net.at[n.address(busPort)] == n {
		delete(n.w.net.at, n.address(busPort))
		delete(n.w.net.at, n.address(clientPort))
	}
	n.host = fmt.Sprintf("10.%d.%d.%d", move, (n.index+1)/250, (n.index+1)%250+1)
	n.w.net.at[n.address(busPort)] = n
	n.w.net.at[n.address(clientPort)] = n
}

func (n *node) address(port uint16) string { return fmt.Sprintf("%s:%d", n.host, port) }

func (n *node) hostText() wire.Host {
	h, _ := wire.ParseHost(n.host)
	return h
}

func (n *node) name() string { return fmt.Sprintf("%d", n.index+1) }

func (n *node) running() bool { return n.alive }

// clock is the time as the process sees it.
func (n *node) clock() clock.Millis { return n.w.now.millis() + n.skew }

// start starts the process from what is on the disk.
func (n *node) start() {
	conf, err := wire.ParseConf(n.disk.written, false)
	if err != nil {
		n.w.fail("node %s cannot read its nodes.conf: %v", n.name(), err)
		return
	}
	rng := n.w.rng
	seed := [4]uint64{rng.Uint64(), rng.Uint64(), rng.Uint64(), rng.Uint64()}
	n.core, err = core.New(core.Options{Config: n.config, Seed: seed, Conf: conf})
	if err != nil {
		n.w.fail("node %s does not start: %v", n.name(), err)
		return
	}
	n.life++
	n.skew = n.nextSkew
	n.id = n.core.MyID()
	n.alive, n.vanished, n.frozen, n.held, n.paused = true, false, false, false, false
	n.inbox, n.waiting = nil, nil
	n.links = map[core.LinkID]busEnd{}
	n.accepted = core.LinkAccepted
	n.answers = map[uint64]func(core.Reply){}
	n.w.safety.serve(n, slot.Set{})
	n.data.restart(n)
	n.w.net.touched()
	n.w.safety.starts(n)
	n.step(core.Loaded{Slots: n.data.slots()})
	if len(n.seeds) > 0 {
		n.step(core.Seeds{Addresses: n.seeds})
	}
	life := n.life
	n.w.after(n.w.between(0, core100), func() { n.tick(life) })
}

// core100 is the core's tick in virtual time.
const core100 = instant(core.TickPeriod) * millisecond

// stop ends the process; with power the host goes too.
func (n *node) stop(power bool) {
	if !n.alive {
		return
	}
	n.alive, n.vanished = false, power
	n.w.safety.serve(n, slot.Set{})
	if power {
		n.losePower()
	}
	n.w.net.processGone(n)
	n.life++ // nothing that is under way concerns the next process
}

// freeze stops the process without ending it, thaw lets it run on.
func (n *node) freeze() { n.frozen = true }

func (n *node) thaw() {
	n.frozen = false
	inbox := n.inbox
	n.inbox = nil
	for _, f := range inbox {
		n.deliver(n.life, f)
	}
}

// deliver runs something in the process with this life: now, when it is thawed, or never.
func (n *node) deliver(life int, f func()) {
	switch {
	case n.life != life || !n.alive:
	case n.frozen:
		n.inbox = append(n.inbox, f)
	default:
		f()
	}
}

// tick is the process's timer. A frozen process has one tick waiting, not many.
func (n *node) tick(life int) {
	n.deliver(life, func() {
		n.data.tick()
		n.step(core.Tick{})
		n.w.after(core100, func() { n.tick(life) })
	})
}

// step gives the core an event and carries out what it answers.
func (n *node) step(ev core.Event) {
	if !n.alive {
		return
	}
	for _, e := range n.core.Step(n.clock(), ev) {
		n.carryOut(e)
	}
	n.w.safety.stepped(n)
}

// carryOut carries out an effect, or queues it behind a write that holds it up.
func (n *node) carryOut(e core.Effect) {
	if l, ok := e.(core.Log); ok {
		n.w.trace.log(n, l)
		return
	}
	f := n.prepare(e)
	if n.held {
		n.waiting = append(n.waiting, f)
		return
	}
	f()
}

// prepare makes of an effect something that can be done later: it copies what the effect points to.
func (n *node) prepare(e core.Effect) func() {
	switch e := e.(type) {
	case core.Persist:
		content := n.core.AppendConf(nil)
		return func() { n.persist(content, e) }
	case core.Lead:
		return func() { n.lead(e) }
	case core.Follow:
		return func() { n.data.follow(e) }
	case core.Flush:
		return n.data.flush
	case core.Purge:
		slots := *e.Slots
		return func() { n.data.purge(&slots) }
	case core.Routes:
		serving := n.core.Serving()
		n.w.safety.serve(n, intersect(n.serving, serving)) // what takes away does not wait
		return func() { n.w.safety.serve(n, intersect(serving, n.core.Serving())) }
	case core.Pause:
		return func() { n.pauseWrites(e) }
	case core.Resume:
		return func() { n.paused = false }
	case core.Connect:
		return func() { n.connect(e) }
	case core.Close:
		return func() { n.closeLink(e.Link) }
	case core.Send:
		return n.prepareSend(e)
	case core.Reply:
		return func() { n.answer(e) }
	}
	return func() {}
}

func intersect(a, b slot.Set) slot.Set {
	for w := range a {
		a[w] &= b[w]
	}
	return a
}

// persist writes nodes.conf, and lets what waits behind it go on when it is done.
func (n *node) persist(content []byte, p core.Persist) {
	n.held = p.Hold
	n.write(content, p.Sync, func() {
		if p.Hold {
			n.release()
		}
	})
}

// release carries out what has waited, up to the next write that holds things up.
func (n *node) release() {
	n.held = false
	for len(n.waiting) > 0 && !n.held {
		f := n.waiting[0]
		n.waiting = n.waiting[1:]
		f()
	}
}

// soon runs something as the next event of this process.
func (n *node) soon(f func()) {
	life := n.life
	n.w.after(0, func() { n.deliver(life, f) })
}

func (n *node) lead(e core.Lead) {
	n.w.safety.leads(n, e)
	n.data.lead()
}

func (n *node) pauseWrites(e core.Pause) {
	n.paused, n.pause = true, e.Token
	n.soon(func() {
		if n.paused {
			n.step(core.Paused{Token: e.Token, Offset: n.data.offset})
		}
	})
	life := n.life
	n.w.after(instant(e.Until)*millisecond-n.w.now, func() {
		n.deliver(life, func() {
			if n.pause == e.Token {
				n.paused = false
			}
		})
	})
}

// connect opens a link.
func (n *node) connect(e core.Connect) {
	address := fmt.Sprintf("%s:%d", e.Host, e.Port)
	gone := func() { n.step(core.Disconnected{Link: e.Link}) }
	n.links[e.Link] = busEnd{}
	n.w.net.dial(n, address, true, func(c *conn) {
		if _, wanted := n.links[e.Link]; !wanted {
			c.close(0)
			return
		}
		n.addLink(e.Link, c, 0)
		host, _ := wire.ParseHost(strings.TrimSuffix(address, fmt.Sprintf(":%d", e.Port)))
		n.step(core.Connected{Link: e.Link, Remote: host})
	}, gone)
}

// accept takes a connection that another node has opened.
func (n *node) accept(c *conn, bus bool) {
	if !bus {
		n.data.accept(c)
		return
	}
	n.accepted++
	id := n.accepted
	n.addLink(id, c, 1)
	n.step(core.Accepted{Link: id, Remote: c.ends[0].node.hostText(), Local: n.hostText()})
}

func (n *node) addLink(id core.LinkID, c *conn, side int) {
	n.links[id] = busEnd{conn: c, side: side}
	c.ends[side].received = func(m any) { n.receive(id, m.([]byte)) }
	c.ends[side].closed = func() {
		delete(n.links, id)
		n.step(core.Disconnected{Link: id})
	}
}

func (n *node) receive(id core.LinkID, message []byte) {
	used, err := wire.Parse(message, wire.DefaultMaxBytes, &n.packet)
	if err != nil || used != len(message) {
		n.w.fail("node %s cannot parse a packet: %v", n.name(), err)
		return
	}
	n.data.tell()
	n.step(core.Received{Link: id, Packet: &n.packet})
}

func (n *node) closeLink(id core.LinkID) {
	l, ok := n.links[id]
	delete(n.links, id)
	if ok && l.conn != nil {
		l.conn.close(l.side)
	}
}

// prepareSend encodes a packet; the same bytes go to all.
func (n *node) prepareSend(e core.Send) func() {
	message := wire.AppendPacket(nil, e.Packet)
	kind, epoch := e.Packet.Type, e.Packet.CurrentEpoch
	claims, sender, claimed := e.Packet.Primary.IsZero(), e.Packet.Sender, e.Packet.ConfigEpoch
	to := append([]core.LinkID(nil), e.To...)
	return func() {
		for _, id := range to {
			l, ok := n.links[id]
			if !ok || l.conn == nil {
				continue
			}
			if claims {
				n.w.safety.claims(sender, claimed)
			}
			if kind == wire.TypeVote {
				n.w.safety.votes(n, l.conn.ends[1-l.side].node, epoch)
			}
			l.conn.send(l.side, message)
		}
	}
}

// command runs a CLUSTER command; then is called with the answer, which may be never if the process ends.
func (n *node) command(then func(core.Reply), words ...string) {
	args := make([][]byte, len(words))
	for i, word := range words {
		args[i] = []byte(word)
	}
	n.asked++
	request := n.asked
	n.answers[request] = then
	n.data.tell()
	n.step(core.Command{Request: request, Args: args, Keys: &n.data})
	n.id = n.core.MyID()
}

func (n *node) answer(r core.Reply) {
	then := n.answers[r.Request]
	delete(n.answers, r.Request)
	if then != nil {
		n.soon(func() { then(r) })
	}
}

// accepts tells whether a client could write to a slot here and now without being sent elsewhere.
func (n *node) accepts(s slot.ID) bool {
	if !n.alive || n.frozen || n.paused || !n.serving.Has(s) {
		return false
	}
	to, _ := n.core.Moving(s)
	return to.IsZero() || n.data.has(s)
}
