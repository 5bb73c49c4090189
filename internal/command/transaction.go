package command

import "github.com/covey-db/covey/internal/engine"

// This file holds the commands of transactions; the engine queues and executes.

func transactionHandlers() map[string]engine.Handler {
	return map[string]engine.Handler{
		"multi":   {Run: func(c *engine.Ctx) { c.Multi() }},
		"exec":    {Run: func(c *engine.Ctx) { c.Exec() }},
		"discard": {Run: func(c *engine.Ctx) { c.Discard() }},
		"watch":   {Run: cmdWatch},
		"unwatch": {Run: func(c *engine.Ctx) { c.Unwatch() }},
	}
}

func cmdWatch(c *engine.Ctx) {
	if c.S.InMulti() {
		c.Err(engine.ErrWatchInMulti)
		return
	}
	for i := range c.NumKeys() {
		c.Watch(i)
	}
	c.OK()
}
