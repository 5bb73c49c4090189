package engine

import (
	"strconv"

	"github.com/covey-db/covey/internal/config"
)

// This file holds what a command says of its keys beside changing them: that others may wait for them, and that somebody
// may want to hear of it. A keyspace event is published on the channel of its key and on that of its name.

// Ready says that clients who block on the i-th key are to be looked at when the command, or its transaction, is done, though the
// key counts as unchanged. Changed says it too.
func (c *Ctx) Ready(i int) {
	if s := c.Shard(i); len(s.blocked.byKey) != 0 {
		c.markReady(s, c.S.db, c.keys[i].Bytes)
	}
}

// Notify says that an event of a class (config.EventList and the others) happened to the i-th key. Who subscribed to keyspace
// events hears of it.
func (c *Ctx) Notify(class int64, event string, i int) {
	if c.e.Settings.Events.Load()&class != 0 {
		c.e.notify(c, event, c.S.db, c.keys[i].Bytes)
	}
}

// NotifyKey is Notify for a key by its name.
func (c *Ctx) NotifyKey(class int64, event string, db int, key []byte) {
	if c.e.Settings.Events.Load()&class != 0 {
		c.e.notify(c, event, db, key)
	}
}

// WantsEvents says whether anybody may want to hear of events. A command that overwrites a key unseen looks at it first then,
// because a key that has expired meanwhile is one event and a new key another.
func (c *Ctx) WantsEvents() bool { return c.e.Settings.Events.Load() != 0 }

// SetEvents sets the classes that are published (notify-keyspace-events).
func (e *Engine) SetEvents(classes int64) {
	e.Settings.Events.Store(classes)
	var born func(db int, name []byte)
	if classes&config.EventNew != 0 {
		born = e.notifyNew
	}
	for i := range e.shards {
		s := e.Lock(i)
		s.Part.OnNew(born)
		s.Unlock()
	}
}

func (e *Engine) notifyNew(db int, name []byte) {
	if !e.Loading() && e.Settings.Events.Load()&config.EventNew != 0 {
		e.notify(nil, "new", db, name)
	}
}

func (e *Engine) notify(c *Ctx, event string, db int, key []byte) {
	if e.PubSub.channels.Len() == 0 && e.PubSub.patterns.Len() == 0 {
		return
	}
	on := e.Settings.Events.Load()
	name := make([]byte, 0, 64+max(len(key), len(event)))
	if on&config.EventKeyspace != 0 {
		name = strconv.AppendInt(append(name, "__keyspace@"...), int64(db), 10)
		e.Publish(c, append(append(name, "__:"...), key...), []byte(event), false)
	}
	if on&config.EventKeyevent != 0 {
		name = strconv.AppendInt(append(name[:0], "__keyevent@"...), int64(db), 10)
		e.Publish(c, append(append(name, "__:"...), event...), key, false)
	}
}
