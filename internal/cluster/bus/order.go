package bus

import (
	"bytes"
	"strings"
	"time"

	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/keyspace"
	"github.com/covey-db/covey/internal/num"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds how commands that change the cluster are run: the session is suspended, the hands begin the command when
// they have nothing else to do, the core decides, and the answer comes behind the effects.

// order is a CLUSTER command on its way.
type order struct {
	args [][]byte // behind CLUSTER
	// answer takes the reply, on any goroutine.
	answer func(core.Reply)
}

const (
	errHolding    = "ERR CLUSTER commands that change the cluster cannot be part of a script that uses keys, or of a transaction on a replica that does"
	errStopping   = "ERR the server is shutting down"
	errManyOrders = "ERR too many CLUSTER commands are waiting"
	errLate       = "ERR the command has not ended in time; it may still be carried out"
)

// orderWithin is how long a transaction waits for an order, and others for the transaction if it uses keys. An order takes
// milliseconds, unless the disk of nodes.conf hangs.
const orderWithin = 10 * time.Second

// cmdOrder hands a command to the bus.
func (b *Bus) cmdOrder(c *engine.Ctx) {
	o := &order{args: make([][]byte, len(c.Args)-1)}
	for i, a := range c.Args[1:] {
		o.args[i] = bytes.Clone(a)
	}
	if c.InExec() {
		if !c.Aside(func() { b.orderNow(c, o) }) {
			c.Err(errHolding)
		}
		return
	}
	wait := c.Suspend(engine.WaitWork, 0, nil, nil)
	o.answer = func(r core.Reply) { wait.Resume(func(c *engine.Ctx) { give(c, r) }) }
	select {
	case b.orders <- o:
	default:
		o.answer(core.Reply{Kind: core.Failure, Text: errManyOrders})
	}
}

// orderNow runs a command of a transaction: the next one comes when it is done. Operators' tools send such transactions; a
// loop that waits here is relieved by its watchdog.
func (b *Bus) orderNow(c *engine.Ctx, o *order) {
	done := make(chan core.Reply, 1)
	o.answer = func(r core.Reply) { done <- r }
	select {
	case b.orders <- o:
	default:
		c.Err(errManyOrders)
		return
	}
	late := time.NewTimer(orderWithin)
	defer late.Stop()
	select {
	case r := <-done:
		give(c, r)
	case <-b.stopped:
		c.Err(errStopping)
	case <-late.C:
		c.Err(errLate)
	}
}

// give replies what the core answered.
func give(c *engine.Ctx, r core.Reply) {
	switch r.Kind {
	case core.Failure:
		c.Err(r.Text)
	case core.Integer:
		c.ReplyInt(r.Number)
	default:
		c.Simple(r.Text)
	}
}

// counted is what a command may ask about keys, looked up before the core is stepped.
type counted struct {
	all int
	in  int // in the slot of SETSLOT
}

func (k counted) Keys() int          { return k.all }
func (k counted) KeysIn(slot.ID) int { return k.in }

// asked is the event that carries an order to Run's goroutine.
type asked struct {
	core.Event
	order *order
}

// begin runs one command; the hands call it. For SETSLOT the slot's shard is locked from the count of its keys until the
// slot, if it was given away, redirects: a key that is written in between would be lost.
func (b *Bus) begin(o *order) {
	var keys counted
	switch name := strings.ToLower(string(o.args[0])); name {
	case "setslot":
		if n, ok := num.ParseInt(o.args[1]); ok && n >= 0 && n < slot.Count {
			b.beginSetSlot(o, slot.ID(n))
			return
		}
	case "replicate", "reset", "flushslots":
		keys.all = b.keysTotal()
	}
	b.submit(o, keys)
}

func (b *Bus) beginSetSlot(o *order, s slot.ID) {
	shard := b.e.Lock(keyspace.ShardOf(s))
	defer shard.Unlock()
	before := b.e.Routes.At(s).State
	if !b.submit(o, counted{in: shard.Part.Count(0, s)}) {
		return
	}
	if view := b.View(); before&engine.RouteMine != 0 && int(view.Owner[s])-1 != view.Myself {
		b.router.giveAway(s, view, b.settings.Load().Endpoint)
	}
}

// submit gives the command to the core and waits until it has been stepped.
func (b *Bus) submit(o *order, keys counted) bool {
	ev := asked{Event: core.Command{Args: o.args, Keys: keys}, order: o}
	return b.post(letter{event: ev, done: make(chan struct{}, 1)})
}

// ask steps a command; its answer is carried out by the hands.
func (b *Bus) ask(a asked) {
	b.lastRequest++
	command := a.Event.(core.Command)
	command.Request = b.lastRequest
	b.waiting[command.Request] = a.order
	b.step(command)
}
