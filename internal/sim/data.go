package sim

import (
	"fmt"
	"maps"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds a node's toy data: one value a slot, a replication offset, and replication that is full or, as far as
// the histories agree, partial. It is good enough to rank replicas and to see whether a write was lost.

// data is the data set of one process. It survives the process as far as was saved, which the toy says is all of it.
type data struct {
	n      *node
	values map[slot.ID]uint64
	// offset grows with each write; history names the line of writes it counts. A replica that takes over begins a new
	// history and remembers the old one, which held until branched.
	offset   uint64
	history  uint64
	before   uint64
	branched uint64
	// log are the last writes, for partial synchronisation.
	log []entry

	// primary and address are what this node follows; up says that it is synchronised, contact when it last heard.
	primary wire.NodeID
	address string
	up      bool
	contact clock.Millis
	asked   clock.Millis // when it last asked to be synchronised
	source  *conn
	attempt int
	// replicas are the connections of replicas, end 1.
	replicas []*conn
	// told is what the core was last told.
	told core.Replication
}

// entry is one write of the log.
type entry struct {
	slot   slot.ID
	value  uint64
	offset uint64
}

// The messages of the toy replication.
type (
	syncRequest struct{ history, offset uint64 }
	syncFull    struct {
		history, offset uint64
		values          map[slot.ID]uint64
	}
	syncPartial struct {
		history uint64
		log     []entry
	}
	syncPing   struct{}
	syncRefuse struct{}
)

const (
	writeBytes  = 64   // how far one write moves the offset
	backlogMax  = 4096 // writes kept for partial synchronisation
	pullRetry   = second
	pullPeriod  = second // between signs of life of a primary
	pullTimeout = 10_000 // milliseconds without one after which a replica connects anew
	fullSyncMin = 20     // milliseconds that the snapshot of a full synchronisation takes, at least
	fullSyncMax = 300    // and at most
)

func (d *data) restart(n *node) {
	*d = data{n: n, values: d.values, offset: d.offset, history: d.history, log: nil}
	if d.values == nil {
		d.flush()
	}
}

// flush drops everything.
func (d *data) flush() {
	d.values = map[slot.ID]uint64{}
	d.offset, d.log, d.before = 0, nil, 0
	d.history = d.n.w.rng.Uint64()
}

func (d *data) purge(slots *slot.Set) {
	for s := range d.values {
		if slots.Has(s) {
			delete(d.values, s)
		}
	}
}

func (d *data) has(s slot.ID) bool { _, ok := d.values[s]; return ok }

// Keys and KeysIn make it a core.KeyCounts.
func (d *data) Keys() int { return len(d.values) }

// KeysIn counts the keys of a slot.
func (d *data) KeysIn(s slot.ID) int {
	if d.has(s) {
		return 1
	}
	return 0
}

func (d *data) slots() *slot.Set {
	var set slot.Set
	for s := range d.values {
		set.Add(s)
	}
	return &set
}

// write is a client's write, or with value 0 the removal of a key that has moved away.
func (d *data) write(s slot.ID, value uint64) {
	d.apply(entry{slot: s, value: value, offset: d.offset + writeBytes})
}

// apply takes a write and hands it on to the replicas.
func (d *data) apply(e entry) {
	if e.value == 0 {
		delete(d.values, e.slot)
	} else {
		d.values[e.slot] = e.value
	}
	d.offset = e.offset
	if d.log = append(d.log, e); len(d.log) > backlogMax {
		d.log = append([]entry(nil), d.log[backlogMax/2:]...)
	}
	for _, c := range d.replicas {
		c.send(1, e)
	}
}

// lead ends replication: the writes from here on are a new history.
func (d *data) lead() {
	d.unfollow()
	d.primary, d.address = wire.NodeID{}, ""
	d.before, d.branched = d.history, d.offset
	d.history = d.n.w.rng.Uint64()
}

func (d *data) unfollow() {
	d.up = false
	d.attempt++
	if d.source != nil {
		d.source.close(0)
		d.source = nil
	}
}

// follow replicates from another node.
func (d *data) follow(e core.Follow) {
	d.unfollow()
	d.primary, d.address = e.Primary, fmt.Sprintf("%s:%d", e.Host, e.Port)
	d.pull()
}

// pull connects to the primary, again and again until it works.
func (d *data) pull() {
	d.attempt++
	attempt, life := d.attempt, d.n.life
	again := func() {
		d.n.w.after(pullRetry, func() {
			d.n.deliver(life, func() {
				if d.attempt == attempt {
					d.pull()
				}
			})
		})
	}
	d.n.w.net.dial(d.n, d.address, false, func(c *conn) {
		if d.attempt != attempt {
			c.close(0)
			return
		}
		d.source, d.asked = c, d.n.clock()
		c.ends[0].received = func(m any) { d.receive(c, m) }
		c.ends[0].closed = func() {
			if d.source == c {
				d.source, d.up = nil, false
				again()
			}
		}
		c.send(0, syncRequest{history: d.history, offset: d.offset})
	}, again)
}

// receive takes what the primary sends.
func (d *data) receive(c *conn, message any) {
	if d.source != c {
		return
	}
	d.contact = d.n.clock()
	switch m := message.(type) {
	case syncFull:
		d.values, d.history, d.offset, d.log = maps.Clone(m.values), m.history, m.offset, nil
		d.up = true
		d.dropReplicas()
	case syncPartial:
		for _, e := range m.log {
			d.apply(e)
		}
		d.history, d.up = m.history, true
	case entry:
		d.apply(m)
	case syncRefuse:
		c.close(0)
		d.source, d.up = nil, false
		life, attempt := d.n.life, d.attempt
		d.n.w.after(pullRetry, func() {
			d.n.deliver(life, func() {
				if d.attempt == attempt {
					d.pull()
				}
			})
		})
		return
	}
	d.tell()
}

// accept takes a replica's connection.
func (d *data) accept(c *conn) {
	c.ends[1].received = func(m any) {
		if r, ok := m.(syncRequest); ok {
			d.serve(c, r)
		}
	}
	c.ends[1].closed = func() { d.dropReplica(c) }
}

// serve synchronises a replica.
func (d *data) serve(c *conn, r syncRequest) {
	if !d.primary.IsZero() && !d.up {
		c.send(1, syncRefuse{})
		return
	}
	same := r.history == d.history || d.before != 0 && r.history == d.before && r.offset <= d.branched
	if log, ok := d.since(r.offset); same && ok {
		c.send(1, syncPartial{history: d.history, log: log})
		d.replicas = append(d.replicas, c)
		return
	}
	w, n, life := d.n.w, d.n, d.n.life
	w.after(w.between(fullSyncMin*millisecond, fullSyncMax*millisecond), func() {
		n.deliver(life, func() {
			if !c.ends[1].open {
				return
			}
			c.send(1, syncFull{history: d.history, offset: d.offset, values: maps.Clone(d.values)})
			d.replicas = append(d.replicas, c)
		})
	})
}

// since gives the writes behind an offset, if the log reaches back so far.
func (d *data) since(offset uint64) ([]entry, bool) {
	if offset == d.offset {
		return nil, true
	}
	for i, e := range d.log {
		if e.offset == offset+writeBytes {
			return append([]entry(nil), d.log[i:]...), true
		}
	}
	return nil, false
}

func (d *data) dropReplica(c *conn) {
	for i, other := range d.replicas {
		if other == c {
			d.replicas = append(d.replicas[:i], d.replicas[i+1:]...)
			return
		}
	}
}

// dropReplicas sends replicas of this node away: its data has been replaced.
func (d *data) dropReplicas() {
	for _, c := range d.replicas {
		c.close(1)
	}
	d.replicas = nil
}

// tick sends signs of life, and notices that there are none.
func (d *data) tick() {
	now := d.n.w.now
	if now/core100%(pullPeriod/core100) == 0 {
		for _, c := range d.replicas {
			c.send(1, syncPing{})
		}
	}
	if d.source != nil && d.n.clock()-max(d.contact, d.asked) > pullTimeout {
		d.source.close(0)
		d.source, d.up = nil, false
		d.pull()
	}
	d.tell()
}

// tell tells the core what has changed.
func (d *data) tell() {
	e := core.Replication{Offset: d.offset, Primary: d.primary, Up: d.up, Contact: d.contact}
	if e != d.told {
		d.told = e
		d.n.step(e)
	}
}
