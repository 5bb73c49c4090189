package bus

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/covey-db/covey/internal/clock"
	"github.com/covey-db/covey/internal/cluster/core"
	"github.com/covey-db/covey/internal/cluster/wire"
	"github.com/covey-db/covey/internal/engine"
	"github.com/covey-db/covey/internal/slot"
)

// step gives the core one event and carries out what it answers. A pause is answered with an event of its own, at once.
func (b *Bus) step(ev core.Event) {
	b.mu.Lock()
	effects := b.mu.core.Step(b.now(), ev)
	b.mu.Unlock()
	var after []core.Event
	for _, effect := range effects {
		if more := b.carryOut(effect); more != nil {
			after = append(after, more)
		}
	}
	for _, more := range after {
		b.step(more)
	}
}

// carryOut does one effect. The result is an event that must follow.
func (b *Bus) carryOut(effect core.Effect) core.Event {
	switch x := effect.(type) {
	case core.Log:
		b.logLine(x)
	case core.Persist:
		b.persist(x)
	case core.Lead:
		b.follows = wire.NodeID{}
		b.opts.Replication.Promote()
	case core.Follow:
		b.follows = x.Primary
		b.opts.Replication.Follow(net.JoinHostPort(x.Host.String(), strconv.Itoa(int(x.Port))))
	case core.Flush:
		b.flush()
	case core.Purge:
		for first, last := range x.Slots.Ranges {
			for s := int(first); s <= int(last); s++ {
				b.e.PurgeSlot(b.purger, slot.ID(s))
			}
		}
	case core.Routes:
		b.install()
	case core.Pause:
		return b.pause(x)
	case core.Resume:
		b.e.Pause.End(engine.PauseByFailover, b.e.Clock.Now())
	case core.Connect:
		b.connect(x)
	case core.Close:
		b.drop(x.Link)
	case core.Send:
		b.send(x)
	case core.Reply:
		b.answer(x)
	}
	return nil
}

// fastFor is how long offsets are watched closely after a failover by command began: its longest time and a little more.
const fastFor clock.Millis = 12_000

// pause stops writes and tells the offset behind the last one: once all locks were held, none runs any more.
func (b *Bus) pause(x core.Pause) core.Event {
	now := b.e.Clock.Now()
	b.fastUntil = b.now() + fastFor
	b.e.Pause.Begin(engine.PauseByFailover, engine.PauseWrites, now, now+max(0, x.Until-b.now()))
	b.e.LockAll()
	offset := b.e.Log.End()
	b.e.UnlockAll()
	return core.Paused{Token: x.Token, Offset: uint64(offset)}
}

func (b *Bus) persist(x core.Persist) {
	b.mu.Lock()
	text := b.mu.core.AppendConf(nil)
	b.mu.Unlock()
	if err := b.conf.write(text, x.Sync); err != nil {
		// Going on would let this node break a promise that it has forgotten after a crash.
		panic(fmt.Sprintf("cannot write the cluster configuration %s: %v", b.conf.path, err))
	}
}

// flush drops all data: a replica that becomes an empty primary, a reset.
func (b *Bus) flush() {
	b.e.LockAll()
	for shard := range b.e.Shards() {
		b.e.DetachAll(shard)
	}
	b.e.UnlockAll()
}

func (b *Bus) answer(x core.Reply) {
	if done := b.answers[x.Request]; done != nil {
		delete(b.answers, x.Request)
		done(x)
	}
}

// sendBufferMax bounds what may wait for a link that does not take it.
const sendBufferMax = 64 << 20

func (b *Bus) send(x core.Send) {
	encoded := wire.AppendPacket(nil, x.Packet)
	for _, id := range x.To {
		if l := b.links[id]; l != nil && !l.enqueue(encoded) {
			b.log.Warn("Cluster link buffer is over its limit, closing the link", "peer", l.peer())
			l.close()
		}
	}
}

func (b *Bus) drop(id core.LinkID) {
	if l := b.links[id]; l != nil {
		delete(b.links, id)
		l.closeAfterOutput()
	}
}

// connect opens a link in the background; the core hears how it went.
func (b *Bus) connect(x core.Connect) {
	addr := net.JoinHostPort(x.Host.String(), strconv.Itoa(int(x.Port)))
	timeout := b.opts.Settings().Core.NodeTimeout.Duration()
	b.wg.Add(1)
	go func() {
		defer b.wg.Done()
		conn, err := net.DialTimeout("tcp", addr, min(timeout, dialMax))
		if err != nil {
			b.post(item{ev: core.Disconnected{Link: x.Link}})
			return
		}
		b.open(x.Link, conn, true)
	}()
}

// dialMax bounds the opening of a link.
const dialMax = 5 * time.Second

func (b *Bus) logLine(x core.Log) {
	level := map[core.Level]slog.Level{core.Debug: slog.LevelDebug, core.Info: slog.LevelInfo, core.Warn: slog.LevelWarn, core.Error: slog.LevelError}[x.Level]
	var attrs []any
	if !x.Node.IsZero() {
		attrs = append(attrs, "node", x.Node.String())
	}
	if x.Epoch != 0 {
		attrs = append(attrs, "epoch", uint64(x.Epoch))
	}
	if x.Value != 0 {
		attrs = append(attrs, "value", x.Value)
	}
	b.log.Log(context.Background(), level, x.Text, attrs...)
}
