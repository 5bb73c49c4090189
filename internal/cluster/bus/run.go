package bus

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/replication"
	"github.com/covey-db/covey/internal/slot"
)

// This file holds the goroutine that steps the core.

// Run drives the node until ctx ends, Close is called or nodes.conf cannot be written. Load has been called, and the data
// is in memory.
func (b *Bus) Run(ctx context.Context) error {
	b.running.Lock()
	defer b.running.Unlock()
	diskDone := make(chan struct{})
	go func() {
		defer close(diskDone)
		b.disk.run()
	}()
	defer func() { // the last state is written even when the node stops at once
		b.halt()
		b.wg.Wait()
		b.core.Lock()
		b.disk.put(b.core.AppendConf(nil), true)
		b.core.Unlock()
		b.disk.end()
		<-diskDone
	}()
	b.startHistory()
	b.goDo(b.hands.run)
	for _, l := range b.listeners {
		b.goDo(func() { b.accept(l) })
	}
	b.runs.Store(true)
	b.step(core.Configure{Config: b.reread().Core})
	b.step(core.Loaded{Slots: b.slotsWithKeys()})
	tick := time.NewTicker(time.Duration(core.TickPeriod) * time.Millisecond)
	defer tick.Stop()
	for {
		b.e.AwaitThaw()
		select {
		case <-ctx.Done():
			return nil
		case <-b.stopped:
			return nil
		case err := <-b.disk.failed:
			b.log.Error(err.Error())
			return err
		case <-tick.C:
			b.tellReplication()
			b.step(core.Tick{})
		case m := <-b.inbox:
			b.receive(m)
		case <-b.disk.wrote:
			b.release()
		case <-b.link:
			b.tellReplication()
		case <-b.news.ring:
			for _, m := range b.news.take() {
				b.step(m)
			}
		}
	}
}

// goDo runs fn as one of the goroutines that Close waits for.
func (b *Bus) goDo(fn func()) {
	b.wg.Add(1)
	go func() {
		defer b.wg.Done()
		fn()
	}()
}

// startHistory gives a primary's stream a name of its own: what it wrote before it stopped may be behind what its replicas
// have.
func (b *Bus) startHistory() {
	if b.View().Me().Flags.Has(wire.FlagPrimary) {
		b.e.LockAll()
		b.e.Log.Rename(replication.NewID())
		b.e.UnlockAll()
	}
}

// post gives the core an event and waits until it has been stepped; false when the bus has stopped. Run's goroutine must
// not call it.
func (b *Bus) post(m letter) bool {
	select {
	case b.inbox <- m:
	case <-b.stopped:
		return false
	}
	if m.done == nil {
		return true
	}
	select {
	case <-m.done:
		return true
	case <-b.stopped:
		return false
	}
}

func (b *Bus) receive(m letter) {
	switch ev := m.event.(type) {
	case asked:
		b.ask(ev)
	case core.Received:
		b.tellReplication()
		b.step(ev)
	case core.Configure:
		b.step(core.Configure{Config: b.reread().Core})
	default:
		b.step(ev)
	}
	if m.link != nil && !m.link.known.Load() {
		b.core.Lock()
		m.link.known.Store(b.core.KnowsPeer(m.link.id))
		b.core.Unlock()
	}
	if m.done != nil {
		m.done <- struct{}{}
	}
}

// contactGranularity is how much later the primary must have been heard of for core to be told: it needs no more.
const contactGranularity clock.Millis = 500

// tellReplication tells the core of this node's replication if it has changed.
func (b *Bus) tellReplication() {
	now := core.Replication{Offset: uint64(b.e.Log.End())}
	if b.e.Loading() {
		now.Offset = 0 // there is nothing that could be served, and the others know a node without data by that
	}
	if primary := b.followed.Load(); primary != nil {
		now.Primary, now.Up = *primary, b.repl.LinkUp()
		if at := b.repl.LastIO(); !at.IsZero() {
			now.Contact = b.startWall + clock.Millis(at.Sub(time.UnixMilli(int64(b.startWall))).Milliseconds())
		}
	}
	same := now
	same.Contact = b.lastRepl.Contact
	if same == b.lastRepl && now.Contact-b.lastRepl.Contact < contactGranularity {
		return
	}
	b.lastRepl = now
	b.step(now)
}

