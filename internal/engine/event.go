package engine

// This file holds what a command says of its keys beside changing them: that others may wait for them, and that somebody
// may want to hear of it.

// Ready says that the i-th key has elements that it did not have before: clients that block on it are served when the
// command, or its transaction, is done. Changed says it too.
func (c *Ctx) Ready(i int) {
	if s := c.Shard(i); len(s.blocked.byKey) != 0 {
		c.markReady(s, c.S.db, c.keys[i].Bytes)
	}
}

// Notify says that an event of a class (config.EventList and the others) happened to the i-th key. Who subscribed to keyspace
// events hears of it when the command is done.
func (c *Ctx) Notify(class int64, event string, i int) {}
