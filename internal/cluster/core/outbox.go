package core

import (
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file collects the effects of a step and puts them in their order.

// outbox holds the effects of the running step by the place they will have.
type outbox struct {
	logs    []Effect
	local   []Effect // Flush
	pauses  []Effect // Resume and Pause
	links   []Effect // Close and Connect
	sends   []Effect // Send
	answers []Effect // Deliver and Reply
	effects []Effect // all, in order: what Step returns

	// persist is what is to be written in this step; later says that the next tick writes, with fsync if laterSync.
	persist          saving
	later, laterSync bool
	// routes says that a view is out of date, changed which slots it is about.
	routes  bool
	changed slot.Set
	// told is a copy of changed that lives until the next step.
	told slot.Set
	// purge are the slots whose keys are to go.
	purge slot.Set

	// packets are reused from step to step; the first used of them are in this step's effects.
	packets []*wire.Packet
	used    int
	// targets is the memory behind the To of this step's Sends.
	targets []LinkID
}

// saving says how urgently nodes.conf is to be written.
type saving uint8

const (
	saveNothing  saving = iota
	saveSoon            // at the next tick: opinions, and what peers would tell again
	saveSoonSync        // at the next tick, with fsync: epochs and slots of others
	saveNow             // in this step, without holding anything up: this node's own role and slots
	saveHeld            // before the reply of the command that changed it
	saveSynced          // durable before anything else leaves: votes, own epochs and own claims
)

// save asks for nodes.conf to be written; the most urgent request of a step counts.
func (c *Core) save(how saving) {
	o := &c.out
	switch how {
	case saveSoon:
		o.later = true
	case saveSoonSync:
		o.later, o.laterSync = true, true
	default:
		o.persist = max(o.persist, how)
	}
}

// flushLater turns what waited for the tick into a write of this step.
func (o *outbox) flushLater() {
	if o.later {
		o.persist = max(o.persist, saveNow)
	}
}

// packetsKept bounds how many packets (about 5 KB each) are kept for the next step.
const packetsKept = 16

func (o *outbox) reset() {
	if len(o.packets) > packetsKept {
		clear(o.packets[packetsKept:])
		o.packets = o.packets[:packetsKept]
	}
	o.used = 0
	o.targets = o.targets[:0]
	for _, list := range []*[]Effect{&o.logs, &o.local, &o.pauses, &o.links, &o.sends, &o.answers, &o.effects} {
		clear(*list)
		*list = (*list)[:0]
	}
}

// packet gives an empty packet that lives until the next step.
func (o *outbox) packet() *wire.Packet {
	if o.used == len(o.packets) {
		o.packets = append(o.packets, &wire.Packet{})
	}
	p := o.packets[o.used]
	o.used++
	*p = wire.Packet{Gossip: p.Gossip[:0], Ext: wire.Extensions{Forgotten: p.Ext.Forgotten[:0]}}
	return p
}

// send queues p for one link.
func (c *Core) send(to *link, p *wire.Packet) {
	o := &c.out
	o.targets = append(o.targets, to.id)
	c.sendAll(o.targets[len(o.targets)-1:len(o.targets):len(o.targets)], p)
}

// sendAll queues p for links, whose list lives in the outbox.
func (c *Core) sendAll(to []LinkID, p *wire.Packet) {
	if len(to) == 0 {
		return
	}
	c.sent[p.Type] += uint64(len(to))
	c.out.sends = append(c.out.sends, Send{To: to, Packet: p})
}

// reply queues the answer of a command.
func (c *Core) reply(r Reply) { c.out.answers = append(c.out.answers, r) }

// log queues a line for the operator.
func (c *Core) log(level Level, text string) { c.logAbout(level, text, wire.NodeID{}, 0, 0) }

func (c *Core) logNode(level Level, text string, n *node) { c.logAbout(level, text, n.id, 0, 0) }

func (c *Core) logAbout(level Level, text string, id wire.NodeID, epoch wire.Epoch, value int64) {
	c.out.logs = append(c.out.logs, Log{Level: level, Text: text, Node: id, Epoch: epoch, Value: value})
}

// touch notes that the verdict about a slot has changed.
func (c *Core) touch(s slot.ID) {
	c.out.changed.Add(s)
	c.out.routes = true
}

// collect puts the effects in order.
func (c *Core) collect() []Effect {
	o := &c.out
	o.effects = append(o.effects, o.logs...)
	o.effects = o.appendPersist(o.effects)
	role := c.newRole()
	if lead, ok := role.(Lead); ok {
		o.effects = append(o.effects, lead)
	}
	if o.routes {
		o.routes = false
		o.told = o.changed
		o.changed.Clear()
		o.effects = append(o.effects, Routes{Changed: &o.told})
	}
	if follow, ok := role.(Follow); ok {
		o.effects = append(o.effects, follow)
	}
	o.effects = append(o.effects, o.local...)
	if !o.purge.IsEmpty() {
		purge := o.purge
		o.effects = append(o.effects, Purge{Slots: &purge})
		o.purge.Clear()
	}
	o.effects = append(o.effects, o.pauses...)
	o.effects = append(o.effects, o.links...)
	for _, e := range o.sends {
		if s := e.(Send); c.pruneTargets(&s) {
			o.effects = append(o.effects, s)
		}
	}
	o.effects = append(o.effects, o.answers...)
	return o.effects
}

func (o *outbox) appendPersist(list []Effect) []Effect {
	if o.persist == saveNothing {
		return list
	}
	if o.persist == saveHeld { // it must not wait for what can wait: the tick makes that durable
		o.persist, o.later = saveNothing, o.laterSync
		return append(list, Persist{Hold: true})
	}
	p := Persist{Sync: o.laterSync || o.persist == saveSynced, Hold: o.persist == saveSynced}
	o.persist, o.later, o.laterSync = saveNothing, false, false
	return append(list, p)
}

// pruneTargets takes links that were closed later in the step out of a Send, and reports whether any is left.
func (c *Core) pruneTargets(s *Send) bool {
	kept := s.To[:0]
	for _, id := range s.To {
		if c.links[id] != nil {
			kept = append(kept, id)
		}
	}
	s.To = kept
	return len(kept) > 0
}