// step gives the core one event and sees to the effects. What they point to is copied or encoded here: it lives until the
// next step only.
func (b *Bus) step(ev core.Event) {
	b.core.Lock()
	effects := b.core.Step(b.now(), ev)
	logs := b.carry(effects)
	b.core.Unlock()
	for _, line := range logs {
		b.journal(line)
	}
}

// carry puts every effect where it is carried out, in order; the core is locked. A purge comes after the flip that takes
// the slots away, so that no write can follow it.
func (b *Bus) carry(effects []core.Effect) (logs []core.Log) {
	var purge *slot.Set
	for _, effect := range effects {
		switch x := effect.(type) {
		case core.Log:
			logs = append(logs, x)
		case core.Persist:
			n := b.disk.put(b.core.AppendConf(nil), x.Sync)
			if x.Hold {
				b.hold = n
			}
		case core.Purge:
			lost := *x.Slots
			purge = &lost
		case core.Connect, core.Close, core.Send:
			b.toLinks(effect)
		case core.Deliver:
			if b.opts.Deliver != nil {
				b.opts.Deliver(x.Channel, x.Message, x.Sharded)
			}
		case core.Routes:
			view := b.core.View()
			b.hands.put(b.hold, func() { b.router.install(view, b.settings.Load().Endpoint) })
			if purge != nil {
				lost := purge
				purge = nil
				b.hands.put(b.hold, func() { b.purge(lost) })
			}
		default:
			if do := b.deedOf(effect); do != nil {
				b.hands.put(b.hold, do)
			}
		}
	}
	if purge != nil {
		b.hands.put(b.hold, func() { b.purge(purge) })
	}
	return logs
}

// deedOf is what the hands do for an effect.
func (b *Bus) deedOf(effect core.Effect) func() {
	switch x := effect.(type) {
	case core.Lead:
		return b.lead
	case core.Follow:
		return func() { b.follow(x) }
	case core.Flush:
		return b.flush
	case core.Pause:
		left := x.Until - b.now()
		return func() { b.pause(x.Token, left) }
	case core.Resume:
		return b.resume
	case core.Reply:
		o := b.waiting[x.Request]
		delete(b.waiting, x.Request)
		if o != nil {
			return func() { o.answer(x) }
		}
	}
	return nil
}

// heldBack is something for the links that waits for a write of nodes.conf.
type heldBack struct {
	after  uint64
	effect core.Effect // Connect, Close, or a Send whose Packet is nil
	bytes  []byte      // the packet of a Send
}

// heldBytesMax bounds the packets that wait for a disk that hangs; beyond it they are dropped, as a broken link would.
const heldBytesMax = 64 << 20

// toLinks carries out an effect on links, or holds it back while nodes.conf is being written.
func (b *Bus) toLinks(effect core.Effect) {
	h := heldBack{after: b.hold, effect: effect}
	if send, ok := effect.(core.Send); ok {
		h.bytes = wire.AppendPacket(nil, send.Packet)
		if len(b.held) > 0 || !b.disk.has(h.after) {
			h.effect = core.Send{To: append([]core.LinkID(nil), send.To...)}
		}
	}
	if len(b.held) == 0 && b.disk.has(h.after) {
		b.onLinks(h)
		return
	}
	if b.heldSize+len(h.bytes) > heldBytesMax {
		return
	}
	b.heldSize += len(h.bytes)
	b.held = append(b.held, h)
}

// release lets go what waited for the disk.
func (b *Bus) release() {
	for len(b.held) > 0 && b.disk.has(b.held[0].after) {
		b.heldSize -= len(b.held[0].bytes)
		b.onLinks(b.held[0])
		b.held = b.held[1:]
	}
	if len(b.held) == 0 {
		b.held = nil
	}
}

func (b *Bus) onLinks(h heldBack) {
	switch x := h.effect.(type) {
	case core.Connect:
		b.connect(x.Link, net.JoinHostPort(x.Host.String(), strconv.Itoa(int(x.Port))))
	case core.Close:
		b.links.close(x.Link)
	case core.Send:
		for _, id := range x.To {
			b.send(id, h.bytes)
		}
	}
}
