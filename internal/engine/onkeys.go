package engine

// OnKeys runs fn on the node's own behalf, as a command of database db with the given keys whose shards are locked. The
// effects that fn propagates are logged as one block; the offset behind them is returned, 0 if there were none. w must not
// be in use elsewhere, and the caller must hold no shard lock.
func (e *Engine) OnKeys(w *Worker, db int, names [][]byte, fn func(c *Ctx)) Offset {
	c := w.background()
	c.S.db, c.S.written = db, 0
	c.failed, c.explicit, c.dirty, c.logging = false, false, 0, false
	c.keys = c.keys[:0]
	set := uint64(0)
	for _, name := range names {
		key := e.hasher.Key(name)
		c.keys = append(c.keys, key)
		set |= shardBit(key.Slot)
	}
	e.lockSet(set)
	c.held = set
	c.beginEffects()
	fn(c)
	c.finish()
	w.kick()
	return c.S.written
}

// Wrote says that the reply stands for a write that ends at an offset of the log: WAIT and the gate count it to the session.
func (c *Ctx) Wrote(at Offset) { c.S.written = max(c.S.written, at) }
